//! What others have found, read from the files in which they have left it.

use std::collections::BTreeMap;
use std::fs;

use crate::hunt::Finding;

/// What the exhaustive model has looked for, and found.
pub(crate) type Modelled = BTreeMap<String, Option<Finding>>;
/// Whether the story of each mutant has failed.
pub(crate) type Stories = BTreeMap<String, bool>;

pub(crate) fn model(path: &str) -> Result<Modelled, String> {
    let finding = |property: &str, place: &str| {
        let found = Finding { property: property.to_owned(), place: place.to_owned() };
        Ok((property != "-").then_some(found))
    };
    rows(path, finding)
}

pub(crate) fn stories(path: &str) -> Result<Stories, String> {
    let told = |how: &str, _: &str| match how {
        "failed" => Ok(true),
        "passed" => Ok(false),
        other => Err(format!("{path}: a story has failed or passed, not {other:?}")),
    };
    rows(path, told)
}

/// Reads lines of three fields: the name of a mutant, and two that `read` understands.
fn rows<T>(
    path: &str,
    read: impl Fn(&str, &str) -> Result<T, String>,
) -> Result<BTreeMap<String, T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let row = |line: &str| {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, what, place] = fields[..] else {
            return Err(format!("{path}: a line has three fields, not {line:?}"));
        };
        Ok((name.to_owned(), read(what, place)?))
    };
    text.lines().map(row).collect()
}
