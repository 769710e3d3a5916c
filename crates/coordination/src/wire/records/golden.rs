//! Golden bytes of each released format: all can be read, and the present one is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;

use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

use super::*;
use crate::StartLog;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::{EndedFire, OnceCall, OnceRecord};
use crate::protocol::trigger_record::TriggerRecord;
use crate::{
    AuditLog, AuditRecord, Backfill, BackfillCancel, BackfillLog, CancelRequest, Claimant,
    FailureReason, FireTime, FormerConfig, FormerConfigs, Gap, GroupLimits, GroupName, GroupPermit,
    JobName, Label, Ledger, ManualRequest, Outcome, OutcomeCounts, PermitHolder, Progress,
    ProgressRecord, StartRate, TemplateName, TemplateRecord, UnknownFields, WaitingRuns,
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/records")
}

/// The folders, one for each version that is read, the latest last.
const VERSIONS: [&str; 3] = ["v0", "v1", "v2"];
/// Records and fields that version 0 did not have.
const ONLY_V1: [&str; 22] = [
    "audit-effect.json",
    "backfills.json",
    "former-configs.json",
    "group-limits.json",
    "group-limits-none.json",
    "group-permit.json",
    "group-place.json",
    "ledger-backfilled.json",
    "ledger-cancel-requested.json",
    "ledger-cancelled.json",
    "ledger-counts.json",
    "ledger-running-backfill.json",
    "ledger-running-group-permit.json",
    "ledger-running-permit.json",
    "ledger-running-queued.json",
    "once-begun.json",
    "once-ended.json",
    "progress.json",
    "progress-counts.json",
    "progress-unknown-total.json",
    "starts.json",
    "waiting.json",
];

/// Files of the records that only version 2 can read.
const ONLY_V2: [&str; 1] = ["ledger-running-slots.json"];

