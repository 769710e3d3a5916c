//! Diagrams of the pages: Mermaid draws them in the reader's browser, from a file of the site.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::stage::Stage;
use crate::download::{self, sha256};
use crate::steps::{line, output, run};
use crate::{Error, browser};

/// Package of npm, and the SHA-256 of its file.
const PACKAGE: &str = "mermaid@11.17.2";
const FILE: &str = "package/dist/mermaid.min.js";
const SHA256: &str = "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8";

/// Paths of the library and of the script that draws, from the root of the site.
pub(super) const LIBRARY: &str = "assets/mermaid.min.js";
pub(super) const SCRIPT: &str = "assets/diagrams.js";

/// Time for a page, in seconds.
const LIMIT_SECONDS: &str = "60";

/// First line of a diagram in a page.
const FENCE: &str = "```mermaid";
/// Attribute of each drawn diagram, and of those that Mermaid could not parse.
const DRAWN: &str = "<svg id=\"mermaid-";
const FAILED: &str = "aria-roledescription=\"error\"";

/// Returns the library of the pinned version. Downloads it unless the folder has it.
pub(super) fn fetch(folder: &Path) -> Result<String, Error> {
    let target = folder.join(name());
    if !target.exists() {
        browser::ensure_node()?;
        download::folder(&target, |unfinished| {
            unpack(unfinished)?;
            read(&unfinished.join(FILE)).map(drop)
        })?;
    }
    read(&target.join(FILE))
}

/// Returns the name of the package's files, without the end `.tgz` that its archive has.
fn name() -> String {
    PACKAGE.replace('@', "-")
}

/// Downloads the package into a folder, and unpacks the library from it.
fn unpack(folder: &Path) -> Result<(), Error> {
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", PACKAGE, "--pack-destination"]).arg(folder);
    run(&mut pack)?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(folder.join(name() + ".tgz"));
    run(tar.arg("--directory").arg(folder).arg(FILE))
}

/// Reads the library, and compares it with its SHA-256.
fn read(file: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(file).map_err(Error::file("read", file))?;
    let digest = sha256(&text);
    match digest == SHA256 {
        true => Ok(text),
        false => {
            let path = file.display();
            Err(Error::Site(format!("{path} has the SHA-256 {digest} instead of {SHA256}")))
        }
    }
}

/// Returns the number of diagrams in a page.
pub(super) fn count(page: &str) -> usize {
    page.lines().filter(|line| *line == FENCE).count()
}

/// Returns the end of a page with diagrams, which loads the scripts. `up` leads to the root.
pub(super) fn scripts(page: &str, up: &str) -> String {
    let scripts = [LIBRARY, SCRIPT].map(|path| format!("<script src=\"{up}{path}\"></script>"));
    if count(page) == 0 { String::new() } else { format!("\n{}\n", scripts.join("\n")) }
}

/// Opens each page with diagrams in a browser without a network. Fails unless all are drawn.
pub(super) fn check(stage: &Stage, site: &Path) -> Result<(), Error> {
    let program = browser::ensure_browser()?;
    for (path, expected) in stage.diagrams() {
        let page = site.join(path).with_extension("html");
        let mut command = Command::new("timeout");
        command.arg(LIMIT_SECONDS).arg(&program).args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
        ]);
        command.args(["--virtual-time-budget=20000", "--host-resolver-rules=MAP * ~NOTFOUND"]);
        command.arg(format!("file://{}", page.display()));
        println!("$ {}", line(&command));
        let output = output(command.stderr(Stdio::null()))?;
        let document = String::from_utf8_lossy(&output.stdout);
        let drawn = document.matches(DRAWN).count();
        if drawn != expected || document.contains(FAILED) {
            let path = page.display();
            return Err(Error::Site(format!("{path}: {drawn} of {expected} diagrams are drawn")));
        }
    }
    Ok(())
}
