//! Category `pooling` of the specification.

mod adaptive;
mod avg_pool;
mod max_pool;
mod shape;

use crate::op::{OpDef, def, def_with};
use avg_pool::AvgPool;
use max_pool::{MaxPool, MaxPoolOne};

/// What every layer with a window that slides has to say.
const WINDOW: [&str; 2] = ["kernel", "strides"];

pub(super) const OPS: &[OpDef] = &[
    def::<adaptive::AdaptiveAvgPool>("AdaptiveAvgPool", &[8]),
    def::<adaptive::AdaptiveMaxPool>("AdaptiveMaxPool", &[8]),
    def_with::<AvgPool>("AvgPool", &[1], avg_pool::read_1).requires(&WINDOW),
    def_with::<AvgPool>("AvgPool", &[14], avg_pool::read_14).requires(&WINDOW),
    def::<AvgPool>("AvgPool", &[16]).requires(&WINDOW),
    def::<MaxPoolOne>("MaxPool", &[1]).requires(&WINDOW),
    def::<MaxPool>("MaxPool", &[8]).requires(&WINDOW),
    def_with::<MaxPool>("MaxPool", &[14], max_pool::read_14).requires(&WINDOW),
];
