//! See `ovir_fuzz::paths::onnx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ovir_fuzz::paths::onnx(bytes));
