//! Writes a batch in one transaction, which merges facts with the stored ones.
//!
//! All writes are idempotent, so a transaction with an unknown outcome is simply repeated.

use std::collections::BTreeMap;

use super::pool::Tx;
use super::{ColumnKind, Fault, Store, Value};
use crate::entry::{AuditRow, Entry, EventRow, FireKey, OutputRow, OutputRun};
use crate::fire_facts::{FireFacts, GapFacts, MissedFacts, OrphanFacts, RunFacts, RunKey};
use crate::java_rows::{ExecutionRow, TraceRow};
use crate::store_url::Kind;
use crate::text::{clip, sql_time};

/// Records that a writer dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DropRow {
    pub(crate) seq: i64,
    pub(crate) first_ms: i64,
    pub(crate) last_ms: i64,
    pub(crate) dropped: i64,
}

/// Rows of one transaction. They are in the order of their keys, so that two writers do not
/// deadlock.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    fires: BTreeMap<FireKey, FireFacts>,
    executions: BTreeMap<String, ExecutionRow>,
    states: BTreeMap<String, TraceRow>,
    events: Vec<EventRow>,
    drops: Vec<DropRow>,
    lines: Vec<OutputRow>,
    audits: Vec<AuditRow>,
    /// Numbers of the lines that each run leaves out by now.
    left_out: BTreeMap<OutputRun, (i64, i64)>,
}

impl Batch {
    pub(crate) fn of<'a>(
        entries: impl IntoIterator<Item = &'a Entry>,
        drops: Option<&DropRow>,
    ) -> Self {
        let mut batch = Self { drops: drops.cloned().into_iter().collect(), ..Self::default() };
        for entry in entries {
            if let Some((key, facts)) = entry.fire.clone() {
                let known = batch.fires.remove(&key).unwrap_or_default();
                batch.fires.insert(key, known.merge(facts));
            }
            if let Some(row) = &entry.execution {
                let known = batch.executions.get(&row.id);
                if known.is_none_or(|known| known.ended_ms.is_none()) {
                    batch.executions.insert(row.id.clone(), row.clone());
                }
            }
            batch.states.extend(entry.states.iter().map(|row| (row.id.clone(), row.clone())));
            batch.events.extend(entry.event.clone());
            batch.audits.extend(entry.audit.clone());
            if let Some(line) = &entry.output {
                // The range of a run grows with its lines.
                batch.left_out.extend(line.left_out.map(|range| (line.run.clone(), range)));
                batch.lines.push(line.clone());
            }
        }
        batch
    }
}

impl Store {
    /// Writes all rows or none. `writer` is the name under which events and drops are numbered.
    ///
    /// `has_source` is true if the table of states has the column `source`, which ElasticJob 3.0.5
    /// has dropped.
    pub(crate) async fn write(
        &self,
        batch: &Batch,
        writer: &str,
        has_source: bool,
    ) -> Result<(), Fault> {
        let mut tx = self.begin().await?;
        for (key, facts) in &batch.fires {
            merge_fire(&mut tx, key, facts).await?;
        }
        for row in batch.executions.values() {
            write_execution(&mut tx, row, &self.host_name).await?;
        }
        for row in batch.states.values() {
            write_state(&mut tx, row, has_source).await?;
        }
        for row in &batch.events {
            write_event(&mut tx, row, writer).await?;
        }
        for row in &batch.lines {
            write_line(&mut tx, row, writer).await?;
        }
        for (run, range) in &batch.left_out {
            leave_out(&mut tx, run, *range, writer).await?;
        }
        for row in &batch.audits {
            write_audit(&mut tx, row).await?;
        }
        for row in &batch.drops {
            write_drop(&mut tx, row, writer).await?;
        }
        tx.commit().await
    }

    /// Returns true if the table of states has the column `source`.
    pub(crate) async fn has_source(&self) -> Result<bool, Fault> {
        let sql = match self.kind() {
            Kind::Sqlite => {
                "SELECT COUNT(*) FROM pragma_table_info('JOB_STATUS_TRACE_LOG') WHERE name = 'source'"
            }
            Kind::Postgres => {
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'job_status_trace_log' \
                 AND table_schema = current_schema() AND column_name = 'source'"
            }
            Kind::MySql => {
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'JOB_STATUS_TRACE_LOG' \
                 AND table_schema = DATABASE() AND column_name = 'source'"
            }
        };
        Ok(self.rows(sql, &[], &[ColumnKind::Int]).await?.concat() == [Value::from(1)])
    }
}

