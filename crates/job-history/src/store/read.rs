//! Queries: conditions, pages, counts.

use std::collections::BTreeMap;

use coordination::{AuditRecord, AuditSubject, FencingToken, RunSource};
use jiff::Timestamp;
use lite::OutputStream;
use sharding::{InstanceId, ShardingItem};

use super::write::Cells;
use super::{ColumnKind, Fault, Store, Value};
use crate::FireOutcome;
use crate::query::{
    AuditCursor, AuditPage, AuditQuery, CompletedRun, DropRecord, EventCursor, EventPage,
    EventQuery, EventRecord, FireCursor, FirePage, FireQuery, FireRecord, OutcomeCount,
    OutputCursor, OutputPage, OutputQuery, OutputRecord, StoredAudit, stored_group,
    subject_of_stored,
};

/// Order of the rows of a page by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    EarliestFirst,
    LatestFirst,
}

impl Order {
    fn comparison(self) -> &'static str {
        match self {
            Self::EarliestFirst => ">",
            Self::LatestFirst => "<",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::EarliestFirst => "ASC",
            Self::LatestFirst => "DESC",
        }
    }
}

/// Conditions that must all hold, and their values.
#[derive(Default)]
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    fn when<V: Into<Value>>(mut self, sql: &str, value: Option<V>) -> Self {
        if let Some(value) = value {
            self.sql.push(sql.to_owned());
            self.values.push(value.into());
        }
        self
    }

    /// Selects fires with this shown outcome.
    fn with_outcome(self, outcome: Option<&FireOutcome>) -> Self {
        let Some(outcome) = outcome else { return self };
        let is_over = format!("({RUN_AGAIN} OR {SESSION_OVER})");
        match outcome.as_str() {
            "running" => self.when(&format!("outcome = ? AND NOT {is_over}"), Some("running")),
            "unknown" => self.when(&format!("outcome = ? AND {is_over}"), Some("running")),
            word => self.when("outcome = ?", Some(word)),
        }
    }

    /// Selects rows after a cursor, in an order of columns.
    fn after<const N: usize>(
        mut self,
        columns: [&str; N],
        order: Order,
        cursor: Option<[Value; N]>,
    ) -> Self {
        let Some(cursor) = cursor else { return self };
        let then = order.comparison();
        // From the last column, which decides if all others are equal, to the first.
        let mut sql = String::new();
        for column in columns.iter().rev() {
            sql = match &*sql {
                "" => format!("{column} {then} ?"),
                inner => format!("({column} {then} ? OR ({column} = ? AND {inner}))"),
            };
        }
        self.sql.push(sql);
        let last = N.saturating_sub(1);
        for (n, value) in cursor.into_iter().enumerate() {
            if n < last {
                self.values.push(value.clone());
            }
            self.values.push(value);
        }
        self
    }

    fn to_sql(&self) -> String {
        if self.sql.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", self.sql.join(" AND "))
        }
    }
}

/// Condition: another instance has a later claim of the item, so the run before it is over.
///
/// A claim by the same instance is no proof: with `overlap = "parallel n"` it runs several fires of
/// an item at once, and the tokens of these runs are those of different slots.
const RUN_AGAIN: &str = "EXISTS (SELECT 1 FROM ejob_fire later WHERE later.job = f.job \
    AND later.item = f.item AND later.fire_ms > f.fire_ms AND later.token > f.token \
    AND later.instance <> f.instance)";

/// Condition: an event has ended the incarnation for the job, so its runs are over. All jobs of a
/// process have the same instance id, and each job has its own event.
const SESSION_OVER: &str = "EXISTS (SELECT 1 FROM ejob_event e WHERE e.at_ms >= f.began_ms \
    AND e.job = f.job AND e.instance = f.instance AND e.kind IN ('left', 'session_lost'))";

/// Expression: the text of the first event that reports a missed fire of a gap, for all items of an
/// instance or for this one. An instance reports it when the next fire comes at the latest, so that
/// a minute after the end of the gap is enough.
const MISSED_IN_GAP: &str = "(SELECT e.text FROM ejob_event e WHERE e.at_ms >= f.fire_ms \
    AND e.at_ms < f.gap_until_ms + 60000 AND e.job = f.job AND e.kind = 'missed' \
    AND (e.item IS NULL OR e.item = f.item) AND e.fire_ms >= f.fire_ms \
    AND e.fire_ms < f.gap_until_ms ORDER BY e.at_ms LIMIT 1)";

