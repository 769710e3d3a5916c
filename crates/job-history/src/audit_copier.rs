//! Copies of audited changes, which the registry keeps for a short time only.

use std::collections::BTreeMap;

use coordination::{AuditRecord, AuditSubject};

use crate::{History, Result};

/// Age, before the last stored change of a job or a group, up to which changes are stored again
/// when a process starts, in milliseconds: the clocks of operators can differ.
const OVERLAP_MS: i64 = 3_600_000;

/// Copies audited changes to a history. The registry keeps the last 32 of each job and group.
///
/// A change that is stored already stays as it is, so any number of processes may copy the same
/// changes. Read the logs often enough: of more than 32 changes between two copies the oldest ones
/// are lost.
///
/// # Examples
/// ```
/// # use job_history::{AuditCopier, AuditQuery, History, HistoryOptions};
/// # use coordination::{AuditRecord, AuditSubject, JobName};
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let history = History::open(HistoryOptions::sqlite(folder.path().join("h.db"))).await?;
/// # let change = AuditRecord {
/// #     id: "1-anna".into(), at_ms: 1_709_208_000_000, who: "anna".into(), why: "test".into(),
/// #     act: "config".into(), target: "report".into(), what: "changed".into(),
/// # };
/// let report = AuditSubject::from(&JobName::new("report")?);
/// let mut copier = AuditCopier::new(&history).await?;
/// copier.copy(&history, &report, [&change]).await;
/// history.flush(Duration::from_secs(5)).await?;
/// assert_eq!(history.audit(&AuditQuery::default(), 10, None).await?.records.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AuditCopier {
    /// Time of the last change that was stored before, in milliseconds since 1970 UTC.
    stored: BTreeMap<AuditSubject, i64>,
    /// Id of the last change that this copier has copied.
    copied: BTreeMap<AuditSubject, String>,
}

impl AuditCopier {
    /// Creates a copier that leaves out old changes which the history already has.
    ///
    /// # Errors
    /// As [`History::audit`].
    pub async fn new(history: &History) -> Result<Self> {
        Ok(Self { stored: history.last_audits().await?, copied: BTreeMap::new() })
    }

    /// Copies the changes of a log, oldest first, that are not copied yet. It waits for room in the
    /// queue of the history, and not for its store.
    ///
    /// Returns false if the history is closed.
    ///
    /// # Cancel safety
    /// If the future is dropped, the next call copies the changes that are left.
    pub async fn copy<'a>(
        &mut self,
        history: &History,
        subject: &AuditSubject,
        log: impl IntoIterator<Item = &'a AuditRecord>,
    ) -> bool {
        let records: Vec<&AuditRecord> = log.into_iter().collect();
        let known = self.copied.get(subject);
        let from_ms = match known {
            Some(_) => None,
            None => self.stored.get(subject).map(|last| last.saturating_sub(OVERLAP_MS)),
        };
        // Without the last copied change in the log, all of it is new.
        let start = records.iter().position(|record| Some(&record.id) == known);
        let is_new = |record: &&&AuditRecord| from_ms.is_none_or(|from| record.at_ms >= from);
        for record in records.iter().skip(start.map_or(0, |at| at + 1)).filter(is_new) {
            if !history.record_audit(subject, record).await {
                return false;
            }
        }
        if let Some(last) = records.last() {
            self.copied.insert(subject.clone(), last.id.clone());
        }
        true
    }

    /// Forgets a removed job or group: all changes of a later one of the same name are new.
    pub fn forget(&mut self, subject: &AuditSubject) {
        self.copied.remove(subject);
        self.stored.remove(subject);
    }
}
