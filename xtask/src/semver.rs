//! `cargo xtask semver`: compares the public API of the packages with that of the last release, by
//! cargo-semver-checks.
//!
//! The tool would build each package and its dependencies in a folder of its own. Here, cargo
//! writes the descriptions of all packages of a workspace at once, and the tool only compares them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folders::{copy_folder, entries, recreate};
use crate::package::{self, Package, write_workspace};
use crate::program::install;
use crate::releases::{self, Release};
use crate::steps::{Steps, cargo, output, run};
use crate::{Error, workspace};

/// Version of cargo-semver-checks.
const VERSION: &str = "=0.51.0";

/// Flags with which cargo-semver-checks calls rustdoc. The lints of the workspace are no matter of
/// this task.
const RUSTDOC_FLAGS: &str = "-Z unstable-options --document-private-items \
                             --document-hidden-items --output-format=json --cap-lints=allow";

/// A change of a kept package by which a public function is removed.
///
/// A check that accepts everything would pass, too.
const BROKEN: BrokenCopy = BrokenCopy {
    package: "elastic-job-sharding",
    library: "sharding",
    file: "src/lib.rs",
    text: "pub use java_string::{java_string_cmp, java_string_hash};",
    replacement: "use java_string::{java_string_cmp, java_string_hash};",
    report: ["function_missing", "java_string_hash"],
};

struct BrokenCopy {
    package: &'static str,
    library: &'static str,
    file: &'static str,
    text: &'static str,
    replacement: &'static str,
    /// Parts of the report.
    report: [&'static str; 2],
}

/// A comparison of two descriptions of a library.
struct Comparison<'a> {
    tool: &'a Path,
    baseline: &'a Path,
    current: &'a Path,
    /// True if both have the same version.
    is_same_version: bool,
}

/// Compares the API with that of the last release, and proves that a break is reported.
pub(crate) fn check() -> Result<(), Error> {
    let mut steps = Steps::begin();
    let release = releases::last()?;
    let tool = install(&mut steps, "cargo-semver-checks", VERSION, &[])?;
    let (staged, packages) = package::stage(&mut steps)?;
    let folder = workspace().join("target/semver");
    let (baseline, current, broken) =
        (folder.join("baseline"), folder.join("current"), folder.join("broken"));
    let kept = steps.step("kept sources", || unpack(&release, &baseline))?;
    steps.step("API of the last release", || describe(&baseline, &baseline))?;
    steps.step("API of this version", || describe(&staged, &current))?;
    let is_same_version = packages.iter().all(|package| package.version == release.version);
    let comparison =
        |current| Comparison { tool: &tool, baseline: &baseline, current, is_same_version };
    steps.step("comparison", || compare(&comparison(&current), &kept, &packages))?;
    steps.step("broken copy", || {
        break_copy(&baseline.join(format!("{}-{}", BROKEN.package, release.version)), &broken)?;
        describe(&broken, &broken)?;
        comparison(&broken).refuse()
    })?;
    steps.end("cargo xtask semver")
}

/// Unpacks the sources of a release as a workspace, and returns the names of its packages.
fn unpack(release: &Release, folder: &Path) -> Result<Vec<String>, Error> {
    recreate_sources(folder)?;
    release.unpack(folder)?;
    let end = format!("-{}", release.version);
    let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(&end)?.to_owned());
    let names: Vec<String> = entries(folder)?.iter().filter_map(name).collect();
    if names.is_empty() {
        let text = format!("{} has no folder elastic-job{end}", release.archive.display());
        return Err(Error::Release(text));
    }
    let folder_of = |name: &String| format!("{name}{end}");
    let members: Vec<_> = names.iter().map(folder_of).collect();
    let packages: Vec<_> =
        names.iter().map(|name| (&**name, folder.join(folder_of(name)))).collect();
    write_workspace(folder, &members, &packages)?;
    Ok(names)
}

