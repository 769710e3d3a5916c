//! The job: each item is one part of the files.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobError, ShardingContext};

use crate::count::{FileCount, count_item};
use crate::options::Options;
use crate::store::{Begin, FencedStore, ItemResult, Verdict};

/// Job that counts the files of its items.
#[derive(Debug)]
pub(crate) struct Worker {
    folder: PathBuf,
    store: FencedStore,
    name: String,
    hold: Duration,
}

impl Worker {
    pub(crate) fn new(options: &Options) -> Result<Self, JobError> {
        Ok(Self {
            folder: options.dir.clone(),
            store: FencedStore::open(options.out()?)?,
            name: options.instance.clone(),
            hold: Duration::from_millis(options.hold_item_ms),
        })
    }

    async fn count(&self, item: u32, total: u32) -> Result<Vec<FileCount>, JobError> {
        let folder = self.folder.clone();
        Ok(blocking(move || count_item(&folder, item, total)).await?)
    }

    /// Waits before the write, so that a test can kill the process in between.
    async fn hold(&self, context: &ShardingContext) -> Result<(), JobError> {
        let hold = tokio::time::sleep(self.hold);
        tokio::select! {
            biased;
            () = context.cancelled() => Err("cancelled before the result was written".into()),
            () = hold => Ok(()),
        }
    }
}

#[async_trait]
impl Job for Worker {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let (item, token) = (context.item().index(), context.fencing_token());
        let (total, source) = (context.sharding_total_count(), context.source());
        let store = self.store.clone();
        match blocking(move || store.begin(item, token)).await? {
            Begin::Open => {
                print(&format!("item-started item={item} token={token} source={source}"))
            }
            Begin::Done => return print(&format!("item-skipped item={item}")),
            Begin::Stale => return print(&format!("item-rejected item={item} token={token}")),
        }?;
        let files = self.count(item, total).await?;
        for FileCount { path, lines } in &files {
            print(&format!("file-counted item={item} path={path} lines={lines}"))?;
        }
        self.hold(&context).await?;
        let result = ItemResult {
            item,
            token,
            instance: self.name.clone(),
            source: source.to_string(),
            total_items: total,
            files,
        };
        let (n_files, n_lines) = (result.files.len(), result.lines());
        let store = self.store.clone();
        match blocking(move || store.write(&result)).await? {
            Verdict::Accepted => print(&format!(
                "item-done item={item} token={token} files={n_files} lines={n_lines}"
            )),
            Verdict::Rejected => print(&format!("item-rejected item={item} token={token}")),
        }
    }
}

/// Runs file operations on the blocking pool, not on the threads of the futures.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

/// Prints one line on the standard output and flushes it.
fn print(line: &str) -> Result<(), JobError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
