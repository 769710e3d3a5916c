//! Runs golden vectors of Quartz's cron expressions.
//!
//! ```text
//! $ cargo run -p trigger --release --example cron_vectors -- crates/trigger/testdata/quartz-cron-vectors.jsonl
//! 7808 passed, 0 failed, 31 skipped
//! ```
//!
//! Takes any number of files, prints one line for all of them on standard output and the reason of
//! each failed or skipped row on standard error. Rows noted `artefact:*` are skipped; rows noted
//! `quirk:lenient-parse` pass when they are rejected, or accepted with exactly Quartz's answer.
//! Exits with 0 if rows passed and none failed, with 1 if a row failed or none passed, with 2 if a
//! file cannot be read or none is named.
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
        return Err("no file is named".to_owned());
    }
    let mut all = Tally::default();
    for file in files {
        let rows = std::fs::read_to_string(&file).map_err(|why| format!("{file}: {why}"))?;
        all.add(Tally::of(&file, &rows));
    }
    Ok(all)
}
