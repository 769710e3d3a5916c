//! Shared setup of the tests of this crate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lite::Following;
use verify::cluster::{RealBackend, RealCluster, RealOptions};

/// Starts a cluster whose files are kept in a folder of their own.
pub(crate) async fn cluster(backend: RealBackend, run: &str) -> RealCluster {
    let folder = format!("{run}-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let worker = PathBuf::from(env!("CARGO_BIN_EXE_ejob-worker"));
    let options = RealOptions {
        backend,
        folder,
        worker,
        run: run.to_owned(),
        require: BTreeMap::new(),
        following: Following::default(),
    };
    RealCluster::start(options).await.expect("the registry is installed on this machine")
}
