//! Ledger records as JSON.

use std::sync::Arc;

use reg_center::Version;
use serde::{Deserialize, Serialize};
use sharding::InstanceId;

use super::format::{FormatVersion, RecordError, from_json, to_json};
use super::words::{GapDoc, KindDoc, NotedDoc, OutcomeDoc, RangeDoc, SourceDoc, StateDoc};
use super::{decode_parameter, decode_token, encode_parameter, is_zero};
use crate::{
    Backfilled, CancelRequest, FailureReason, FencingToken, FireTime, GroupName, GroupPermit,
    Ledger, LedgerState, MAX_SLOTS, ManualRequest, Outcome, OutcomeCounts, Run, RunKind, RunSource,
    UnknownFields,
};

#[derive(Serialize, Deserialize)]
struct LedgerDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    state: StateDoc,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fire: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceDoc>,
    /// Absent for a scheduled fire, and in version 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<KindDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<RangeDoc>,
    /// The parameter of the request that the run answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    /// The number of the run's permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    permit: Option<u32>,
    /// The group that the run has a permit of, and the number of that permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_permit: Option<u32>,
    /// The past fire of a run with the source `MANUAL` that belongs to a backfill.
    #[serde(skip_serializing_if = "Option::is_none")]
    past_fire: Option<i64>,
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
    misfire: Option<NotedDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backfilled: Option<BackfilledDoc>,
    /// The request to cancel the run of this token, in progress or ended by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel: Option<CancelDoc>,
    /// The number of the last further slot with a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    disabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeDoc>,
    /// The reason of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// The numbers of all runs that succeeded and that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    succeeded: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<i64>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

#[derive(Serialize, Deserialize)]
struct RequestDoc {
    id: String,
    at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    past_fire: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct BackfilledDoc {
    id: String,
    fire: i64,
}

#[derive(Serialize, Deserialize)]
struct CancelDoc {
    token: u64,
    by: String,
    why: String,
    at: i64,
}

impl LedgerDoc {
    fn group_permit(&self) -> Result<Option<GroupPermit>, String> {
        let (Some(group), Some(number)) = (&self.group, self.group_permit) else { return Ok(None) };
        let group = GroupName::new(group).map_err(|error| error.to_string())?;
        Ok(Some(GroupPermit { group, number }))
    }

    /// Returns the run of a running or orphaned item.
    fn run(&self) -> Result<Run, String> {
        let (Some(holder), Some(fire), Some(source)) = (&self.holder, self.fire, self.source)
        else {
            return Err("a run needs holder, fire and source".to_owned());
        };
        let run = Run {
            holder: InstanceId::new(holder.as_str()),
            fire: FireTime(fire),
            source: source.into(),
            kind: self.kind(source.into(), FireTime(fire)),
            merged: self.merged.map(Into::into),
            parameter: decode_parameter(self.parameter.as_deref())?,
            permit: self.permit,
            group_permit: self.group_permit()?,
            past_fire: self.past_fire.map(FireTime),
        };
        if run.source == RunSource::Manual && run.is_scheduled() {
            return Err("a run with source MANUAL needs kind manual".to_owned());
        }
        Ok(named_as_backfilled(run))
    }

