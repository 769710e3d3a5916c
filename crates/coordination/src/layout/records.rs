//! Our own records: the ledger, the term, and what an assignment was made for. JSON, readable at 3 a.m.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharding::{InstanceId, ShardingItem};

use crate::assignment::AssignmentRecord;
use crate::{FencingToken, FireRange, FireTime, Ledger, LedgerState, Outcome, Run, RunSource};

#[derive(Serialize, Deserialize)]
struct LedgerDoc {
    state: StateDoc,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fire: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<RangeDoc>,
    token: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfire: Option<RangeDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeDoc>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StateDoc {
    Idle,
    Running,
    Orphan,
    Retired,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum SourceDoc {
    Normal,
    Misfire,
    Failover,
    Manual,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutcomeDoc {
    Succeeded,
    Failed,
    Panicked,
    Interrupted,
    Disabled,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct RangeDoc {
    first: i64,
    last: i64,
    count: u32,
}

impl From<FireRange> for RangeDoc {
    fn from(range: FireRange) -> Self {
        Self { first: range.first.0, last: range.last.0, count: range.count }
    }
}

impl From<RangeDoc> for FireRange {
    fn from(doc: RangeDoc) -> Self {
        Self { first: FireTime(doc.first), last: FireTime(doc.last), count: doc.count }
    }
}

impl From<RunSource> for SourceDoc {
    fn from(source: RunSource) -> Self {
        match source {
            RunSource::Normal => Self::Normal,
            RunSource::Misfire => Self::Misfire,
            RunSource::Failover => Self::Failover,
            RunSource::Manual => Self::Manual,
        }
    }
}

impl From<SourceDoc> for RunSource {
    fn from(doc: SourceDoc) -> Self {
        match doc {
            SourceDoc::Normal => Self::Normal,
            SourceDoc::Misfire => Self::Misfire,
            SourceDoc::Failover => Self::Failover,
            SourceDoc::Manual => Self::Manual,
        }
    }
}

impl From<Outcome> for OutcomeDoc {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Succeeded => Self::Succeeded,
            Outcome::Failed => Self::Failed,
            Outcome::Panicked => Self::Panicked,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Disabled => Self::Disabled,
        }
    }
}

impl From<OutcomeDoc> for Outcome {
    fn from(doc: OutcomeDoc) -> Self {
        match doc {
            OutcomeDoc::Succeeded => Self::Succeeded,
            OutcomeDoc::Failed => Self::Failed,
            OutcomeDoc::Panicked => Self::Panicked,
            OutcomeDoc::Interrupted => Self::Interrupted,
            OutcomeDoc::Disabled => Self::Disabled,
        }
    }
}

/// Writes a ledger record.
pub(crate) fn encode_ledger(ledger: &Ledger) -> String {
    let run = ledger.run();
    let state = match ledger.state {
        LedgerState::Idle => StateDoc::Idle,
        LedgerState::Running(_) => StateDoc::Running,
        LedgerState::Orphan(_) => StateDoc::Orphan,
        LedgerState::Retired => StateDoc::Retired,
    };
    to_json(&LedgerDoc {
        state,
        holder: run.map(|run| run.holder.to_string()),
        fire: run.map(|run| run.fire.0),
        source: run.map(|run| run.source.into()),
        merged: run.and_then(|run| run.merged).map(Into::into),
        token: ledger.token.0,
        last: ledger.last_fire.map(|fire| fire.0),
        previous: ledger.previous_fire.map(|fire| fire.0),
        misfire: ledger.misfire.map(Into::into),
        outcome: ledger.outcome.map(Into::into),
    })
}

/// Reads a ledger record.
pub(crate) fn decode_ledger(bytes: &[u8]) -> Result<Ledger, String> {
    let doc: LedgerDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let run = || match (&doc.holder, doc.fire, doc.source) {
        (Some(holder), Some(fire), Some(source)) => Ok(Run {
            holder: InstanceId::new(holder.as_str()),
            fire: FireTime(fire),
            source: source.into(),
            merged: doc.merged.map(Into::into),
        }),
        _ => Err("a run needs holder, fire and source".to_owned()),
    };
    let state = match doc.state {
        StateDoc::Idle => LedgerState::Idle,
        StateDoc::Running => LedgerState::Running(run()?),
        StateDoc::Orphan => LedgerState::Orphan(run()?),
        StateDoc::Retired => LedgerState::Retired,
    };
    Ok(Ledger {
        state,
        last_fire: doc.last.map(FireTime),
        previous_fire: doc.previous.map(FireTime),
        token: FencingToken(doc.token),
        misfire: doc.misfire.map(Into::into),
        outcome: doc.outcome.map(Into::into),
    })
}

#[derive(Serialize, Deserialize)]
struct TermDoc {
    leader: String,
}

/// Writes who leads.
pub(crate) fn encode_term(leader: &InstanceId) -> String {
    to_json(&TermDoc { leader: leader.to_string() })
}

/// Reads who leads.
pub(crate) fn decode_term(bytes: &[u8]) -> Result<InstanceId, String> {
    let doc: TermDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(InstanceId::new(doc.leader))
}

#[derive(Serialize, Deserialize)]
struct AssignmentDoc {
    members: Vec<String>,
    total: u32,
    strategy: String,
    handled: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pending: BTreeMap<String, Vec<(u32, u32)>>,
}

/// Writes what an assignment was made for. Items to follow are written as inclusive ranges per instance.
pub(crate) fn encode_assignment(record: &AssignmentRecord) -> String {
    let mut pending: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
    for (item, owner) in &record.pending {
        let ranges = pending.entry(owner.to_string()).or_default();
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == item.index() => *last += 1,
            _ => ranges.push((item.index(), item.index())),
        }
    }
    to_json(&AssignmentDoc {
        members: record.members.iter().map(ToString::to_string).collect(),
        total: record.total_count,
        strategy: record.strategy.clone(),
        handled: record.handled,
        pending,
    })
}

/// Reads what an assignment was made for.
pub(crate) fn decode_assignment(bytes: &[u8]) -> Result<AssignmentRecord, String> {
    let doc: AssignmentDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut pending = BTreeMap::new();
    for (owner, ranges) in doc.pending {
        let owner = InstanceId::new(owner);
        for (first, last) in ranges {
            if last >= crate::MAX_SHARDING_TOTAL_COUNT {
                return Err(format!("item {last} is out of range"));
            }
            pending.extend((first..=last).map(|i| (ShardingItem::new(i), owner.clone())));
        }
    }
    Ok(AssignmentRecord {
        members: doc.members.into_iter().map(InstanceId::new).collect(),
        total_count: doc.total,
        strategy: doc.strategy,
        handled: doc.handled,
        pending,
    })
}

fn to_json(doc: &impl Serialize) -> String {
    serde_json::to_string(doc).expect("records have string keys and no maps that could fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledgers() -> Vec<Ledger> {
        let id = || InstanceId::new("10.0.0.1@-@7-a");
        let running = Ledger::new(None).claim(id(), FireTime(1_000), RunSource::Normal).unwrap();
        let noted = running.note_misfire(FireTime(2_000)).unwrap();
        let orphan = noted.orphan().unwrap();
        let done = running.complete(Outcome::Failed).unwrap();
        let retired = done.retire().unwrap();
        vec![Ledger::new(Some(FireTime(5))), running, noted, orphan, done, retired]
    }

    #[test]
    fn ledger_records_are_read_back() {
        for ledger in ledgers() {
            let text = encode_ledger(&ledger);
            assert_eq!(decode_ledger(text.as_bytes()).unwrap(), ledger, "{text}");
        }
    }

    #[test]
    fn the_bytes_of_a_ledger_record_are_fixed() {
        let text = encode_ledger(&ledgers()[2]);
        let expected = r#"{"state":"running","holder":"10.0.0.1@-@7-a","fire":1000,"source":"NORMAL","token":1,"last":1000,"misfire":{"first":2000,"last":2000,"count":1}}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn an_assignment_record_is_compact_and_read_back() {
        let owner = |i: u32| InstanceId::new(format!("10.0.0.{}@-@1", 1 + i / 100));
        let record = AssignmentRecord {
            members: vec![owner(0), owner(100)],
            total_count: 200,
            strategy: "AVG_ALLOCATION".into(),
            handled: 7,
            pending: (0..200).map(|i| (ShardingItem::new(i), owner(i))).collect(),
        };
        let text = encode_assignment(&record);
        assert!(text.len() < 250, "{text}");
        assert_eq!(decode_assignment(text.as_bytes()).unwrap(), record);
    }

    #[test]
    fn damaged_records_are_refused_and_never_crash() {
        for text in
            ["", "{}", "[]", r#"{"state":"running","token":1}"#, r#"{"state":"gone","token":1}"#]
        {
            assert!(decode_ledger(text.as_bytes()).is_err(), "{text}");
            assert!(decode_assignment(text.as_bytes()).is_err(), "{text}");
            assert!(decode_term(text.as_bytes()).is_err(), "{text}");
        }
    }
}
