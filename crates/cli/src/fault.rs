//! Errors of commands, in one line each, and the exit code of the process.

use std::fmt;

use coordination::JobName;
use serde_json::{Value, json};

use crate::{suggestion, text};

/// Result of a command: the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// 0: done, or already as wanted.
    Done,
    /// 1: refused, or only partly done; for `config diff`: there are differences.
    Partly,
    /// 2: an option, an argument or a file is not valid; nothing was done.
    Usage,
    /// 3: the registry, or the store of a history, did not answer in time. The changes made before
    /// are listed.
    Unreachable,
    /// 4: the namespace, job, server, instance, item or file does not exist.
    NotFound,
    /// 5: another client has changed the job; nothing was done.
    Stale,
    /// 6: the outcome of the change is unknown.
    Unknown,
    /// 7: the credentials do not allow the request.
    NotAuthorized,
    /// 8: a diagnosis has found errors.
    Findings,
}

impl Exit {
    /// Returns the exit code of the process.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the name of the exit code in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partly => "refused",
            Self::Usage => "usage",
            Self::Unreachable => "unreachable",
            Self::NotFound => "not-found",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
            Self::NotAuthorized => "not-authorized",
            Self::Findings => "findings",
        }
    }
}

/// Error of a command: the fault and what to do, in one line.
///
/// A quotation with carets under the wrong part adds two lines. Files with several mistakes have a
/// line for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    exit: Exit,
    message: String,
    /// Messages of further faults.
    more: Vec<String>,
    missing: Option<Missing>,
}

/// A name that the namespace does not have. A similar existing one is suggested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Job(String),
    Server(String),
}

impl Missing {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Job(name) | Self::Server(name) => name,
        }
    }
}

impl Fault {
    /// Creates a fault. The message is put on one line, except for a quotation with carets.
    #[must_use]
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        let message = text::message(&message.to_string());
        Self { exit, message, more: Vec::new(), missing: None }
    }

    /// Creates the fault of a job that the namespace does not have.
    pub(crate) fn no_job(job: &JobName) -> Self {
        let missing = Some(Missing::Job(job.to_string()));
        let text = operations::Error::NoSuchJob { job: job.clone() };
        let fault = Self::not_found(format!("{text}; `ejob jobs` lists the existing ones"));
        Self { missing, ..fault }
    }

    /// Creates the fault of a server that no job knows.
    pub(crate) fn no_server(ip: &impl fmt::Display) -> Self {
        let missing = Some(Missing::Server(ip.to_string()));
        let text = format!("no job knows a server {ip}; `ejob servers` lists the existing ones");
        Self { missing, ..Self::not_found(text) }
    }

    /// Adds a question to the message, if there is one.
    pub(crate) fn with_question(self, question: Option<String>) -> Self {
        match question {
            Some(question) => Self { message: format!("{}; {question}", self.message), ..self },
            None => self,
        }
    }

    /// Returns the name that does not exist.
    pub(crate) fn missing(&self) -> Option<&Missing> {
        self.missing.as_ref()
    }

    /// Puts a question before the hint of the message.
    pub(crate) fn asking(self, question: &str) -> Self {
        let message = match self.message.rsplit_once("; ") {
            Some((what, hint)) => format!("{what}; {question} {hint}"),
            None => format!("{}; {question}", self.message),
        };
        Self { message, ..self }
    }

    /// Returns the fault with further ones of the same kind, in the order of the list.
    pub(crate) fn and(mut self, others: impl IntoIterator<Item = Self>) -> Self {
        for other in others {
            self.more.push(other.message);
            self.more.extend(other.more);
        }
        self
    }

    /// Returns the message of each fault.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.message).chain(&self.more).map(String::as_str)
    }

    /// Creates the fault of an option, an argument or a file that is not valid.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Creates the fault of a thing that does not exist.
    pub(crate) fn not_found(message: impl fmt::Display) -> Self {
        Self::new(Exit::NotFound, message)
    }

    /// Creates the fault of a request that was refused.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Partly, message)
    }

    /// Returns the exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns true if the registry did not answer, so that the same call may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self.exit, Exit::Unreachable | Exit::Unknown)
    }

    /// Returns the JSON document of the fault.
    pub(crate) fn json(&self) -> Value {
        let (kind, code, message) = (self.exit.as_str(), self.exit.code(), self.to_string());
        json!({ "error": { "kind": kind, "code": code, "message": message } })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.more.iter().try_for_each(|message| write!(f, "\n{message}"))
    }
}

impl From<operations::Error> for Fault {
    fn from(error: operations::Error) -> Self {
        use operations::Error;
        let exit = match &error {
            Error::Registry { source, .. } => return of_registry(source, &error),
            Error::Deadline { .. } => Exit::Unreachable,
            Error::NoSuchJob { job } => return Self::no_job(job),
            Error::Invalid(invalid) => {
                let question = suggestion::of_value(invalid.field, &invalid.value);
                return Self::usage(&error).with_question(question);
            }
            Error::NoSuch { .. } => Exit::NotFound,
            Error::InstancesAlive { job, instances } => {
                return Self::refused(format!(
                    "instances of job {job} are alive: {}; shut them down first with \
                     `ejob shutdown {job} --why TEXT`, or add --force",
                    instances.join(", ")
                ));
            }
            Error::Name(_) | Error::NothingNamed => Exit::Usage,
            Error::InvalidBackfill { .. } => return Self::usage(format!("--{error}")),
            Error::BackfillInProgress { job, id, .. } => {
                let text = format!("{error}: `ejob backfill {job} --cancel {id} --why TEXT`");
                return Self::refused(text);
            }
            Error::ParameterTooLarge { .. } => return Self::usage(format!("--{error}")),
            Error::InvalidAuthorOrReason { .. } => {
                return Self::usage(format!("--{}", on_the_line(&error)));
            }
            Error::StaleConfig { .. }
            | Error::AlreadyThere { .. }
            | Error::JobExists { .. }
            | Error::Contended { .. } => Exit::Stale,
            Error::Unknown { .. } => Exit::Unknown,
            Error::TooMuch { .. }
            | Error::Unreadable { .. }
            | Error::NewerRecord { .. }
            | Error::NotConfirmed { .. }
            | Error::Remains { .. }
            | Error::NotSupported { .. }
            | Error::Group { .. } => Exit::Partly,
            _ => Exit::Partly,
        };
        Self::new(exit, error)
    }
}

