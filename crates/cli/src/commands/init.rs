//! `init`: a file of jobs, or a small Rust project, to begin with.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use coordination::JobName;
use serde_json::json;

use crate::fault::Fault;
use crate::output::Page;

const JOBS: &str = include_str!("../templates/jobs.toml");
const MAIN: &str = include_str!("../templates/main.rs");

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// Write a Rust project with one job, instead of a file of jobs; it needs --path
    #[arg(long, requires = "path")]
    rust: bool,
    /// Folder of a checkout of Elastic Job for Rust, on which the project depends: the crates are
    /// not on a public registry
    #[arg(long, value_name = "CHECKOUT", requires = "rust")]
    path: Option<PathBuf>,
    /// Directory for the files; it is created if it does not exist
    #[arg(default_value = ".")]
    dir: PathBuf,
}

impl InitArguments {
    pub(crate) fn run(self) -> Result<Page, Fault> {
        let (files, next) = match self.path.filter(|_| self.rust) {
            Some(checkout) => (project(&self.dir, &checkout)?, "cargo run"),
            None => (vec![("jobs.toml", jobs(&self.dir))], "ejob worker jobs.toml"),
        };
        let is_here = self.dir == Path::new(".");
        let dir = if is_here { Path::new("") } else { &self.dir };
        write(dir, &files)?;
        let names: Vec<String> =
            files.iter().map(|(name, _)| dir.join(name).display().to_string()).collect();
        let written: String = names.iter().map(|name| format!("written: {name}\n")).collect();
        let place = if is_here { String::new() } else { format!(", in {}", dir.display()) };
        let document = json!({ "files": names, "next": next });
        Ok(Page::new(format!("{written}next{place}: {next}\n"), &document))
    }
}

/// Returns the name of a directory, which may be relative.
fn name_of(dir: &Path) -> Option<String> {
    let dir = std::path::absolute(dir).ok()?;
    Some(dir.file_name()?.to_str()?.to_owned())
}

/// Returns a file with a job that is named after the directory, if a job can have that name.
///
/// All files of a user share one registry by default, so that a fixed name would be that of the job
/// in the directory before.
fn jobs(dir: &Path) -> String {
    let name = name_of(dir).and_then(|name| JobName::new(&name).ok());
    match name {
        None => JOBS.to_owned(),
        Some(name) => {
            JOBS.replace("name = \"hello\"", &format!("name = {}", quoted(name.as_str())))
        }
    }
}

/// Returns a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Returns the files of a project that is named after its directory.
fn project(dir: &Path, checkout: &Path) -> Result<Vec<(&'static str, String)>, Fault> {
    let name = name_of(dir).filter(|name| is_package(name)).ok_or_else(|| {
        Fault::usage(format!(
            "the directory is {}; valid for a project is a name of letters, digits, hyphens and \
             underscores that begins with a letter",
            dir.display()
        ))
    })?;
    let package = package_in(dir, checkout)?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n\
         # The crates of Elastic Job are not on a public registry: this is a checkout. With\n\
         # `git = \"URL\"` of the repository in the place of `path`, the project needs none.\n\
         elastic-job = {{ path = {package} }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\", \"signal\"] }}\n"
    );
    let readme = format!(
        "# {name}\n\nA job on Elastic Job for Rust.\n\n\
         Run it with `cargo run`, and once more in another terminal: both share the items.\n\
         `ejob jobs --registry sqlite:registry.db` lists the job.\n"
    );
    Ok(vec![("Cargo.toml", manifest), ("src/main.rs", MAIN.to_owned()), ("README.md", readme)])
}

/// Returns the path of the crate `elastic-job` in a checkout, as a string of TOML.
fn package_in(dir: &Path, checkout: &Path) -> Result<String, Fault> {
    let package = checkout.join("crates/elastic-job");
    let package = package.canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file());
    let package = package.as_deref().and_then(Path::to_str).ok_or_else(|| {
        Fault::usage(format!(
            "--path is {}; valid is the folder of a checkout, which contains crates/elastic-job",
            checkout.display()
        ))
    })?;
    let root = checkout.canonicalize().unwrap_or_default();
    if resolved(dir).starts_with(root) {
        return Err(Fault::usage(format!(
            "the directory is {}, inside of the checkout, whose workspace rejects other packages; \
             valid is one outside of it",
            dir.display()
        )));
    }
    Ok(quoted(package))
}

/// Returns the path without links and `..`, as far as its folders exist.
fn resolved(dir: &Path) -> PathBuf {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let found = absolute.ancestors().find_map(|folder| {
        let rest = absolute.strip_prefix(folder).ok()?;
        Some(folder.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or(absolute)
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
            let path = path.display();
            return Err(Fault::refused(format!(
                "{path} exists already, and was left as it is; `ejob init FOLDER` writes to another folder"
            )));
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

    fn init(dir: &Path, rust: bool) -> Result<Page, Fault> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        InitArguments { rust, path: rust.then_some(checkout), dir: dir.to_owned() }.run()
    }

    #[test]
    fn existing_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a-project");
        init(&dir, true).unwrap();
        let fault = init(&dir, true).unwrap_err().to_string();
        assert!(
            fault.contains("Cargo.toml exists already, and was left as it is; `ejob init FOLDER`"),
            "{fault}"
        );
        init(&dir, false).unwrap();
        assert!(init(&dir, false).is_err());
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        assert!(manifest.starts_with("[package]\nname = \"a-project\"\n"), "{manifest}");
        let fault = init(&folder.path().join("1 project"), true).unwrap_err().to_string();
        assert!(fault.contains("valid for a project is a name of letters"), "{fault}");
    }

    #[test]
    fn job_is_named_after_its_directory_if_it_can_be() {
        for (dir, expected) in [("billing", "billing"), ("a/b/月报", "月报"), ("a b\u{7}", "hello")]
        {
            let file = JobFile::from_toml(&jobs(Path::new(dir))).unwrap();
            assert_eq!(file.jobs()[0].config().job_name.as_str(), expected, "{dir:?}");
        }
    }

    #[test]
    fn project_needs_a_checkout_that_does_not_contain_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("hello");
        let path = Some(folder.path().to_owned());
        let fault = InitArguments { rust: true, path, dir }.run().unwrap_err().to_string();
        assert!(fault.contains("which contains crates/elastic-job"), "{fault}");
        let inside = Path::new(env!("CARGO_MANIFEST_DIR")).join("hello");
        let fault = init(&inside, true).unwrap_err().to_string();
        assert!(fault.contains("inside of the checkout"), "{fault}");
        assert!(!inside.exists());
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let beside = checkout.join("../hello");
        assert!(
            package_in(&beside, &checkout).is_ok(),
            "the folder of the checkout is left by `..`"
        );
    }
}
