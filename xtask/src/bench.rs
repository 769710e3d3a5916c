//! `cargo xtask bench`: measures the cost of coordination on a registry, compared with the registry
//! alone.

use std::fs;

use crate::backend::Backend;
use crate::steps::{Steps, cargo};
use crate::{Error, browser, interop, workspace};

/// Builds and runs the benchmark with its own arguments.
///
/// Figures and plot are kept in `target/bench`, in a folder for each registry. With `--java` the
/// workers of both languages are built, too. The measurement `console` is also taken in a browser.
pub(crate) fn measure(arguments: &[String]) -> Result<(), Error> {
    let backend = backend(arguments)?;
    let has_java = arguments.iter().any(|argument| argument.starts_with("--java"));
    let name = backend.name();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    if has(browser::BINARIES) && !has("console") {
        return Err(Error::Usage("`--binaries` belongs to the measurement `console`".to_owned()));
    }
    if has_java && backend != Backend::Zookeeper {
        return Err(Error::Usage(format!("`--java` needs `--backend zk`, not `{name}`")));
    }
    backend.ensure()?;
    let folder = workspace().join("target").join("bench").join(name);
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    let mut steps = Steps::begin();
    steps.command("build", &mut cargo("build --profile bench -p bench"))?;
    if has_java {
        interop::java_workers(&mut steps)?;
        let worker = "build --profile bench -p interop --bin ejob-interop-worker";
        steps.command("Rust worker", &mut cargo(worker))?;
    }
    let mut program = cargo("run --profile bench --quiet -p bench --");
    program.arg("--json").arg(folder.join("figures.json"));
    program.arg("--svg").arg(folder.join("ratios.svg"));
    // The program measures no sizes of programs.
    let own = arguments.iter().filter(|argument| *argument != browser::BINARIES);
    steps.command("measurements", program.args(own))?;
    println!("figures and plot: {}", folder.display());
    if has("console") {
        let of_browser =
            |argument: &&String| ["--quick", browser::BINARIES].contains(&argument.as_str());
        let options: Vec<String> = arguments.iter().filter(of_browser).cloned().collect();
        browser::measure(&mut steps, &options)?;
    }
    steps.end("cargo xtask bench")
}

/// Returns the registry that the arguments name. ZooKeeper is the default.
fn backend(arguments: &[String]) -> Result<Backend, Error> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let name = match word.strip_prefix("--backend") {
            Some("") => words.next().map(String::as_str),
            Some(rest) if rest.starts_with('=') => Some(&rest[1..]),
            _ => continue,
        };
        return name.and_then(Backend::of).ok_or_else(|| {
            let given = name.map_or_else(|| "nothing".to_owned(), |name| format!("`{name}`"));
            let valid = "zk, sqlite, postgres or etcd";
            Error::Usage(format!("`--backend` takes {valid}, not {given}"))
        });
    }
    Ok(Backend::Zookeeper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_is_the_named_one_or_zookeeper() {
        let rows = [
            ("", Ok("zk")),
            ("--quick fire", Ok("zk")),
            ("fire --backend etcd --quick", Ok("etcd")),
            ("--backend=postgres", Ok("postgres")),
            ("--backend redis", Err("takes zk, sqlite, postgres or etcd, not `redis`")),
            ("--backend=", Err("takes zk, sqlite, postgres or etcd, not ``")),
            ("--backend", Err("takes zk, sqlite, postgres or etcd, not nothing")),
        ];
        for (line, expected) in rows {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            match (backend(&arguments), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.name(), expected, "{line}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{line}: {error}");
                }
                (found, expected) => panic!("{line}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
