//! What this machine can do at most: multiplications a second, bytes copied and read a second.
//!
//! ```text
//! probe [--threads N] [--repetitions N]
//! probe [--threads N] --serve multiply|copy|read [--bytes N]
//! probe [--threads N] --serve pick|put --rows N --bytes N --table N [--tables N] [--index N]
//! ```
//!
//! One line of JSON: `gflops` of fused multiply-adds in f32, and for each `bytes`, those that a
//! thread goes through, `copy_gbs` (bytes that are read plus bytes that are written) and `read_gbs`
//! of all threads together. Each figure is the best of its repetitions, since it stands for a limit.
//!
//! `--serve` measures one limit whenever it is asked to, so that it can take turns with what it
//! limits: it says `ready WORK`, the operations (or bytes) of a repetition, and answers each line
//! `run N` with `t` and the nanoseconds of N repetitions. `pick` copies rows of so many bytes from
//! random places of each table, one after the other, to places in order, `put` from places in order to
//! random ones of a table that is copied first: as much as gathers and scatters must do. What tells the place
//! of a row has so many bytes (`--index`): 4, 8 or 16.

use std::error::Error;
use std::hint::black_box;
use std::io::{Write, stdin, stdout};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use pulp::{Arch, Simd, WithSimd};

/// Bytes that a thread goes through: what lies in each cache, and what lies in none.
const SIZES: [usize; 5] = [32 << 10, 256 << 10, 2 << 20, 16 << 20, 128 << 20];

/// Bytes that a repetition goes through at least.
const LEAST: usize = 64 << 20;

/// Sums that do not wait for each other: latency times two units.
const CHAINS: usize = 16;

/// Steps of every chain in a repetition.
const STEPS: usize = 2_000_000;

/// Multiply-adds in registers. Gives how many a vector has in each of so many steps.
struct Multiply;

impl Multiply {
    /// `N` chains, of which none waits for another.
    #[inline(always)]
    fn chains<S: Simd, const N: usize>(simd: S) -> usize {
        let factor = simd.splat_f32s(black_box(0.999));
        let term = simd.splat_f32s(black_box(0.001));
        let mut sums = [simd.splat_f32s(1.0); N];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, term);
            }
        }
        for sum in sums {
            black_box(simd.reduce_sum_f32s(sum));
        }
        N * S::F32_LANES
    }
}

impl WithSimd for Multiply {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        // AVX2 has sixteen registers, two of which hold what is multiplied and added.
        match S::F32_LANES {
            8 => Self::chains::<S, 12>(simd),
            _ => Self::chains::<S, CHAINS>(simd),
        }
    }
}

/// How many elements a vector has.
struct Width;

impl WithSimd for Width {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

/// A sum of all elements.
struct Read<'a>(&'a [f32]);

impl WithSimd for Read<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, _) = S::as_simd_f32s(self.0);
        let mut sums = [simd.splat_f32s(0.0); CHAINS];
        for vectors in vectors.chunks_exact(CHAINS) {
            for (sum, &vector) in sums.iter_mut().zip(vectors) {
                *sum = simd.add_f32s(*sum, vector);
            }
        }
        // In a loop: a closure may become a function that is not compiled for these vectors.
        let mut total = 0.0;
        for sum in sums {
            total += simd.reduce_sum_f32s(sum);
        }
        total
    }
}

/// Rows that are moved between random places and places in order.
#[derive(Debug, Clone, Copy)]
struct Rows {
    /// Of each table.
    count: usize,
    bytes: usize,
    table: usize,
    tables: usize,
    /// Bytes of what tells the place of a row.
    index: usize,
    put: bool,
}

/// What tells the place of a row.
trait Place: Copy {
    fn new(place: u64) -> Self;
    fn place(self) -> usize;
}

impl Place for u32 {
    fn new(place: u64) -> Self {
        place as Self
    }

    fn place(self) -> usize {
        self as usize
    }
}

impl Place for u64 {
    fn new(place: u64) -> Self {
        place
    }

    fn place(self) -> usize {
        self as usize
    }
}

/// What two indices add to a place.
impl Place for [u64; 2] {
    fn new(place: u64) -> Self {
        [place / 2, place.div_ceil(2)]
    }

    fn place(self) -> usize {
        (self[0] + self[1]) as usize
    }
}

impl Rows {
    /// The bytes of all rows and of their places, and of the copies of tables that rows are put in.
    fn bytes(self) -> usize {
        // A row that is put in a table is written to what the copy has written.
        let (times, copied) = if self.put {
            (1, 2 * self.table)
        } else {
            (2, 0)
        };
        self.tables * (self.count * (times * self.bytes + self.index) + copied)
    }

