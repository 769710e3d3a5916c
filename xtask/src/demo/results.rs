//! Results of the workers: the final result of each item, and the logs of accepted and rejected
//! writes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use super::DemoError;
use crate::Error;

/// The final result of one item.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ItemResult {
    pub(super) item: u64,
    pub(super) token: u64,
    pub(super) instance: String,
    pub(super) source: String,
    pub(super) total_items: u64,
    pub(super) files: Vec<FileResult>,
}

/// The number of lines of one file, by its path in the counted folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FileResult {
    pub(super) path: String,
    pub(super) lines: u64,
}

/// An accepted write of an item's result: a line of `accepted.log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acceptance {
    pub(super) item: u64,
    pub(super) token: u64,
    pub(super) instance: String,
    pub(super) source: String,
    pub(super) n_files: u64,
    pub(super) n_lines: u64,
}

/// Contents of the workers' output folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Results {
    pub(super) items: BTreeMap<u64, ItemResult>,
    pub(super) accepted: Vec<Acceptance>,
    pub(super) n_rejected: usize,
}

impl Results {
    /// Reads the output folder. Result files are complete, because they appear by a rename.
    pub(super) fn read(folder: &Path) -> Result<Results, Error> {
        let mut items = BTreeMap::new();
        let list = || fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>();
        for entry in list().map_err(Error::file("list", folder))? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("item-").and_then(|name| name.strip_suffix(".json"));
            if let Some(item) = number.and_then(|number| number.parse().ok()) {
                items.insert(item, read_item(&entry.path(), item)?);
            }
        }
        Ok(Results {
            items,
            accepted: read_accepted(&folder.join("accepted.log"))?,
            n_rejected: read_log(&folder.join("rejected.log"))?.lines().count(),
        })
    }

    /// Returns the items without a result, or `None` if the number of items is unknown.
    pub(super) fn missing(&self) -> Option<Vec<u64>> {
        let total = self.items.values().next()?.total_items;
        Some((0..total).filter(|item| !self.items.contains_key(item)).collect())
    }
}

fn read_item(path: &Path, item: u64) -> Result<ItemResult, Error> {
    let content = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let refuse = |reason: String| DemoError::Result {
        path: path.to_owned(),
        content: content.clone(),
        reason,
    };
    let result: ItemResult =
        serde_json::from_str(&content).map_err(|error| refuse(error.to_string()))?;
    if result.item != item {
        return Err(refuse(format!("the file is named after item {item}")).into());
    }
    Ok(result)
}

fn read_accepted(path: &Path) -> Result<Vec<Acceptance>, Error> {
    let log = read_log(path)?;
    log.lines()
        .map(|line| {
            parse_acceptance(line).ok_or_else(|| {
                let reason = "expected `item token instance source files lines`".to_owned();
                DemoError::Result { path: path.to_owned(), content: line.to_owned(), reason }.into()
            })
        })
        .collect()
}

fn parse_acceptance(line: &str) -> Option<Acceptance> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [item, token, instance, source, n_files, n_lines] = words.as_slice() else { return None };
    Some(Acceptance {
        item: item.parse().ok()?,
        token: token.parse().ok()?,
        instance: (*instance).to_owned(),
        source: (*source).to_owned(),
        n_files: n_files.parse().ok()?,
        n_lines: n_lines.parse().ok()?,
    })
}

/// Reads the complete lines of a log. A missing log is empty.
fn read_log(path: &Path) -> Result<String, Error> {
    let mut log = match fs::read_to_string(path) {
        Ok(log) => log,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::file("read", path)(error)),
    };
    // A line without an end is still being appended.
    log.truncate(log.rfind('\n').map_or(0, |end| end + 1));
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: &str = r#"{"item":1,"token":7,"instance":"worker-1","source":"NORMAL","total_items":3,
        "files":[{"path":"a/b.rs","lines":12}]}"#;

    fn read(files: &[(&str, &str)]) -> Result<Results, Error> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        Results::read(folder.path())
    }

    #[test]
    fn output_folder_is_read() {
        let results = read(&[
            ("item-1.json", ITEM),
            ("item-1.lock", ""),
            ("item-2.json.tmp", "{"),
            ("accepted.log", "1 7 worker-1 NORMAL 1 12\n2 8 worker-2 FAILOVER 0 0\n3 9 half"),
            ("rejected.log", "1 6 worker-2 NORMAL 1 12\n"),
        ])
        .unwrap();
        assert_eq!(results.items[&1].files, [FileResult { path: "a/b.rs".to_owned(), lines: 12 }]);
        assert_eq!(results.missing(), Some(vec![0, 2]));
        let accepted: Vec<_> =
            results.accepted.iter().map(|a| (a.item, a.token, &*a.source)).collect();
        assert_eq!(
            accepted,
            [(1, 7, "NORMAL"), (2, 8, "FAILOVER")],
            "an incomplete line is ignored"
        );
        assert_eq!(results.n_rejected, 1);
    }

    #[test]
    fn number_of_items_is_unknown_for_an_empty_folder() {
        let results = read(&[]).unwrap();
        assert_eq!((results.missing(), results.n_rejected), (None, 0));
    }

    #[test]
    fn invalid_results_are_rejected_with_the_file_name() {
        let rows = [
            ("not JSON", "item-1.json", "{", "item-1.json contains \"{\": EOF while parsing"),
            ("another item", "item-2.json", ITEM, "the file is named after item 2"),
            ("a field missing", "accepted.log", "1 7 worker-1 NORMAL 1\n", "expected `item token"),
            (
                "no number",
                "accepted.log",
                "1 x worker-1 NORMAL 1 12\n",
                "accepted.log contains \"1 x",
            ),
        ];
        for (case, name, content, expected) in rows {
            let message = read(&[(name, content)]).unwrap_err().to_string();
            assert!(message.contains(expected), "{case}: {message}");
        }
    }
}