    /// Returns the kind of the run.
    ///
    /// Version 0 has no field for it. A takeover has the source `FAILOVER` for both kinds, and only
    /// its time differs: requests have odd milliseconds, scheduled fires whole seconds. As long as
    /// version 0 is read, [`FireTime::of_request`] has to return odd milliseconds.
    fn kind(&self, source: RunSource, fire: FireTime) -> RunKind {
        if self.version > FormatVersion::ZERO {
            return self.kind.map_or(RunKind::Scheduled, Into::into);
        }
        let is_manual = source == RunSource::Manual || fire.0 % 2 != 0;
        if is_manual { RunKind::Manual } else { RunKind::Scheduled }
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
        version: match ledger.further_slots {
            0 => FormatVersion::WRITTEN,
            _ => FormatVersion::WITH_SLOTS,
        },
        state,
        holder: run.map(|run| run.holder.to_string()),
        fire: run.map(|run| run.fire.0),
        source: run.map(|run| run.source.into()),
        kind: run.and_then(|run| KindDoc::written(run.kind)),
        merged: run.and_then(|run| run.merged).map(Into::into),
        parameter: encode_parameter(run.and_then(|run| run.parameter.as_ref())),
        permit: run.and_then(|run| run.permit),
        group: run.and_then(|run| run.group_permit.as_ref()).map(|it| it.group.to_string()),
        group_permit: run.and_then(|run| run.group_permit.as_ref()).map(|it| it.number),
        past_fire: run.and_then(|run| run.past_fire).map(|fire| fire.0),
        token: ledger.token.0,
        last: ledger.last_fire.map(|fire| fire.0),
        previous: ledger.previous_fire.map(|fire| fire.0),
        next: ledger.next_fire.map(|fire| fire.0),
        next_config: ledger.next_config.map(|version| version.0),
        gaps: ledger.gaps.iter().map(Into::into).collect(),
        config: ledger.config.map(|version| version.0),
        request: ledger.request.as_ref().map(encode_request),
        backfilled: ledger
            .backfilled
            .as_ref()
            .map(|last| BackfilledDoc { id: last.id.to_string(), fire: last.fire.0 }),
        cancel: ledger.cancel.as_deref().map(encode_cancel),
        slots: Some(ledger.further_slots).filter(|number| *number > 0),
        disabled: ledger.disabled,
        began: ledger.began_ms,
        ended: ledger.ended_ms,
        misfire: ledger.misfire.map(|range| NotedDoc::new(range, &ledger.queued)),
        outcome: ledger.outcome.map(Into::into),
        failure: ledger.failure.as_ref().map(ToString::to_string),
        succeeded: ledger.runs.succeeded,
        failed: ledger.runs.failed,
        unknown: ledger.unknown.clone(),
    })
}

/// Decodes a ledger record.
///
/// # Errors
/// The bytes are no valid record, or a record of a later version.
pub fn decode_ledger(bytes: &[u8]) -> Result<Ledger, RecordError> {
    let doc: LedgerDoc = from_json(bytes)?;
    let state = match doc.state {
        StateDoc::Idle => LedgerState::Idle,
        StateDoc::Running => LedgerState::Running(doc.run()?),
        StateDoc::Orphan => LedgerState::Orphan(doc.run()?),
        StateDoc::Retired => LedgerState::Retired,
    };
    let token = decode_token(doc.token)?;
    let request = doc.request.map(decode_request).transpose()?;
    let cancel = doc.cancel.map(decode_cancel).transpose()?;
    let (misfire, queued) = doc.misfire.map(NotedDoc::decode).transpose()?.unzip();
    Ok(named_as_cancelled(Ledger {
        state,
        last_fire: doc.last.map(FireTime),
        previous_fire: doc.previous.map(FireTime),
        next_fire: doc.next.map(FireTime),
        next_config: doc.next_config.map(Version),
        gaps: doc.gaps.into_iter().map(Into::into).collect(),
        config: doc.config.map(Version),
        request,
        backfilled: doc
            .backfilled
            .map(|last| Arc::new(Backfilled { id: last.id.into(), fire: FireTime(last.fire) })),
        cancel,
        further_slots: decode_slots(doc.slots.unwrap_or(0))?,
        disabled: doc.disabled,
        began_ms: doc.began,
        ended_ms: doc.ended,
        token,
        misfire,
        queued: queued.unwrap_or_default(),
        outcome: doc.outcome.map(Into::into),
        failure: doc.failure.as_deref().and_then(FailureReason::new),
        runs: OutcomeCounts { succeeded: doc.succeeded, failed: doc.failed },
        unknown: doc.unknown,
    }))
}

fn decode_slots(number: u32) -> Result<u32, String> {
    if number < MAX_SLOTS {
        return Ok(number);
    }
    Err(format!("slots is {number}; valid is 0 to {}", MAX_SLOTS - 1))
}

