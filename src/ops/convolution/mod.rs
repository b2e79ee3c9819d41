//! Category `convolution` of the specification.

mod binary_convolution;
#[allow(clippy::module_inception)] // the operation has the category's name
mod convolution;
mod convolution_backprop_data;
mod deformable_convolution;
mod filters;

use crate::op::{OpDef, def, def_with};
use convolution::Convolution;
use convolution_backprop_data::ConvolutionBackpropData;
use deformable_convolution::DeformableConvolution;

/// What layers say of their windows, unless a shape that is asked for makes up for the rest.
const WINDOW: [&str; 4] = ["strides", "dilations", "pads_begin", "pads_end"];

pub(super) const OPS: &[OpDef] = &[
    def::<binary_convolution::BinaryConvolution>("BinaryConvolution", &[1]).requires(&WINDOW),
    def::<Convolution>("Convolution", &[1]).requires(&WINDOW),
    def::<ConvolutionBackpropData>("ConvolutionBackpropData", &[1]).requires(&["strides"]),
    def_with::<DeformableConvolution>(
        "DeformableConvolution",
        &[1],
        deformable_convolution::read_1,
    )
    .requires(&WINDOW),
    def::<DeformableConvolution>("DeformableConvolution", &[8]).requires(&WINDOW),
    def_with::<Convolution>("GroupConvolution", &[1], convolution::read_groups).requires(&WINDOW),
    def_with::<ConvolutionBackpropData>(
        "GroupConvolutionBackpropData",
        &[1],
        convolution_backprop_data::read_groups,
    )
    .requires(&["strides"]),
];