const FACT_COLUMNS: &str = "source, token, instance, began_ms, ended_ms, settled, cause, left_by, left_ms, \
                            left_failover, missed, missed_ms, misfired, gap_until_ms, gap_count, \
                            first_done_token, first_done_by, last_done_token, last_done_by, past_fire_ms";

async fn merge_fire(tx: &mut Tx, key: &FireKey, facts: &FireFacts) -> Result<(), Fault> {
    use ColumnKind::{Int, Text};
    const KINDS: [ColumnKind; 20] = [
        Text, Int, Text, Int, Int, Text, Text, Text, Int, Int, Text, Int, Int, Int, Int, Int, Text,
        Int, Text, Int,
    ];
    let lock = if tx.kind() == Kind::Sqlite { "" } else { " FOR UPDATE" };
    let sql = format!(
        "SELECT {FACT_COLUMNS} FROM ejob_fire WHERE job = ? AND item = ? AND fire_ms = ?{lock}"
    );
    let key_values: [Value; 3] = [key.job.as_str().into(), key.item.into(), key.fire_ms.into()];
    let stored = tx.rows(&sql, &key_values, &KINDS).await?.into_iter().next().map(facts_of_row);
    let merged = stored.clone().unwrap_or_default().merge(facts.clone());
    let values = columns_of(&merged).into_iter().chain(key_values).collect::<Vec<_>>();
    let sql = match stored {
        Some(stored) if stored == merged => return Ok(()),
        Some(_) => {
            let set = FACT_COLUMNS.split(", ").map(|column| format!("{column} = ?"));
            let set = set.collect::<Vec<_>>().join(", ");
            format!(
                "UPDATE ejob_fire SET outcome = ?, reason = ?, {set} \
                 WHERE job = ? AND item = ? AND fire_ms = ?"
            )
        }
        None => {
            let placeholders = vec!["?"; values.len()].join(", ");
            format!(
                "INSERT INTO ejob_fire (outcome, reason, {FACT_COLUMNS}, job, item, fire_ms) \
                 VALUES ({placeholders})"
            )
        }
    };
    tx.execute(&sql, &values).await?;
    Ok(())
}

/// Returns the values of `outcome`, `reason` and the columns of facts.
fn columns_of(facts: &FireFacts) -> Vec<Value> {
    let (outcome, reason) = facts.outcome();
    let (run, missed) = (facts.run.as_ref(), facts.missed.as_ref());
    let orphan = facts.orphan.as_ref();
    let (first, last) = (facts.first_completed.as_ref(), facts.last_completed.as_ref());
    let reason = reason.map(|reason| clip(&reason, 4000));
    vec![
        outcome.as_str().into(),
        reason.as_deref().into(),
        run.map(|run| run.source.as_str()).into(),
        run.map(|run| run.token).into(),
        run.map(|run| run.instance.as_str()).into(),
        run.and_then(|run| run.began_ms).into(),
        run.and_then(|run| run.ended_ms).into(),
        run.and_then(|run| run.settled.as_deref()).into(),
        run.and_then(|run| run.cause.as_deref()).into(),
        orphan.map(|orphan| orphan.holder.as_str()).into(),
        orphan.map(|orphan| orphan.at_ms).into(),
        orphan.map(|orphan| i64::from(orphan.failover)).into(),
        missed.map(|missed| missed.reason.as_str()).into(),
        missed.map(|missed| missed.at_ms).into(),
        i64::from(facts.misfired).into(),
        facts.gap.map(|gap| gap.until_ms).into(),
        facts.gap.and_then(|gap| gap.count).into(),
        first.map(|run| run.token).into(),
        first.map(|run| run.instance.as_str()).into(),
        last.map(|run| run.token).into(),
        last.map(|run| run.instance.as_str()).into(),
        facts.past_fire_ms.into(),
    ]
}

