//! Tests that the table is complete and that each site still matches.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use crate::Watcher::Script;
use crate::copy::{by_file, replaced};
use crate::{MUTANTS, Mutant, Row, write_copy};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_default()
}

#[test]
fn each_site_matches_exactly_once() {
    for (path, sites) in by_file() {
        let text = read(path);
        assert!(!text.is_empty(), "{path} does not exist or is empty");
        if let Err(error) = replaced(path, &text, &sites) {
            panic!("{error}");
        }
    }
}

/// Guards of steps have no site of their own: one file of the overlay finds them by their step.
#[test]
fn each_mutant_has_a_site() {
    let guards = include_str!("../overlay/coordination/src/mutant/guards.rs");
    let replacements: Vec<_> = by_file().into_values().flatten().map(|site| site.to).collect();
    for mutant in Mutant::ALL {
        let name = format!("{mutant:?}");
        let is_named = |text: &str| {
            let words = text.split(|c: char| !c.is_alphanumeric());
            words.into_iter().any(|word| word == name)
        };
        let found = is_named(guards) || replacements.iter().any(|text| is_named(text));
        assert!(found, "{name} has no site");
    }
}

#[test]
fn each_mutant_has_one_complete_row() {
    let rows: Vec<_> = MUTANTS.iter().map(|row| row.mutant).collect();
    assert_eq!(
        rows,
        Mutant::ALL,
        "the table needs one row for each mutant, in the order of the list"
    );
    for row in MUTANTS {
        let Row { mutant, properties, story, watcher } = row;
        let reason = watcher.reason();
        assert!(!properties.is_empty(), "{mutant:?} has no property");
        assert!(story.len() > 10, "{mutant:?}: story {story:?} is too short");
        let explained = reason.is_none_or(|reason| reason.len() > 20);
        assert!(explained, "{mutant:?}: reason {reason:?} is too short");
        assert!(mutant.leaves_out().ends_with('.'), "{mutant:?} has no description");
    }
}

#[test]
fn each_scenario_test_and_script_exists() {
    let corpus = read("crates/dev/simulation/corpus/sim.txt");
    for row in MUTANTS {
        if let Some((story, _)) = row.watcher.story() {
            let text = read(&format!("crates/{}/{}", story.package, story.file));
            let name = story.test.rsplit("::").next().unwrap_or_default();
            assert!(text.contains(&format!("fn {name}()")), "{:?}: {story}", row.mutant);
        }
        if let Script(file) = row.watcher {
            assert!(corpus.contains(&format!("script {file} ")), "{:?}: {file}", row.mutant);
        }
    }
}

#[test]
fn product_sources_have_no_trace_of_mutants() {
    let sources = [
        "coordination",
        "dev/model",
        "dev/promises",
        "dev/simulation",
        "job-history",
        "lite",
        "operations",
        "testkit",
    ];
    let sources = sources.map(|folder| format!("crates/{folder}"));
    let mut folders = sources.map(|folder| workspace().join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of| of == "rs" || of == "toml") {
                let text = fs::read_to_string(&path).expect("the file can be read");
                assert!(!text.contains("mutant::"), "{}", path.display());
                assert!(!text.contains("\"mutants\""), "{}", path.display());
            }
        }
    }
}

#[test]
fn second_copy_keeps_unchanged_files_and_removes_stale_ones() {
    let folder = env::temp_dir().join(format!("mutants-{}", process::id()));
    let workspace = workspace();
    write_copy(&workspace, &folder).expect("the copy can be written");
    let switched = folder.join("crates/coordination/src/protocol/ledger/claims.rs");
    let text = fs::read_to_string(&switched).expect("the file exists");
    assert!(text.contains("mutant::is("), "{} has no replaced site", switched.display());
    let written = |path: &Path| {
        fs::metadata(path)
            .and_then(|data| data.modified())
            .expect("the file has a modification time")
    };
    let before = written(&switched);
    let stale = folder.join("crates/coordination/src/stale.rs");
    fs::write(&stale, "").expect("the file can be written");
    write_copy(&workspace, &folder).expect("the copy can be written again");
    assert_eq!(written(&switched), before, "an unchanged file was written again");
    assert!(!stale.exists(), "a stale file was not removed");
    fs::remove_dir_all(&folder).expect("the copy can be removed");
}
