//! libFuzzer on `item_parameters`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::item_parameters::run(bytes));
