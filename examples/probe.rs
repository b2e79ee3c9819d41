//! What this machine can do at most: multiplications a second, bytes copied and read a second.
//!
//! ```text
//! probe [--threads N] [--repetitions N]
//! ```
//!
//! One line of JSON: `gflops` of fused multiply-adds in f32, and for each `bytes`, those that a
//! thread goes through, `copy_gbs` (bytes that are read plus bytes that are written) and `read_gbs`
//! of all threads together. Each figure is the best of its repetitions, since it stands for a limit.

use std::error::Error;
use std::hint::black_box;
use std::io::{Write, stdout};
use std::sync::Barrier;
use std::time::Instant;

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

/// The fewest seconds that threads need together. `prepare` makes what each repeats.
fn seconds<W: FnMut()>(
    threads: usize,
    repetitions: usize,
    prepare: impl Fn() -> W + Sync,
) -> Result<f64, Box<dyn Error>> {
    let barrier = Barrier::new(threads);
    let times = std::thread::scope(|scope| {
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
                        times.push(start.elapsed().as_secs_f64());
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
        Ok::<_, Box<dyn Error>>(times)
    });
    let least = times?.into_iter().min_by(f64::total_cmp);
    Ok(least.ok_or("no repetition was asked for")?)
}

#[allow(clippy::cast_precision_loss)]
fn main() -> Result<(), Box<dyn Error>> {
    let (mut threads, mut repetitions) = (1, 15);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(format!("{option} needs a value"))?;
        match option.as_str() {
            "--threads" => threads = value.parse()?,
            "--repetitions" => repetitions = value.parse()?,
            _ => return Err(format!("there is no option {option}").into()),
        }
    }
    let arch = Arch::new();
    let lanes = arch.dispatch(Multiply);
    let time = seconds(threads, repetitions, || {
        || {
            black_box(arch.dispatch(Multiply));
        }
    })?;
    let operations = (2 * CHAINS * STEPS * lanes * threads) as f64;
    write!(
        stdout(),
        "{{\"threads\": {threads}, \"lanes\": {lanes}, \"gflops\": {:.1}, \"bandwidth\": [",
        operations / time / 1e9
    )?;
    for (index, bytes) in SIZES.into_iter().enumerate() {
        let rounds = (LEAST / bytes).max(1);
        let gbs = |seconds: f64, each: usize| (each * rounds * threads) as f64 / seconds / 1e9;
        let copy = seconds(threads, repetitions, || {
            let from = vec![1.0f32; bytes / 4];
            let mut to = vec![0.0f32; bytes / 4];
            move || {
                for _ in 0..rounds {
                    black_box(&mut to).copy_from_slice(black_box(&from));
                }
            }
        })?;
        let read = seconds(threads, repetitions, || {
            let from = vec![1.0f32; bytes / 4];
            move || {
                for _ in 0..rounds {
                    black_box(arch.dispatch(Read(black_box(&from))));
                }
            }
        })?;
        write!(
            stdout(),
            "{}{{\"bytes\": {bytes}, \"copy_gbs\": {:.1}, \"read_gbs\": {:.1}}}",
            if index == 0 { "" } else { ", " },
            gbs(copy, 2 * bytes),
            gbs(read, bytes)
        )?;
    }
    writeln!(stdout(), "]}}")?;
    Ok(())
}
