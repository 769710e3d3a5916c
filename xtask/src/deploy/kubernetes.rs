//! The Helm chart and the plain manifests of `docs/deploy/kubernetes`, with Helm and the schemas of
//! Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::background::Background;
use crate::steps::{Steps, line, output, run as run_command};
use crate::{Error, workspace};

/// Folder of the chart and the manifests.
const FOLDER: &str = "docs/deploy/kubernetes";
/// Folder of the pinned tools, and of a file that sets all values of the chart.
const TOOLS: &str = "xtask/kubernetes";
/// The oldest version that the chart names in `kubeVersion`, and the newest one with a schema.
const VERSIONS: [&str; 2] = ["1.30.0", "1.36.0"];
/// First lines of each plain manifest.
const HEADER: &str = "# Rendered from the chart by `cargo xtask deploy --write`. Guide:\n\
                      # docs/how-to/run-on-kubernetes.md.\n";

/// Plain manifests: the name of the file, the template, the values.
const MANIFESTS: [(&str, &str, &[&str]); 3] = [
    ("worker-deployment.yaml", "worker.yaml", &[]),
    ("worker-statefulset.yaml", "worker.yaml", &["worker.kind=StatefulSet"]),
    (
        "console.yaml",
        "console.yaml",
        &["console.enabled=true", "console.accessSecret=ejob-console"],
    ),
];

/// Credentials of the registry, by reference, in all plain manifests.
const CREDENTIALS: [&str; 2] =
    ["registry.secret=ejob-registry", "registry.files.EJOB_DIGEST_FILE=digest"];

/// Values that the chart must refuse, each with a part of the reason.
const WRONG_VALUES: [(&str, &str); 4] = [
    ("worker.drainSecond=5", "drainSecond"),
    ("worker.exitSeconds=5", "exitSeconds"),
    ("registry.address=sqlite:registry.db", "address"),
    ("console.enabled=true", "accessSecret"),
];

/// A misspelled field of a manifest that the schemas must refuse.
const WRONG_FIELD: [&str; 2] = ["terminationGracePeriodSeconds", "terminationGracePeriodSecond"];

/// Checks the chart, and that the plain manifests are what it renders.
pub(super) fn run(steps: &mut Steps) -> Result<(), Error> {
    let tools = Tools::ensure(steps)?;
    steps.step("chart", || {
        let mut lint = tools.helm(&["lint", "--strict"]);
        run_command(lint.arg(chart()).arg("--values").arg(all_values()))
    })?;
    steps.step("refused values", || {
        WRONG_VALUES.iter().try_for_each(|wrong| check_wrong_value(&tools, wrong))
    })?;
    steps.step("plain manifests", || {
        MANIFESTS.iter().try_for_each(|manifest| check_manifest(&tools, manifest))
    })?;
    steps.step("schemas of Kubernetes", || check_schemas(&tools))
}

/// Renders the plain manifests.
pub(super) fn write(steps: &mut Steps) -> Result<(), Error> {
    let tools = Tools::ensure(steps)?;
    MANIFESTS.iter().try_for_each(|manifest| {
        let path = manifest_path(manifest.0);
        fs::write(&path, plain(&tools, manifest)?).map_err(Error::file("write", &path))
    })
}

fn chart() -> PathBuf {
    workspace().join(FOLDER).join("ejob")
}

fn all_values() -> PathBuf {
    workspace().join(TOOLS).join("all-values.yaml")
}

fn manifest_path(name: &str) -> PathBuf {
    workspace().join(FOLDER).join("manifests").join(name)
}

/// Helm and `kubernetes-validate`, both of a pinned version below `target`.
struct Tools {
    helm: PathBuf,
    validate: PathBuf,
}

