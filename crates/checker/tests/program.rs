//! Tests of the program: its output and its exit codes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Returns the lines of a run without events; `more` comes before its end.
fn history(more: &str) -> String {
    let meta = r#"{"p":"nemesis","seq":0,"mt":0,"wt":0,"ty":"run_meta","v":1,"run":"<quiet>","seed":7,"backend":"embedded","session_timeout_ms":4000}"#;
    let end = r#"{"p":"nemesis","seq":1,"mt":9000000000,"wt":9000,"ty":"end"}"#;
    format!("{meta}\n{more}{end}\n")
}

const BROKEN: &str = concat!(
    r#"{"p":"registry","seq":0,"mt":1000000,"wt":1,"ty":"reg","zxid":1,"sid":5,"ops":[{"op":"create","path":"/j/ledger/0","data":"{\"state\":\"idle\",\"token\":3}","ephemeral":false}]}"#,
    "\n"
);

fn run(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ejob-check"))
        .current_dir(dir)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn exit_code_is_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("valid.jsonl"), history("")).unwrap();
    fs::write(dir.path().join("invalid.jsonl"), history(BROKEN)).unwrap();
    fs::write(dir.path().join("unknown.jsonl"), history("nonsense\n")).unwrap();
    let rows: [(&[&str], i32, &str); 9] = [
        (&["valid.jsonl"], 0, "valid: <quiet>, seed 7, embedded, 2 records\n"),
        (
            &["invalid.jsonl"],
            1,
            "S1 at 0.001 s, revision 1, j item 0: the record begins as Idle, token 3",
        ),
        (&["unknown.jsonl"], 2, "not acceptable: unknown.jsonl:2: "),
        (&["valid.jsonl", "--scale", "3", "--blind", "--deduplicated"], 0, "valid"),
        (&["--help"], 0, "Exit codes: 0 valid, 1 invalid"),
        (&["missing.jsonl"], 3, ""),
        (&[], 3, ""),
        (&["valid.jsonl", "--scale", "0"], 3, ""),
        (&["valid.jsonl", "--frobnicate"], 3, ""),
    ];
    for (arguments, code, shown) in rows {
        let output = run(dir.path(), arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{text}");
        assert!(text.contains(shown), "{arguments:?}\n{text}");
        assert_eq!(output.stderr.is_empty(), code != 3, "{arguments:?}");
    }
}

#[test]
fn reports_are_written_as_json_and_svg() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.jsonl"), history(BROKEN)).unwrap();
    let output = run(dir.path(), &[".", "--json", "report.json", "--svg", "run.svg"]);
    assert_eq!(output.status.code(), Some(1));
    let report = fs::read(dir.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["verdict"], "invalid");
    let picture = fs::read_to_string(dir.path().join("run.svg")).unwrap();
    assert!(picture.contains("invalid: &lt;quiet&gt;"), "{picture}");
    assert!(picture.contains(r#"stroke="red""#), "{picture}");

    let output = run(dir.path(), &["a.jsonl", "--json", "-"]);
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, report);
}
