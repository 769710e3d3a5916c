//! The records of this project as JSON: ledger, term, assignment, manual requests and callbacks.

use std::collections::BTreeMap;

use reg_center::Version;
use serde::{Deserialize, Serialize};
use sharding::{InstanceId, ShardingItem};

use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::{OnceCall, OnceRecord};
use crate::protocol::pending::Pending;
use crate::protocol::trigger_record::TriggerRecord;
use crate::{
    AuditLog, FailureReason, FencingToken, FireRange, FireTime, Gap, Ledger, LedgerState,
    MAX_SHARDING_TOTAL_COUNT, ManualRequest, Outcome, RequestParameter, Run, RunSource,
};

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
    /// The parameter of the request that the run answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    token: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i64>,
    /// The version of the configuration whose schedule has `next`, if that is not `config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_config: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<GapDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfire: Option<RangeDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestDoc>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    disabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeDoc>,
    /// The reason of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct RequestDoc {
    id: String,
    at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
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
    #[serde(rename = "timed_out")]
    TimedOut,
    Interrupted,
    Disabled,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct GapDoc {
    first: i64,
    until: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<u32>,
    /// The configuration in force at its end, if the schedule may have changed within the gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<u32>,
}

impl From<&Gap> for GapDoc {
    fn from(gap: &Gap) -> Self {
        Self {
            first: gap.first.0,
            until: gap.until.0,
            count: gap.count,
            config: gap.config.map(|version| version.0),
            changed: gap.changed_to.map(|version| version.0),
        }
    }
}

impl From<GapDoc> for Gap {
    fn from(doc: GapDoc) -> Self {
        Self {
            first: FireTime(doc.first),
            until: FireTime(doc.until),
            count: doc.count,
            config: doc.config.map(Version),
            changed_to: doc.changed.map(Version),
        }
    }
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
            Outcome::TimedOut => Self::TimedOut,
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
            OutcomeDoc::TimedOut => Self::TimedOut,
            OutcomeDoc::Interrupted => Self::Interrupted,
            OutcomeDoc::Disabled => Self::Disabled,
        }
    }
}

/// Encodes a ledger record.
pub fn encode_ledger(ledger: &Ledger) -> String {
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
        parameter: encode_parameter(run.and_then(|run| run.parameter.as_ref())),
        token: ledger.token.0,
        last: ledger.last_fire.map(|fire| fire.0),
        previous: ledger.previous_fire.map(|fire| fire.0),
        next: ledger.next_fire.map(|fire| fire.0),
        next_config: ledger.next_config.map(|version| version.0),
        gaps: ledger.gaps.iter().map(Into::into).collect(),
        config: ledger.config.map(|version| version.0),
        request: ledger.request.as_ref().map(encode_request),
        disabled: ledger.disabled,
        began: ledger.began_ms,
        ended: ledger.ended_ms,
        misfire: ledger.misfire.map(Into::into),
        outcome: ledger.outcome.map(Into::into),
        failure: ledger.failure.as_ref().map(ToString::to_string),
    })
}

/// Decodes a ledger record.
///
/// # Errors
/// Describes the damage if the bytes are no valid record.
pub fn decode_ledger(bytes: &[u8]) -> Result<Ledger, String> {
    let doc: LedgerDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let run = || match (&doc.holder, doc.fire, doc.source) {
        (Some(holder), Some(fire), Some(source)) => Ok(Run {
            holder: InstanceId::new(holder.as_str()),
            fire: FireTime(fire),
            source: source.into(),
            merged: doc.merged.map(Into::into),
            parameter: decode_parameter(doc.parameter.as_deref())?,
        }),
        _ => Err("a run needs holder, fire and source".to_owned()),
    };
    let state = match doc.state {
        StateDoc::Idle => LedgerState::Idle,
        StateDoc::Running => LedgerState::Running(run()?),
        StateDoc::Orphan => LedgerState::Orphan(run()?),
        StateDoc::Retired => LedgerState::Retired,
    };
    let token = decode_token(doc.token)?;
    let request = doc.request.map(decode_request).transpose()?;
    Ok(Ledger {
        state,
        last_fire: doc.last.map(FireTime),
        previous_fire: doc.previous.map(FireTime),
        next_fire: doc.next.map(FireTime),
        next_config: doc.next_config.map(Version),
        gaps: doc.gaps.into_iter().map(Into::into).collect(),
        config: doc.config.map(Version),
        request,
        disabled: doc.disabled,
        began_ms: doc.began,
        ended_ms: doc.ended,
        token,
        misfire: doc.misfire.map(Into::into),
        outcome: doc.outcome.map(Into::into),
        failure: doc.failure.as_deref().and_then(FailureReason::new),
    })
}

