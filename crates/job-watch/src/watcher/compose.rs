//! Messages: one about all notices of a channel.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::board::{Board, Notice, Verb};
use crate::WatchFile;
use crate::store::{Alert, MessageDoc};

/// Maximum number of notices with a line of their own in a text.
const MAX_LINES: usize = 20;

/// Composes a message. `waiting` is the number of notices that follow in later messages.
pub(crate) fn message(
    file: &WatchFile,
    board: &Board,
    notices: &[Notice],
    waiting: usize,
    n: u64,
) -> MessageDoc {
    let alert = |notice: &Notice| board.jobs.get(&notice.job)?.alerts.get(&notice.kind).cloned();
    let all: Vec<(&Notice, Alert)> =
        notices.iter().filter_map(|notice| Some((notice, alert(notice)?))).collect();
    let subject = subject(&file.name, &all, waiting);
    let mut text = subject.clone();
    for (notice, alert) in all.iter().take(MAX_LINES) {
        text.push('\n');
        text.push_str(&line(notice, alert));
    }
    match all.len().saturating_sub(MAX_LINES) + waiting {
        0 => {}
        more => {
            let _ = write!(text, "\nand {more} more; `ejob watch FILE --check` lists all");
        }
    }
    let listed = |wanted: fn(Verb) -> bool| -> Vec<Value> {
        let listed = all.iter().filter(|(notice, _)| wanted(notice.verb));
        listed.map(|(notice, alert)| document(notice, alert)).collect()
    };
    let body = json!({
        "version": 1,
        "kind": "expectations",
        "name": file.name,
        "message": n,
        "possible_repeat": false,
        "summary": subject,
        "violated": listed(|verb| verb != Verb::Resolved),
        "resolved": listed(|verb| verb == Verb::Resolved),
        "left_out": waiting,
    });
    MessageDoc { subject, text, body }
}

/// Composes a message about the watcher itself.
pub(crate) fn own(file: &WatchFile, text: &str) -> MessageDoc {
    let subject = format!("[{}] {text}", file.name);
    let body = json!({
        "version": 1,
        "kind": "watcher",
        "name": file.name,
        "summary": subject,
    });
    MessageDoc { text: subject.clone(), subject, body }
}

/// Marks a message whose first sending has an unknown outcome.
pub(crate) fn repeated(mut message: MessageDoc) -> MessageDoc {
    const MARK: &str = "[possible repeat] ";
    message.subject.insert_str(0, MARK);
    message.text.insert_str(0, MARK);
    message.body["possible_repeat"] = true.into();
    message
}

fn subject(name: &str, all: &[(&Notice, Alert)], waiting: usize) -> String {
    if let ([(notice, alert)], 0) = (all, waiting) {
        let Notice { job, kind, verb } = notice;
        let severity = alert.severity.as_str();
        return format!("[{name}] {severity}: {kind} of job {job} is {}", verb.as_str());
    }
    let n = |wanted: fn(Verb) -> bool| all.iter().filter(|(one, _)| wanted(one.verb)).count();
    let (violated, resolved) = (n(|verb| verb != Verb::Resolved), n(|verb| verb == Verb::Resolved));
    let more = if waiting == 0 { String::new() } else { format!(", {waiting} more follow") };
    format!("[{name}] expectations: {violated} violated, {resolved} resolved{more}")
}

fn line(notice: &Notice, alert: &Alert) -> String {
    let Notice { job, kind, verb } = notice;
    let labels: Vec<String> =
        alert.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!(" {}", labels.join(" ")) };
    let (severity, since) = (alert.severity.as_str(), moment(alert.since));
    let text = match &alert.resolved {
        Some(resolved) => {
            format!("{} ({}; {})", moment(resolved.at), resolved.why, alert.why)
        }
        None => alert.why.clone(),
    };
    format!("{}: {severity}{labels} {job} {kind}, since {since}: {text}", verb.as_str())
}

fn document(notice: &Notice, alert: &Alert) -> Value {
    json!({
        "job": notice.job.as_str(),
        "expectation": notice.kind.as_str(),
        "state": notice.verb.as_str(),
        "severity": alert.severity.as_str(),
        "labels": alert.labels,
        "since": moment(alert.since),
        "why": alert.why,
        "resolved": alert.resolved.as_ref().map(|resolved| moment(resolved.at)),
        "resolved_why": alert.resolved.as_ref().map(|resolved| resolved.why.clone()),
    })
}

fn moment(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| time.to_string())
}