/// Returns the expressions for the shown `outcome` and `reason`.
///
/// They replace `running` by `unknown` if the run is over but this store has no end of it: its
/// process was killed, or wrote the end to another store.
fn shown_outcome() -> (String, String) {
    let outcome = format!(
        "CASE WHEN outcome = 'running' AND ({RUN_AGAIN} OR {SESSION_OVER}) THEN 'unknown' ELSE outcome END"
    );
    let reason = format!(
        "CASE WHEN outcome = 'running' AND {RUN_AGAIN} \
         THEN 'no end is recorded here; the item has run again since' \
         WHEN outcome = 'running' AND {SESSION_OVER} \
         THEN 'no end is recorded here; the session of the instance is over' \
         WHEN outcome = 'gap' THEN COALESCE({MISSED_IN_GAP}, reason) ELSE reason END"
    );
    (outcome, reason)
}

fn ms(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millisecond)
}

/// Rounds a limit up to whole milliseconds, so that rows of the truncated millisecond count as
/// before it.
fn ms_after(time: Option<Timestamp>) -> Option<i64> {
    time.map(|time| {
        let ms = time.as_millisecond();
        let is_later = Timestamp::from_millisecond(ms).is_ok_and(|whole| whole < time);
        ms.saturating_add(i64::from(is_later))
    })
}

fn fire_conditions(query: &FireQuery) -> Conditions {
    Conditions::default()
        .when("job = ?", query.job.as_deref())
        .when("item = ?", query.item.map(|item| i64::from(item.index())))
        .when("fire_ms >= ?", ms_after(query.from))
        .when("fire_ms < ?", ms_after(query.until))
        .with_outcome(query.outcome.as_ref())
        .when("instance = ?", query.instance.as_ref().map(InstanceId::as_str))
        .when("token >= ?", query.has_run.then_some(0_i64))
        // Times of requests are odd, also after a takeover, which changes the source.
        .when(
            "source NOT IN ('MANUAL', 'BACKFILL') AND fire_ms % 2 = ?",
            query.without_requests.then_some(0_i64),
        )
        .when("source <> ?", query.without_takeovers.then_some(RunSource::Failover.as_str()))
        .when("gap_until_ms > ?", ms(query.gap_beyond))
        .when("past_fire_ms >= ?", query.past_fires.map(|(from_ms, _)| from_ms))
        .when("past_fire_ms < ?", query.past_fires.map(|(_, until_ms)| until_ms))
}

/// Returns the query of a page of fires, with one row more than the page.
fn fires_sql(
    query: &FireQuery,
    limit: u32,
    order: Order,
    after: Option<&FireCursor>,
) -> (String, Vec<Value>) {
    let cursor = after.map(|c| [c.fire_ms.into(), c.job.as_str().into(), c.item.into()]);
    let mut conditions = fire_conditions(query).after(["fire_ms", "job", "item"], order, cursor);
    let (outcome, reason) = shown_outcome();
    let word = order.word();
    let sql = format!(
        "SELECT job, item, fire_ms, {outcome}, {reason}, source, token, instance, began_ms, ended_ms, left_by, \
         gap_until_ms, gap_count, left_failover, first_done_token, first_done_by, last_done_token, last_done_by, \
         past_fire_ms FROM ejob_fire f{} ORDER BY fire_ms {word}, job {word}, item {word} LIMIT ?",
        conditions.to_sql()
    );
    conditions.values.push((i64::from(limit) + 1).into());
    (sql, conditions.values)
}

impl Store {
    pub(crate) async fn fires(
        &self,
        query: &FireQuery,
        limit: u32,
        order: Order,
        after: Option<&FireCursor>,
    ) -> Result<FirePage, Fault> {
        use ColumnKind::{Int, Text};
        const KINDS: [ColumnKind; 19] = [
            Text, Int, Int, Text, Text, Text, Int, Text, Int, Int, Text, Int, Int, Int, Int, Text,
            Int, Text, Int,
        ];
        let (sql, values) = fires_sql(query, limit, order, after);
        let mut rows = self.rows(&sql, &values, &KINDS).await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let fires: Vec<_> = rows.into_iter().map(fire_of_row).collect();
        let next = if has_more { fires.last().map(cursor_of) } else { None };
        Ok(FirePage { fires, next })
    }

