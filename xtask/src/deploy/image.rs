//! The container image of `docs/deploy/container`: built from its Dockerfile by `buildah`, and
//! unpacked from the OCI archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use server_fixture::install_tools;
use tempfile::TempDir;

use super::pod;
use crate::folders::files_below;
use crate::program::Programs;
use crate::steps::{Steps, run as run_command};
use crate::{Error, workspace};

const DOCKERFILE: &str = "docs/deploy/container/Dockerfile";
/// Arguments of cargo for the static program, as in `docs/how-to/run-in-docker.md`, but without
/// `--release`: an optimized build would take minutes longer, and is linked in the same way.
const STATIC: &str = "rustc -p cli --bin ejob --all-features -- -C target-feature=+crt-static";
/// Certificates of the authorities that Debian trusts.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Programs and files that the check needs, with their Debian packages.
const NEEDED: [(&str, &str); 3] = [
    ("/usr/bin/buildah", "buildah"),
    ("/usr/sbin/dnsmasq", "dnsmasq-base"),
    (CERTIFICATES, "ca-certificates"),
];
/// Files of the image.
const FILES: [&str; 2] = ["ejob", "etc/ssl/certs/ca-certificates.crt"];

/// Builds the image, checks what it consists of, and runs a worker and a console in it.
pub(super) fn run(steps: &mut Steps) -> Result<(), Error> {
    steps.step("tools for images", || {
        let missing = NEEDED.iter().filter(|(path, _)| !Path::new(path).exists());
        let missing: Vec<&str> = missing.map(|(_, package)| *package).collect();
        if missing.is_empty() { Ok(()) } else { Ok(install_tools(&missing)?) }
    })?;
    let programs = steps.step("static program", || Programs::build(STATIC))?;
    let folder = tempfile::tempdir_in(workspace().join("target"));
    let folder = folder.map_err(Error::file("create a folder in", &workspace().join("target")))?;
    let archive = steps.step("image", || build(programs.path("ejob")?, &folder))?;
    let image = steps.step("content of the image", || Image::unpack(&archive, folder.path()))?;
    steps.step("worker and console in the image", || pod::check(&image))
}

/// Builds the image without a daemon. Returns the path of the archive.
fn build(program: &Path, folder: &TempDir) -> Result<PathBuf, Error> {
    let context = folder.path().join("context");
    fs::create_dir(&context).map_err(Error::file("create", &context))?;
    for file in [program, Path::new(CERTIFICATES)] {
        let copy = context.join(file.file_name().unwrap_or_default());
        fs::copy(file, copy).map_err(Error::file("copy", file))?;
    }
    let buildah = |action: &str| {
        let mut command = Command::new("buildah");
        command.arg("--root").arg(folder.path().join("storage"));
        command.arg("--runroot").arg(folder.path().join("run"));
        command.args(["--storage-driver", "vfs", action]);
        command
    };
    let mut build = buildah("build");
    build.args(["--isolation", "chroot", "--tag", "ejob", "--file"]);
    run_command(build.arg(workspace().join(DOCKERFILE)).arg(&context))?;
    let archive = folder.path().join("ejob.tar");
    run_command(buildah("push").arg("ejob").arg(format!("oci-archive:{}", archive.display())))?;
    Ok(archive)
}

/// An image, unpacked into a folder.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) root: PathBuf,
    pub(super) user: String,
    pub(super) entry_point: Vec<String>,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Config {
    config: Execution,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
struct Execution {
    user: String,
    entrypoint: Vec<String>,
}

impl Image {
    /// Unpacks an OCI archive. Fails unless the image has no other files than `FILES`, and a user
    /// without rights.
    fn unpack(archive: &Path, folder: &Path) -> Result<Self, Error> {
        let (layout, root) = (folder.join("layout"), folder.join("root"));
        extract(archive, &layout)?;
        let blob = |descriptor: &Descriptor| {
            layout.join("blobs").join(descriptor.digest.replace(':', "/"))
        };
        let index: Index = read(&layout.join("index.json"))?;
        let [manifest] = &index.manifests[..] else {
            return Err(Error::Deploy(format!("{} has no single image", archive.display())));
        };
        let manifest: Manifest = read(&blob(manifest))?;
        let Config { config } = read(&blob(&manifest.config))?;
        for layer in &manifest.layers {
            extract(&blob(layer), &root)?;
        }
        let files = files_below(&root)?;
        if files != FILES.map(PathBuf::from) || config.user != "65532:65532" {
            return Err(Error::Deploy(format!("the image has {files:?} and {config:?}")));
        }
        Ok(Self { root, user: config.user, entry_point: config.entrypoint })
    }
}

fn extract(archive: &Path, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    let mut tar = Command::new("tar");
    run_command(tar.arg("--extract").arg("--file").arg(archive).arg("--directory").arg(folder))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read(path).map_err(Error::file("read", path))?;
    serde_json::from_slice(&text)
        .map_err(|error| Error::Deploy(format!("{}: {error}", path.display())))
}
