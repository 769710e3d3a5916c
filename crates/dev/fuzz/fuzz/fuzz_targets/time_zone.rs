//! libFuzzer on `time_zone`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::time_zone::run(bytes));
