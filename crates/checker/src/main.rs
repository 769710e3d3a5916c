//! `ejob-check`: judges histories in files.
fn main() {}
