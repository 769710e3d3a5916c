//! Runs the contract suite on a registry from scratch, and prints each case with its result.
//!
//! `docs/write-a-registry.md` explains the files: `store` is given, `backend` is the work of the
//! author, `harness` injects faults.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod backend;
mod harness;
mod store;

use std::process::ExitCode;

use reg_center::contract::cases;

use harness::on_an_empty_store;

fn main() -> ExitCode {
    // A failure has the text of the panic.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut n_passed, mut n_failed) = (0, 0);
    for case in cases() {
        print!("guarantee {:>2}, {} ... ", case.guarantee, case.name);
        match on_an_empty_store(async |harness| case.check(harness).await) {
            Ok(()) => {
                n_passed += 1;
                println!("ok");
            }
            Err(failure) => {
                n_failed += 1;
                println!("failed\n{failure}\n");
            }
        }
    }
    println!("{n_passed} cases passed, {n_failed} failed");
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
