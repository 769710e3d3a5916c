//! `cargo xtask browser`: tests and measurements of the console's pages in a real browser.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folders::entries;
use crate::program::Programs;
use crate::steps::Steps;
use crate::{Error, workspace, zookeeper};

/// Longest time of a test, in milliseconds: one that hangs must not hang all.
const TEST_TIMEOUT: &str = "--test-timeout=1500000";
/// Path of Debian's browser.
const BROWSER: &str = "/usr/bin/chromium";
/// Chinese font of Debian. Without one, Chinese pages have other widths than those that users see.
const CHINESE_FONT: &str = "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc";
/// Variable with the path of another browser of the Chromium family.
const BROWSER_VARIABLE: &str = "EJOB_TEST_BROWSER";
/// Folder of the tests, from the root of the workspace.
const TESTS: &str = "crates/job-console/browser";

/// End of the names of files with tests.
const ENDING: &str = ".test.mjs";
const TEST_OF_OUTAGES: &str = "outage.test.mjs";
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
    let node = prepare(steps)?;
    let all = if files.is_empty() { test_files()? } else { files.to_vec() };
    // Its deadlines are those of a person who looks at the page, so that nothing runs beside it.
    let (alone, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|file| file == Path::new(TEST_OF_OUTAGES));
    for (name, files, concurrency) in [
        ("pages in a browser", others, "--test-concurrency=2"),
        ("outages in a browser", alone, "--test-concurrency=1"),
    ] {
        // Without files, Node would run all.
        if !files.is_empty() {
            let mut tests = node.command();
            // The failures are at the end, where a long log is read first.
            tests.args(["--test", "--test-reporter=spec", concurrency, TEST_TIMEOUT]).args(files);
            steps.command(name, &mut tests)?;
        }
    }
    Ok(())
}

/// Programs of the measurements. Those of the outages are a console and a worker on a real server.
const MEASURED: &str = "build --profile bench -p bench -p cli -p zookeeper-fixture \
                        --features cli/console --bin ejob-bench --bin ejob --bin zookeeper-fixture";

/// Measures a console of a generated namespace, built like its benches, and prints the figures with
/// their goals.
///
/// Without paths, [`BINARIES`] builds the two programs whose sizes are compared.
pub(crate) fn measure(steps: &mut Steps, options: &[String]) -> Result<(), Error> {
    steps.step("ZooKeeper", zookeeper::ensure)?;
    let programs = steps.step("build for measurements", || Programs::build(MEASURED))?;
    let mut node = in_copy_of_tests(steps)?.command();
    for (variable, name) in [
        ("EJOB_BENCH", "ejob-bench"),
        ("EJOB", "ejob"),
        ("EJOB_TEST_ZOOKEEPER", "zookeeper-fixture"),
    ] {
        node.env(variable, programs.path(name)?);
    }
    node.arg("bench.mjs").args(options);
    if needs_binaries(options) {
        for (name, features) in [("ejob-plain", ""), ("ejob-console", "--features console")] {
            node.arg(binary(steps, name, features)?);
        }
    }
    steps.command("measurements in a browser", &mut node)
}

/// Option that compares the sizes of the program without and with the console.
pub(crate) const BINARIES: &str = "--binaries";

/// Returns true if the two programs have to be built, because the option has no paths.
fn needs_binaries(options: &[String]) -> bool {
    let mut after = options.iter().skip_while(|option| *option != BINARIES);
    after.next().is_some() && after.next().is_none_or(|word| word.starts_with("--"))
}

/// Builds the command line as for an installation, without symbols, and returns a copy of it: both
/// programs have the same path.
fn binary(steps: &mut Steps, name: &'static str, features: &str) -> Result<PathBuf, Error> {
    let line = "build --release --config profile.release.strip=true -p cli --bin ejob";
    let programs = steps.step(name, || Programs::build(format!("{line} {features}").trim_end()))?;
    let folder = workspace().join("target").join("bench");
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    let copy = folder.join(name);
    fs::copy(programs.path("ejob")?, &copy).map_err(Error::file("write", &copy))?;
    Ok(copy)
}

fn make_pictures() -> Result<(), Error> {
    let mut steps = Steps::begin();
    let mut node = prepare(&mut steps)?.command();
    node.arg("screenshots.mjs").arg(workspace().join(PICTURES));
    steps.command("pictures", &mut node)?;
    steps.end("cargo xtask browser")
}

/// Node in a copy of the tests, with the variables that they need.
struct Node {
    folder: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Node {
    fn command(&self) -> Command {
        let mut command = Command::new("node");
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.current_dir(&self.folder).envs(variables);
        command
    }
}

/// Returns Node in a copy of the tests, with a browser and a built `ejob`.
fn prepare(steps: &mut Steps) -> Result<Node, Error> {
    steps.step("ZooKeeper", zookeeper::ensure)?;
    let build = || Programs::build_as_tested("--bin ejob --bin zookeeper-fixture");
    let programs = steps.step("build", build)?;
    let mut node = in_copy_of_tests(steps)?;
    let zookeeper = programs.path("zookeeper-fixture")?;
    node.variables.extend([
        ("EJOB", programs.path("ejob")?.into()),
        ("EJOB_TEST_ZOOKEEPER", zookeeper.into()),
        ("USER", "anna".into()),
    ]);
    Ok(node)
}

/// Returns Node in a copy of the tests, with a browser.
fn in_copy_of_tests(steps: &mut Steps) -> Result<Node, Error> {
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
    Ok(Node { folder, variables: vec![(BROWSER_VARIABLE, browser.into())] })
}

/// Returns the names of all files of tests.
fn test_files() -> Result<Vec<PathBuf>, Error> {
    let all = entries(&workspace().join(TESTS))?;
    let names = all.iter().filter_map(|file| file.file_name()).map(PathBuf::from);
    Ok(names.filter(|name| name.to_string_lossy().ends_with(ENDING)).collect())
}

fn test_file(name: &str) -> Result<PathBuf, Error> {
    let file = PathBuf::from(format!("{name}{ENDING}"));
    let all = test_files()?;
    if all.contains(&file) {
        return Ok(file);
    }
    let known: Vec<_> = all.iter().filter_map(|file| file.to_str()?.strip_suffix(ENDING)).collect();
    Err(Error::Usage(format!("`browser` has no tests `{name}`; valid: {}", known.join(", "))))
}

/// Returns the path of the browser. Installs Debian's if there is none, and the Chinese font.
pub(crate) fn ensure_browser() -> Result<PathBuf, Error> {
    if !Path::new(CHINESE_FONT).exists() {
        server_fixture::install_tools(&["fonts-wqy-zenhei"])?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_built_only_if_no_paths_are_given() {
        for (line, expected) in [
            ("", false),
            ("--quick", false),
            ("--binaries", true),
            ("--quick --binaries", true),
            ("--binaries --minutes 60", true),
            ("--binaries plain console", false),
            ("--quick --binaries plain console", false),
        ] {
            let options: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(needs_binaries(&options), expected, "{line}");
        }
    }
}
