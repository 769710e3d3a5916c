//! The questions that a history answers, and deleting what is too old.

use jiff::Timestamp;

use crate::query::{
    DropRecord, EventCursor, EventPage, EventQuery, FireCursor, FirePage, FireQuery, MAX_PAGE,
    OutcomeCount,
};
use crate::store::{Fault, Table};
use crate::{Error, History, Result};

impl History {
    /// Returns fires of items, the latest first: at most `limit`, which is 1 to 1 000, from where the page before ended.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for the limit; [`Error::Away`] and [`Error::Unusable`] by what the store says.
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
        self.told(self.store.fires(query, limit, after).await)
    }

    /// Returns how many fires ended in which way, by job and outcome.
    ///
    /// # Errors
    /// [`Error::Away`] and [`Error::Unusable`] by what the store says.
    pub async fn counts(&self, query: &FireQuery) -> Result<Vec<OutcomeCount>> {
        self.told(self.store.counts(query).await)
    }

    /// Returns what happened besides runs, the latest first, as [`fires`](Self::fires) does.
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
        self.told(self.store.events(query, limit, after).await)
    }

    /// Returns what was dropped in an interval by any process, the earliest first, at most 1 000 rows: where the history has
    /// holes.
    ///
    /// # Errors
    /// [`Error::Away`] and [`Error::Unusable`] by what the store says.
    pub async fn drops(
        &self,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<DropRecord>> {
        self.told(self.store.drops(from, until).await)
    }

    /// Deletes everything before a time, in transactions of [`prune_chunk`](crate::HistoryOptions::prune_chunk) rows, and returns
    /// how many rows of all tables. The rows of Java instances in the tables that they share go too.
    ///
    /// # Errors
    /// [`Error::Away`] and [`Error::Unusable`] by what the store says. What was deleted before stays deleted.
    ///
    /// # Cancel safety
    /// If the future is dropped some of it is deleted.
    pub async fn prune(&self, before: Timestamp) -> Result<u64> {
        let mut all = 0;
        for table in Table::ALL {
            loop {
                let pruned = self.store.prune(table, before.as_millisecond(), self.prune_chunk);
                let deleted = self.told(pruned.await)?;
                all += deleted;
                if deleted < u64::from(self.prune_chunk) {
                    break;
                }
            }
        }
        Ok(all)
    }

    fn told<T>(&self, result: Result<T, Fault>) -> Result<T> {
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
