//! Programs that cargo builds and others start.

use std::path::PathBuf;
use std::process::Stdio;

use serde::Deserialize;

use crate::Error;
use crate::steps::{cargo, line};

/// What cargo says about something it has built; most of it is of no interest here.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
}

/// Builds what the arguments of cargo name, and returns where cargo put the last program of it.
pub(crate) fn build(arguments: &str) -> Result<PathBuf, Error> {
    let mut command = cargo(arguments);
    command.arg("--message-format=json-render-diagnostics");
    let line = line(&command);
    println!("$ {line}");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| Error::Start { line: line.clone(), source })?;
    if !output.status.success() {
        return Err(Error::Command { line, status: output.status });
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages
        .lines()
        .filter_map(|message| serde_json::from_str::<Artifact>(message).ok()?.executable)
        .next_back()
        .ok_or(Error::NoProgram { line })
}
