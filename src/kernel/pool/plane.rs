//! Windows that move by one element over planes of short rows: all rows are folded at once, with
//! the padding of each between it and the next.

use smallvec::SmallVec;

use super::rows::{Scratch, fold_rows};
use crate::kernel::scratch::{or_refuse, try_resize};
use crate::kernel::window::Window;

/// Longer rows are worth a loop of their own.
const LONGEST: usize = 64;

/// Elements of a plane with its padding: those that a near cache holds.
const MOST: usize = 1 << 12;

/// Elements of a row with its padding, and such rows of a plane.
fn padded(window: &Window) -> [usize; 2] {
    let [_, y, x] = window.axes();
    [x, y].map(|axis| {
        let reach = (axis.kernel - 1).saturating_mul(axis.dilation);
        axis.output.saturating_add(reach)
    })
}

/// Whether planes of these windows are folded here.
pub(super) fn suits(window: &Window) -> bool {
    let [z, y, x] = window.axes();
    let apart = z.kernel == 1 && z.stride == 1 && z.pad == 0 && z.output == z.input;
    let [width, height] = padded(window);
    let some = y.input > 0 && x.input > 0;
    let dense = y.stride == 1 && x.stride == 1;
    apart && some && dense && width <= LONGEST && width.saturating_mul(height) <= MOST
}

/// Where the taps of a window begin, `stride` elements apart.
fn starts(taps: usize, stride: usize) -> SmallVec<[usize; 8]> {
    (0..taps).map(|tap| tap * stride).collect()
}

/// Folds every window of a plane, and shows each row of results to `end`.
#[inline(always)]
pub(super) fn fold<T: Copy + Default>(
    window: &Window,
    plane: &[T],
    scratch: &mut Scratch<T>,
    out: &mut [T],
    nothing: T,
    f: impl Fn(T, T) -> T + Copy,
    mut end: impl FnMut([usize; 2], &mut [T], &mut Scratch<T>),
) {
    let [_, y, x] = window.axes();
    let [width, height] = padded(window);
    let inside = x.pad..width.min(x.pad + x.input);
    let (rows, columns) = (
        starts(y.kernel, y.dilation * width),
        starts(x.kernel, x.dilation),
    );
    scratch.padded.clear();
    let room = try_resize(&mut scratch.padded, width * height, nothing)
        .and_then(|()| try_resize(&mut scratch.row, width * y.output, nothing));
    if or_refuse(room).is_none() {
        return;
    }
    let planes = plane.chunks_exact(y.input * x.input);
    for (oz, (plane, out)) in planes
        .zip(out.chunks_exact_mut(y.output * x.output))
        .enumerate()
    {
        if oz > 0 {
            scratch.padded.fill(nothing);
        }
        let lines = scratch.padded.chunks_exact_mut(width).skip(y.pad);
        for (line, row) in lines.zip(plane.chunks_exact(x.input)) {
            if let Some(line) = line.get_mut(inside.clone()) {
                line.copy_from_slice(&row[..line.len()]);
            }
        }
        let row = &mut scratch.row[..width * y.output];
        fold_rows(&scratch.padded, &rows, row, nothing, f);
        // The last window ends with the last row.
        let windows = row.len() + x.output - width;
        fold_rows(row, &columns, &mut scratch.padded[..windows], nothing, f);
        for (oy, out) in out.chunks_exact_mut(x.output).enumerate() {
            out.copy_from_slice(&scratch.padded[oy * width..][..x.output]);
            end([oz, oy], out, scratch);
        }
    }
}
