//! The rows and documents of `history`.

use jiff::Timestamp;
use job_history::{DropRecord, EventRecord, FireOutcome, FireRecord};
use serde_json::{Value, json};

use crate::output::Column;
use crate::text::or_dash;

pub(super) const EVENT_COLUMNS: [Column; 4] =
    [Column::time("WHEN"), Column::plain("JOB"), Column::plain("EVENT"), Column::text("TEXT")];
pub(super) const COUNT_COLUMNS: [Column; 3] =
    [Column::plain("JOB"), Column::state("OUTCOME"), Column::plain("FIRES")];
pub(super) const FIRE_COLUMNS: [Column; 8] = [
    Column::fire("FIRE"),
    Column::plain("JOB"),
    Column::plain("ITEM"),
    Column::state("OUTCOME"),
    Column::plain("SOURCE").extra(),
    Column::plain("INSTANCE").extra(),
    Column::time("ENDED").extra(),
    Column::text("REASON"),
];

pub(super) fn lost_document(lost: &DropRecord) -> Value {
    json!({
        "writer": lost.writer,
        "first": lost.first.to_string(),
        "last": lost.last.to_string(),
        "records": lost.dropped,
    })
}

pub(super) fn fire_row(fire: &FireRecord) -> Vec<String> {
    vec![
        fire.fire.to_string(),
        fire.job.clone(),
        fire.item.to_string(),
        fire.outcome.to_string(),
        or_dash(fire.source),
        or_dash(fire.instance.as_ref()),
        or_dash(fire.ended),
        why(fire),
    ]
}

/// Returns the past fire of a backfill's run, if it is one, and the reason of the outcome.
fn why(fire: &FireRecord) -> String {
    let past = fire.past_fire.map(|past| format!("for the past fire of {past}"));
    let reason = Some(reason(fire)).filter(|reason| !reason.is_empty());
    past.into_iter().chain(reason).collect::<Vec<_>>().join("; ")
}

/// Returns the reason of an outcome, and the gap that begins at this fire, if any.
///
/// A fire can have another outcome and begin a gap.
fn reason(fire: &FireRecord) -> String {
    let reason = fire.reason.clone().unwrap_or_default();
    let Some(until) = fire.gap_until else { return reason };
    if fire.outcome.as_str() == FireOutcome::gap().as_str() {
        return match fire.gap_count {
            Some(1) => format!("1 fire was not run: {reason}"),
            Some(count) => format!("{count} fires up to before {until} were not run: {reason}"),
            None => format!("the fires up to before {until} were not run: {reason}"),
        };
    }
    let gap = match fire.gap_count {
        Some(1) => format!("a gap of 1 fire up to before {until} begins here"),
        Some(count) => format!("a gap of {count} fires up to before {until} begins here"),
        None => format!("a gap up to before {until} begins here"),
    };
    // The gap comes first, because a reason may be long.
    if reason.is_empty() { gap } else { format!("{gap}; {reason}") }
}

pub(super) fn fire_document(fire: &FireRecord) -> Value {
    json!({
        "job": fire.job,
        "item": fire.item.index(),
        "fire": fire.fire.to_string(),
        "outcome": fire.outcome.as_str(),
        "reason": fire.reason,
        "source": fire.source.map(|source| source.to_string()),
        "token": fire.token.map(|token| token.0),
        "instance": fire.instance.as_ref().map(ToString::to_string),
        "began": time(fire.began),
        "ended": time(fire.ended),
        "left_by": fire.former_holder.as_ref().map(ToString::to_string),
        "gap_until": time(fire.gap_until),
        "gap_count": fire.gap_count,
        "past_fire": time(fire.past_fire),
    })
}

pub(super) fn event_row(event: &EventRecord) -> Vec<String> {
    vec![event.at.to_string(), event.job.clone(), event.kind.clone(), event.text.clone()]
}

pub(super) fn event_document(event: &EventRecord) -> Value {
    json!({
        "at": event.at.to_string(),
        "job": event.job,
        "instance": event.instance.as_ref().map(ToString::to_string),
        "kind": event.kind,
        "item": event.item.map(|item| item.index()),
        "fire": time(event.fire),
        "text": event.text,
    })
}

fn time(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}