    pub(crate) async fn counts(&self, query: &FireQuery) -> Result<Vec<OutcomeCount>, Fault> {
        use ColumnKind::{Int, Text};
        let conditions = fire_conditions(query);
        let (outcome, _) = shown_outcome();
        let sql = format!(
            "SELECT job, outcome, COUNT(*) FROM (SELECT job, {outcome} AS outcome FROM ejob_fire f{}) shown \
             GROUP BY job, outcome ORDER BY job, outcome",
            conditions.to_sql()
        );
        let rows = self.rows(&sql, &conditions.values, &[Text, Text, Int]).await?;
        Ok(rows
            .into_iter()
            .map(|row| {
                let mut row = Cells(row.into_iter());
                OutcomeCount {
                    job: row.text().unwrap_or_default(),
                    outcome: FireOutcome::new(row.text().unwrap_or_default()),
                    fires: row.int().unwrap_or_default().unsigned_abs(),
                }
            })
            .collect())
    }

    pub(crate) async fn events(
        &self,
        query: &EventQuery,
        limit: u32,
        after: Option<&EventCursor>,
    ) -> Result<EventPage, Fault> {
        use ColumnKind::{Int, Text};
        let cursor = after.map(|c| [c.at_ms.into(), c.writer.as_str().into(), c.seq.into()]);
        let mut conditions = Conditions::default()
            .when("job = ?", query.job.as_deref())
            .when("kind = ?", query.kind.as_deref())
            .when("at_ms >= ?", ms_after(query.from))
            .when("at_ms < ?", ms_after(query.until))
            .after(["at_ms", "writer", "seq"], Order::LatestFirst, cursor);
        let sql = format!(
            "SELECT at_ms, writer, seq, job, instance, kind, item, fire_ms, text FROM ejob_event{} \
             ORDER BY at_ms DESC, writer DESC, seq DESC LIMIT ?",
            conditions.to_sql()
        );
        conditions.values.push((i64::from(limit) + 1).into());
        let kinds = [Int, Text, Int, Text, Text, Text, Int, Int, Text];
        let mut rows = self.rows(&sql, &conditions.values, &kinds).await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let (events, cursors): (Vec<_>, Vec<_>) = rows.into_iter().map(event_of_row).unzip();
        let next = if has_more { cursors.into_iter().next_back() } else { None };
        Ok(EventPage { events, next })
    }

    /// Returns lines of output in their order, or from the last one on.
    pub(crate) async fn output(
        &self,
        query: &OutputQuery,
        limit: u32,
        order: Order,
        after: Option<&OutputCursor>,
    ) -> Result<OutputPage, Fault> {
        use ColumnKind::{Int, Text};
        let cursor =
            after.map(|c| [c.item.into(), c.token.into(), c.writer.as_str().into(), c.seq.into()]);
        let mut conditions = Conditions::default()
            .when("job = ?", Some(query.job.as_str()))
            .when("fire_ms = ?", Some(query.fire.as_millisecond()))
            .when("item = ?", query.item.map(|item| i64::from(item.index())))
            .when("stream = ?", query.stream.map(OutputStream::as_str))
            .after(["item", "token", "writer", "seq"], order, cursor);
        let word = order.word();
        let sql = format!(
            "SELECT item, token, writer, seq, instance, attempt, at_ms, stream, text FROM ejob_output{} \
             ORDER BY item {word}, token {word}, writer {word}, seq {word} LIMIT ?",
            conditions.to_sql()
        );
        conditions.values.push((i64::from(limit) + 1).into());
        let kinds = [Int, Int, Text, Int, Text, Int, Int, Text, Text];
        let mut rows = self.rows(&sql, &conditions.values, &kinds).await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let (mut lines, cursors): (Vec<_>, Vec<_>) = rows.into_iter().map(line_of_row).unzip();
        let end = cursors.into_iter().next_back();
        if order == Order::LatestFirst {
            lines.reverse();
        }
        Ok(OutputPage { lines, end, has_more })
    }

