//! Error of reading a file, with the line, the job, the field and the valid values.

use std::fmt;
use std::path::PathBuf;

use super::keys;
use super::search::Found;
use super::tree::{Mistake, Node, Reason, Step};
use crate::Invalid;

/// Error of reading a file of jobs. No job was registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobFileError {
    /// The file cannot be read.
    #[error("{} cannot be read", .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The extension of the file is unknown.
    #[error(
        "{} is of no known form; valid is a name that ends in .toml, .yaml or .yml",
        .path.display()
    )]
    Form {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is not valid TOML or YAML.
    #[error("the file is not valid {form}: {reason}")]
    Syntax {
        /// TOML or YAML.
        form: &'static str,
        /// Position and reason, without the text of the file.
        reason: String,
    },
    /// A table has an unknown key.
    #[error(
        "line {line}: {}{key} is an unknown key of {}; {}",
        OfJob(.job), Table(.job, .key), Suggestion(.job, .key, .closest, .known)
    )]
    UnknownKey {
        /// Line of the key, counted from 1.
        line: usize,
        /// Name of the job, if the key is within one.
        job: Option<String>,
        /// Path of the key within the job or the file.
        key: String,
        /// Most similar valid key, if there is one.
        closest: Option<&'static str>,
        /// Valid keys of the table.
        known: &'static [&'static str],
    },
    /// A value of `allow`, or of the file as a whole, is invalid.
    #[error("line {line}: {invalid}")]
    File {
        /// Line of the value, counted from 1.
        line: usize,
        /// The field, its value, and the valid values.
        invalid: Invalid,
    },
    /// The address of the registry is one that the program cannot use.
    #[error("line {line}: registry: {reason}")]
    Registry {
        /// Line of the address, counted from 1.
        line: usize,
        /// The reason, with what would be valid.
        reason: String,
    },
    /// A value of a job is invalid.
    #[error("line {line}: job {job:?}: {invalid}")]
    Job {
        /// Line of the value, counted from 1; the line of the job if the value is missing.
        line: usize,
        /// Name of the job; `jobs[N]`, counted from 0, if it has none.
        job: String,
        /// The field, its value, and the valid values.
        invalid: Invalid,
    },
    /// The file has several mistakes. Each is a line of the text.
    #[error("{}", Lines(.errors))]
    Several {
        /// The mistakes, by their lines; at most 100.
        errors: Vec<JobFileError>,
    },
}

impl JobFileError {
    /// Returns the mistakes one by one; an error of one mistake is the only one.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        if let Self::Several { errors } = self {
            errors.iter()
        } else {
            std::slice::from_ref(self).iter()
        }
    }

    pub(super) fn all(mut errors: Vec<Self>) -> Self {
        match errors.len() {
            1 => errors.remove(0),
            _ => Self::Several { errors },
        }
    }

    /// Returns the line of the mistake, or 0 if it is that of the whole file.
    pub(super) fn line(&self) -> usize {
        match self {
            Self::UnknownKey { line, .. }
            | Self::File { line, .. }
            | Self::Registry { line, .. }
            | Self::Job { line, .. } => *line,
            Self::Read { .. } | Self::Form { .. } | Self::Syntax { .. } | Self::Several { .. } => 0,
        }
    }

    /// Names the job of the mistake, if it is within one.
    pub(super) fn of_job(mut self, name: Option<&String>) -> Self {
        if let (Self::Job { job, .. } | Self::UnknownKey { job: Some(job), .. }, Some(name)) =
            (&mut self, name)
        {
            job.clone_from(name);
        }
        self
    }
}

struct Lines<'a>(&'a [JobFileError]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            let separator = if n == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

struct OfJob<'a>(&'a Option<String>);

impl fmt::Display for OfJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |job| write!(f, "job {job:?}: "))
    }
}

/// The table of a key: its job, if it is within one, and the path of the key.
struct Table<'a>(&'a Option<String>, &'a str);

