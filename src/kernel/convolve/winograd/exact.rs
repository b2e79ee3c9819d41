//! Outputs computed one by one, where a number under their tile is not finite: the transformations
//! would spread it over the tile.

use super::block::{Run, Tiles};

/// Computes the outputs of tiles in a row anew. `data` has the planes of the channels, `filter` nine
/// taps for each, `out` the rows of outputs from that of `first`'s tiles on.
pub(super) fn compute(
    tiles: &Tiles,
    run: Run,
    side: usize,
    [data, filter]: [&[f32]; 2],
    out: &mut [f32],
    first: usize,
) {
    let (y, x) = (&tiles.y, &tiles.x);
    let columns = run.first * side..x.output.min((run.first + run.count) * side);
    let rows = run.row * side..y.output.min((run.row + 1) * side);
    for row in rows {
        let out = &mut out[(row - first * side) * x.output..][columns.clone()];
        out.fill(0.0);
        let planes = data.chunks_exact(y.input * x.input);
        for (plane, filter) in planes.zip(filter.as_chunks::<9>().0) {
            for ty in y.taps(row) {
                let Some(line) = y.element(row, ty) else {
                    continue;
                };
                let line = &plane[line * x.input..][..x.input];
                for tx in 0..3 {
                    let inside = x.outputs(tx);
                    let from = inside.start.clamp(columns.start, columns.end);
                    let to = inside.end.clamp(from, columns.end);
                    let Some(at) = x.element(from, tx) else {
                        continue;
                    };
                    let weight = filter[ty * 3 + tx];
                    let out = &mut out[from - columns.start..to - columns.start];
                    for (out, &x) in out.iter_mut().zip(&line[at..]) {
                        *out += weight * x;
                    }
                }
            }
        }
    }
}
