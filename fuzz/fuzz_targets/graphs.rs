//! See `ovir_fuzz::graphs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ovir_fuzz::graphs::check(bytes));
