//! `cargo xtask browser`: tests and measurements of the console's pages in a real browser.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::program::Programs;
use crate::steps::Steps;
use crate::{Error, workspace, zookeeper};

/// Longest time of a test, in milliseconds: one that hangs must not hang all.
const TEST_TIMEOUT: &str = "--test-timeout=600000";
/// Path of Debian's browser.
const BROWSER: &str = "/usr/bin/chromium";
/// Variable with the path of another browser of the Chromium family.
const BROWSER_VARIABLE: &str = "EJOB_TEST_BROWSER";
/// Folder of the tests, from the root of the workspace.
const TESTS: &str = "crates/job-console/browser";

/// Folder of the pictures in the documents.
const PICTURES: &str = "docs/images/console";

/// Runs the tests of the pages; arguments name their files. With `--pictures` makes the pictures of
/// the documents instead, and with `--bench` measures the pages.
pub(crate) fn test(arguments: &[String]) -> Result<(), Error> {
    match arguments {
        [only] if only == "--pictures" => return make_pictures(),
        [first, options @ ..] if first == "--bench" => {
            let mut steps = Steps::begin();
            measure(&mut steps, options)?;
            return steps.end("cargo xtask browser");
        }
        _ => {}
    }
    let files: Vec<PathBuf> =
        arguments.iter().map(|name| test_file(name)).collect::<Result<_, _>>()?;
    let mut steps = Steps::begin();
    run(&mut steps, &files)?;
    steps.end("cargo xtask browser")
}

/// Installs missing programs, builds `ejob`, and runs the tests of these files, or of all.
pub(crate) fn run(steps: &mut Steps, files: &[PathBuf]) -> Result<(), Error> {
    let mut node = prepare(steps)?;
    // Each file starts a console and a browser, which use less than one processor.
    node.args(["--test", "--test-concurrency=2", TEST_TIMEOUT]).args(files);
    steps.command("pages in a browser", &mut node)
}

/// Measures a console of a generated namespace, built for release, and prints the figures with
/// their goals.
pub(crate) fn measure(steps: &mut Steps, options: &[String]) -> Result<(), Error> {
    let build = || Programs::build("build --release -p bench --bin ejob-bench");
    let programs = steps.step("build for measurements", build)?;
    let mut node = in_copy_of_tests(steps)?;
    node.env("EJOB_BENCH", programs.path("ejob-bench")?).arg("bench.mjs").args(options);
    steps.command("measurements in a browser", &mut node)
}

fn make_pictures() -> Result<(), Error> {
    let mut steps = Steps::begin();
    let mut node = prepare(&mut steps)?;
    node.arg("screenshots.mjs").arg(workspace().join(PICTURES));
    steps.command("pictures", &mut node)?;
    steps.end("cargo xtask browser")
}

/// Returns a command of Node in a copy of the tests, with a browser and a built `ejob`.
fn prepare(steps: &mut Steps) -> Result<Command, Error> {
    steps.step("ZooKeeper", zookeeper::ensure)?;
    let build = || Programs::build_as_tested("--bin ejob --bin zookeeper-fixture");
    let programs = steps.step("build", build)?;
    let mut node = in_copy_of_tests(steps)?;
    node.env("EJOB", programs.path("ejob")?).env("USER", "anna");
    node.env("EJOB_TEST_ZOOKEEPER", programs.path("zookeeper-fixture")?);
    Ok(node)
}

/// Returns a command of Node in a copy of the tests, with a browser.
fn in_copy_of_tests(steps: &mut Steps) -> Result<Command, Error> {
    let browser = steps.step("browser", ensure_browser)?;
    steps.step("Node", ensure_node)?;
    // The packages of npm do not belong among the sources.
    let folder = workspace().join("target").join("console-browser");
    let mut copy = Command::new("sh");
    copy.args(["-euc", "mkdir -p \"$2\"; rm -f \"$2\"/*.mjs; cp \"$1\"/* \"$2\"", "copy"]);
    copy.arg(workspace().join(TESTS)).arg(&folder);
    steps.command("copy of the tests", &mut copy)?;
    let mut install = Command::new("npm");
    install.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder);
    steps.command("packages of the tests", &mut install)?;
    let mut node = Command::new("node");
    node.env(BROWSER_VARIABLE, browser).current_dir(&folder);
    Ok(node)
}

fn test_file(name: &str) -> Result<PathBuf, Error> {
    let file = PathBuf::from(format!("{name}.test.mjs"));
    let folder = workspace().join(TESTS);
    if folder.join(&file).is_file() {
        return Ok(file);
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut known: Vec<_> =
        names.filter_map(|name| Some(name.strip_suffix(".test.mjs")?.to_owned())).collect();
    known.sort();
    Err(Error::Usage(format!("`browser` has no tests `{name}`; valid: {}", known.join(", "))))
}

/// Returns the path of the browser. Installs Debian's if there is none.
pub(crate) fn ensure_browser() -> Result<PathBuf, Error> {
    if let Some(given) = env::var_os(BROWSER_VARIABLE) {
        return Ok(given.into());
    }
    if !Path::new(BROWSER).exists() {
        server_fixture::install_tools(&["chromium"])?;
    }
    Ok(BROWSER.into())
}

pub(crate) fn ensure_node() -> Result<(), Error> {
    let is_found = |program| Command::new(program).arg("--version").output().is_ok();
    if !(is_found("node") && is_found("npm")) {
        server_fixture::install_tools(&["nodejs", "npm"])?;
    }
    Ok(())
}