impl Tools {
    /// Builds Helm from the Go module proxy, and installs `kubernetes-validate` from PyPI. The
    /// hashes of all their parts are pinned.
    fn ensure(steps: &mut Steps) -> Result<Self, Error> {
        let folder = workspace().join("target/kubernetes");
        let helm = folder.join("helm");
        let mut build = Command::new("go");
        build.args(["build", "-mod=readonly", "-o"]).arg(&helm).arg("helm.sh/helm/v3/cmd/helm");
        build.current_dir(workspace().join(TOOLS));
        // A first build takes minutes, while the other tool is downloaded.
        let build = Background::start("Helm", build)?;
        let python = folder.join("python");
        let mut environment = Command::new("python3");
        steps.command("Python", environment.args(["-m", "venv"]).arg(&python))?;
        let mut install = Command::new(python.join("bin/pip"));
        install.args(["install", "--quiet", "--require-hashes", "--no-deps", "--requirement"]);
        install.arg(workspace().join(TOOLS).join("requirements.txt"));
        steps.command("kubernetes-validate", &mut install)?;
        steps.join(build)?;
        Ok(Self { helm, validate: python.join("bin/kubernetes-validate") })
    }

    /// Returns a command of Helm that reads no settings of the user.
    fn helm(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.helm);
        let home = self.helm.with_file_name("home");
        for variable in ["HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME"] {
            command.env(variable, &home);
        }
        command.args(arguments);
        command
    }

    fn template(&self, values: &[&str]) -> Command {
        let mut command = self.helm(&["template", "ejob", "--kube-version", VERSIONS[0]]);
        command.arg(chart()).args(values.iter().flat_map(|value| ["--set", value]));
        command
    }

    fn validate(&self, version: &str, path: &Path) -> Command {
        let mut command = Command::new(&self.validate);
        command.args(["--strict", "--kubernetes-version", version]).arg(path);
        command
    }
}

/// Returns what a command prints: the standard output of one that succeeds, or else everything.
fn printed(command: &mut Command) -> Result<Result<String, String>, Error> {
    let output = output(command)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stdout) + &text(&output.stderr)),
    })
}

/// Fails unless a command is refused with the reason.
fn expect_refusal(command: &mut Command, reason: &str) -> Result<(), Error> {
    match printed(command)? {
        Err(printed) if printed.contains(reason) => Ok(()),
        Err(printed) | Ok(printed) => {
            let line = line(command);
            Err(Error::Deploy(format!("`{line}` must fail and name {reason}, but:\n{printed}")))
        }
    }
}

fn check_wrong_value(tools: &Tools, (value, reason): &(&str, &str)) -> Result<(), Error> {
    expect_refusal(&mut tools.template(&[value]), reason)
}

/// Returns the text of a plain manifest: the chart's, without the comments of Helm.
fn plain(tools: &Tools, (_, template, values): &(&str, &str, &[&str])) -> Result<String, Error> {
    let mut command = tools.template(&[&CREDENTIALS, *values].concat());
    command.args(["--show-only", &format!("templates/{template}")]);
    let rendered = printed(&mut command)?.map_err(Error::Deploy)?;
    let lines = rendered.lines().filter(|line| !line.starts_with("# Source: "));
    let lines: String = lines.map(|line| line.to_owned() + "\n").collect();
    Ok(HEADER.to_owned() + lines.strip_prefix("---\n").unwrap_or(&lines))
}

fn check_manifest(tools: &Tools, manifest: &(&str, &str, &[&str])) -> Result<(), Error> {
    let path = manifest_path(manifest.0);
    let present = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    if present == plain(tools, manifest)? {
        return Ok(());
    }
    let path = path.display();
    Err(Error::Deploy(format!(
        "{path} is not what the chart renders; run `cargo xtask deploy --write`"
    )))
}

/// Checks the plain manifests, and the chart with all of its values, against the schemas.
fn check_schemas(tools: &Tools) -> Result<(), Error> {
    let folder = workspace().join("target/kubernetes");
    let all = folder.join("all.yaml");
    let rendered = printed(tools.template(&[]).arg("--values").arg(all_values()))?;
    let rendered = rendered.map_err(Error::Deploy)?;
    fs::write(&all, &rendered).map_err(Error::file("write", &all))?;
    for version in VERSIONS {
        run_command(&mut tools.validate(version, &all))?;
        for (name, ..) in MANIFESTS {
            run_command(&mut tools.validate(version, &manifest_path(name)))?;
        }
    }
    // A check that accepts everything would pass, too.
    let wrong = folder.join("wrong.yaml");
    let [field, misspelled] = WRONG_FIELD;
    fs::write(&wrong, rendered.replace(field, misspelled)).map_err(Error::file("write", &wrong))?;
    expect_refusal(&mut tools.validate(VERSIONS[0], &wrong), misspelled)
}