fn encode_request(request: &ManualRequest) -> RequestDoc {
    let parameter = encode_parameter(request.parameter.as_ref());
    RequestDoc { id: request.id.to_string(), at: request.at.0, parameter }
}

fn decode_request(doc: RequestDoc) -> Result<ManualRequest, String> {
    let parameter = decode_parameter(doc.parameter.as_deref())?;
    Ok(ManualRequest { id: doc.id.into(), at: FireTime(doc.at), parameter })
}

/// Checks that the token can still rise. A manual edit to the greatest token would stop the item
/// for good, so such a record counts as damaged.
fn decode_token(token: u64) -> Result<FencingToken, String> {
    let max = FencingToken::MAX;
    match FencingToken(token) {
        token if token < max => Ok(token),
        token => Err(format!("token {token} is not below {max}")),
    }
}

#[derive(Serialize, Deserialize)]
struct TermDoc {
    leader: String,
}

/// Encodes the term of a leader.
pub(crate) fn encode_term(leader: &InstanceId) -> String {
    to_json(&TermDoc { leader: leader.to_string() })
}

/// Decodes the leader of a term.
pub(crate) fn decode_term(bytes: &[u8]) -> Result<InstanceId, String> {
    let doc: TermDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(InstanceId::new(doc.leader))
}

/// Returns the items as inclusive ranges, each with its first and last item.
type RangesDoc = Vec<(u32, u32)>;

fn encode_items(items: impl IntoIterator<Item = ShardingItem>) -> RangesDoc {
    let mut ranges = RangesDoc::new();
    for item in items {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == item.index() => *last += 1,
            _ => ranges.push((item.index(), item.index())),
        }
    }
    ranges
}

/// Decodes ascending ranges below `end`.
fn decode_items(ranges: &RangesDoc, end: u32) -> Result<Vec<ShardingItem>, String> {
    check_ranges(ranges, end)?;
    Ok(ranges.iter().flat_map(|(first, last)| *first..=*last).map(ShardingItem::new).collect())
}

