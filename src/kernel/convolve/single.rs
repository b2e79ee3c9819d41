//! Convolutions of `f32`: filters packed once, patches written where a product reads them, and what
//! comes after done while results are in the cache.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::columns::Columns;
use super::depthwise::Depthwise;
use super::direct::Direct;
use super::laid::Laid;
use super::padded::Padded;
use super::{Sizes, winograd};
use crate::kernel::gemm::{
    How, Matrix, PackedLeft, PackedRight, Right, made, product, product_turned, turns,
};
use crate::kernel::scratch::{or_refuse, try_collect};
use crate::kernel::window::Window;
use crate::limits::Share;
use crate::op::{Finish, Shifted};

/// From as many products on, each is computed by one thread.
const MANY: usize = 8;

/// Filters as products read them.
#[derive(Debug)]
pub(crate) enum Packed {
    /// Those of a group are the left side.
    Left(PackedLeft<f32>),
    /// They are the columns of the right side, where results are small planes.
    Turned(PackedRight<f32>),
}

/// Filters as they lie: by group, filter, channel and tap.
pub(crate) trait Lying: Sync {
    /// Their elements, asked for where they are read, for those of narrow types are widened then. Nothing if
    /// there is no memory for that, which is noted ([`or_refuse`]).
    fn elements(&self) -> Option<&[f32]>;
}

/// The filters of a convolution.
#[derive(Clone, Copy)]
pub(crate) struct Filters<'a> {
    pub(crate) lying: &'a dyn Lying,
    /// Where they are kept packed, group by group, if they stay.
    pub(crate) packed: Option<&'a OnceLock<Vec<Packed>>>,
    /// Where they are kept transformed, if they stay.
    pub(crate) transformed: Option<&'a winograd::Kept>,
}

impl<'a> Filters<'a> {
    /// The packed filters, if they are kept: packed now, turned or not, if this was not done yet.
    pub(crate) fn packed(
        &self,
        groups: usize,
        matrix: &dyn Fn(usize) -> Option<Matrix<'a, f32>>,
        turned: bool,
    ) -> Option<&'a [Packed]> {
        let packed = made(self.packed?, || {
            let groups = (0..groups).map_while(|group| {
                Some(match turned {
                    true => Packed::Turned(PackedRight::new(matrix(group)?.transposed())?),
                    false => Packed::Left(PackedLeft::new(matrix(group)?)?),
                })
            });
            or_refuse(try_collect(groups)).unwrap_or_default()
        });
        packed.map(Vec::as_slice)
    }
}

/// The product of packed filters, `m` by `k`, or of the same as they lie, and columns.
pub(crate) fn filtered<'a>(
    packed: Option<&Packed>,
    [m, k]: [usize; 2],
    filters: impl FnOnce() -> Option<Matrix<'a, f32>>,
    right: Right<'_, f32>,
    out: &mut [f32],
    how: How<'_, f32>,
) {
    let turns = turns::<f32>([m, k, right.columns()]);
    match (packed, right) {
        (Some(Packed::Left(left)), right) => product(left, right, out, how),
        (Some(Packed::Turned(turned)), Right::Matrix(matrix)) if turns => {
            product_turned(turned, &matrix, out, how.alone, how.finish);
        }
        (Some(Packed::Turned(turned)), Right::Panels(panels)) if turns => {
            product_turned(turned, panels, out, how.alone, how.finish);
        }
        // Not packed, or for other sizes.
        (_, right) => {
            if let Some(filters) = filters() {
                product(filters, right, out, how);
            }
        }
    }
}

/// Convolves `data` with `filters`; padding is zero. Calls `finish` for all elements.
pub(crate) fn convolve(
    sizes: Sizes,
    window: &Window,
    data: &[f32],
    filters: Filters<'_>,
    out: &mut [f32],
    finish: Option<Finish<'_>>,
) {
    if out.is_empty() {
        return;
    }
    if sizes.channels == 0 {
        out.fill(0.0);
        if let Some(finish) = finish {
            finish.part(0, out);
        }
        return;
    }
    let lying = filters.lying;
    if let Some(padded) = Padded::new(sizes, window) {
        return lying
            .elements()
            .map_or((), |filters| padded.run(data, filters, out, finish));
    }
    if let Some(depthwise) = Depthwise::new(sizes, window).filter(Depthwise::pays) {
        return lying
            .elements()
            .map_or((), |filters| depthwise.run(data, filters, out, finish));
    }
    let kept = filters.transformed;
    if let Some(transformed) = kept.and_then(|kept| kept.get(sizes, window, lying)) {
        let filters = (transformed, lying);
        return winograd::convolve(sizes, window, data, filters, out, finish);
    }
    let laid = Laid::new(sizes, window);
    if laid.is_none()
        && let Some(direct) = Direct::new(sizes, window).filter(Direct::pays)
    {
        return lying
            .elements()
            .map_or((), |filters| direct.run(data, filters, out, finish));
    }
    products(sizes, window, data, filters, laid.as_ref(), out, finish);
}

/// A product of filters and patches, from planes `laid` out if there are any, for each group of each
/// image.
fn products(
    sizes: Sizes,
    window: &Window,
    data: &[f32],
    filters: Filters<'_>,
    laid: Option<&Laid>,
    out: &mut [f32],
    finish: Option<Finish<'_>>,
) {
    let (m, k, n) = (
        sizes.filters,
        sizes.channels * window.taps(),
        window.outputs(),
    );
    let matrix = |group: usize| {
        let filters = filters.lying.elements()?;
        Some(Matrix::new(&filters[group * m * k..][..m * k], m, k))
    };
    // Filters that are read once are read as they lie.
    let packed = match n {
        1 => None,
        _ => filters.packed(sizes.groups, &matrix, turns::<f32>([m, k, n])),
    };
    let inputs = sizes.channels * window.inputs();
    let one = |image: usize, out: &mut [f32], alone: bool| {
        let group = image % sizes.groups;
        let data = &data[image * inputs..][..inputs];
        let shifted = Shifted::new(finish, image * m * n);
        let how = How {
            alone,
            finish: shifted.as_ref().map(Shifted::as_finish),
            ..How::default()
        };
        let packed = packed.map(|packed| &packed[group]);
        let mut by = |right: Right<'_, f32>| {
            filtered(packed, [m, k], || matrix(group), right, out, how);
        };
        if window.is_pointwise() || n == 1 && window.is_whole() {
            by(Right::Matrix(Matrix::new(data, k, n)));
        } else if let Some(laid) = laid {
            laid.columns(data, alone, |columns| by(Right::Panels(columns)));
        } else {
            let channels = sizes.channels;
            by(Right::Panels(&Columns {
                window,
                channels,
                data,
            }));
        }
    };
    if sizes.images() < MANY {
        let images = out.chunks_mut(m * n).enumerate();
        images.for_each(|(image, out)| one(image, out, false));
    } else {
        let images = out.par_chunks_mut(m * n).enumerate();
        images.share(|(image, out)| one(image, out, true));
    }
}