/// Names author and reason by their options on the command line.
fn on_the_line(error: &operations::Error) -> String {
    let text = error.to_string();
    match text.strip_prefix("who ") {
        Some(rest) => format!("by {rest}"),
        None => text,
    }
}

fn of_registry(source: &reg_center::Error, text: &dyn fmt::Display) -> Fault {
    use reg_center::Error;
    match source {
        Error::NotAuthorized { .. } => Fault::new(Exit::NotAuthorized, not_authorized(text)),
        Error::Unknown { .. } => Fault::new(Exit::Unknown, text),
        Error::Unavailable { .. } | Error::SessionLost { .. } | Error::Closed => {
            Fault::new(Exit::Unreachable, format!("{text}; check that the servers run"))
        }
        Error::TooLarge { .. } | Error::Path(_) | Error::Rejected { .. } => Fault::refused(text),
        _ => Fault::refused(text),
    }
}

fn not_authorized(text: &dyn fmt::Display) -> String {
    format!(
        "{text}; give the user and password by --digest-file or EJOB_DIGEST (ZooKeeper), or grant the rights to the user in the address (PostgreSQL, etcd)"
    )
}

impl From<reg_center::Error> for Fault {
    fn from(error: reg_center::Error) -> Self {
        of_registry(&error, &error)
    }
}

impl From<lite::Error> for Fault {
    fn from(error: lite::Error) -> Self {
        use lite::Error;
        match &error {
            Error::Registry { source, .. } => of_registry(source, &format!("{error}: {source}")),
            Error::Listen { source, .. } => Self::usage(format!("{error}: {source}")),
            Error::Deadline { .. } => Self::new(Exit::Unreachable, &error),
            Error::Dialect { .. } => Self::usage(format!("{error}; leave --dialect out")),
            Error::Config(_) | Error::Name(_) => Self::usage(&error),
            Error::NoSuchJob { .. } => Self::not_found(&error),
            Error::AlreadyScheduled { .. }
            | Error::AlreadyOffered { .. }
            | Error::RuntimeJob { .. }
            | Error::Stopped { .. }
            | Error::ShutDown
            | Error::CannotCancel { .. }
            | Error::Group { .. } => Self::refused(&error),
            _ => Self::refused(&error),
        }
    }
}

impl From<job_history::Error> for Fault {
    fn from(error: job_history::Error) -> Self {
        use job_history::Error;
        let exit = match &error {
            Error::InvalidOption { .. } | Error::Unusable { .. } => Exit::Usage,
            Error::Unreachable { .. } => Exit::Unreachable,
            Error::Newer { .. } | Error::Unwritten { .. } => Exit::Partly,
            _ => Exit::Partly,
        };
        Self::new(exit, error)
    }
}

#[cfg(test)]
mod tests {
    use coordination::JobName;
    use operations::Error;
    use reg_center::NodePath;

    use super::*;

    #[test]
    fn errors_have_an_exit_code_and_one_line() {
        let job = || JobName::new("report").unwrap();
        let registry = |source| Error::Registry { act: "reading job report".to_owned(), source };
        let rows = [
            (Error::NoSuchJob { job: job() }, 4, "the registry has no job report; `ejob jobs`"),
            (Error::NothingNamed, 2, "neither a job nor a server is named"),
            (
                Error::InvalidAuthorOrReason { field: "who", found: "blank".to_owned(), max: 512 },
                2,
                "--by is blank; valid is a text",
            ),
            (
                Error::InvalidAuthorOrReason { field: "why", found: "blank".to_owned(), max: 512 },
                2,
                "--why is blank; valid is a text",
            ),
            (
                Error::Unknown { act: "pause", job: job(), cause: "gone".to_owned() },
                6,
                "the outcome of pause of job report is unknown (gone); check",
            ),
            (Error::Contended { job: job(), attempts: 8 }, 5, "nothing was done"),
            (
                Error::Remains { job: job(), cause: "gone".to_owned() },
                1,
                "job report is removed, but some of its nodes are left (gone); repeat the removal",
            ),
            (
                Error::ParameterTooLarge { job: job(), bytes: 4096, items: 5000, max: 16_777_216 },
                2,
                "--parameter is a text of 4096 bytes for 5000 items of job report; valid are up to 16777216 bytes",
            ),
            (
                registry(reg_center::Error::NotAuthorized {
                    path: NodePath::parse("/report").unwrap(),
                }),
                7,
                "not authorized for /report; give the user and password by --digest-file",
            ),
            (
                registry(reg_center::Error::Unavailable { call: "read" }),
                3,
                "no connection to the registry; check that the servers run",
            ),
            (
                registry(reg_center::Error::Unknown { call: "read", cause: "two\nlines".into() }),
                6,
                "two; lines",
            ),
        ];
        for (error, code, part) in rows {
            let case = format!("{error:?}");
            let fault = Fault::from(error);
            assert_eq!(fault.exit().code(), code, "{case}");
            let line = fault.to_string();
            assert!(line.contains(part), "{case}: {line}");
            assert!(!line.contains('\n'), "{case}: {line}");
        }
    }
}
