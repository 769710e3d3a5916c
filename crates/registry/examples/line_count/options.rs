//! The command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use registry::Address;

/// Counts the lines of every file in a folder, as one of any number of workers.
///
/// Prints one line per event on its standard output and runs until SIGTERM or ctrl-c.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Registry of the workers: sqlite:FILE on one host, or zk://HOST:PORT,.../NAMESPACE
    #[arg(long, value_name = "ADDRESS")]
    registry: Address,
    /// Folder whose files are counted
    #[arg(long, value_parser = folder)]
    pub(crate) dir: PathBuf,
    /// Folder of the results, the same for all workers [default: line-count-results beside DIR]
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Name of this worker in the results [default: worker-PID]
    #[arg(long, value_name = "NAME", value_parser = word, hide_default_value = true,
        default_value_t = format!("worker-{}", std::process::id()))]
    pub(crate) instance: String,
    /// Number of sharding items
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) items: u32,
    /// Pause between reading the files of an item and writing its result
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    pub(crate) hold_item_ms: u64,
    /// Session timeout: time without contact after which other workers take over
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 5_000)]
    pub(crate) session_timeout_ms: u64,
}

impl Options {
    /// Returns the address with the session timeout.
    pub(crate) fn registry(&self) -> Address {
        self.registry.clone().session_timeout(Duration::from_millis(self.session_timeout_ms))
    }

    /// Returns the absolute path of the results folder.
    pub(crate) fn out(&self) -> Result<PathBuf, String> {
        let beside = || self.dir.with_file_name("line-count-results");
        let out = self.out.clone().unwrap_or_else(beside);
        let out = std::path::absolute(&out).map_err(|error| format!("--out: {error}"))?;
        if out.starts_with(&self.dir) {
            return Err(format!(
                "--out is {out:?}; valid is a folder outside of --dir, which is counted"
            ));
        }
        Ok(out)
    }
}

/// Returns the absolute path, so that `.` has a parent folder for the results.
fn folder(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text).canonicalize().map_err(|error| error.to_string())?;
    if path.is_dir() { Ok(path) } else { Err("not a folder".to_owned()) }
}

/// Returns a name without blanks, because blanks separate the fields of the logs.
fn word(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if is_word { Ok(text.to_owned()) } else { Err("valid is a name without blanks".to_owned()) }
}
