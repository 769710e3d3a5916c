//! `cargo xtask check`: verifies recorded histories.

use std::env;
use std::path::Path;

use crate::Error;
use crate::steps::{cargo, run};

/// Verifies the histories that the arguments name: files, or folders of them.
pub(crate) fn judge(arguments: &[String]) -> Result<(), Error> {
    if arguments.is_empty() {
        return Err(Error::Usage("`check` needs a file or a folder".to_owned()));
    }
    let here = env::current_dir().map_err(Error::file("find the path of", Path::new(".")))?;
    let mut command = cargo("run --quiet -p checker --bin ejob-check --");
    for argument in arguments {
        if argument.starts_with('-') {
            command.arg(argument);
        } else {
            // The program runs in the root of the workspace.
            command.arg(here.join(argument));
        }
    }
    run(&mut command)
}
