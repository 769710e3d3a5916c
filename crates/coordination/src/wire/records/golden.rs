//! Golden bytes of each released format: all can be read, and the present one is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;

use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

use super::*;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::{OnceCall, OnceRecord};
use crate::protocol::trigger_record::TriggerRecord;
use crate::{
    AuditLog, AuditRecord, CancelRequest, Claimant, FailureReason, FireTime, FormerConfig,
    FormerConfigs, Gap, Label, Ledger, ManualRequest, Outcome, TemplateName, TemplateRecord,
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/records")
}

/// The folders, one for each version that is read, the latest last.
const VERSIONS: [&str; 2] = ["v0", "v1"];
/// Records and fields that version 0 did not have.
const ONLY_V1: [&str; 4] = [
    "audit-effect.json",
    "former-configs.json",
    "ledger-cancel-requested.json",
    "ledger-cancelled.json",
];

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
    ManualRequest { id: "request-1".into(), at: FireTime(61_501), parameter: parameter() }
}

fn scheduled_run() -> Ledger {
    let born = Ledger::new(Some(FireTime(30_000)));
    born.claim(&by(1), FireTime(60_000), Some(FireTime(120_000))).unwrap()
}

fn manual_run() -> Ledger {
    Ledger::new(None).with_request(request()).and_then(|it| it.answer(&by(1))).unwrap()
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

/// Returns the ledger records by the names of their files.
fn ledgers() -> Vec<(&'static str, Ledger)> {
    let noted = scheduled_run().note_misfire(FireTime(120_000), Some(FireTime(180_000))).unwrap();
    let ended = noted.complete(Outcome::Failed, 61_000).unwrap();
    let failed = ended.because(FailureReason::new("no \"space\" left"));
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
        ("ledger-takeover", taken_over(&scheduled_run())),
        ("ledger-takeover-manual", taken_over(&manual_run())),
        ("ledger-failed", failed.clone()),
        ("ledger-succeeded", scheduled_run().complete(Outcome::Succeeded, 61_000).unwrap()),
        ("ledger-requested-disabled", requested.with_disabled(true).unwrap()),
        ("ledger-cancel-requested", to_be_cancelled()),
        ("ledger-cancelled", to_be_cancelled().complete(Outcome::Interrupted, 61_000).unwrap()),
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
    vec![("once-started", started), ("once-both", both)]
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

fn has(version: &str, file: &str) -> bool {
    version == "v1" || !ONLY_V1.contains(&file)
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
        assert_eq!(encode(&value), golden("v1", &file), "v1/{file}");
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
    files.extend(check(former_configs(), encode_former_configs, decode_former_configs));
    files.extend(check(templates(), encode_template, decode_template));
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
