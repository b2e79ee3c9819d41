//! What this machine can do at most: multiplications a second, bytes copied and read a second.
//!
//! ```text
//! probe [--threads N] [--repetitions N]
//! probe [--threads N] --serve multiply|copy|read [--bytes N]
//! ```
//!
//! One line of JSON: `gflops` of fused multiply-adds in f32, and for each `bytes`, those that a
//! thread goes through, `copy_gbs` (bytes that are read plus bytes that are written) and `read_gbs`
//! of all threads together. Each figure is the best of its repetitions, since it stands for a limit.
//!
//! `--serve` measures one limit whenever it is asked to, so that it can take turns with what it
//! limits: it says `ready WORK`, the operations (or bytes) of a repetition, and answers each line
//! `run N` with `t` and the nanoseconds of N repetitions.

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

/// Multiply-adds in registers. Gives how many elements a vector has.
struct Multiply;

impl WithSimd for Multiply {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let factor = simd.splat_f32s(black_box(0.999));
        let term = simd.splat_f32s(black_box(0.001));
        let mut sums = [simd.splat_f32s(1.0); CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, term);
            }
        }
        for sum in sums {
            black_box(simd.reduce_sum_f32s(sum));
        }
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
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Multiply,
    /// Of so many bytes a thread.
    Copy(usize),
    Read(usize),
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
            Self::Multiply => 2 * CHAINS * STEPS * Arch::new().dispatch(Multiply),
            Self::Copy(bytes) => 2 * bytes * Self::rounds(bytes),
            Self::Read(bytes) => bytes * Self::rounds(bytes),
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
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(format!("{option} needs a value"))?;
        match option.as_str() {
            "--threads" => threads = value.parse()?,
            "--repetitions" => repetitions = value.parse()?,
            "--bytes" => bytes = value.parse::<usize>()?.max(4),
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
        Some("copy") => return serve(Limit::Copy(bytes), threads),
        Some("read") => return serve(Limit::Read(bytes), threads),
        Some(other) => {
            let expected = "multiply, copy or read";
            return Err(format!("--serve: expected {expected}, got {other}").into());
        }
    }
    write!(
        stdout(),
        "{{\"threads\": {threads}, \"lanes\": {}, \"gflops\": {:.1}, \"bandwidth\": [",
        Arch::new().dispatch(Multiply),
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
