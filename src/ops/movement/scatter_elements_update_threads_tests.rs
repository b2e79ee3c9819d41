//! ScatterElementsUpdate on several threads, into slabs that these share.

use super::*;

/// On so many threads.
fn scatter_on(
    threads: usize,
    reduction: Reduction,
    init: bool,
    [data, indices, updates]: [&Tensor; 3],
) -> Result<Tensor, OpError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let [data, indices, updates] = [data, indices, updates].map(Tensor::clone);
    let pool = pool.expect("threads");
    pool.install(|| scatter(reduction, init, data, indices, updates, 0))
}

/// Places too far from each other for a near cache, in one slab; more updates than places, and fewer; some wrap.
#[test]
fn far_places() {
    [11_003, 4001].into_iter().for_each(far_places_of);
}

fn far_places_of(rows: usize) {
    const DIMS: [usize; 2] = [9001, 17];
    let count = rows as i32 * 15;
    let indices: Vec<i32> = (0..count)
        .map(|i| i.wrapping_mul(7919).rem_euclid(2 * 9001) - 9001)
        .collect();
    let updates: Vec<f32> = (0..count).map(|i| (i % 1009) as f32 - 300.0).collect();
    let data: Vec<f32> = (0..DIMS[0] * DIMS[1]).map(|i| i as f32).collect();
    let tensors = [
        Tensor::new(DIMS, &data).expect("its length"),
        Tensor::new([rows, 15], &updates).expect("its length"),
    ];
    let attempt = |threads: usize, reduction, init, indices: &Tensor| {
        scatter_on(
            threads,
            reduction,
            init,
            [&tensors[0], indices, &tensors[1]],
        )
    };
    for (reduction, init) in [
        (Reduction::None, true),
        (Reduction::Sum, true),
        (Reduction::Sum, false),
        (Reduction::Max, false),
    ] {
        let (mut expected, mut met) = (data.clone(), vec![init; data.len()]);
        for (k, (&index, &update)) in indices.iter().zip(&updates).enumerate() {
            let row = if index < 0 { index + 9001 } else { index } as usize;
            let at = row * 17 + k % 15;
            expected[at] = match reduction {
                Reduction::Sum if met[at] => expected[at] + update,
                Reduction::Max if met[at] => expected[at].max(update),
                _ => update,
            };
            met[at] = true;
        }
        let indices = Tensor::new([rows, 15], &indices).expect("its length");
        for threads in [1, 2] {
            let out = attempt(threads, reduction, init, &indices).expect("fits");
            assert!(
                out.as_slice::<f32>().expect("f32") == expected,
                "{reduction:?} {init} on {threads} threads"
            );
        }
    }
    for bad in [9001, 1i64 << 60, -9002, i64::MIN] {
        let mut wrong: Vec<i64> = indices.iter().map(|&i| i.into()).collect();
        (wrong[30_001], wrong[50_000]) = (bad, 9001);
        let wrong = Tensor::new([rows, 15], &wrong).expect("its length");
        let start = format!("index {bad} at [2000, 1] ");
        for threads in [1, 2] {
            let error = attempt(threads, Reduction::Sum, true, &wrong).expect_err("outside");
            assert!(error.message.starts_with(&start), "{error}");
        }
    }
}

/// One slab that threads share, each of which looks at all updates; some and many of these, in one column and in
/// some of several.
#[test]
fn a_table_that_threads_share() {
    for (dims, updates) in [
        ([300_007, 1], [10_007, 1]),
        ([300_007, 1], [400_009, 1]),
        ([100_003, 5], [2003, 3]),
        ([100_003, 5], [70_001, 3]),
    ] {
        let number = |seed: usize| {
            move |i: usize| match i % 13 {
                // What sums, and the greatest of numbers, begin with.
                0 => -0.0,
                1 => f32::NEG_INFINITY,
                _ => ((i * 37 + seed) % 1009) as f32 - 300.0,
            }
        };
        let numbers = |[rows, width]: [usize; 2], seed: usize| {
            let all: Vec<f32> = (0..rows * width).map(number(seed)).collect();
            Tensor::new([rows, width], &all).expect("its length")
        };
        let axis = dims[0] as i64;
        let indices: Vec<i64> = (0..(updates[0] * updates[1]) as i64)
            .map(|i| i.wrapping_mul(7919) * (i + 3) % (2 * axis) - axis)
            .collect();
        let (data, given) = (numbers(dims, 1), numbers(updates, 5));
        let attempt = |threads: usize, reduction, init, indices: &[i64]| {
            let indices = Tensor::new(updates, indices).expect("its length");
            scatter_on(threads, reduction, init, [&data, &indices, &given])
        };
        let mut last = data.as_slice::<f32>().expect("f32").to_vec();
        for (k, &index) in indices.iter().enumerate() {
            let row = usize::try_from(index.rem_euclid(axis)).expect("in range");
            last[row * dims[1] + k % updates[1]] = number(5)(k);
        }
        let one = attempt(1, Reduction::None, true, &indices).expect("fits");
        assert!(one.as_slice::<f32>().expect("f32") == last, "{dims:?}");
        for (reduction, init) in [
            (Reduction::None, true),
            (Reduction::Sum, true),
            (Reduction::Sum, false),
            (Reduction::Mean, true),
            (Reduction::Max, false),
        ] {
            let [one, three] = [1, 3].map(|threads| attempt(threads, reduction, init, &indices));
            let same = one.expect("fits") == three.expect("fits");
            assert!(same, "{reduction:?} {init} {dims:?} {updates:?}");
        }
        let mut wrong = indices.clone();
        (wrong[3001], wrong[5000]) = (axis, 1 << 40);
        let error = attempt(3, Reduction::Sum, true, &wrong).expect_err("outside");
        assert!(
            error.message.starts_with(&format!("index {axis} at")),
            "{error}"
        );
    }
}
