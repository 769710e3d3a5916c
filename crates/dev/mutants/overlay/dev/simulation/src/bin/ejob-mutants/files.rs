//! Reads the results of the model and of the stories from their files.

use std::collections::BTreeMap;
use std::fs;

use crate::hunt::Finding;

/// Findings of the exhaustive model, by mutant; `None` if the model found no violation.
pub(crate) type Modelled = BTreeMap<String, Option<Finding>>;
/// Results of the stories, by mutant: true if the story failed with the mutant.
pub(crate) type Stories = BTreeMap<String, bool>;

pub(crate) fn model(path: &str) -> Result<Modelled, String> {
    let finding = |property: &str, place: &str| {
        let found = Finding { property: property.to_owned(), place: place.to_owned() };
        Ok((property != "-").then_some(found))
    };
    rows(path, finding)
}

pub(crate) fn stories(path: &str) -> Result<Stories, String> {
    let failed = |how: &str, _: &str| match how {
        "failed" => Ok(true),
        "passed" => Ok(false),
        other => {
            Err(format!("{path}: the result of a story is {other:?}; valid is failed or passed"))
        }
    };
    rows(path, failed)
}

/// Reads lines of three fields: the name of a mutant, and two that `read` parses.
fn rows<T>(
    path: &str,
    read: impl Fn(&str, &str) -> Result<T, String>,
) -> Result<BTreeMap<String, T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let row = |line: &str| {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, what, place] = fields[..] else {
            return Err(format!("{path}: line {line:?} has not three fields separated by tabs"));
        };
        Ok((name.to_owned(), read(what, place)?))
    };
    text.lines().map(row).collect()
}
