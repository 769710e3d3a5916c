//! Check that the program of a script can be started, before a run needs it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret as _;

use super::Script;
use crate::Invalid;

/// Search path without a variable `PATH`, as in the C library.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

impl Script {
    /// Checks that the program exists and is executable. It is searched as in a run: in the `PATH`
    /// of the script, or relative to its directory.
    ///
    /// # Errors
    /// [`Invalid`] names the program and the searched places, or the directory that does not exist.
    pub fn check_program(&self) -> Result<(), Invalid> {
        let directory = self.working_directory();
        if !directory.is_dir() {
            let found = format!("{:?}", directory.display().to_string());
            return Err(Invalid::new("script.directory", found, "a directory that exists"));
        }
        let path = self.path();
        if which::which_in(&self.program, Some(&path), &directory).is_ok() {
            return Ok(());
        }
        let valid = match directory.join(&self.program) {
            _ if !self.program.contains('/') => {
                format!("an executable file in PATH, which is {}", path.display())
            }
            file if file.exists() => format!("an executable file; {} is none", file.display()),
            file => format!("an executable file; {} does not exist", file.display()),
        };
        Err(Invalid::new("the program of script", format!("{:?}", self.program), valid))
    }

    fn working_directory(&self) -> PathBuf {
        let own = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        self.directory.as_deref().map_or(own.clone(), |directory: &Path| own.join(directory))
    }

    fn path(&self) -> OsString {
        let set = self.env.get("PATH").and_then(|value| value.resolve().ok());
        if let Some(set) = set {
            return OsString::from(set.expose_secret());
        }
        let inherited = if self.inherits { env::var_os("PATH") } else { None };
        inherited.unwrap_or_else(|| DEFAULT_PATH.into())
    }
}