fn golden(version: &str, file: &str) -> String {
    let path = folder().join(version).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn id(n: u32) -> InstanceId {
    InstanceId::new(format!("10.0.0.{n}@-@7-a"))
}

fn by(n: u32) -> Claimant {
    Claimant { holder: id(n), config: Version(3), now_ms: 60_002 }
}

fn parameter() -> Option<RequestParameter> {
    RequestParameter::new("a\"b\n作").ok()
}

fn request() -> ManualRequest {
    ManualRequest {
        id: "request-1".into(),
        at: FireTime(61_501),
        parameter: parameter(),
        past_fire: None,
    }
}

fn scheduled_run() -> Ledger {
    let born = Ledger::new(Some(FireTime(30_000)));
    born.claim(&by(1), FireTime(60_000), Some(FireTime(120_000))).unwrap()
}

fn manual_run() -> Ledger {
    Ledger::new(None).with_request(request()).and_then(|it| it.answer(&by(1))).unwrap()
}

/// Returns the record of an item that waits for a fire of a backfill.
fn backfilled() -> Ledger {
    Ledger::new(None).with_backfill("b-1".into(), FireTime(30_000), FireTime(61_501)).unwrap()
}

fn with_gaps() -> Ledger {
    let gap = |first, count, changed_to| Gap {
        first: FireTime(first),
        until: FireTime(first + 20_000),
        count,
        config: Some(Version(3)),
        changed_to,
    };
    let born = Ledger::new(Some(FireTime(30_000))).followed_by(Some(FireTime(60_000)), Version(4));
    born.with_gaps([gap(10_000, Some(2), None), gap(40_000, None, Some(Version(4)))], &[])
}

fn to_be_cancelled() -> Ledger {
    let run = scheduled_run();
    let request = CancelRequest::new(run.token, "anna", "a \"quoted\" reason", 60_900).unwrap();
    run.with_cancel_request(request).unwrap()
}

/// Returns a record with two fires that get a run each.
fn queued() -> Ledger {
    let one = scheduled_run().queue(FireTime(120_000), Some(FireTime(180_000)), 2).unwrap();
    one.queue(FireTime(180_000), Some(FireTime(240_000)), 2).unwrap()
}

/// Returns the record of an item with a run in each of two slots.
fn with_run_beside() -> Ledger {
    let (item, slot) = (scheduled_run().with_further_slot(1), Ledger::new(None));
    let claimed = item.with_run_of(&slot).claim(&by(1), FireTime(120_000), Some(FireTime(180_000)));
    item.divided(&slot, claimed.unwrap()).0
}

/// Returns the record of an item after a second run, which succeeded.
fn twice_run(failed: &Ledger) -> Ledger {
    let again = failed.replay(&by(1), None).unwrap();
    again.complete(Outcome::Succeeded, 62_000).unwrap()
}

/// Returns the ledger records by the names of their files.
fn ledgers() -> Vec<(&'static str, Ledger)> {
    let noted = scheduled_run().note_misfire(FireTime(120_000), Some(FireTime(180_000))).unwrap();
    let ended = noted.complete(Outcome::Failed, 61_000).unwrap();
    let counted = ended.because(FailureReason::new("no \"space\" left"));
    // The records of earlier releases have no counts.
    let uncounted = |ledger: Ledger| Ledger { runs: OutcomeCounts::default(), ..ledger };
    let failed = uncounted(counted.clone());
    let succeeded = scheduled_run().complete(Outcome::Succeeded, 61_000).unwrap();
    let taken_over = |run: &Ledger| run.orphan().and_then(|it| it.take_over(&by(2))).unwrap();
    let requested = Ledger::new(None).with_request(request()).unwrap();
    vec![
        ("ledger-new", Ledger::new(None)),
        ("ledger-running", scheduled_run()),
        ("ledger-running-misfired", noted.clone()),
        ("ledger-running-replay", failed.replay(&by(1), None).unwrap()),
        ("ledger-running-manual", manual_run()),
        ("ledger-orphan", scheduled_run().orphan().unwrap()),
        ("ledger-orphan-manual", manual_run().orphan().unwrap()),
        ("ledger-backfilled", backfilled()),
        ("ledger-running-backfill", backfilled().answer(&by(1)).unwrap()),
        ("ledger-running-group-permit", scheduled_run().with_group_permit(group_permit())),
        ("ledger-running-permit", scheduled_run().with_permit(2)),
        ("ledger-running-queued", queued()),
        ("ledger-running-slots", with_run_beside()),
        ("ledger-takeover", taken_over(&scheduled_run())),
        ("ledger-takeover-manual", taken_over(&manual_run())),
        ("ledger-failed", failed.clone()),
        ("ledger-succeeded", uncounted(succeeded)),
        ("ledger-requested-disabled", requested.with_disabled(true).unwrap()),
        ("ledger-cancel-requested", to_be_cancelled()),
        ("ledger-cancelled", to_be_cancelled().complete(Outcome::Interrupted, 61_000).unwrap()),
        ("ledger-counts", twice_run(&counted)),
        ("ledger-gaps", with_gaps()),
        ("ledger-retired", failed.retire().unwrap()),
    ]
}

fn assignments() -> Vec<(&'static str, AssignmentRecord)> {
    let one = AssignmentRecord {
        members: vec![id(1)],
        total_count: 3,
        strategy: "AVG_ALLOCATION".to_owned(),
        handled: 2,
        ..AssignmentRecord::default()
    };
    let all = AssignmentRecord {
        members: vec![id(2), id(1)],
        names: BTreeMap::from([(id(1), "east".to_owned())]),
        due: Some(FireTime(60_000)),
        pending: [0, 1, 2]
            .map(|item| (ShardingItem::new(item), id(1 + item / 2)))
            .into_iter()
            .collect(),
        announced: Some(5),
        counts: BTreeMap::from([(id(1), 1), (id(2), 2)]),
        ..one.clone()
    };
    vec![("assignment", one), ("assignment-pending", all)]
}

fn requests() -> Vec<(&'static str, TriggerRecord)> {
    let all = TriggerRecord::new("anna".to_owned(), FireTime(61_501), None);
    let items = [0, 1, 2, 7].map(ShardingItem::new).into();
    let some = TriggerRecord { items: Some(items), parameter: parameter(), ..all.clone() };
    let handled = TriggerRecord { items: Some(BTreeSet::new()), ..all.clone() };
    vec![("request", all), ("request-items", some), ("request-handled", handled)]
}

fn calls() -> Vec<(&'static str, OnceRecord)> {
    let call = |token, done| OnceCall {
        fire: FireTime(60_000),
        token: FencingToken(token),
        holder: id(1),
        done,
    };
    let started = OnceRecord { started: Some(call(4, false)), ..OnceRecord::default() };
    let completed = Some(call(5, false));
    let both = OnceRecord { started: Some(call(4, true)), completed, ..OnceRecord::default() };
    let end = |fire| EndedFire { fire, at: FireTime(61_003) };
    let begun = OnceRecord { ended: Some(end(None)), ..OnceRecord::default() };
    let ended = OnceRecord { ended: Some(end(Some(FireTime(60_000)))), ..started.clone() };
    vec![
        ("once-started", started),
        ("once-both", both),
        ("once-begun", begun),
        ("once-ended", ended),
    ]
}

fn audits() -> Vec<(&'static str, AuditLog)> {
    let mut log = AuditLog::default();
    for (n, why) in [(1, "release 12"), (2, "a \"quoted\" reason")] {
        log.push(AuditRecord {
            id: format!("change-{n}"),
            at_ms: 60_000 + n,
            who: "anna".to_owned(),
            why: why.to_owned(),
            act: "pause".to_owned(),
            target: "10.0.0.7".to_owned(),
            what: String::new(),
        });
    }
    let mut with_effect = AuditLog::default();
    with_effect.push(AuditRecord {
        id: "change-3".to_owned(),
        at_ms: 60_003,
        who: "anna".to_owned(),
        why: "release 12".to_owned(),
        act: "update configuration".to_owned(),
        target: "configuration".to_owned(),
        what: "sharding_total_count: 3 -> 4".to_owned(),
    });
    let empty = AuditLog::default();
    vec![("audit", log), ("audit-effect", with_effect), ("audit-empty", empty)]
}

fn backfills() -> Vec<(&'static str, BackfillLog)> {
    let open = Backfill {
        id: "b-2".into(),
        by: "anna".to_owned(),
        why: "a \"quoted\" reason".to_owned(),
        at: FireTime(61_501),
        from_ms: 10_000,
        until_ms: 40_000,
        fires: [10_000, 20_000, 30_000].map(FireTime).to_vec(),
        total: 3,
        items: [0, 1, 2, 7].map(ShardingItem::new).into(),
        concurrency: 2,
        done: 1,
        cancel: None,
        ended_ms: None,
        unknown: UnknownFields::default(),
    };
    let (by, why) = ("ben".to_owned(), "enough".to_owned());
    let cancel = Some(BackfillCancel { by, why, at_ms: 60_900 });
    let cancelled = Backfill { id: "b-1".into(), cancel, ..open.clone() };
    vec![("backfills", [cancelled.ended_at(61_000), open].into_iter().collect())]
}

fn former_configs() -> Vec<(&'static str, FormerConfigs)> {
    let mut log = FormerConfigs::default();
    for (n, why) in [(1, "release 12"), (2, "a \"quoted\" reason")] {
        log.push(FormerConfig {
            document: format!(r#"{{"jobName":"report","shardingTotalCount":{n}}}"#),
            replaced_ms: 60_000 + n,
            who: "anna".to_owned(),
            why: why.to_owned(),
        });
    }
    vec![("former-configs", log)]
}

fn templates() -> Vec<(&'static str, TemplateRecord)> {
    let template = TemplateName::new("report").unwrap();
    let plain = TemplateRecord { template, label: None };
    let labelled = TemplateRecord { label: Label::new("eu").ok(), ..plain.clone() };
    vec![("template", plain), ("template-label", labelled)]
}

fn waiting() -> WaitingRuns {
    let items = [3, 0, 7].map(ShardingItem::new).to_vec();
    WaitingRuns::of_items(4, 60_002, items).unwrap()
}

fn starts() -> StartLog {
    StartLog { starts: vec![(60_000, 2), (60_500, 1)] }
}

fn progress() -> Vec<(&'static str, ProgressRecord)> {
    let record = |done, total, message| {
        let progress = Progress::new(done, total, message).unwrap();
        ProgressRecord::new(FencingToken(7), 60_500, progress)
    };
    let half = record(30, Some(60), "a \"quoted\" message");
    let counts = OutcomeCounts { succeeded: 900, failed: 2 };
    let counting = record(30, None, "").counting(counts);
    vec![
        ("progress", half),
        ("progress-counts", counting),
        ("progress-unknown-total", record(30, None, "")),
    ]
}

fn group_permit() -> GroupPermit {
    GroupPermit { group: GroupName::new("db").unwrap(), number: 3 }
}

fn permit_holder() -> PermitHolder {
    let (job, item) = (JobName::new("report").unwrap(), ShardingItem::new(2));
    PermitHolder { job, item, holder: id(1), token: FencingToken(5) }
}

fn group_limits() -> Vec<(&'static str, GroupLimits)> {
    let (cluster_concurrency, start_rate) = (Some(4), StartRate::parse("9 in 1m"));
    vec![
        ("group-limits", GroupLimits { cluster_concurrency, start_rate }),
        ("group-limits-none", GroupLimits::NONE),
    ]
}

fn has(version: &str, file: &str) -> bool {
    match version {
        "v2" => ONLY_V2.contains(&file),
        "v1" => !ONLY_V2.contains(&file),
        _ => !ONLY_V1.contains(&file) && !ONLY_V2.contains(&file),
    }
}

/// Returns the version in which a record is written.
fn written(file: &str) -> &'static str {
    if ONLY_V2.contains(&file) { "v2" } else { "v1" }
}

/// Checks the golden files of these values and returns their names.
fn check<T: Debug + PartialEq>(
    values: Vec<(&'static str, T)>,
    encode: fn(&T) -> String,
    decode: fn(&[u8]) -> Result<T, RecordError>,
) -> Vec<String> {
    let mut files = Vec::new();
    for (name, value) in values {
        let file = format!("{name}.json");
        for version in VERSIONS.into_iter().filter(|version| has(version, &file)) {
            let text = golden(version, &file);
            assert_eq!(decode(text.as_bytes()).as_ref(), Ok(&value), "{version}/{file}");
        }
        assert_eq!(encode(&value), golden(written(&file), &file), "{file}");
        files.push(file);
    }
    files
}

#[test]
fn golden_bytes_are_read_and_written() {
    let mut files = check(ledgers(), encode_ledger, decode_ledger);
    files.extend(check(vec![("term", id(1))], encode_term, decode_term));
    files.extend(check(assignments(), encode_assignment, decode_assignment));
    files.extend(check(requests(), encode_trigger, decode_trigger));
    files.extend(check(calls(), encode_once, decode_once));
    files.extend(check(audits(), encode_audit, decode_audit));
    files.extend(check(backfills(), encode_backfills, decode_backfills));
    files.extend(check(former_configs(), encode_former_configs, decode_former_configs));
    files.extend(check(progress(), encode_progress, decode_progress));
    files.extend(check(templates(), encode_template, decode_template));
    files.extend(check(vec![("starts", starts())], encode_starts, decode_starts));
    files.extend(check(group_limits(), encode_group_limits, decode_group_limits));
    let holder = vec![("group-permit", permit_holder())];
    files.extend(check(holder, encode_permit_holder, decode_permit_holder));
    files.extend(check(vec![("group-place", id(1))], encode_place, decode_place));
    files.extend(check(vec![("waiting", waiting())], encode_waiting, decode_waiting));
    files.sort();
    for version in VERSIONS {
        let entries = std::fs::read_dir(folder().join(version)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = names.collect();
        found.sort();
        let files: Vec<_> = files.iter().filter(|file| has(version, file)).cloned().collect();
        assert_eq!(found, files, "each file of {version} has its value");
    }
}
