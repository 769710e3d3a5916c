//! The same seed gives the same history in one process, on two threads, and in two processes.

use std::process::Command;
use std::thread;

use simulation::chaos::{ChaosPlan, run_seed};
use testkit::harness::{Fault, Scheduled};

const SEEDS: std::ops::Range<u64> = 40..43;
/// Environment variable of the child process that prints digests.
const CHILD: &str = "TESTKIT_PRINT_DIGESTS";
/// Prefix of the output line with digests.
const MARK: &str = "digests:";

fn digests() -> Vec<String> {
    SEEDS.map(|seed| format!("{:016x}", run_seed(seed).digest())).collect()
}

#[test]
fn same_digests_on_two_threads() {
    let other = thread::spawn(digests);
    let here = digests();
    assert_eq!(here, other.join().unwrap());
    let mut different = here.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), here.len(), "histories of different seeds differ");
}

/// Addresses and hash keys differ between two processes; they must not affect a history.
#[test]
fn same_digests_in_two_processes() {
    if std::env::var_os(CHILD).is_some() {
        return println!("{MARK}{}", digests().join(","));
    }
    let child = || {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program)
            .args(["--exact", "system_determinism::same_digests_in_two_processes", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let from = text.find(MARK).unwrap_or_else(|| panic!("no digests in {text}"));
        text[from..].lines().next().unwrap().to_owned()
    };
    assert_eq!(child(), format!("{MARK}{}", digests().join(",")));
}

/// A stored plan is the complete run: read back from JSON, it equals the plan.
#[test]
fn plan_round_trips_through_json() {
    let plan = ChaosPlan::draw(44);
    let stored = serde_json::to_string(&plan).unwrap();
    let read: ChaosPlan = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, plan);
    let fault = r#"{"at_ms":9000,"fault":{"kind":"pause","node":1,"for_ms":2500}}"#;
    let expected = Scheduled { at_ms: 9_000, fault: Fault::Pause { node: 1, for_ms: 2_500 } };
    assert_eq!(serde_json::from_str::<Scheduled>(fault).unwrap(), expected);
}
