//! libFuzzer on `feed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::feed::run(bytes));
