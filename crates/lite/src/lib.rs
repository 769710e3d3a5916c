//! An elastic, sharded cron for Rust services: the scheduler facade.