    /// What one of some threads does: some of the tables, or some of the rows of the only one, put in as
    /// much of it.
    fn part(self, threads: usize) -> Self {
        match (self.tables, self.put) {
            (1, false) => Self {
                count: self.count.div_ceil(threads),
                ..self
            },
            (1, true) => Self {
                count: self.count.div_ceil(threads),
                table: self.table.div_ceil(threads),
                ..self
            },
            _ => Self {
                tables: self.tables.div_ceil(threads),
                ..self
            },
        }
    }

    fn times(
        self,
        threads: usize,
        repetitions: usize,
        rounds: usize,
    ) -> Result<Vec<Duration>, Box<dyn Error>> {
        let part = self.part(threads);
        match self.index {
            4 => part.times_by::<u32>(threads, repetitions, rounds),
            8 => part.times_by::<u64>(threads, repetitions, rounds),
            16 => part.times_by::<[u64; 2]>(threads, repetitions, rounds),
            other => Err(format!("--index: expected 4, 8 or 16, got {other}").into()),
        }
    }

    /// The same for the part of one thread.
    fn times_by<P: Place + 'static>(
        self,
        threads: usize,
        repetitions: usize,
        rounds: usize,
    ) -> Result<Vec<Duration>, Box<dyn Error>> {
        match self.bytes {
            1 => times(threads, repetitions, || self.prepare::<u8, P, 1>(rounds)),
            2 => times(threads, repetitions, || self.prepare::<u16, P, 1>(rounds)),
            4 => times(threads, repetitions, || self.prepare::<u32, P, 1>(rounds)),
            // Zero: as many as there are.
            _ => times(threads, repetitions, || self.prepare::<u8, P, 0>(rounds)),
        }
    }

    /// Moves rows of `WIDTH` elements, as often as that.
    fn prepare<T: Copy + From<u8>, P: Place, const WIDTH: usize>(
        self,
        rounds: usize,
    ) -> impl FnMut() + use<T, P, WIDTH> {
        let width = if WIDTH > 0 { WIDTH } else { self.bytes };
        let rows = (self.table / self.bytes).max(1);
        let mut state = 1u64;
        let random = || {
            // Knuth's linear congruential generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            P::new((state >> 33) % rows as u64)
        };
        let count = self.tables * self.count;
        let places: Vec<P> = std::iter::repeat_with(random).take(count).collect();
        let size = rows * width;
        let tables = vec![T::from(1); self.tables * size];
        let mut copies = vec![T::from(1); if self.put { tables.len() } else { 0 }];
        let mut in_order = vec![T::from(1); count * width];
        let each = self.count.max(1);
        move || {
            // What is captured the compiler does not know.
            let width = if WIDTH > 0 { WIDTH } else { width };
            let row = |place: P| place.place() * width..(place.place() + 1) * width;
            for _ in 0..rounds {
                let tables = black_box(&tables).chunks_exact(size);
                let in_order = black_box(&mut in_order).chunks_exact_mut(each * width);
                let places = places.chunks_exact(each);
                if self.put {
                    let copies = black_box(&mut copies).chunks_exact_mut(size);
                    for (((table, copy), in_order), places) in
                        tables.zip(copies).zip(in_order).zip(places)
                    {
                        copy.copy_from_slice(table);
                        for (from, &place) in in_order.chunks_exact(width).zip(places) {
                            copy[row(place)].copy_from_slice(from);
                        }
                    }
                } else {
                    for ((table, in_order), places) in tables.zip(in_order).zip(places) {
                        for (to, &place) in in_order.chunks_exact_mut(width).zip(places) {
                            to.copy_from_slice(&table[row(place)]);
                        }
                    }
                }
            }
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Multiply,
    /// Of so many bytes a thread.
    Copy(usize),
    Read(usize),
    /// Of all threads together.
    Rows(Rows),
}

impl Limit {
    /// How often a repetition goes through so many bytes.
    fn rounds(bytes: usize) -> usize {
        (LEAST / bytes).max(1)
    }

    /// The operations of a repetition, or its bytes.
    #[allow(clippy::cast_precision_loss)]
    fn work(self, threads: usize) -> f64 {
        let each = match self {
            Self::Multiply => 2 * STEPS * Arch::new().dispatch(Multiply),
            Self::Copy(bytes) => 2 * bytes * Self::rounds(bytes),
            Self::Read(bytes) => bytes * Self::rounds(bytes),
            Self::Rows(rows) => return (rows.bytes() * Self::rounds(rows.bytes())) as f64,
        };
        (each * threads) as f64
    }

    /// The time of each repetition.
    fn times(self, threads: usize, repetitions: usize) -> Result<Vec<Duration>, Box<dyn Error>> {
        let arch = Arch::new();
        match self {
            Self::Multiply => times(threads, repetitions, || {
                || {
                    black_box(arch.dispatch(Multiply));
                }
            }),
            Self::Copy(bytes) => times(threads, repetitions, || {
                let from = vec![1.0f32; bytes / 4];
                let mut to = vec![0.0f32; bytes / 4];
                move || {
                    for _ in 0..Self::rounds(bytes) {
                        black_box(&mut to).copy_from_slice(black_box(&from));
                    }
                }
            }),
            Self::Read(bytes) => times(threads, repetitions, || {
                let from = vec![1.0f32; bytes / 4];
                move || {
                    for _ in 0..Self::rounds(bytes) {
                        black_box(arch.dispatch(Read(black_box(&from))));
                    }
                }
            }),
            Self::Rows(rows) => rows.times(threads, repetitions, Self::rounds(rows.bytes())),
        }
    }

    /// Thousands of millions a second, at best.
    fn best(self, threads: usize, repetitions: usize) -> Result<f64, Box<dyn Error>> {
        let least = self.times(threads, repetitions)?.into_iter().min();
        let least = least.ok_or("no repetition was asked for")?;
        Ok(self.work(threads) / least.as_secs_f64() / 1e9)
    }
}

/// How long threads need together, time after time. `prepare` makes what each repeats.
fn times<W: FnMut()>(
    threads: usize,
    repetitions: usize,
    prepare: impl Fn() -> W + Sync,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut work = prepare();
                    work();
                    let mut times = Vec::new();
                    for _ in 0..repetitions {
                        barrier.wait();
                        let start = Instant::now();
                        work();
                        barrier.wait();
                        times.push(start.elapsed());
                    }
                    times
                })
            })
            .collect();
        // All threads wait for the last, so that the times of one are those of all.
        let mut times = Vec::new();
        for thread in all {
            times = thread.join().map_err(|_| "a thread panicked")?;
        }
        Ok(times)
    })
}

