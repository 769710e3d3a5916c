//! Runs the stories with their mutants: each story that the table of mutants names must fail.
//!
//! The test runs again alone, in a process with the mutant active, and in one without mutants, in
//! which it must pass: a test that always fails would notice nothing. The tests of the library and
//! the program `it` include this module and run their own stories.

use std::io::Write as _;
use std::process::Command;
use std::{env, fs};

use coordination::{MUTANTS, Mutant, Row, SELECTED_BY, Story};

/// Result of a story with a mutant.
struct StoryResult {
    mutant: Mutant,
    story: Story,
    fails: bool,
}

/// Runs the stories of the mutants that `MUTANTS` names, separated by commas, or of all mutants.
///
/// The file `MUTANTS_STORIES` gets a line `name<TAB>failed or passed<TAB>test` for each.
#[test]
fn stories_fail_without_their_guards() {
    let only = variable("MUTANTS").unwrap_or_default();
    let named = |row: &&Row| {
        let name = format!("{:?}", row.mutant);
        only.is_empty() || only.split(',').any(|other| other == name)
    };
    let rows = MUTANTS.iter().filter(named);
    let results: Vec<StoryResult> = rows.filter_map(run_story).collect();
    if let Some(path) = variable("MUTANTS_STORIES") {
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.expect("the file can be written");
        for StoryResult { mutant, story, fails } in &results {
            let how = if *fails { "failed" } else { "passed" };
            writeln!(file, "{mutant:?}\t{how}\t{story}").expect("the file can be written");
        }
    }
    let passed: Vec<_> = results.iter().filter(|result| !result.fails).collect();
    let lines = passed.iter().map(|r| format!("{:?}: {} passes", r.mutant, r.story));
    assert!(passed.is_empty(), "{}", lines.collect::<Vec<_>>().join("\n"));
}

#[expect(
    clippy::disallowed_methods,
    reason = "`cargo xtask mutants` selects mutants by environment variables"
)]
fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Runs the story of a mutant, if the story is a test of this program.
fn run_story(row: &Row) -> Option<StoryResult> {
    let (story, spare) = row.watcher.story()?;
    if !is_here(story) {
        return None;
    }
    let mutant = row.mutant;
    let left_out = spare.map_or(format!("{mutant:?}"), |spare| format!("{mutant:?},{spare:?}"));
    assert!(!fails(story, None), "{story} fails without mutants, too: it is no test of {mutant:?}");
    Some(StoryResult { mutant, story, fails: fails(story, Some(&left_out)) })
}

/// Returns true if the story is a test of this program: the library, or `it` with all of `tests`.
fn is_here(story: Story) -> bool {
    let is_of_library = env!("CARGO_CRATE_NAME") != "it";
    let folder = if is_of_library { "src/" } else { "tests/" };
    story.package == env!("CARGO_PKG_NAME") && story.file.starts_with(folder)
}

/// Returns the name of the test as its program lists it.
fn listed_name(story: Story) -> String {
    let module = story.file.strip_prefix("tests/").and_then(|file| file.strip_suffix(".rs"));
    module.map_or(story.test.to_owned(), |module| format!("{module}::{}", story.test))
}

/// Runs the story in a process of its own, with the named mutants or without mutants.
fn fails(story: Story, left_out: Option<&str>) -> bool {
    let program = env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    command.args(["--exact", &listed_name(story), "--test-threads", "1"]);
    match left_out {
        Some(names) => command.env(SELECTED_BY, names),
        None => command.env_remove(SELECTED_BY),
    };
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let (failed, passed) =
        (text.contains("0 passed; 1 failed"), text.contains("1 passed; 0 failed"));
    assert!(failed != passed, "{story} with {left_out:?}: {}\n{text}", output.status);
    failed
}
