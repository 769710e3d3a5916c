//! libFuzzer on `excluded_times`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::excluded_times::run(bytes));
