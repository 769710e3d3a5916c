//! `init`: a file of jobs, or a small Rust project, to begin with.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::fault::Fault;
use crate::output::Page;

const JOBS: &str = include_str!("../templates/jobs.toml");
const MAIN: &str = include_str!("../templates/main.rs");

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// Write a Rust project with one job, instead of a file of jobs
    #[arg(long)]
    rust: bool,
    /// Directory for the files; it is created if it does not exist
    #[arg(default_value = ".")]
    dir: PathBuf,
}

impl InitArguments {
    pub(crate) fn run(self) -> Result<Page, Fault> {
        let (files, next) = if self.rust {
            (project(&self.dir)?, "cargo run")
        } else {
            (vec![("jobs.toml", JOBS.to_owned())], "ejob worker jobs.toml")
        };
        write(&self.dir, &files)?;
        let names: Vec<String> =
            files.iter().map(|(name, _)| self.dir.join(name).display().to_string()).collect();
        let written: String = names.iter().map(|name| format!("written: {name}\n")).collect();
        let document = json!({ "files": names, "next": next });
        Ok(Page::new(format!("{written}next, in {}: {next}\n", self.dir.display()), &document))
    }
}

/// Returns the files of a project that is named after its directory.
fn project(dir: &Path) -> Result<Vec<(&'static str, String)>, Fault> {
    let name = std::path::absolute(dir).ok();
    let name = name.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.filter(|name| is_package(name)).ok_or_else(|| {
        Fault::usage(format!(
            "the directory is {}; valid for a project is a name of letters, digits, hyphens and \
             underscores that begins with a letter",
            dir.display()
        ))
    })?;
    let version = env!("CARGO_PKG_VERSION");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nelastic-job = \"{version}\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\", \"signal\"] }}\n"
    );
    let readme = format!(
        "# {name}\n\nA job on Elastic Job for Rust.\n\n\
         Run it with `cargo run`, and once more in another terminal: both share the items.\n\
         `ejob jobs --registry sqlite:registry.db` lists the job.\n"
    );
    Ok(vec![("Cargo.toml", manifest), ("src/main.rs", MAIN.to_owned()), ("README.md", readme)])
}

fn is_package(name: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_valid)
}

/// Writes new files. An existing one is never replaced, and nothing is written then.
fn write(dir: &Path, files: &[(&str, String)]) -> Result<(), Fault> {
    let failed = |path: &Path, error: std::io::Error| {
        Fault::refused(format!("{} cannot be written: {error}", path.display()))
    };
    for path in files.iter().map(|(name, _)| dir.join(name)) {
        if path.try_exists().map_err(|error| failed(&path, error))? {
            let error = std::io::Error::from(ErrorKind::AlreadyExists);
            return Err(failed(&path, error));
        }
    }
    for (name, text) in files {
        let path = dir.join(name);
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use job_types::JobFile;

    use super::*;

    #[test]
    fn file_of_jobs_can_be_used_with_and_without_its_comments() {
        let file = JobFile::from_toml(JOBS).unwrap();
        assert_eq!(file.jobs().len(), 1);
        // A comment that is a key or a table, without its sign, has to be valid as well.
        let uncommented = |line: &str| {
            let rest = line.strip_prefix("# ")?;
            let is_key = rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
            (is_key || rest.starts_with('[')).then(|| rest.to_owned())
        };
        let lines = JOBS.lines().map(|line| uncommented(line).unwrap_or_else(|| line.to_owned()));
        let whole = lines.collect::<Vec<_>>().join("\n");
        let file = JobFile::from_toml(&whole.replace("${env:TOKEN}", "${env:CARGO_PKG_NAME}"));
        assert_eq!(file.unwrap().jobs().len(), 2);
    }

    #[test]
    fn existing_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a-project");
        let init = |rust| InitArguments { rust, dir: dir.clone() }.run();
        init(true).unwrap();
        let fault = init(true).unwrap_err().to_string();
        assert!(fault.contains("Cargo.toml cannot be written: "), "{fault}");
        init(false).unwrap();
        assert!(init(false).is_err());
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        assert!(manifest.starts_with("[package]\nname = \"a-project\"\n"), "{manifest}");
        let dir = folder.path().join("1 project");
        let fault = InitArguments { rust: true, dir }.run().unwrap_err().to_string();
        assert!(fault.contains("valid for a project is a name of letters"), "{fault}");
    }
}