/// Returns the run with the source `BACKFILL` if it has a past fire. The word in the record is
/// `MANUAL`, which earlier versions read. They also keep the field when they write a later run: a
/// scheduled one has no past fire.
fn named_as_backfilled(run: Run) -> Run {
    let past_fire = run.past_fire.filter(|_| !run.is_scheduled());
    let is_backfilled = run.source == RunSource::Manual && past_fire.is_some();
    let source = if is_backfilled { RunSource::Backfill } else { run.source };
    Run { source, past_fire, ..run }
}

/// Returns the record with the outcome `cancelled` if its request shows that it ended so. The word
/// in the record is `interrupted`, which earlier versions read.
fn named_as_cancelled(ledger: Ledger) -> Ledger {
    let has_ended = !ledger.is_busy() && ledger.outcome == Some(Outcome::Interrupted);
    let is_cancelled = has_ended && ledger.cancel_request().is_some();
    let outcome = if is_cancelled { Some(Outcome::Cancelled) } else { ledger.outcome };
    Ledger { outcome, ..ledger }
}

fn encode_cancel(request: &CancelRequest) -> CancelDoc {
    CancelDoc {
        token: request.token().0,
        by: request.by().to_owned(),
        why: request.why().to_owned(),
        at: request.at_ms(),
    }
}

fn decode_cancel(doc: CancelDoc) -> Result<Arc<CancelRequest>, String> {
    let request = CancelRequest::new(FencingToken(doc.token), &doc.by, &doc.why, doc.at);
    request.map(Arc::new).ok_or_else(|| {
        format!("cancel has by {:?} and why {:?}; neither may be blank", doc.by, doc.why)
    })
}

fn encode_request(request: &ManualRequest) -> RequestDoc {
    let parameter = encode_parameter(request.parameter.as_ref());
    let past_fire = request.past_fire.map(|fire| fire.0);
    RequestDoc { id: request.id.to_string(), at: request.at.0, parameter, past_fire }
}

