//! libFuzzer on `job_config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::job_config::run(bytes));
