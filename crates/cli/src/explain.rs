//! `explain`: the keys of job files, from the table that `docs/job-file.md` is checked against.

use clap::Args;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::output::{Column, Page, Table, Text, pairs};
use crate::text::did_you_mean;

/// One key a line: path, scope, type and range, default, example, key of ElasticJob, and the
/// version that has the key since; with tabs between them. A key that ElasticJob does not have is
/// `-`.
const TABLE: &str = include_str!("fields.tsv");

/// A key of a job file.
#[derive(Clone, Copy, Debug)]
struct Field {
    path: &'static str,
    scope: &'static str,
    valid: &'static str,
    default: &'static str,
    example: &'static str,
    java: Option<&'static str>,
    since: &'static str,
}

impl Field {
    /// Returns the last part of the path.
    fn key(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// Returns true if a name is the path, or the end of it, such as `retry.max_attempts`.
    fn has_name(&self, name: &str) -> bool {
        let is_end = |start: &str| start.is_empty() || start.ends_with('.');
        self.path.strip_suffix(name).is_some_and(is_end)
    }

    /// Returns the command that changes the stored value. The name of a job cannot be changed, and
    /// `catch_up` is one value there.
    fn set_by(&self) -> Option<String> {
        let is_set = self.scope == "stored" && self.key() != "name";
        let is_whole = self.path.matches('.').count() == 1;
        (is_set && is_whole).then(|| match self.key() {
            "catch_up" => "ejob config set NAME \"catch_up=3 in 1h\"".to_owned(),
            key => format!("ejob config set NAME {key}=VALUE"),
        })
    }

    fn scope_text(&self) -> &'static str {
        match self.scope {
            "stored" => "stored in the registry with the job, for all its instances",
            "local" => "local to the worker that reads the file",
            _ => "the whole file",
        }
    }

    fn document(&self) -> Value {
        json!({
            "key": self.path,
            "scope": self.scope,
            "type": self.valid,
            "default": self.default,
            "example": self.example,
            "set_by": self.set_by(),
            "java": self.java,
            "since": self.since,
        })
    }

    fn text(&self) -> Text {
        pairs([
            ("key", self.path.to_owned()),
            ("type", self.valid.to_owned()),
            ("default", self.default.to_owned()),
            ("example", format!("{} = {}", self.key(), self.example)),
            ("scope", self.scope_text().to_owned()),
            ("set by", self.set_by().unwrap_or_default()),
            ("ElasticJob", self.java.unwrap_or_default().to_owned()),
            ("since", self.since.to_owned()),
        ])
    }
}

fn fields() -> impl Iterator<Item = Field> {
    TABLE.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        let mut cell = || cells.next();
        Some(Field {
            path: cell()?,
            scope: cell()?,
            valid: cell()?,
            default: cell()?,
            example: cell()?,
            java: Some(cell()?).filter(|key| *key != "-"),
            since: cell()?,
        })
    })
}

/// Returns true for a key of jobs that is not stored in the registry, such as `timeout`.
pub(crate) fn is_local_key(name: &str) -> bool {
    let path = format!("jobs.{name}");
    fields().any(|field| field.scope == "local" && field.path == path)
}

/// Returns the paths of all keys.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    fields().map(|field| field.path.strip_prefix("jobs.").unwrap_or(field.path))
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Key such as cron or retry.max_attempts, or the key of ElasticJob, such as jobParameter
    /// [default: all keys]
    #[arg(value_name = "FIELD")]
    field: Option<String>,
}

impl ExplainArguments {
    /// Returns true if the answer is the list of all keys.
    pub(crate) fn is_list(&self) -> bool {
        self.field.is_none()
    }

    pub(crate) fn run(self) -> Result<Page, Fault> {
        let Some(name) = self.field else { return Ok(list()) };
        // A key of a job wins over keys of the same name below it, such as timeout of a handler.
        let found: Vec<Field> = match fields().find(|field| field.path == format!("jobs.{name}")) {
            Some(field) => vec![field],
            None => fields()
                .filter(|field| field.has_name(&name) || field.java == Some(&*name))
                .collect(),
        };
        if found.is_empty() {
            let hint = did_you_mean(&name, keys().chain(fields().map(|field| field.key())));
            let hint = hint.unwrap_or_else(|| "`ejob explain` lists the keys".to_owned());
            return Err(Fault::not_found(format!("there is no field {name:?}; {hint}")));
        }
        let mut text = Text::default();
        for (n, field) in found.iter().enumerate() {
            text.push_str(if n == 0 { "" } else { "\n" });
            text.push(field.text());
        }
        let documents: Vec<_> = found.iter().map(Field::document).collect();
        Ok(Page::new(text, &json!({ "fields": documents })))
    }
}

fn list() -> Page {
    let columns = [
        Column::name("FIELD"),
        Column::plain("SCOPE"),
        Column::plain("DEFAULT"),
        Column::plain("TYPE"),
        Column::plain("SINCE").extra(),
    ];
    let row = |field: Field| {
        let name = field.path.strip_prefix("jobs.").unwrap_or(field.path);
        [name, field.scope, field.default, field.valid, field.since].map(str::to_owned).to_vec()
    };
    let documents: Vec<_> = fields().map(|field| field.document()).collect();
    Page::new(Table::new(&columns, fields().map(row)), &json!({ "fields": documents }))
}

#[cfg(test)]
mod tests {
    use operations::ConfigField;

    use super::*;