fn facts_of_row(row: Vec<Value>) -> FireFacts {
    let mut row = Cells(row.into_iter());
    let (source, token, instance) = (row.text(), row.int(), row.text());
    let (began_ms, ended_ms, settled, cause) = (row.int(), row.int(), row.text(), row.text());
    let (left_by, left_ms, left_failover) = (row.text(), row.int(), row.int());
    let (missed, missed_ms, misfired) = (row.text(), row.int(), row.int());
    let (gap_until_ms, gap_count) = (row.int(), row.int());
    let mut key = || {
        let (token, instance) = (row.int(), row.text());
        token.zip(instance).map(|(token, instance)| RunKey { token, instance })
    };
    let (first_completed, last_completed) = (key(), key());
    let past_fire_ms = row.int();
    FireFacts {
        past_fire_ms,
        run: token.zip(instance).map(|(token, instance)| RunFacts {
            token,
            instance,
            source: source.unwrap_or_default(),
            began_ms,
            ended_ms,
            settled,
            cause,
        }),
        orphan: left_ms.zip(left_by).map(|(at_ms, holder)| OrphanFacts {
            at_ms,
            holder,
            failover: left_failover == Some(1),
        }),
        missed: missed_ms.zip(missed).map(|(at_ms, reason)| MissedFacts { at_ms, reason }),
        misfired: misfired == Some(1),
        gap: gap_until_ms.map(|until_ms| GapFacts { until_ms, count: gap_count }),
        first_completed,
        last_completed,
    }
}

/// Reads the values of a row in order.
pub(super) struct Cells(pub(super) std::vec::IntoIter<Value>);

impl Cells {
    pub(super) fn int(&mut self) -> Option<i64> {
        match self.0.next() {
            Some(Value::Int(number)) => number,
            Some(Value::Text(_) | Value::Bool(_)) | None => None,
        }
    }

    pub(super) fn text(&mut self) -> Option<String> {
        match self.0.next() {
            Some(Value::Text(text)) => text,
            Some(Value::Int(_) | Value::Bool(_)) | None => None,
        }
    }
}

/// Returns the placeholder for a time in a table of ElasticJob.
fn time_parameter(kind: Kind) -> &'static str {
    if kind == Kind::Postgres { "CAST(? AS TIMESTAMP)" } else { "?" }
}

/// Returns the clause of an insertion that updates `columns` if the row exists, or leaves the row
/// unchanged if `columns` is empty.
fn or_update(kind: Kind, key: &str, columns: &[&str]) -> String {
    let set = |value: fn(&str) -> String| {
        let set = columns.iter().map(|column| format!("{column} = {}", value(column)));
        set.collect::<Vec<_>>().join(", ")
    };
    match (kind, columns) {
        (Kind::MySql, []) => {
            let first = key.split(", ").next().unwrap_or(key);
            format!("ON DUPLICATE KEY UPDATE {first} = {first}")
        }
        (Kind::MySql, _) => {
            format!("ON DUPLICATE KEY UPDATE {}", set(|column| format!("VALUES({column})")))
        }
        (Kind::Sqlite | Kind::Postgres, []) => format!("ON CONFLICT ({key}) DO NOTHING"),
        (Kind::Sqlite | Kind::Postgres, _) => format!(
            "ON CONFLICT ({key}) DO UPDATE SET {}",
            set(|column| format!("excluded.{column}"))
        ),
    }
}

async fn write_execution(tx: &mut Tx, row: &ExecutionRow, host: &str) -> Result<(), Fault> {
    let time = time_parameter(tx.kind());
    // The start of a run does not change an existing row, which may already have the end.
    let changes: &[&str] = match row.ended_ms {
        Some(_) => &["failure_cause", "is_success", "start_time", "complete_time"],
        None => &[],
    };
    let sql = format!(
        "INSERT INTO JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, execution_source, \
         failure_cause, is_success, start_time, complete_time) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {time}, {time}) {}",
        or_update(tx.kind(), "id", changes)
    );
    let values: [Value; 11] = [
        row.id.as_str().into(),
        row.job.as_str().into(),
        row.task_id.as_str().into(),
        host.into(),
        row.ip.as_str().into(),
        row.item.into(),
        row.source.into(),
        row.cause.as_deref().into(),
        Value::Bool(row.is_success),
        sql_time(tx.kind(), row.began_ms).as_deref().into(),
        row.ended_ms.and_then(|ms| sql_time(tx.kind(), ms)).as_deref().into(),
    ];
    tx.execute(&sql, &values).await?;
    Ok(())
}