/// Removes all but the descriptions of a former run: cargo does not write unchanged ones again.
fn recreate_sources(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    for path in entries(folder)?.iter().filter(|path| path.is_dir() && !path.ends_with("target")) {
        recreate(path)?;
        fs::remove_dir(path).map_err(Error::file("remove", path))?;
    }
    Ok(())
}

/// Writes the descriptions of all libraries of a workspace to the folder `target/doc` of `to`.
fn describe(sources: &Path, to: &Path) -> Result<(), Error> {
    let mut command = cargo("doc --workspace --lib --no-deps --all-features");
    // The format is unstable. All workspaces share the builds of other packages.
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTDOCFLAGS", RUSTDOC_FLAGS);
    command.env("CARGO_BUILD_BUILD_DIR", workspace().join("target/semver/build"));
    run(command.current_dir(sources).env("CARGO_TARGET_DIR", to.join("target")))
}

/// Compares each package of a release with the present one.
fn compare(
    comparison: &Comparison<'_>,
    kept: &[String],
    packages: &[Package],
) -> Result<(), Error> {
    let mut broken = Vec::new();
    for name in kept {
        let Some(package) = packages.iter().find(|package| package.name == *name) else {
            broken.push(format!("{name}: the package is gone"));
            continue;
        };
        let (is_compatible, report) = comparison.of(&package.crate_name.replace('-', "_"))?;
        println!("{name}: {}", if is_compatible { "compatible" } else { "breaks" });
        if !is_compatible {
            broken.push(format!("{name}:\n{report}"));
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    let remedy = "the version in Cargo.toml does not permit these changes since the last release; \
                  see docs/releasing.md";
    Err(Error::Semver(format!("{}\n{remedy}", broken.join("\n"))))
}

impl Comparison<'_> {
    /// Returns whether the version permits the changes of a library, and the report.
    fn of(&self, library: &str) -> Result<(bool, String), Error> {
        let mut command = Command::new(self.tool);
        command.args(["semver-checks", "--color", "never", "--baseline-rustdoc"]);
        command.arg(description(self.baseline, library)?);
        command.arg("--current-rustdoc").arg(description(self.current, library)?);
        if self.is_same_version {
            // The next release has a greater version, at least in its last number.
            command.args(["--release-type", "minor"]);
        }
        let output = output(&mut command)?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
    }

    /// Fails if the broken copy is accepted.
    fn refuse(&self) -> Result<(), Error> {
        let (is_compatible, report) = self.of(BROKEN.library)?;
        let BrokenCopy { file, text, report: expected, .. } = BROKEN;
        if !is_compatible && expected.iter().all(|part| report.contains(part)) {
            println!("a removed public function is reported");
            return Ok(());
        }
        Err(Error::Semver(format!(
            "{file} has no `{text}`, and cargo-semver-checks does not report {expected:?}:\n{report}"
        )))
    }
}

/// Returns the file that describes a library.
fn description(folder: &Path, library: &str) -> Result<PathBuf, Error> {
    let file = folder.join(format!("target/doc/{library}.json"));
    match file.is_file() {
        true => Ok(file),
        false => Err(Error::Semver(format!(
            "cargo has not written {}; remove target/semver and repeat",
            file.display()
        ))),
    }
}

/// Makes a copy of a package in which a public function is missing.
fn break_copy(package: &Path, copy: &Path) -> Result<(), Error> {
    recreate_sources(copy)?;
    copy_folder(package, &copy.join(BROKEN.library))?;
    write_workspace(copy, &[BROKEN.library], &[])?;
    let file = copy.join(BROKEN.library).join(BROKEN.file);
    let text = fs::read_to_string(&file).map_err(Error::file("read", &file))?;
    if !text.contains(BROKEN.text) {
        let reason = format!("{} has no `{}` to remove", file.display(), BROKEN.text);
        return Err(Error::Semver(reason));
    }
    let text = text.replacen(BROKEN.text, BROKEN.replacement, 1);
    fs::write(&file, text).map_err(Error::file("write", &file))
}
