//! Queries of a history, and deletion of old rows.

use std::collections::BTreeMap;

use coordination::AuditSubject;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::query::{
    AuditCursor, AuditPage, AuditQuery, DropRecord, EventCursor, EventPage, EventQuery, FireCursor,
    FirePage, FireQuery, MAX_PAGE, OutcomeCount, OutputCursor, OutputPage, OutputQuery,
};
use crate::store::{Fault, JavaFailures, Order, Table};
use crate::{Error, History, Result};

impl History {
    /// Returns fires of items, the latest first: at most `limit` (1 to 1 000), from the end of the
    /// previous page.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for the limit; [`Error::Unreachable`] or [`Error::Unusable`] if the
    /// store does not answer or rejects the query.
    ///
    /// # Example: all pages
    /// ```
    /// # use job_history::{FireQuery, History, HistoryOptions};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let history = History::open(HistoryOptions::sqlite(folder.path().join("h.db"))).await?;
    /// let query = FireQuery::default().job("report");
    /// let mut page = history.fires(&query, 100, None).await?;
    /// loop {
    ///     for fire in &page.fires {
    ///         println!("{} item {}: {}", fire.fire, fire.item, fire.outcome);
    ///     }
    ///     let Some(next) = page.next else { break };
    ///     page = history.fires(&query, 100, Some(&next)).await?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn fires(
        &self,
        query: &FireQuery,
        limit: u32,
        after: Option<&FireCursor>,
    ) -> Result<FirePage> {
        let limit = checked_limit(limit)?;
        self.with_public_error(self.store.fires(query, limit, Order::LatestFirst, after).await)
    }

    /// Returns the number of fires by job and outcome.
    ///
    /// # Errors
    /// [`Error::Unreachable`] or [`Error::Unusable`] if the store does not answer or rejects the
    /// query.
    pub async fn counts(&self, query: &FireQuery) -> Result<Vec<OutcomeCount>> {
        self.with_public_error(self.store.counts(query).await)
    }

    /// Returns events other than claims and completions, the latest first, in pages as
    /// [`fires`](Self::fires) does.
    ///
    /// # Errors
    /// As [`fires`](Self::fires).
    pub async fn events(
        &self,
        query: &EventQuery,
        limit: u32,
        after: Option<&EventCursor>,
    ) -> Result<EventPage> {
        let limit = checked_limit(limit)?;
        self.with_public_error(self.store.events(query, limit, after).await)
    }

    /// Returns lines of the output of a fire in the order of items, runs and lines: at most `limit`
    /// (1 to 1 000), from the end of the previous page. To follow a run, ask again with the end of
    /// the last page that had lines.
    ///
    /// # Errors
    /// As [`fires`](Self::fires).
    pub async fn output(
        &self,
        query: &OutputQuery,
        limit: u32,
        after: Option<&OutputCursor>,
    ) -> Result<OutputPage> {
        let limit = checked_limit(limit)?;
        let page = self.store.output(query, limit, Order::EarliestFirst, after);
        self.with_public_error(page.await)
    }

    /// Returns the last lines of the output of a fire, in their order: at most `limit` (1 to
    /// 1 000), before the given end of a page of later lines.
    ///
    /// # Errors
    /// As [`fires`](Self::fires).
    pub async fn last_output(
        &self,
        query: &OutputQuery,
        limit: u32,
        before: Option<&OutputCursor>,
    ) -> Result<OutputPage> {
        let limit = checked_limit(limit)?;
        let page = self.store.output(query, limit, Order::LatestFirst, before);
        self.with_public_error(page.await)
    }

    /// Returns audited changes, the latest first, in pages as [`fires`](Self::fires) does.
    ///
    /// The registry has the last 32 changes of each job and of each group; the store has those that
    /// [`record_audit`](Self::record_audit) was called for.
    ///
    /// # Errors
    /// As [`fires`](Self::fires).
    pub async fn audit(
        &self,
        query: &AuditQuery,
        limit: u32,
        after: Option<&AuditCursor>,
    ) -> Result<AuditPage> {
        let limit = checked_limit(limit)?;
        self.with_public_error(self.store.audit(query, limit, after).await)
    }

    /// Returns the time of the last stored change of each job and of each group, in milliseconds
    /// since 1970 UTC.
    ///
    /// # Errors
    /// [`Error::Unreachable`] or [`Error::Unusable`] if the store does not answer or rejects the
    /// query.
    pub async fn last_audits(&self) -> Result<BTreeMap<AuditSubject, i64>> {
        self.with_public_error(self.store.last_audits().await)
    }

    /// Returns the end of the last successful run of each item that Java instances have written to
    /// `JOB_EXECUTION_LOG`, in milliseconds since 1970 UTC, by job and item.
    ///
    /// Java writes times without a zone: `zone` is that of its instances. Of a time that occurs
    /// twice, at the end of summer time, the first occurrence is returned.
    ///
    /// # Errors
    /// [`Error::Unreachable`] or [`Error::Unusable`] if the store does not answer or rejects the
    /// query.
    pub async fn java_successes(
        &self,
        zone: &TimeZone,
    ) -> Result<BTreeMap<String, BTreeMap<u32, i64>>> {
        self.with_public_error(self.store.java_successes(zone).await)
    }

    /// Returns the failed runs of each item since its last successful run, of those that Java
    /// instances have written to `JOB_EXECUTION_LOG`, by job and item.
    ///
    /// For `zone`, see [`java_successes`](Self::java_successes). A run that has not ended does not
    /// count.
    ///
    /// # Errors
    /// As [`java_successes`](Self::java_successes).
    pub async fn java_failures(
        &self,
        zone: &TimeZone,
    ) -> Result<BTreeMap<String, BTreeMap<u32, JavaFailures>>> {
        self.with_public_error(self.store.java_failures(zone).await)
    }

    /// Returns the fires with a run that are nearest to a time: at most `limit` (1 to 1 000) before
    /// it and as many from it on, in ascending order. Each time is there once.
    ///
    /// # Errors
    /// As [`fires`](Self::fires).
    pub async fn nearest_fires(
        &self,
        query: &FireQuery,
        time: Timestamp,
        limit: u32,
    ) -> Result<Vec<Timestamp>> {
        let limit = checked_limit(limit)?;
        let query = query.clone().with_run();
        let (before, after) = (query.clone().until(time), query.from(time));
        let before = self.store.fires(&before, limit, Order::LatestFirst, None).await;
        let after = self.store.fires(&after, limit, Order::EarliestFirst, None).await;
        let before = self.with_public_error(before)?.fires;
        let after = self.with_public_error(after)?.fires;
        let mut times: Vec<_> = before.iter().chain(&after).map(|fire| fire.fire).collect();
        times.sort_unstable();
        times.dedup();
        Ok(times)
    }

    /// Returns the records that any process dropped in an interval, the earliest first, at most
    /// 1 000 rows. There the history is incomplete.
    ///
    /// # Errors
    /// [`Error::Unreachable`] or [`Error::Unusable`] if the store does not answer or rejects the
    /// query.
    pub async fn drops(
        &self,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<DropRecord>> {
        self.with_public_error(self.store.drops(from, until).await)
    }

    /// Deletes all rows before a time, in transactions of
    /// [`prune_chunk`](crate::HistoryOptions::prune_chunk) rows, and returns their number.
    ///
    /// In the tables of ElasticJob it also deletes the rows of Java instances.
    ///
    /// # Errors
    /// [`Error::Unreachable`] or [`Error::Unusable`] if the store does not answer or rejects a
    /// deletion. Earlier transactions stay committed.
    ///
    /// # Cancel safety
    /// If the future is dropped, a part of the rows is deleted.
    pub async fn prune(&self, before: Timestamp) -> Result<u64> {
        let mut total = 0;
        for table in Table::ALL {
            loop {
                let pruned = self.store.prune(table, before.as_millisecond(), self.prune_chunk);
                let deleted = self.with_public_error(pruned.await)?;
                total += deleted;
                if deleted < u64::from(self.prune_chunk) {
                    break;
                }
            }
        }
        Ok(total)
    }

    pub(crate) fn with_public_error<T>(&self, result: Result<T, Fault>) -> Result<T> {
        result.map_err(|fault| self.store.error(&fault))
    }
}

fn checked_limit(limit: u32) -> Result<u32> {
    if (1..=MAX_PAGE).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::InvalidOption {
        option: "limit",
        value: limit.to_string(),
        expected: "1 to 1000 rows",
    })
}