async fn write_state(tx: &mut Tx, row: &TraceRow, has_source: bool) -> Result<(), Fault> {
    let (column, value) = if has_source { ("source, ", "'LITE_EXECUTOR', ") } else { ("", "") };
    let sql = format!(
        "INSERT INTO JOB_STATUS_TRACE_LOG (id, job_name, original_task_id, task_id, slave_id, {column}\
         execution_type, sharding_item, state, message, creation_time) \
         VALUES (?, ?, '', ?, ?, {value}'READY', ?, ?, ?, {}) {}",
        time_parameter(tx.kind()),
        or_update(tx.kind(), "id", &[])
    );
    let values: [Value; 8] = [
        row.id.as_str().into(),
        row.job.as_str().into(),
        row.task_id.as_str().into(),
        row.ip.as_str().into(),
        row.items.as_str().into(),
        row.state.into(),
        row.message.as_str().into(),
        sql_time(tx.kind(), row.at_ms).as_deref().into(),
    ];
    tx.execute(&sql, &values).await?;
    Ok(())
}

async fn write_event(tx: &mut Tx, row: &EventRow, writer: &str) -> Result<(), Fault> {
    let sql = format!(
        "INSERT INTO ejob_event (writer, seq, at_ms, job, instance, kind, item, fire_ms, text) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {}",
        or_update(tx.kind(), "writer, seq", &[])
    );
    let values: [Value; 9] = [
        writer.into(),
        row.seq.into(),
        row.at_ms.into(),
        row.job.as_str().into(),
        row.instance.as_deref().into(),
        row.kind.into(),
        row.item.into(),
        row.fire_ms.into(),
        row.text.as_str().into(),
    ];
    tx.execute(&sql, &values).await?;
    Ok(())
}

async fn write_line(tx: &mut Tx, row: &OutputRow, writer: &str) -> Result<(), Fault> {
    let sql = format!(
        "INSERT INTO ejob_output (job, fire_ms, item, token, writer, seq, instance, attempt, at_ms, stream, text) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {}",
        or_update(tx.kind(), "job, fire_ms, item, token, writer, seq", &[])
    );
    let values: [Value; 11] = [
        row.run.job.as_str().into(),
        row.run.fire_ms.into(),
        row.run.item.into(),
        row.run.token.into(),
        writer.into(),
        row.seq.into(),
        row.instance.as_str().into(),
        row.attempt.into(),
        row.at_ms.into(),
        row.stream.into(),
        row.text.as_str().into(),
    ];
    tx.execute(&sql, &values).await?;
    Ok(())
}

async fn write_audit(tx: &mut Tx, AuditRow { subject, record }: &AuditRow) -> Result<(), Fault> {
    let sql = format!(
        "INSERT INTO ejob_audit (job, id, at_ms, who, why, act, target, effect) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) {}",
        or_update(tx.kind(), "job, id", &[])
    );
    let values: [Value; 8] = [
        subject.as_str().into(),
        record.id.as_str().into(),
        record.at_ms.into(),
        record.who.as_str().into(),
        record.why.as_str().into(),
        record.act.as_str().into(),
        record.target.as_str().into(),
        record.what.as_str().into(),
    ];
    tx.execute(&sql, &values).await?;
    Ok(())
}

/// Removes the lines between the first and the last ones that a run keeps.
async fn leave_out(
    tx: &mut Tx,
    run: &OutputRun,
    (from, until): (i64, i64),
    writer: &str,
) -> Result<(), Fault> {
    let sql = "DELETE FROM ejob_output WHERE job = ? AND fire_ms = ? AND item = ? AND token = ? \
               AND writer = ? AND seq >= ? AND seq < ?";
    let values: [Value; 7] = [
        run.job.as_str().into(),
        run.fire_ms.into(),
        run.item.into(),
        run.token.into(),
        writer.into(),
        from.into(),
        until.into(),
    ];
    tx.execute(sql, &values).await?;
    Ok(())
}

async fn write_drop(tx: &mut Tx, row: &DropRow, writer: &str) -> Result<(), Fault> {
    let sql = format!(
        "INSERT INTO ejob_drop (writer, seq, first_ms, last_ms, dropped) VALUES (?, ?, ?, ?, ?) {}",
        or_update(tx.kind(), "writer, seq", &[])
    );
    let values: [Value; 5] = [
        writer.into(),
        row.seq.into(),
        row.first_ms.into(),
        row.last_ms.into(),
        row.dropped.into(),
    ];
    tx.execute(&sql, &values).await?;
    Ok(())
}
