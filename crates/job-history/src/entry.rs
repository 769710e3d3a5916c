//! Conversion of a record to rows.

use coordination::{AuditRecord, AuditSubject, FencingToken, FireTime, JobEvent, Outcome};
use lite::{JobRecord, OutputLine, RunReport};
use sharding::ShardingItem;

use crate::fire_facts::{FireFacts, GapFacts, MissedFacts, OrphanFacts, RunFacts};
use crate::java_rows::{ExecutionRow, RunId, TraceRow};
use crate::query::stored_subject;
use crate::text::clip;

/// Key of a fire of an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FireKey {
    pub(crate) job: String,
    pub(crate) item: i64,
    pub(crate) fire_ms: i64,
}

/// A row of `ejob_event`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventRow {
    pub(crate) seq: i64,
    pub(crate) at_ms: i64,
    pub(crate) job: String,
    pub(crate) instance: Option<String>,
    pub(crate) kind: &'static str,
    pub(crate) item: Option<i64>,
    pub(crate) fire_ms: Option<i64>,
    pub(crate) text: String,
}

/// A row of `ejob_output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputRow {
    pub(crate) run: OutputRun,
    pub(crate) seq: i64,
    pub(crate) instance: String,
    pub(crate) attempt: i64,
    pub(crate) at_ms: i64,
    pub(crate) stream: &'static str,
    pub(crate) text: String,
    /// Numbers of earlier lines to remove, because the run has more than it may keep.
    pub(crate) left_out: Option<(i64, i64)>,
}

/// Key of a run in `ejob_output`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutputRun {
    pub(crate) job: String,
    pub(crate) fire_ms: i64,
    pub(crate) item: i64,
    pub(crate) token: i64,
}

/// Rows and facts of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) fire: Option<(FireKey, FireFacts)>,
    pub(crate) execution: Option<ExecutionRow>,
    pub(crate) states: Vec<TraceRow>,
    pub(crate) event: Option<EventRow>,
    pub(crate) output: Option<OutputRow>,
    pub(crate) audit: Option<AuditRow>,
}

/// A row of `ejob_audit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditRow {
    pub(crate) subject: String,
    pub(crate) record: AuditRecord,
}

impl Entry {
    /// Converts a record. `seq` is its number within this process.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other events are rows of events")]
    pub(crate) fn of_record(record: &JobRecord, seq: i64) -> Self {
        let mut entry = Self { fire: fire_facts(record), ..Self::default() };
        match &record.event {
            JobEvent::Claimed { item, fire, source, token, .. } => {
                if let Some(instance) = &record.instance {
                    let (job, at_ms) = (&record.job, record.at.as_millisecond());
                    let (item, fire, token, source) = (*item, *fire, *token, *source);
                    let run = RunId { job, instance, item, fire, token, source };
                    entry.execution = Some(run.begun(at_ms));
                    entry.states = run.begun_states(at_ms).into();
                }
            }
            JobEvent::Settled { .. } => {}
            _ => entry.event = Some(event_row(record, seq)),
        }
        entry
    }

    /// Converts the report of a run.
    pub(crate) fn of_report(report: &RunReport) -> Self {
        let RunReport { job, instance, item, fire, token, source, .. } = report;
        let (item, fire, token, source) = (*item, *fire, *token, *source);
        let run = RunId { job, instance, item, fire, token, source };
        let began_ms = report.began.as_millisecond();
        let key = FireKey { job: job.to_string(), item: i64::from(item.index()), fire_ms: fire.0 };
        let facts = RunFacts {
            token: token_number(token),
            instance: clip(instance.as_str(), 255),
            source: source.as_str().to_owned(),
            began_ms: Some(began_ms),
            ended_ms: Some(report.ended.as_millisecond()),
            settled: None,
            cause: report.cause.as_deref().map(|cause| clip(cause, 4000)),
        };
        let mut states = Vec::new();
        // An unmonitored run has no `Claimed` event that would write its first states.
        if token == FencingToken::UNFENCED {
            states.extend(run.begun_states(began_ms));
        }
        states.push(run.ended_state(report));
        let past_fire_ms = report.past_fire.map(|past| past.0);
        let facts = FireFacts { run: Some(facts), past_fire_ms, ..FireFacts::default() };
        let fire = Some((key, facts.with_end(report.outcome)));
        Self { fire, execution: Some(run.ended(report)), states, ..Self::default() }
    }

    /// Converts an audited change.
    pub(crate) fn of_audit(subject: &AuditSubject, record: &AuditRecord) -> Self {
        let text = |text: &str| clip(text, 512);
        let record = AuditRecord {
            id: clip(&record.id, 255),
            at_ms: record.at_ms,
            who: text(&record.who),
            why: text(&record.why),
            act: text(&record.act),
            target: text(&record.target),
            what: text(&record.what),
        };
        Self {
            audit: Some(AuditRow { subject: stored_subject(subject), record }),
            ..Self::default()
        }
    }

