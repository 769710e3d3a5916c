//! Stories with one guard or rule left out: each that the table of mutants names must fail then.
//!
//! A test is run again, by itself, in a process that begins with the mutant. Every test program has this one; it takes
//! the stories of its own file.

use std::io::Write as _;
use std::process::Command;
use std::{env, fs};

use coordination::{MUTANTS, Mutant, Row, SELECTED_BY, Story};

/// What a mutant, or two, make of a story.
struct ByStory {
    mutant: Mutant,
    story: Story,
    fails: bool,
}

/// `MUTANTS` names the mutants that are meant, separated by commas; all if it is empty. `MUTANTS_STORIES` gets a line
/// `name<TAB>failed or passed<TAB>test` for each.
#[test]
fn stories_fail_without_their_guards() {
    let only = variable("MUTANTS").unwrap_or_default();
    let named = |row: &&Row| {
        let name = format!("{:?}", row.mutant);
        only.is_empty() || only.split(',').any(|other| other == name)
    };
    let rows = MUTANTS.iter().filter(named);
    let told: Vec<ByStory> = rows.filter_map(tell).collect();
    if let Some(path) = variable("MUTANTS_STORIES") {
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.expect("the file can be written");
        for ByStory { mutant, story, fails } in &told {
            let how = if *fails { "failed" } else { "passed" };
            writeln!(file, "{mutant:?}\t{how}\t{story}").expect("the file can be written");
        }
    }
    let passed: Vec<_> = told.iter().filter(|told| !told.fails).collect();
    let lines = passed.iter().map(|told| format!("{:?}: {} passes", told.mutant, told.story));
    assert!(passed.is_empty(), "{}", lines.collect::<Vec<_>>().join("\n"));
}

#[expect(clippy::disallowed_methods, reason = "the program that runs all stories says where to")]
fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Tells the story of a mutant, if it is one of this program.
fn tell(row: &Row) -> Option<ByStory> {
    let (story, spare) = row.watcher.story()?;
    if !is_here(story) {
        return None;
    }
    let mutant = row.mutant;
    let left_out = spare.map_or(format!("{mutant:?}"), |spare| format!("{mutant:?},{spare:?}"));
    Some(ByStory { mutant, story, fails: fails(story, &left_out) })
}

/// Test programs are named after their files; that of the library has the files of `src`.
fn is_here(story: Story) -> bool {
    match env!("CARGO_CRATE_NAME") {
        "coordination" => story.file.starts_with("src/"),
        program => story.file == format!("tests/{program}.rs"),
    }
}

fn fails(story: Story, left_out: &str) -> bool {
    let program = env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    command.args(["--exact", story.test, "--test-threads", "1"]).env(SELECTED_BY, left_out);
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let (failed, passed) =
        (text.contains("0 passed; 1 failed"), text.contains("1 passed; 0 failed"));
    assert!(failed != passed, "{story} with {left_out}: {}\n{text}", output.status);
    failed
}
