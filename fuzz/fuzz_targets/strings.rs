//! See `ovir_fuzz::paths::strings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ovir_fuzz::paths::strings(bytes));
