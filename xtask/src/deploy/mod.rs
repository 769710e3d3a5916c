//! `cargo xtask deploy`: checks the files of `docs/deploy` with the programs that use them.

mod container;
mod image;
mod kubernetes;
mod pod;
mod systemd;

use crate::Error;
use crate::steps::Steps;

/// Checks the systemd units, the Helm chart, the plain manifests and the container image. With
/// `--write` renders the manifests again instead.
pub(crate) fn check(arguments: &[String]) -> Result<(), Error> {
    let mut steps = Steps::begin();
    match arguments {
        [] => run(&mut steps)?,
        [only] if only == "--write" => kubernetes::write(&mut steps)?,
        _ => {
            let found = arguments.join(" ");
            return Err(Error::Usage(format!("`deploy` takes `--write`, not `{found}`")));
        }
    }
    steps.end("cargo xtask deploy")
}

/// Fails before the first step unless the last one, of the image, can run.
pub(crate) fn run(steps: &mut Steps) -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        let reason = "the check of the image changes the root folder; run it as root";
        return Err(Error::Deploy(reason.to_owned()));
    }
    systemd::run(steps)?;
    kubernetes::run(steps)?;
    image::run(steps)
}