impl Table<'_> {
    /// Returns the path of the table in the file, without indices: `jobs.retry`.
    fn path(&self) -> String {
        let jobs = self.0.as_ref().map(|_| "jobs");
        let (tables, _) = self.1.rsplit_once('.').unwrap_or_default();
        let tables = tables.split('.').filter_map(|table| table.split('[').next());
        let path = jobs.into_iter().chain(tables).filter(|table| !table.is_empty());
        path.collect::<Vec<_>>().join(".")
    }

    fn key(&self) -> &str {
        self.1.rsplit_once('.').map_or(self.1, |(_, key)| key)
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        match path.rsplit('.').next().unwrap_or_default() {
            "" => f.write_str("the file"),
            "jobs" => f.write_str("a job"),
            table => write!(f, "the table {table}"),
        }
    }
}

struct Suggestion<'a>(&'a Option<String>, &'a str, &'a Option<&'static str>, &'a [&'static str]);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(job, key, closest, known) = self;
        let table = Table(job, key);
        if let Some(place) = keys::other_place(&table.path(), table.key()) {
            return f.write_str(&place);
        }
        match closest {
            Some(closest) => write!(f, "did you mean {closest}?"),
            None => write!(f, "valid is one of {}", known.join(", ")),
        }
    }
}

/// Parses the path of the field of an error: `retry.first_delay`, `error_handlers[1].url`.
pub(super) fn steps(invalid: &Invalid) -> Vec<Step> {
    // `the command of script` and `the program of script` are no keys.
    let field = if invalid.field.ends_with(" of script") { "script" } else { &invalid.field };
    let keys = field.split('.').flat_map(|part| {
        let (key, index) = part.split_once('[').unwrap_or((part, ""));
        let index = index.trim_end_matches(']').parse().ok().map(Step::Index);
        std::iter::once(Step::Key(key.to_owned())).chain(index)
    });
    keys.collect()
}

/// Formats the path of a value: `retry.first_delay`, `error_handlers[1].url`.
fn path_text(path: &[Step]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Key(key) if text.is_empty() => key.clone(),
        Step::Key(key) => format!("{text}.{key}"),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}

/// Converts a mistake to an error with the line, the job, the field, its value and the valid
/// values.
pub(super) fn describe(tree: &Node, mistake: &Mistake) -> Found {
    let mut path = mistake.path();
    match &mistake.reason {
        Reason::Missing(key) => path.push(Step::Key((*key).to_owned())),
        Reason::Unknown { key, .. } => path.push(Step::Key(key.clone())),
        Reason::Unfit | Reason::Unusable { .. } => {}
    }
    let line = tree.line_of(&path);
    let (job, field) = match &path[..] {
        [Step::Key(jobs), Step::Index(n), field @ ..] if jobs == "jobs" && !field.is_empty() => {
            let job = tree.get("jobs").and_then(|jobs| jobs.elements().get(*n));
            let name = job.and_then(|job| job.get("name")).and_then(Node::text);
            (Some(name.map_or_else(|| format!("jobs[{n}]"), str::to_owned)), field)
        }
        _ => (None, &path[..]),
    };
    let field = match path_text(field) {
        top if top.is_empty() => "the file".to_owned(),
        field => field,
    };
    let invalid = match &mistake.reason {
        Reason::Unknown { key, known } => {
            let closest = keys::closest(key, known);
            let error = JobFileError::UnknownKey { line, job, key: field, closest, known };
            return Found { path, error: Box::new(error) };
        }
        Reason::Unfit => Invalid::new(field, tree.shown_at(&path), keys::valid(&path)),
        Reason::Unusable { found, valid } => Invalid::new(field, found, valid.clone()),
        Reason::Missing(_) => Invalid::new(field, "missing", keys::valid(&path)),
    };
    let error = match job {
        Some(job) => JobFileError::Job { line, job, invalid },
        None => JobFileError::File { line, invalid },
    };
    Found { path, error: Box::new(error) }
}