/// Measures one limit, as often as standard input asks.
fn serve(limit: Limit, threads: usize) -> Result<(), Box<dyn Error>> {
    writeln!(stdout(), "ready {}", limit.work(threads))?;
    for line in stdin().lines() {
        let line = line?;
        let count = line.strip_prefix("run ").ok_or("expected \"run N\"")?;
        write!(stdout(), "t")?;
        for time in limit.times(threads, count.parse()?)? {
            write!(stdout(), " {}", time.as_nanos())?;
        }
        writeln!(stdout())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut threads, mut repetitions, mut bytes, mut served) = (1, 15, SIZES[0], None);
    let (mut rows, mut table, mut tables, mut index) = (1, SIZES[0], 1, 8);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(format!("{option} needs a value"))?;
        match option.as_str() {
            "--threads" => threads = value.parse()?,
            "--repetitions" => repetitions = value.parse()?,
            "--bytes" => bytes = value.parse::<usize>()?.max(1),
            "--rows" => rows = value.parse::<usize>()?.max(1),
            "--table" => table = value.parse()?,
            "--tables" => tables = value.parse::<usize>()?.max(1),
            "--index" => index = value.parse()?,
            "--serve" => served = Some(value),
            _ => return Err(format!("there is no option {option}").into()),
        }
    }
    if threads == 0 {
        return Err("--threads: expected at least 1, got 0".into());
    }
    match served.as_deref() {
        None => {}
        Some("multiply") => return serve(Limit::Multiply, threads),
        Some("copy") => return serve(Limit::Copy(bytes.max(4)), threads),
        Some("read") => return serve(Limit::Read(bytes.max(4)), threads),
        Some(how @ ("pick" | "put")) => {
            let rows = Rows {
                count: rows,
                bytes,
                table,
                tables,
                index,
                put: how == "put",
            };
            return serve(Limit::Rows(rows), threads);
        }
        Some(other) => {
            let expected = "multiply, copy, read, pick or put";
            return Err(format!("--serve: expected {expected}, got {other}").into());
        }
    }
    write!(
        stdout(),
        "{{\"threads\": {threads}, \"lanes\": {}, \"gflops\": {:.1}, \"bandwidth\": [",
        Arch::new().dispatch(Width),
        Limit::Multiply.best(threads, repetitions)?
    )?;
    for (index, bytes) in SIZES.into_iter().enumerate() {
        write!(
            stdout(),
            "{}{{\"bytes\": {bytes}, \"copy_gbs\": {:.1}, \"read_gbs\": {:.1}}}",
            if index == 0 { "" } else { ", " },
            Limit::Copy(bytes).best(threads, repetitions)?,
            Limit::Read(bytes).best(threads, repetitions)?
        )?;
    }
    writeln!(stdout(), "]}}")?;
    Ok(())
}
