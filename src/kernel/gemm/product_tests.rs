//! How products are cut into parts.

use super::super::slim::SLIM;
use super::*;
use crate::op::OpError;

const TILE: TileSize = TileSize {
    rows: 12,
    columns: 32,
    lanes: 16,
};

/// The parts of a result of this size, each element of which belongs to one of them; each begins with
/// a tile.
fn parts(
    [m, n]: [usize; 2],
    cut: impl for<'c> Fn(&'c mut [f32]) -> Result<Vec<Part<'c, f32>>, OpError>,
) -> Vec<[Range<usize>; 2]> {
    let mut c = vec![0.0; m * n];
    let mut found = Vec::new();
    for mut part in cut(&mut c).expect("memory") {
        assert_eq!(
            part.position,
            100 + part.rows.start * n + part.columns.start
        );
        // What begins within a tile would be packed twice.
        assert!(part.rows.start.is_multiple_of(TILE.rows), "{m} x {n}");
        assert!(part.columns.start.is_multiple_of(TILE.columns), "{m} x {n}");
        for row in 0..part.rows.len() {
            let row = part.target.row(row, 0..part.columns.len());
            row.iter_mut().for_each(|x| *x += 1.0);
        }
        found.push([part.rows, part.columns]);
    }
    assert!(c.iter().all(|&x| x == 1.0), "{m} x {n}: {found:?}");
    found
}

/// Parts have as many panels as each other, or one more, and the last has no fewer than others.
fn shared_evenly(parts: &[[Range<usize>; 2]], case: &str) {
    let panels = |[_, columns]: &[Range<usize>; 2]| columns.len().div_ceil(TILE.columns);
    let most = parts.iter().map(panels).max();
    assert_eq!(parts.last().map(panels), most, "{case}: {parts:?}");
    assert!(
        parts.iter().all(|part| Some(panels(part) + 1) >= most),
        "{case}: {parts:?}"
    );
}

#[test]
fn rows_stay_whole_where_the_right_side_is_cheap_and_small_and_rows_are_many() {
    for threads in 1..=3 {
        let enough = 4 * TILE.rows * threads;
        for m in [1, 11, enough - 1, enough, enough + 1, 5 * enough + 7] {
            // Of one row more than whole tiles, one thread would have a tile of twelve.
            let even = m != enough + 1;
            for n in [1, 31, 100, 257, 800] {
                for count in [threads, 4 * threads] {
                    for (cheap, k) in [(false, m), (true, m), (true, 2 * m), (true, 2 * m + 1)] {
                        let found = parts([m, n], |c| {
                            Part::cut_along(c, [m, k, n], 100, TILE, [count, threads], cheap)
                        });
                        let case =
                            format!("{m} x {k} x {n}, {count} parts, {threads} threads, {cheap}");
                        if (cheap && m >= enough && k <= 2 * m && even) || n < count * TILE.columns
                        {
                            assert!(
                                found.iter().all(|[_, columns]| *columns == (0..n)),
                                "{case}"
                            );
                            assert!(found.len() <= threads, "{case}");
                        } else {
                            assert!(found.iter().all(|[rows, _]| *rows == (0..m)), "{case}");
                            assert!((threads..=count).contains(&found.len()), "{case}");
                            shared_evenly(&found, &case);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn parts_of_a_packed_right_side_are_of_whole_tiles() {
    for count in 1..=12 {
        for [m, n] in [[1, 1], [47, 33], [48, 64], [240, 1000], [1000, 240]] {
            let found = parts([m, n], |c| Part::cut(c, [m, n], 100, TILE, count));
            assert!(found.len() < 2 * count.max(2), "{count}: {found:?}");
            shared_evenly(&found, &format!("{m} x {n}, {count}"));
        }
    }
}

#[test]
fn every_thread_has_as_many_parts() {
    for threads in 1..=5 {
        let mut before = 0;
        for work in (0..=80).map(|i| i * SMALL / 2) {
            let count = parts_for(work, threads);
            assert!(count >= before.max(1) && count <= 4 * threads);
            assert!(count <= threads || count.is_multiple_of(threads));
            before = count;
        }
        assert_eq!(before, 4 * threads);
    }
}

#[test]
fn panels_are_no_more_than_needed_and_as_wide_as_each_other() {
    for most in 1..=3 {
        let tile = TileSize {
            columns: most * 16,
            ..TILE
        };
        for columns in 1..400usize {
            let width = tile.across(columns).columns;
            let panels = columns.div_ceil(width);
            assert_eq!(panels, columns.div_ceil(tile.columns), "{columns}");
            assert!(width.is_multiple_of(16) && width <= tile.columns);
            // Narrower ones would be more; the widest may leave a few columns.
            let few = columns > width && (1..=SLIM).contains(&(columns % width));
            assert!(
                width == 16
                    || few && width == tile.columns
                    || columns.div_ceil(width - 16) > panels
            );
        }
        assert_eq!(tile.across(0).columns, 16);
    }
}

#[test]
fn rows_are_divided_where_panels_would_leave_a_thread_without_work() {
    let better = |m: usize, n: usize, threads| TILE.divides_rows_better([m, n], threads);
    for threads in 2..=4 {
        let (rows, columns) = (10 * threads * TILE.rows, TILE.columns);
        // As many panels for each thread, and one panel more.
        assert!(!better(rows, 5 * threads * columns, threads));
        assert!(better(rows, 5 * threads * columns + 1, threads));
        // So many that one makes no difference.
        assert!(!better(rows, 50 * threads * columns + 1, threads));
        assert!(better(rows, 1, threads));
        assert!(!better(1, columns * threads, threads));
        assert!(!better(usize::MAX, usize::MAX, threads));
    }
}
