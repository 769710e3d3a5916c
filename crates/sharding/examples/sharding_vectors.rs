//! Runs golden vectors of ElasticJob's strategies and of the order of instances.
//!
//! ```text
//! $ cd crates/sharding
//! $ cargo run --example sharding_vectors -- testdata/sharding-vectors.jsonl
//! 2863 passed, 0 failed, 0 skipped
//! ```
//!
//! Takes one or more files. It prints one line for all of them on standard output, and the reason
//! of each failed or skipped row on standard error. Exit code 0: rows passed and none failed. 1: a
//! row failed, or none passed. 2: a file cannot be read, or no file was given.
#![expect(clippy::print_stdout, reason = "the result of the program")]

#[path = "../tests/golden/mod.rs"]
mod golden;

use std::process::ExitCode;

use golden::Tally;

fn main() -> ExitCode {
    match tally(std::env::args().skip(1)) {
        Ok(tally) => {
            tally.remarks.iter().for_each(|remark| eprintln!("{remark}"));
            println!("{tally}");
            if tally.failed == 0 && tally.passed > 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(why) => {
            eprintln!("{why}\nusage: vectors FILE.jsonl ...");
            ExitCode::from(2)
        }
    }
}

fn tally(files: impl ExactSizeIterator<Item = String>) -> Result<Tally, String> {
    if files.len() == 0 {
        return Err("no file was given".to_owned());
    }
    let mut all = Tally::default();
    for file in files {
        let rows = std::fs::read_to_string(&file).map_err(|why| format!("{file}: {why}"))?;
        all.add(Tally::of(&file, &rows));
    }
    Ok(all)
}