    pub(crate) async fn audit(
        &self,
        query: &AuditQuery,
        limit: u32,
        after: Option<&AuditCursor>,
    ) -> Result<AuditPage, Fault> {
        use ColumnKind::{Int, Text};
        let cursor =
            after.map(|c| [c.at_ms.into(), c.subject.as_str().into(), c.id.as_str().into()]);
        let group = query.group.as_deref().map(stored_group);
        let mut conditions = Conditions::default()
            .when("job = ?", query.job.as_deref())
            .when("job = ?", group.as_deref())
            .when("at_ms >= ?", ms_after(query.from))
            .when("at_ms < ?", ms_after(query.until))
            .after(["at_ms", "job", "id"], Order::LatestFirst, cursor);
        let sql = format!(
            "SELECT at_ms, job, id, who, why, act, target, effect FROM ejob_audit{} \
             ORDER BY at_ms DESC, job DESC, id DESC LIMIT ?",
            conditions.to_sql()
        );
        conditions.values.push((i64::from(limit) + 1).into());
        let kinds = [Int, Text, Text, Text, Text, Text, Text, Text];
        let mut rows = self.rows(&sql, &conditions.values, &kinds).await?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let (records, cursors): (Vec<_>, Vec<_>) = rows.into_iter().map(audit_of_row).unzip();
        let next = if has_more { cursors.into_iter().next_back() } else { None };
        Ok(AuditPage { records: records.into_iter().flatten().collect(), next })
    }

    /// Returns the time of the last stored change of each job and of each group, in milliseconds
    /// since 1970 UTC.
    pub(crate) async fn last_audits(&self) -> Result<BTreeMap<AuditSubject, i64>, Fault> {
        let sql = "SELECT job, MAX(at_ms) FROM ejob_audit GROUP BY job";
        let rows = self.rows(sql, &[], &[ColumnKind::Text, ColumnKind::Int]).await?;
        let pairs = rows.into_iter().filter_map(|row| {
            let mut row = Cells(row.into_iter());
            subject_of_stored(&row.text()?).zip(row.int())
        });
        Ok(pairs.collect())
    }

