//! Reads the histories of the workers, through the public API of `job-history`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use job_history::{EventQuery, FireQuery, History, HistoryOptions};

use crate::Error;
use crate::evidence::{EventRow, FireRow};

const PAGE: u32 = 1_000;
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// Reads all fires and events of all workers, given by server IP and file.
pub(crate) fn read_all(
    histories: &[(String, PathBuf)],
) -> Result<(Vec<FireRow>, Vec<EventRow>), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::System)?;
    let (mut rows, mut events) = (Vec::new(), Vec::new());
    for (worker, path) in histories {
        let read = runtime.block_on(read(worker, path, &mut rows, &mut events));
        read.map_err(|source| Error::History { path: path.clone(), source })?;
    }
    Ok((rows, events))
}

async fn read(
    worker: &str,
    path: &Path,
    rows: &mut Vec<FireRow>,
    events: &mut Vec<EventRow>,
) -> Result<(), job_history::Error> {
    let history = History::open(HistoryOptions::sqlite(path)).await?;
    let mut after = None;
    loop {
        let page = history.fires(&FireQuery::default(), PAGE, after.as_ref()).await?;
        rows.extend(page.fires.into_iter().map(|fire| FireRow {
            worker: worker.to_owned(),
            job: fire.job,
            item: fire.item.index(),
            fire_ms: fire.fire.as_millisecond(),
            outcome: fire.outcome.as_str().to_owned(),
            reason: fire.reason,
            source: fire.source.map(|source| source.as_str().to_owned()),
            token: fire.token.map(|token| token.0),
            instance: fire.instance.map(|instance| instance.as_str().to_owned()),
            began_ms: fire.began.map(|began| began.as_millisecond()),
            gap_until_ms: fire.gap_until.map(|until| until.as_millisecond()),
        }));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut after = None;
    loop {
        let page = history.events(&EventQuery::default(), PAGE, after.as_ref()).await?;
        events.extend(page.events.into_iter().map(|event| EventRow {
            worker: worker.to_owned(),
            at_ms: event.at.as_millisecond(),
            job: event.job,
            instance: event.instance.map(|instance| instance.as_str().to_owned()),
            kind: event.kind,
            item: event.item.map(|item| item.index()),
            fire_ms: event.fire.map(|fire| fire.as_millisecond()),
            text: event.text,
        }));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    history.close(CLOSE_LIMIT).await
}