/// Checks that ranges are ascending and below `end`. No item then occurs twice, so a damaged record
/// cannot expand to more items than the job has.
fn check_ranges(ranges: &RangesDoc, end: u32) -> Result<(), String> {
    let mut from = 0;
    for (first, last) in ranges {
        if *first < from || last < first || *last >= end {
            return Err(format!("items {first} to {last} are no range within {from}..{end}"));
        }
        from = last + 1;
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct AssignmentDoc {
    members: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, String>,
    total: u32,
    strategy: String,
    handled: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<i64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pending: BTreeMap<String, RangesDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    announced: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counts: Vec<u32>,
}

/// Encodes an assignment record, with the pending items of each instance as inclusive ranges.
pub fn encode_assignment(record: &AssignmentRecord) -> String {
    let mut pending: BTreeMap<&InstanceId, RangesDoc> = BTreeMap::new();
    for (first, last, next) in record.pending.ranges() {
        pending.entry(next).or_default().push((first.index(), last.index()));
    }
    let names = record.names.iter().map(|(id, name)| (id.to_string(), name.clone()));
    to_json(&AssignmentDoc {
        members: record.members.iter().map(ToString::to_string).collect(),
        names: names.collect(),
        total: record.total_count,
        strategy: record.strategy.clone(),
        handled: record.handled,
        due: record.due.map(|fire| fire.0),
        pending: pending.into_iter().map(|(owner, items)| (owner.to_string(), items)).collect(),
        announced: record.announced,
        counts: record
            .members
            .iter()
            .filter_map(|member| record.counts.get(member))
            .copied()
            .collect(),
    })
}

/// Decodes an assignment record.
///
/// # Errors
/// The document cannot be read, or contradicts itself.
pub fn decode_assignment(bytes: &[u8]) -> Result<AssignmentRecord, String> {
    let doc: AssignmentDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if doc.total > MAX_SHARDING_TOTAL_COUNT {
        return Err(format!("total {} is above {MAX_SHARDING_TOTAL_COUNT}", doc.total));
    }
    let mut pending = Pending::default();
    for (next, ranges) in doc.pending {
        let next = InstanceId::new(next);
        check_ranges(&ranges, doc.total)?;
        for (first, last) in ranges {
            pending.try_insert_range(first, last, &next).map_err(|(item, other)| {
                format!("item {item} shall follow to both {other} and {next}")
            })?;
        }
    }
    let members: Vec<_> = doc.members.into_iter().map(InstanceId::new).collect();
    let counts: BTreeMap<_, _> = members.iter().cloned().zip(doc.counts).collect();
    Ok(AssignmentRecord {
        members,
        names: doc.names.into_iter().map(|(id, name)| (InstanceId::new(id), name)).collect(),
        total_count: doc.total,
        strategy: doc.strategy,
        handled: doc.handled,
        due: doc.due.map(FireTime),
        pending,
        announced: doc.announced,
        counts,
    })
}

#[derive(Serialize, Deserialize)]
struct TriggerDoc {
    by: String,
    at: i64,
    /// Absent for a request for all items. Empty once the records of all items contain the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<RangesDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
}

/// Encodes a manual request.
pub(crate) fn encode_audit(log: &AuditLog) -> String {
    to_json(log)
}

pub(crate) fn decode_audit(bytes: &[u8]) -> Result<AuditLog, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

pub(crate) fn encode_trigger(record: &TriggerRecord) -> String {
    to_json(&TriggerDoc {
        by: record.by.clone(),
        at: record.at.0,
        items: record.items.as_ref().map(|items| encode_items(items.iter().copied())),
        parameter: encode_parameter(record.parameter.as_ref()),
    })
}

/// Decodes a manual request.
pub(crate) fn decode_trigger(bytes: &[u8]) -> Result<TriggerRecord, String> {
    let doc: TriggerDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let read = |ranges| decode_items(ranges, MAX_SHARDING_TOTAL_COUNT);
    let items = doc.items.as_ref().map(read).transpose()?;
    let items = items.map(|items| items.into_iter().collect());
    let parameter = decode_parameter(doc.parameter.as_deref())?;
    Ok(TriggerRecord { by: doc.by, at: FireTime(doc.at), items, parameter })
}

fn encode_parameter(parameter: Option<&RequestParameter>) -> Option<String> {
    parameter.map(ToString::to_string)
}

fn decode_parameter(text: Option<&str>) -> Result<Option<RequestParameter>, String> {
    text.map(RequestParameter::new).transpose().map_err(|error| error.to_string())
}

#[derive(Serialize, Deserialize)]
struct OnceDoc {
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<CallDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed: Option<CallDoc>,
}

#[derive(Serialize, Deserialize)]
struct CallDoc {
    fire: i64,
    token: u64,
    holder: String,
    done: bool,
}

/// Encodes the last once-per-cluster calls.
pub(crate) fn encode_once(record: &OnceRecord) -> String {
    let call = |call: &OnceCall| CallDoc {
        fire: call.fire.0,
        token: call.token.0,
        holder: call.holder.to_string(),
        done: call.done,
    };
    to_json(&OnceDoc {
        started: record.started.as_ref().map(call),
        completed: record.completed.as_ref().map(call),
    })
}

/// Decodes the last once-per-cluster calls.
pub(crate) fn decode_once(bytes: &[u8]) -> Result<OnceRecord, String> {
    let doc: OnceDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let call = |call: CallDoc| -> Result<OnceCall, String> {
        Ok(OnceCall {
            fire: FireTime(call.fire),
            token: decode_token(call.token)?,
            holder: InstanceId::new(call.holder),
            done: call.done,
        })
    };
    Ok(OnceRecord {
        started: doc.started.map(call).transpose()?,
        completed: doc.completed.map(call).transpose()?,
    })
}

fn to_json(doc: &impl Serialize) -> String {
    serde_json::to_string(doc).expect("records have string keys and no maps that could fail")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claimant;

    fn ledgers() -> Vec<Ledger> {
        let holder = InstanceId::new("10.0.0.1@-@7-a");
        let by = Claimant { holder, config: Version(3), now_ms: 1_002 };
        let next = Some(FireTime(2_000));
        let running = Ledger::new(None).claim(&by, FireTime(1_000), next).unwrap();
        let noted = running.note_misfire(FireTime(2_000), Some(FireTime(3_000))).unwrap();
        let orphan = noted.orphan().unwrap();
        let done = running.complete(Outcome::Failed, 1_500).unwrap();
        let retired = done.retire().unwrap();
        let request = ManualRequest { id: "r".into(), at: FireTime(1_501), parameter: None };
        let asked = done.with_request(request).unwrap();
        let disabled = asked.with_disabled(true).unwrap();
        let born = Ledger::new(Some(FireTime(5)));
        vec![born, running, noted, orphan, done, retired, asked, disabled]
    }

    #[test]
    fn ledger_records_round_trip() {
        for ledger in ledgers() {
            let text = encode_ledger(&ledger);
            assert_eq!(decode_ledger(text.as_bytes()).unwrap(), ledger, "{text}");
        }
    }

    #[test]
    fn outcome_is_written_by_its_name() {
        let outcomes = [
            Outcome::Succeeded,
            Outcome::Failed,
            Outcome::Panicked,
            Outcome::TimedOut,
            Outcome::Interrupted,
            Outcome::Disabled,
        ];
        for outcome in outcomes {
            let ledger = ledgers()[1].complete(outcome, 1_500).unwrap();
            let text = encode_ledger(&ledger);
            assert!(text.contains(&format!(r#""outcome":"{outcome}""#)), "{text}");
            assert_eq!(decode_ledger(text.as_bytes()).unwrap(), ledger, "{text}");
        }
    }

    #[test]
    fn bytes_of_ledger_record_are_fixed() {
        let text = encode_ledger(&ledgers()[2]);
        let expected = r#"{"state":"running","holder":"10.0.0.1@-@7-a","fire":1000,"source":"NORMAL","token":1,"last":1000,"next":3000,"config":3,"misfire":{"first":2000,"last":2000,"count":1},"began":1002}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn failure_reason_is_kept_until_success_and_its_bytes_are_fixed() {
        let running = &ledgers()[1];
        let failed = running.complete(Outcome::Failed, 1_500).unwrap();
        let failed = failed.because(FailureReason::new("no \"space\"\nleft"));
        let text = encode_ledger(&failed);
        let expected = r#"{"state":"idle","token":1,"last":1000,"next":2000,"config":3,"outcome":"failed","failure":"no \"space\" left","began":1002,"ended":1500}"#;
        assert_eq!(text, expected);
        assert_eq!(decode_ledger(text.as_bytes()).unwrap(), failed);
        let older = text.replace(r#""failure":"no \"space\" left","#, "");
        assert_eq!(
            decode_ledger(older.as_bytes()).unwrap(),
            Ledger { failure: None, ..failed.clone() }
        );

        let by = Claimant { holder: InstanceId::new("a"), config: Version(3), now_ms: 2_002 };
        let again = failed.claim(&by, FireTime(2_000), None).unwrap();
        assert_eq!(again.failure, failed.failure, "while the next run goes on");
        let after = |outcome| again.complete(outcome, 2_500).unwrap().failure;
        assert_eq!(after(Outcome::Interrupted), failed.failure);
        assert_eq!((after(Outcome::Succeeded), after(Outcome::Failed)), (None, None));
    }

    #[test]
    fn gaps_and_next_config_are_optional_and_their_bytes_are_fixed() {
        let gap = |count, changed_to| Gap {
            first: FireTime(1_000),
            until: FireTime(3_000),
            count,
            config: Some(Version(3)),
            changed_to,
        };
        let ledger = Ledger::new(Some(FireTime(500)))
            .followed_by(Some(FireTime(1_000)), Version(4))
            .with_gaps([gap(Some(2), None)], &[])
            .with_gaps([gap(None, Some(Version(4)))], &[]);
        let text = encode_ledger(&ledger);
        let expected = r#"{"state":"idle","token":0,"last":500,"next":1000,"next_config":4,"gaps":[{"first":1000,"until":3000,"count":2,"config":3},{"first":1000,"until":3000,"config":3,"changed":4}]}"#;
        assert_eq!(text, expected);
        assert_eq!(decode_ledger(text.as_bytes()).unwrap(), ledger);
        let old = r#"{"state":"idle","token":1,"last":500,"next":1000,"config":3}"#;
        let old = decode_ledger(old.as_bytes()).unwrap();
        assert_eq!(old.next_owed(), (Some(FireTime(1_000)), Some(Version(3))));
        assert_eq!(old.gaps, []);
    }

    #[test]
    fn request_parameter_round_trips_and_its_bytes_are_fixed() {
        let parameter = Some(RequestParameter::new("a\"b\n作").unwrap());
        let request = ManualRequest { id: "r".into(), at: FireTime(1_501), parameter };
        let asked = Ledger::new(None).with_request(request.clone()).unwrap();
        let holder = InstanceId::new("10.0.0.1@-@7-a");
        let by = Claimant { holder, config: Version(3), now_ms: 1_502 };
        let running = asked.answer(&by).unwrap();
        let rows = [
            (
                &asked,
                r#"{"state":"idle","token":0,"request":{"id":"r","at":1501,"parameter":"a\"b\n作"}}"#,
            ),
            (
                &running,
                r#"{"state":"running","holder":"10.0.0.1@-@7-a","fire":1501,"source":"MANUAL","parameter":"a\"b\n作","token":1,"config":3,"began":1502}"#,
            ),
        ];
        for (ledger, text) in rows {
            assert_eq!(encode_ledger(ledger), text);
            assert_eq!(decode_ledger(text.as_bytes()).unwrap(), *ledger, "{text}");
        }
        let ManualRequest { at, parameter, .. } = request;
        let record = TriggerRecord { by: "a".into(), at, items: None, parameter };
        let text = r#"{"by":"a","at":1501,"parameter":"a\"b\n作"}"#;
        assert_eq!(encode_trigger(&record), text);
        assert_eq!(decode_trigger(text.as_bytes()).unwrap(), record);
    }

    #[test]
    fn assignment_record_is_compact_and_round_trips() {
        let owner = |i: u32| InstanceId::new(format!("10.0.0.{}@-@1", 1 + i / 100));
        let record = AssignmentRecord {
            members: vec![owner(0), owner(100)],
            names: [(owner(0), "first".to_owned())].into(),
            total_count: 200,
            strategy: "AVG_ALLOCATION".into(),
            handled: 7,
            due: Some(FireTime(1_000)),
            pending: (0..200).map(|i| (ShardingItem::new(i), owner(i))).collect(),
            announced: Some(3),
            counts: [(owner(0), 100), (owner(100), 100)].into(),
        };
        let text = encode_assignment(&record);
        assert!(text.len() < 300, "{text}");
        assert_eq!(decode_assignment(text.as_bytes()).unwrap(), record);
    }

    #[test]
    fn requests_and_calls_round_trip() {
        let items = [vec![], vec![0, 1, 2, 7]].map(|items| {
            Some(
                items.into_iter().map(ShardingItem::new).collect::<std::collections::BTreeSet<_>>(),
            )
        });
        for items in items.into_iter().chain([None]) {
            let record =
                TriggerRecord { by: "operator".into(), at: FireTime(7), items, parameter: None };
            let text = encode_trigger(&record);
            assert_eq!(decode_trigger(text.as_bytes()).unwrap(), record, "{text}");
        }
        let call = OnceCall {
            fire: FireTime(1_000),
            token: FencingToken(4),
            holder: InstanceId::new("10.0.0.1@-@7-a"),
            done: true,
        };
        let record = OnceRecord { started: Some(call), completed: None };
        assert_eq!(decode_once(encode_once(&record).as_bytes()).unwrap(), record);
    }

    #[test]
    fn impossible_numbers_are_rejected() {
        type Decode = fn(&[u8]) -> Option<String>;
        let ledger: Decode = |bytes| decode_ledger(bytes).err();
        let once: Decode = |bytes| decode_once(bytes).err();
        let assignment: Decode = |bytes| decode_assignment(bytes).err();
        let trigger: Decode = |bytes| decode_trigger(bytes).err();
        let rows = [
            (ledger, r#"{"state":"idle","token":9223372036854775807}"#, "token"),
            (
                once,
                r#"{"started":{"fire":1,"token":18446744073709551615,"holder":"a","done":true}}"#,
                "token",
            ),
            (
                assignment,
                r#"{"members":[],"total":100001,"strategy":"","handled":0}"#,
                "total 100001 is above 100000",
            ),
            (
                assignment,
                r#"{"members":[],"total":3,"strategy":"","handled":0,"pending":{"a":[[2,3]]}}"#,
                "items 2 to 3",
            ),
            (
                assignment,
                r#"{"members":[],"total":3,"strategy":"","handled":0,"pending":{"a":[[1,1]],"b":[[1,1]]}}"#,
                "both a and b",
            ),
            (trigger, r#"{"by":"a","at":1,"items":[[0,99999],[0,99999]]}"#, "items 0 to 99999"),
            (trigger, r#"{"by":"a","at":1,"items":[[5,4]]}"#, "items 5 to 4"),
            (trigger, r#"{"by":"a","at":1,"parameter":""}"#, "parameter is empty"),
            (
                ledger,
                r#"{"state":"idle","token":0,"request":{"id":"r","at":1,"parameter":"\u0000"}}"#,
                "parameter is \"\\0\"",
            ),
        ];
        for (decode, text, expected) in rows {
            let error = decode(text.as_bytes()).unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn damaged_records_are_rejected_without_panic() {
        for text in
            ["", "{}", "[]", r#"{"state":"running","token":1}"#, r#"{"state":"gone","token":1}"#]
        {
            assert!(decode_ledger(text.as_bytes()).is_err(), "{text}");
            assert!(decode_assignment(text.as_bytes()).is_err(), "{text}");
            assert!(decode_term(text.as_bytes()).is_err(), "{text}");
        }
    }
}