    /// Converts a line of output.
    pub(crate) fn of_output(line: &OutputLine) -> Self {
        let number = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let run = OutputRun {
            job: line.job.to_string(),
            fire_ms: line.fire.0,
            item: i64::from(line.item.index()),
            token: token_number(line.token),
        };
        let row = OutputRow {
            run,
            seq: number(line.seq),
            instance: clip(line.instance.as_str(), 255),
            attempt: i64::from(line.attempt),
            at_ms: line.at.as_millisecond(),
            stream: line.stream.as_str(),
            text: clip(&line.text, 4000),
            left_out: line.left_out.as_ref().map(|range| (number(range.start), number(range.end))),
        };
        Self { output: Some(row), ..Self::default() }
    }
}

/// Returns the facts of a record about a fire of an item, or `None` for other events.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other events are not about a fire of an item"
)]
fn fire_facts(record: &JobRecord) -> Option<(FireKey, FireFacts)> {
    let at_ms = record.at.as_millisecond();
    let key = |item: ShardingItem, fire: FireTime| FireKey {
        job: record.job.to_string(),
        item: i64::from(item.index()),
        fire_ms: fire.0,
    };
    let run = |source: coordination::RunSource, token| RunFacts {
        token: token_number(token),
        instance: clip(record.instance.as_ref().map_or("", |id| id.as_str()), 255),
        source: source.as_str().to_owned(),
        began_ms: None,
        ended_ms: None,
        settled: None,
        cause: None,
    };
    let none = FireFacts::default();
    match &record.event {
        JobEvent::Claimed { item, fire, source, token, past_fire } => {
            let run = RunFacts { began_ms: Some(at_ms), ..run(*source, *token) };
            let past_fire_ms = past_fire.map(|past| past.0);
            Some((key(*item, *fire), FireFacts { run: Some(run), past_fire_ms, ..none }))
        }
        JobEvent::Settled { item, fire, source, token, outcome } => {
            let settled = Some(outcome.as_str().to_owned());
            let run = RunFacts { ended_ms: Some(at_ms), settled, ..run(*source, *token) };
            let facts = FireFacts { run: Some(run), ..none };
            Some((key(*item, *fire), facts.with_end(*outcome)))
        }
        // The leader reports it for a lost holder, which may have reported nothing but the start.
        JobEvent::Cancelled { item, fire, source, holder, token, by, why } => {
            let run = RunFacts {
                instance: clip(holder.as_str(), 255),
                ended_ms: Some(at_ms),
                settled: Some(Outcome::Cancelled.as_str().to_owned()),
                cause: Some(clip(&format!("cancelled by {by}: {why}"), 4000)),
                ..run(*source, *token)
            };
            Some((key(*item, *fire), FireFacts { run: Some(run), ..none }))
        }
        JobEvent::Missed { item: Some(item), fire, reason } => {
            let missed = Some(MissedFacts { at_ms, reason: clip(&reason.to_string(), 100) });
            Some((key(*item, *fire), FireFacts { missed, ..none }))
        }
        JobEvent::MisfireNoted { item, waiting } => {
            Some((key(*item, waiting.last), FireFacts { misfired: true, ..none }))
        }
        JobEvent::Gap { item, gap } => {
            let facts = GapFacts { until_ms: gap.until.0, count: gap.count.map(i64::from) };
            Some((key(*item, gap.first), FireFacts { gap: Some(facts), ..none }))
        }
        JobEvent::Orphaned { item, fire, holder, failover } => {
            let holder = clip(holder.as_str(), 255);
            let orphan = OrphanFacts { at_ms, holder, failover: *failover };
            Some((key(*item, *fire), FireFacts { orphan: Some(orphan), ..none }))
        }
        _ => None,
    }
}

fn event_row(record: &JobRecord, seq: i64) -> EventRow {
    let (item, fire) = item_and_fire(&record.event);
    EventRow {
        seq,
        at_ms: record.at.as_millisecond(),
        job: record.job.to_string(),
        instance: record.instance.as_ref().map(|id| clip(id.as_str(), 255)),
        kind: record.event.name(),
        item: item.map(|item| i64::from(item.index())),
        fire_ms: fire.map(|fire| fire.0),
        text: clip(&record.event.to_string(), 4000),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other events have neither")]
fn item_and_fire(event: &JobEvent) -> (Option<ShardingItem>, Option<FireTime>) {
    match event {
        JobEvent::Missed { item, fire, .. } => (*item, Some(*fire)),
        JobEvent::Orphaned { item, fire, .. } | JobEvent::Cancelled { item, fire, .. } => {
            (Some(*item), Some(*fire))
        }
        JobEvent::MisfireNoted { item, waiting } => (Some(*item), Some(waiting.last)),
        JobEvent::Gap { item, gap } => (Some(*item), Some(gap.first)),
        JobEvent::Fenced { item, .. } => (Some(*item), None),
        _ => (None, None),
    }
}

/// Converts a token to a column. It saturates, but no item has that many runs.
fn token_number(token: FencingToken) -> i64 {
    i64::try_from(token.0).unwrap_or(i64::MAX)
}
