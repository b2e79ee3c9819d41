//! Category `image` of the specification.

mod colours;
mod coordinates;
mod grid_sample;
mod interpolate;
mod interpolate_1;
mod resize;
mod rgb_to_nv12;
mod yuv_to_rgb;

use crate::op::{OpDef, def, def_with, fixed};
use rgb_to_nv12::RgbToNv12;
use yuv_to_rgb::{Format, YuvToRgb};

pub(super) const OPS: &[OpDef] = &[
    def_with::<RgbToNv12>("BGRtoNV12", &[17], rgb_to_nv12::read_bgr),
    fixed("I420toBGR", &[8], || {
        Box::new(YuvToRgb {
            format: Format::I420,
            red: 2,
        })
    }),
    fixed("I420toRGB", &[8], || {
        Box::new(YuvToRgb {
            format: Format::I420,
            red: 0,
        })
    }),
    def::<grid_sample::GridSample>("GridSample", &[9]),
    def::<interpolate_1::Interpolate1>("Interpolate", &[1]),
    def_with::<interpolate::Interpolate>("Interpolate", &[4], interpolate::read_4),
    def::<interpolate::Interpolate>("Interpolate", &[11]),
    fixed("NV12toBGR", &[8], || {
        Box::new(YuvToRgb {
            format: Format::Nv12,
            red: 2,
        })
    }),
    fixed("NV12toRGB", &[8], || {
        Box::new(YuvToRgb {
            format: Format::Nv12,
            red: 0,
        })
    }),
    def::<RgbToNv12>("RGBtoNV12", &[17]),
];
