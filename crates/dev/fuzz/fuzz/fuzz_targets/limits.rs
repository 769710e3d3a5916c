//! libFuzzer on `limits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::limits::run(bytes));
