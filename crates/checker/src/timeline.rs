//! Records as lines of text.

use crate::history::{Fact, Record, RegOp, RunId};
use crate::slot::Slot;
use crate::violation::{Subject, Violation};

/// Maximum number of lines of a window. Omitted lines are counted in the output.
const LINES: usize = 40;

/// Returns the records between the first and the last piece of evidence that concern the subject of
/// a violation.
pub(crate) fn window(records: &[Record], violation: &Violation) -> Vec<String> {
    let (Some(first), Some(last)) = (violation.evidence.first(), violation.evidence.last()) else {
        return Vec::new();
    };
    let places = (*first..=*last).filter(|place| *place < records.len());
    let matters = |place: &usize| {
        violation.evidence.contains(place) || concerns(&records[*place].fact, &violation.subject)
    };
    let places: Vec<_> = places.filter(matters).collect();
    let skipped = places.len().saturating_sub(LINES);
    let half = LINES / 2;
    let mut lines = Vec::new();
    for (nth, place) in places.iter().enumerate() {
        let in_the_middle = skipped > 0 && (half..half + skipped).contains(&nth);
        let is_evidence = violation.evidence.contains(place);
        if in_the_middle && nth == half {
            lines.push(format!("  … {skipped} more …"));
        }
        if !in_the_middle || is_evidence {
            let mark = if is_evidence { '>' } else { ' ' };
            lines.push(format!("{mark} {}", line(&records[*place])));
        }
    }
    lines
}

/// Returns true if a record concerns the job and item, in any slot.
fn concerns(fact: &Fact, subject: &Subject) -> bool {
    let is_item = |job: &str, item: u32| {
        job == subject.job && subject.item.is_none_or(|wanted| wanted == item)
    };
    match fact {
        Fact::Exec { run, .. } | Fact::Announced { run, .. } | Fact::Effect { run, .. } => {
            is_item(&run.job, run.item)
        }
        Fact::Missed { job, item, .. } => item.is_none_or(|item| is_item(job, item)),
        Fact::Gap { job, item, .. } => is_item(job, *item),
        Fact::Reg { ops, .. } => ops.iter().any(|op| concerns_op(op, subject)),
        Fact::Once { job, .. } => *job == subject.job && subject.item.is_none(),
        Fact::RunMeta { .. } | Fact::Fire { .. } | Fact::Event { .. } | Fact::Held { .. } => false,
        Fact::Process { .. }
        | Fact::Session { .. }
        | Fact::Nemesis { .. }
        | Fact::Operator { .. }
        | Fact::Healed
        | Fact::End
        | Fact::SessionOpened { .. }
        | Fact::SessClose { .. }
        | Fact::HarnessFailure { .. } => true,
    }
}

fn concerns_op(op: &RegOp, subject: &Subject) -> bool {
    let Some(path) = written(op).and_then(|path| path.strip_prefix('/')) else { return false };
    let mut parts = path.split('/');
    if parts.next() != Some(&subject.job) {
        return false;
    }
    match (parts.next(), parts.next(), subject.item) {
        (Some("ledger" | "sharding"), Some(name), Some(wanted)) => {
            Slot::parse(name).is_some_and(|slot| slot.item == wanted)
        }
        (Some("ledger" | "sharding"), _, None) => false,
        _ => true,
    }
}

fn written(op: &RegOp) -> Option<&str> {
    match op {
        RegOp::Create { path, .. } | RegOp::Set { path, .. } | RegOp::Delete { path } => Some(path),
        RegOp::Check { .. } => None,
    }
}

/// Formats a record as one line: time, source, fact.
pub(crate) fn line(record: &Record) -> String {
    let (seconds, ms) = (record.mt / 1_000_000_000, record.mt / 1_000_000 % 1_000);
    let start = if record.inc > 0 { format!(".{}", record.inc) } else { String::new() };
    format!("{seconds:>6}.{ms:03} {:>8}{start}  {}", record.p, fact_text(&record.fact))
}

fn fact_text(fact: &Fact) -> String {
    match fact {
        Fact::RunMeta { run, backend, .. } => format!("run {run} on {backend}"),
        Fact::Process { ev, server } => format!("process {ev:?} on {server}").to_lowercase(),
        Fact::Session { ev, sid, instance } => {
            let instance = instance.as_deref().map(|id| format!(" as {id}")).unwrap_or_default();
            format!("session {sid} {}{instance}", format!("{ev:?}").to_lowercase())
        }
        Fact::Fire { job, fire } => format!("{job}: fire {fire} came"),
        Fact::Event { job, name, text } => format!("{job}: {name}: {text}"),
        Fact::Missed { job, item, fire, reason } => {
            let item = item.map(|item| format!(" item {item}")).unwrap_or_default();
            format!("{job}{item}: missed {fire}: {reason}")
        }
        Fact::Gap { job, item, first, until, .. } => {
            format!("{job} item {item}: a gap from {first} to before {until}")
        }
        Fact::Exec { ev, run, source, cfg, result } => {
            let result = result.as_deref().map(|result| format!(", {result}")).unwrap_or_default();
            let ev = format!("{ev:?}").to_lowercase();
            let RunId { job, fire, token, .. } = run;
            let slot = Slot::of(run);
            format!(
                "{job} item {slot}: {ev} {source} {fire}, token {token}, configuration {cfg}{result}"
            )
        }
        Fact::Announced { run, accepted, rseq } => {
            let taken = if *accepted { "accepted" } else { "rejected" };
            let RunId { job, fire, token, .. } = run;
            let slot = Slot::of(run);
            format!("{job} item {slot}: announcement {rseq} of {fire}, token {token}, {taken}")
        }
        Fact::Effect { run, accepted, rseq } => {
            let taken = if *accepted { "accepted" } else { "rejected" };
            let RunId { job, fire, token, .. } = run;
            let slot = Slot::of(run);
            format!("{job} item {slot}: effect {rseq} of {fire}, token {token}, {taken}")
        }
        Fact::Once { job, fire, stage, token } => format!("{job}: {stage} {fire}, token {token}"),
        Fact::Nemesis { ev, kind, target, outcome, why } => {
            format!("{kind} of {target}: {ev:?}, {outcome:?} {why}").trim_end().to_lowercase()
        }
        Fact::Operator { what, outcome } => format!("operator: {what}: {outcome:?}"),
        Fact::Healed => "all faults are healed".to_owned(),
        Fact::End => "end".to_owned(),
        Fact::SessionOpened { sid, owner } => format!("session {sid} was opened by {owner:?}"),
        Fact::Reg { zxid, sid, ops } => {
            let ops: Vec<_> = ops.iter().filter_map(op_text).collect();
            format!("revision {zxid}, session {sid}: {}", ops.join("; "))
        }
        Fact::SessClose { zxid, sid, ephemerals } => {
            format!("revision {zxid}: session {sid} ended, and with it {}", ephemerals.join(", "))
        }
        Fact::Held { sid, feeds } => format!("session {sid} holds {feeds} feeds"),
        Fact::HarnessFailure { at, error } => format!("the harness failed at {at}: {error}"),
    }
}

fn op_text(op: &RegOp) -> Option<String> {
    match op {
        RegOp::Create { path, data, .. } => {
            Some(format!("new {path} {data}").trim_end().to_owned())
        }
        RegOp::Set { path, data, .. } => Some(format!("{path} {data}").trim_end().to_owned()),
        RegOp::Delete { path } => Some(format!("no {path}")),
        RegOp::Check { .. } => None,
    }
}
