//! The pinned ZooKeeper release, downloaded jar by jar from Maven's configured repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use zookeeper_fixture::Installation;

use crate::Error;
use crate::download;
use crate::steps::run;

/// Maven goal that copies an artifact to a folder.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/// Jars of the server with their SHA-256.
///
/// The release has more jars, for the command line, the HTTP console and encrypted connections. The
/// fixture's servers use none of them.
const JARS: [(&str, &str); 7] = [
    (
        "org.apache.zookeeper:zookeeper:3.8.6",
        "a00943a87b9c83379267ebda487be1ddb83e9997a03e59f9199338a033b71ed7",
    ),
    (
        "org.apache.zookeeper:zookeeper-jute:3.8.6",
        "640777a745364b617d05a0309cd2edc5d725d76f9d93e2b29f07561da9575efb",
    ),
    (
        "org.slf4j:slf4j-api:2.0.13",
        "e7c2a48e8515ba1f49fa637d57b4e2f590b3f5bd97407ac699c3aa5efb1204a9",
    ),
    (
        "org.slf4j:slf4j-simple:2.0.13",
        "3153fe1d689cffb94f1530b58470c306685ba68844de8857116e3b6ebb81d9f7",
    ),
    (
        "io.dropwizard.metrics:metrics-core:4.1.12.1",
        "cec34936faa625039f4e46123eccaa10a9eb9d9a40c6075830cd81330e259cf9",
    ),
    (
        "org.xerial.snappy:snappy-java:1.1.10.5",
        "0f3f1857ed33116583f480b4df5c0218836c47bfbc9c6221c0d73f356decf37b",
    ),
    (
        "commons-io:commons-io:2.17.0",
        "4aa4ca48f3dfd30b78220b7881d8cb93eac4093ec94361b6befa9487998a550b",
    ),
];

/// Downloads the pinned release to the folder in which the fixture searches for it.
pub(super) fn download() -> Result<(), Error> {
    let home = Installation::download_folder();
    download::folder(&home, download_to)
}

fn download_to(home: &Path) -> Result<(), Error> {
    let lib = home.join("lib");
    fs::create_dir_all(&lib).map_err(Error::file("create", &lib))?;
    for (artifact, sha256) in JARS {
        let mut maven = Command::new("mvn");
        maven.args(["--batch-mode", "--quiet", COPY]);
        maven.arg(format!("-Dartifact={artifact}"));
        maven.arg(format!("-DoutputDirectory={}", lib.display()));
        run(&mut maven)?;
        check_hash(&lib.join(file_name(artifact)), sha256)?;
    }
    Ok(())
}

/// Returns the file name of `group:artifact:version`.
fn file_name(artifact: &str) -> String {
    let mut parts = artifact.split(':').skip(1);
    let mut part = || parts.next().expect("every artifact has a name and a version");
    format!("{}-{}.jar", part(), part())
}

/// Compares a file with its SHA-256.
fn check_hash(file: &Path, sha256: &str) -> Result<(), Error> {
    let bytes = fs::read(file).map_err(Error::file("check", file))?;
    let found = download::sha256(bytes);
    match found == sha256 {
        true => Ok(()),
        false => Err(Error::WrongHash { path: file.to_owned(), found, pinned: sha256.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_server_is_the_release_of_the_fixture() {
        let server = format!("zookeeper-{}.jar", zookeeper_fixture::PINNED_RELEASE);
        assert_eq!(file_name(JARS[0].0), server);
    }

    #[test]
    fn file_with_another_hash_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("three.txt");
        let sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        fs::write(&file, "abc").unwrap();
        check_hash(&file, sha256_of_abc).unwrap();
        fs::write(&file, "abd").unwrap();
        let error = check_hash(&file, sha256_of_abc).unwrap_err();
        assert!(matches!(error, Error::WrongHash { .. }), "{error:?}");
    }
}