    /// Removes the marks of Markdown.
    fn plain(cell: &str) -> String {
        let mut text = cell.replace("<code>\\|</code>", "|").replace("`` ` ``", "\u{1}");
        text = text.replace('`', "").replace('\u{1}', "`");
        while let Some(at) = text.find("](") {
            let (start, end) = (text[..at].rfind('['), text[at..].find(')'));
            let (start, end) = (start.expect("a link begins"), end.expect("a link ends") + at);
            text = format!("{}{}{}", &text[..start], &text[start + 1..at], &text[end + 1..]);
        }
        text.trim().to_owned()
    }

    /// Returns the rows of the tables of a page, each with its heading.
    fn rows(page: &str) -> Vec<(String, Vec<String>)> {
        let (mut heading, mut rows) = (String::new(), Vec::new());
        for line in page.lines() {
            if line.starts_with('#') {
                heading = line.trim_start_matches('#').trim().to_owned();
            } else if line.starts_with("| `") {
                let line = line.replace("\\|", "\u{2}");
                let cells = line.trim_matches('|').split('|');
                let cells = cells.map(|cell| plain(&cell.replace('\u{2}', "\\|"))).collect();
                rows.push((heading.clone(), cells));
            }
        }
        rows
    }

    #[test]
    fn keys_are_those_of_the_reference() {
        let documented: Vec<[String; 5]> = rows(include_str!("../../../docs/job-file.md"))
            .into_iter()
            .filter(|(heading, _)| !heading.starts_with("Rules of "))
            .map(|(heading, cells)| {
                let (prefix, scope) = match heading.as_str() {
                    "`registry`" => (String::new(), "file"),
                    "Keys of the process" => (String::new(), "local"),
                    "`allow`" => ("allow.".to_owned(), "file"),
                    "`groups`" => ("groups.".to_owned(), "file"),
                    "Stored keys of `jobs`" => ("jobs.".to_owned(), "stored"),
                    "Local keys of `jobs`" => ("jobs.".to_owned(), "local"),
                    "`catch_up`" => ("jobs.catch_up.".to_owned(), "stored"),
                    table => (format!("jobs.{}.", table.trim_matches('`')), "local"),
                };
                let (last, middle) = (cells.len() - 1, cells.get(2).filter(|_| cells.len() > 3));
                let default = middle.map_or("none", String::as_str);
                let path = format!("{prefix}{}", cells[0]);
                [&path, scope, &cells[1], default, &cells[last]].map(str::to_owned)
            })
            .collect();
        let known: Vec<[String; 5]> = fields()
            .map(|Field { path, scope, valid, default, example, .. }| {
                [path, scope, valid, default, example].map(str::to_owned)
            })
            .collect();
        assert_eq!(known, documented);
        assert_eq!(known.len(), TABLE.lines().count());
    }

    #[test]
    fn each_field_of_a_configuration_is_explained() {
        for field in ConfigField::all() {
            let found: Vec<_> = fields().filter(|known| known.set_by().is_some()).collect();
            let found = found.iter().find(|known| known.key() == field.name());
            assert!(found.is_some(), "{}", field.name());
        }
    }

    #[test]
    fn keys_of_elasticjob_are_those_of_the_reference() {
        let page = include_str!("../../../docs/configuration.md");
        let documented: Vec<String> = rows(page)
            .into_iter()
            .flat_map(|(_, mut cells)| cells.drain(..1).collect::<Vec<_>>())
            .collect();
        for key in fields().filter_map(|field| field.java) {
            let is_documented = documented.iter().any(|keys| keys.split(", ").any(|k| k == key));
            assert!(is_documented, "{key}");
        }
    }

    #[test]
    fn each_key_has_the_version_that_introduced_it() {
        let mut versions: Vec<&str> = fields().map(|field| field.since).collect();
        versions.sort_unstable();
        versions.dedup();
        let changelog = include_str!("../../../CHANGELOG.md");
        for version in versions {
            let heading = match version {
                "unreleased" => "## Unreleased\n".to_owned(),
                version => format!("## {version} - "),
            };
            assert!(changelog.contains(&heading), "{version}");
        }
        let since = |key: &str| fields().find(|field| field.path == key).map(|field| field.since);
        assert_eq!(since("jobs.cron"), Some("0.1.0"));
        assert_ne!(since("jobs.server_ttl"), Some("0.1.0"), "it came after the first release");
    }

    #[test]
    fn field_is_found_by_its_names_and_typos_are_answered() {
        let rows = [
            ("cron", Ok("jobs.cron")),
            ("jobs.cron", Ok("jobs.cron")),
            ("jobParameter", Ok("jobs.job_parameter")),
            ("retry.max_attempts", Ok("jobs.retry.max_attempts")),
            ("max_attempts", Ok("jobs.retry.max_attempts")),
            ("timeout", Ok("jobs.timeout")),
            ("crom", Err("there is no field \"crom\"; did you mean cron?")),
            ("max_atempts", Err("there is no field \"max_atempts\"; did you mean max_attempts?")),
            ("xyz", Err("there is no field \"xyz\"; `ejob explain` lists the keys")),
        ];
        for (name, expected) in rows {
            let page = ExplainArguments { field: Some(name.to_owned()) }.run();
            match (page, expected) {
                (Ok(page), Ok(path)) => assert_eq!(page.json["fields"][0]["key"], path, "{name}"),
                (Err(fault), Err(text)) => assert_eq!(fault.to_string(), text),
                (page, _) => panic!("{name}: {page:?}"),
            }
        }
        let both = ExplainArguments { field: Some("read_timeout".to_owned()) }.run().unwrap();
        assert_eq!(both.json["fields"].as_array().map(Vec::len), Some(2));
    }
}