    pub(crate) async fn drops(
        &self,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<DropRecord>, Fault> {
        use ColumnKind::{Int, Text};
        // Rows whose time overlaps the interval.
        let conditions = Conditions::default()
            .when("last_ms >= ?", ms(from))
            .when("first_ms < ?", ms_after(until));
        let sql = format!(
            "SELECT writer, first_ms, last_ms, dropped FROM ejob_drop{} ORDER BY first_ms, writer, seq LIMIT 1000",
            conditions.to_sql()
        );
        let rows = self.rows(&sql, &conditions.values, &[Text, Int, Int, Int]).await?;
        Ok(rows
            .into_iter()
            .map(|row| {
                let mut row = Cells(row.into_iter());
                DropRecord {
                    writer: row.text().unwrap_or_default(),
                    first: time(row.int().unwrap_or_default()),
                    last: time(row.int().unwrap_or_default()),
                    dropped: row.int().unwrap_or_default().unsigned_abs(),
                }
            })
            .collect())
    }
}

fn fire_of_row(row: Vec<Value>) -> FireRecord {
    let mut row = Cells(row.into_iter());
    FireRecord {
        job: row.text().unwrap_or_default(),
        item: item(row.int().unwrap_or_default()),
        fire: time(row.int().unwrap_or_default()),
        outcome: FireOutcome::new(row.text().unwrap_or_default()),
        reason: row.text().map(reason_of_gap),
        source: row.text().and_then(|word| source(&word)),
        token: row.int().map(|token| FencingToken(token.unsigned_abs())),
        instance: row.text().map(InstanceId::new),
        began: row.int().map(time),
        ended: row.int().map(time),
        former_holder: row.text().map(InstanceId::new),
        gap_until: row.int().map(time),
        gap_count: row.int().and_then(|count| u32::try_from(count).ok()),
        failover: row.int() == Some(1),
        first_completed: completed_run(&mut row),
        last_completed: completed_run(&mut row),
        past_fire: row.int().map(time),
    }
}

fn completed_run(row: &mut Cells) -> Option<CompletedRun> {
    let (token, instance) = (row.int(), row.text());
    let (token, instance) = token.zip(instance)?;
    Some(CompletedRun {
        token: FencingToken(token.unsigned_abs()),
        instance: InstanceId::new(instance),
    })
}

/// Replaces the text of an event that reports a missed fire by its reason for the whole gap.
fn reason_of_gap(text: String) -> String {
    let why = reason_of_missed(&text).map(|why| format!("an instance missed them: {why}"));
    why.unwrap_or(text)
}

/// Returns the reason in the text of an event of an instance that missed a fire with all its items.
pub(super) fn reason_of_missed(text: &str) -> Option<&str> {
    let (_fire, reason) = text.strip_prefix("missed the fire of ")?.split_once(": ")?;
    Some(reason)
}

fn cursor_of(fire: &FireRecord) -> FireCursor {
    FireCursor {
        fire_ms: fire.fire.as_millisecond(),
        job: fire.job.clone(),
        item: i64::from(fire.item.index()),
    }
}

fn event_of_row(row: Vec<Value>) -> (EventRecord, EventCursor) {
    let mut row = Cells(row.into_iter());
    let at_ms = row.int().unwrap_or_default();
    let cursor = EventCursor {
        at_ms,
        writer: row.text().unwrap_or_default(),
        seq: row.int().unwrap_or_default(),
    };
    let event = EventRecord {
        at: time(at_ms),
        job: row.text().unwrap_or_default(),
        instance: row.text().map(InstanceId::new),
        kind: row.text().unwrap_or_default(),
        item: row.int().map(item),
        fire: row.int().map(time),
        text: row.text().unwrap_or_default(),
    };
    (event, cursor)
}

fn line_of_row(row: Vec<Value>) -> (OutputRecord, OutputCursor) {
    let mut row = Cells(row.into_iter());
    let (number, token) = (row.int().unwrap_or_default(), row.int().unwrap_or_default());
    let (writer, seq) = (row.text().unwrap_or_default(), row.int().unwrap_or_default());
    let line = OutputRecord {
        item: item(number),
        token: FencingToken(token.unsigned_abs()),
        writer: writer.clone(),
        seq: seq.unsigned_abs(),
        instance: InstanceId::new(row.text().unwrap_or_default()),
        attempt: row.int().and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
        at: time(row.int().unwrap_or_default()),
        stream: row.text().unwrap_or_default(),
        text: row.text().unwrap_or_default(),
    };
    (line, OutputCursor { item: number, token, writer, seq })
}

/// Returns a change, unless its subject is none, and the cursor after it.
fn audit_of_row(row: Vec<Value>) -> (Option<StoredAudit>, AuditCursor) {
    let mut row = Cells(row.into_iter());
    let at_ms = row.int().unwrap_or_default();
    let mut text = || row.text().unwrap_or_default();
    let (stored, id) = (text(), text());
    let (who, why, act, target, what) = (text(), text(), text(), text(), text());
    let record = AuditRecord { id: id.clone(), at_ms, who, why, act, target, what };
    let subject = subject_of_stored(&stored);
    if subject.is_none() {
        tracing::debug!(job = stored, id, "left out an audited change of an unknown subject");
    }
    let found = subject.map(|subject| StoredAudit { subject, record });
    (found, AuditCursor { at_ms, subject: stored, id })
}

fn source(word: &str) -> Option<RunSource> {
    use RunSource::{Backfill, Failover, Manual, Misfire, Normal};
    [Normal, Misfire, Failover, Manual, Backfill].into_iter().find(|source| source.as_str() == word)
}

fn item(number: i64) -> ShardingItem {
    ShardingItem::new(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Converts a time of a record or a query.
pub(crate) fn time(ms: i64) -> Timestamp {
    let bound = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(ms).unwrap_or(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{History, HistoryOptions};

    /// The timeline asks for each outcome alone, and most of them are rare.
    #[tokio::test]
    async fn fires_of_an_outcome_are_found_without_a_walk_or_a_sort() {
        let folder = tempfile::tempdir().unwrap();
        let options = HistoryOptions::sqlite(folder.path().join("history.db"));
        let history = History::open(options).await.unwrap();
        let kinds = [ColumnKind::Int, ColumnKind::Int, ColumnKind::Int, ColumnKind::Text];
        for (query, expected) in [
            (FireQuery::default().outcome(FireOutcome::new("failed")), "ejob_fire_by_outcome"),
            (FireQuery::default(), "ejob_fire_by_time"),
        ] {
            let (sql, values) = fires_sql(&query, 100, Order::LatestFirst, None);
            let sql = format!("EXPLAIN QUERY PLAN {sql}");
            let plan = history.store.rows(&sql, &values, &kinds).await.unwrap();
            let steps = plan.into_iter().map(|mut row| match row.pop() {
                Some(Value::Text(Some(step))) => step,
                other => panic!("a step of the plan is {other:?}"),
            });
            let steps: Vec<String> = steps.collect();
            assert!(steps[0].contains(&format!("USING INDEX {expected}")), "{steps:?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:?}");
        }
        history.close(std::time::Duration::from_secs(30)).await.unwrap();
    }
}
