//! Errors of the tasks.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Reason why a task failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("{0}; see `cargo xtask help`")]
    Usage(String),
    #[error("cannot run `{line}`")]
    Start { line: String, source: io::Error },
    #[error("`{line}` ended with {status}")]
    Command { line: String, status: ExitStatus },
    #[error("step `{step}` failed")]
    Step { step: String, source: Box<Error> },
    #[error("these steps failed, the others passed:\n{}", lines(.failed))]
    Steps { failed: Vec<Error> },
    #[error("cannot {action} {}", .path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot parse {}", .path.display())]
    Syntax { path: PathBuf, source: syn::Error },
    #[error("cannot parse {}", .path.display())]
    Manifest { path: PathBuf, source: toml_edit::TomlError },
    #[error("{0}")]
    Dependencies(String),
    #[error("{0} places break rules")]
    Untidy(usize),
    #[error(transparent)]
    Copy(#[from] ::mutants::CopyError),
    #[error(transparent)]
    Fixture(#[from] zookeeper_fixture::Error),
    #[error(transparent)]
    ServerFixture(#[from] server_fixture::Error),
    #[error(transparent)]
    EtcdFixture(#[from] etcd_fixture::Error),
    #[error("{installing}\n  downloading a pinned release by Maven: {downloading}")]
    NoZookeeper { installing: String, downloading: String },
    #[error(
        "{} has the SHA-256 {found} instead of the pinned {pinned}, and is not used; \
         set ZOOKEEPER_HOME to an unpacked release",
        .path.display()
    )]
    WrongHash { path: PathBuf, found: String, pinned: String },
    #[error("`{command}` reports {found:?}; at least {needed} is needed")]
    Version { command: String, found: String, needed: String },
    #[error("`{line}` has built no program `{name}`")]
    NoProgram { line: String, name: String },
    #[error("{0}")]
    Monitoring(String),
    #[error("{} is not a valid file of figures: {reason}", .path.display())]
    Figures { path: PathBuf, reason: String },
    #[error("{0}")]
    Deploy(String),
    #[error("{0}")]
    Release(String),
    #[error("{0}")]
    Semver(String),
    #[error("{0}")]
    Site(String),
    #[error("systemd does not accept {}:\n{reason}", .unit.display())]
    Unit { unit: PathBuf, reason: String },
    #[error(transparent)]
    Demo(#[from] crate::demo::DemoError),
}

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}

fn lines(errors: &[Error]) -> String {
    let lines: Vec<String> =
        errors.iter().map(|error| format!("  {}", with_causes(error))).collect();
    lines.join("\n")
}

/// Returns the text of an error with all of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
