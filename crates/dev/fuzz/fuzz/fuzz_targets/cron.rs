//! libFuzzer on `cron`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::cron::run(bytes));