fn decode_request(doc: RequestDoc) -> Result<ManualRequest, String> {
    let parameter = decode_parameter(doc.parameter.as_deref())?;
    let past_fire = doc.past_fire.map(FireTime);
    Ok(ManualRequest { id: doc.id.into(), at: FireTime(doc.at), parameter, past_fire })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claimant, Gap, Outcome, RequestParameter};

    fn ledgers() -> Vec<Ledger> {
        let holder = InstanceId::new("10.0.0.1@-@7-a");
        let by = Claimant { holder, config: Version(3), now_ms: 1_002 };
        let next = Some(FireTime(2_000));
        let running = Ledger::new(None).claim(&by, FireTime(1_000), next).unwrap();
        let noted = running.note_misfire(FireTime(2_000), Some(FireTime(3_000))).unwrap();
        let orphan = noted.orphan().unwrap();
        let done = running.complete(Outcome::Failed, 1_500).unwrap();
        let retired = done.retire().unwrap();
        let request =
            ManualRequest { id: "r".into(), at: FireTime(1_501), parameter: None, past_fire: None };
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
    fn only_a_request_for_the_ended_run_shows_that_it_was_cancelled() {
        let running = &ledgers()[1];
        let request = CancelRequest::new(running.token, "anna", "wrong month", 1_400).unwrap();
        let wanted = running.with_cancel_request(request).unwrap();
        let cancelled = wanted.complete(Outcome::Interrupted, 1_500).unwrap();
        for ledger in [&wanted, &cancelled, &cancelled.retire().unwrap()] {
            let text = encode_ledger(ledger);
            assert_eq!(decode_ledger(text.as_bytes()).as_ref(), Ok(ledger), "{text}");
        }
        let text = encode_ledger(&cancelled);
        let shown = r#""cancel":{"token":1,"by":"anna","why":"wrong month","at":1400}"#;
        assert!(text.contains(shown) && text.contains(r#""outcome":"interrupted""#), "{text}");
        // An earlier version keeps the field when it writes a later run.
        let later = text.replace(r#","token":1,"last""#, r#","token":2,"last""#);
        let later = decode_ledger(later.as_bytes()).unwrap();
        assert_eq!((later.outcome, later.cancel_request()), (Some(Outcome::Interrupted), None));
        let blank = text.replace("wrong month", " ");
        let error = decode_ledger(blank.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(r#"by "anna" and why " ""#), "{error}");
    }

    #[test]
    fn bytes_of_ledger_record_are_fixed() {
        let text = encode_ledger(&ledgers()[2]);
        let expected = r#"{"v":1,"state":"running","holder":"10.0.0.1@-@7-a","fire":1000,"source":"NORMAL","token":1,"last":1000,"next":3000,"config":3,"misfire":{"first":2000,"last":2000,"count":1},"began":1002}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn failure_reason_is_kept_until_success_and_its_bytes_are_fixed() {
        let running = &ledgers()[1];
        let ended = running.complete(Outcome::Failed, 1_500).unwrap();
        let failed = ended.because(FailureReason::new("no \"space\"\nleft"));
        let text = encode_ledger(&failed);
        let expected = r#"{"v":1,"state":"idle","token":1,"last":1000,"next":2000,"config":3,"outcome":"failed","failure":"no \"space\" left","failed":1,"began":1002,"ended":1500}"#;
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
        let expected = r#"{"v":1,"state":"idle","token":0,"last":500,"next":1000,"next_config":4,"gaps":[{"first":1000,"until":3000,"count":2,"config":3},{"first":1000,"until":3000,"config":3,"changed":4}]}"#;
        assert_eq!(text, expected);
        assert_eq!(decode_ledger(text.as_bytes()).unwrap(), ledger);
        let text_without = br#"{"v":1,"state":"idle","token":1,"last":500,"next":1000,"config":3}"#;
        let old = decode_ledger(text_without).unwrap();
        assert_eq!(old.next_owed(), (Some(FireTime(1_000)), Some(Version(3))));
        assert_eq!(old.gaps, []);
    }

    #[test]
    fn request_parameter_round_trips_and_its_bytes_are_fixed() {
        let parameter = Some(RequestParameter::new("a\"b\n作").unwrap());
        let request =
            ManualRequest { id: "r".into(), at: FireTime(1_501), parameter, past_fire: None };
        let asked = Ledger::new(None).with_request(request).unwrap();
        let holder = InstanceId::new("10.0.0.1@-@7-a");
        let by = Claimant { holder, config: Version(3), now_ms: 1_502 };
        let running = asked.answer(&by).unwrap();
        let rows = [
            (
                &asked,
                r#"{"v":1,"state":"idle","token":0,"request":{"id":"r","at":1501,"parameter":"a\"b\n作"}}"#,
            ),
            (
                &running,
                r#"{"v":1,"state":"running","holder":"10.0.0.1@-@7-a","fire":1501,"source":"MANUAL","kind":"manual","parameter":"a\"b\n作","token":1,"config":3,"began":1502}"#,
            ),
        ];
        for (ledger, text) in rows {
            assert_eq!(encode_ledger(ledger), text);
            assert_eq!(decode_ledger(text.as_bytes()).unwrap(), *ledger, "{text}");
        }
    }

    #[test]
    fn backfill_round_trips_and_its_bytes_are_fixed() {
        let waits = Ledger::new(None).with_backfill("b".into(), FireTime(1_000), FireTime(9_001));
        let holder = InstanceId::new("a");
        let by = Claimant { holder, config: Version(3), now_ms: 9_002 };
        let waits = waits.unwrap();
        let running = waits.answer(&by).unwrap();
        let taken = running.orphan().and_then(|l| l.take_over(&by)).unwrap();
        let done = running.complete(Outcome::Succeeded, 9_003).unwrap();
        let rows = [
            (
                &waits,
                r#"{"v":1,"state":"idle","token":0,"request":{"id":"b","at":9001,"past_fire":1000},"backfilled":{"id":"b","fire":1000}}"#,
            ),
            (
                &running,
                r#"{"v":1,"state":"running","holder":"a","fire":9001,"source":"MANUAL","kind":"manual","past_fire":1000,"token":1,"config":3,"backfilled":{"id":"b","fire":1000},"began":9002}"#,
            ),
            (
                &taken,
                r#"{"v":1,"state":"running","holder":"a","fire":9001,"source":"FAILOVER","kind":"manual","past_fire":1000,"token":2,"config":3,"backfilled":{"id":"b","fire":1000},"began":9002}"#,
            ),
            (
                &done,
                r#"{"v":1,"state":"idle","token":1,"config":3,"backfilled":{"id":"b","fire":1000},"outcome":"succeeded","succeeded":1,"began":9002,"ended":9003}"#,
            ),
        ];
        for (ledger, text) in rows {
            assert_eq!(encode_ledger(ledger), text);
            assert_eq!(decode_ledger(text.as_bytes()).unwrap(), *ledger, "{text}");
        }
        let of_earlier_version =
            br#"{"v":1,"state":"running","holder":"a","fire":2000,"source":"NORMAL","token":2,"past_fire":1000}"#;
        let run = decode_ledger(of_earlier_version).unwrap().run().cloned().unwrap();
        assert_eq!((run.past_fire, run.source), (None, RunSource::Normal));
    }

    #[test]
    fn queued_fires_round_trip_and_their_bytes_are_fixed() {
        let running = &ledgers()[1];
        let one = running.queue(FireTime(2_000), Some(FireTime(3_000)), 2).unwrap();
        let two = one.queue(FireTime(3_000), Some(FireTime(4_000)), 2).unwrap();
        let text = encode_ledger(&two);
        let shown = r#""misfire":{"first":2000,"last":3000,"count":2,"each":[2000,3000]}"#;
        assert!(text.contains(shown), "{text}");
        assert_eq!(decode_ledger(text.as_bytes()).unwrap(), two);
        assert!(two.parameter_bytes() >= "2000,3000".len(), "{text}");
        // An earlier version drops the list when it writes the record.
        let merged = decode_ledger(text.replace(r#","each":[2000,3000]"#, "").as_bytes()).unwrap();
        assert_eq!(merged, Ledger { queued: Vec::new(), ..two });
        for wrong in ["[2000]", "[3000,2000]", "[2000,2500,3000]", "[2000,4000]"] {
            let text = text.replace("[2000,3000]", wrong);
            let error = decode_ledger(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("valid are 2 ascending fires from 2000 to 3000"), "{error}");
        }
    }

    fn kind_of(text: &str) -> RunKind {
        decode_ledger(text.as_bytes()).unwrap().run().unwrap().kind
    }

    #[test]
    fn kind_of_takeover_is_a_field_since_version_1() {
        let rows = [
            (r#""v":1,"fire":2000"#, RunKind::Scheduled),
            (r#""v":1,"fire":2001"#, RunKind::Scheduled),
            (r#""v":1,"fire":2000,"kind":"manual""#, RunKind::Manual),
            (r#""v":1,"fire":2001,"kind":"scheduled""#, RunKind::Scheduled),
            (r#""fire":2000"#, RunKind::Scheduled),
            (r#""fire":2001"#, RunKind::Manual),
        ];
        for (fields, expected) in rows {
            let text = format!(
                r#"{{{fields},"state":"running","holder":"a","source":"FAILOVER","token":2}}"#
            );
            assert_eq!(kind_of(&text), expected, "{text}");
        }
        let contradiction =
            br#"{"v":1,"state":"running","holder":"a","fire":2001,"source":"MANUAL","token":2}"#;
        assert!(decode_ledger(contradiction).is_err());
    }

    #[test]
    fn unknown_fields_are_kept_and_count_against_the_size() {
        let text = r#"{"v":1,"state":"idle","token":0,"later":{"a":[1,-2.5,"x",null]},"zone":7}"#;
        let ledger = decode_ledger(text.as_bytes()).unwrap();
        assert_eq!(encode_ledger(&ledger), text);
        assert_eq!(ledger.parameter_bytes(), r#"{"later":{"a":[1,-2.5,"x",null]},"zone":7}"#.len());
        let nested = r#"{"v":1,"state":"idle","token":0,"request":{"id":"r","at":1,"later":2}}"#;
        let request = decode_ledger(nested.as_bytes()).unwrap();
        assert_eq!(
            encode_ledger(&request),
            nested.replace(r#","later":2"#, ""),
            "not below the top"
        );
    }
}
