//! Knowledge about each job: memory, states, and alerts. It has no access to the registry.

use std::collections::BTreeMap;

use coordination::JobName;
use jiff::Timestamp;
use operations::JobSnapshot;
use reg_center::Version;
use sharding::InstanceId;

use crate::store::{Alert, JobDoc, Reported, Resolved, SilenceView, Stored};
use crate::{
    Assessment, ConditionKind, Expectation, HistoryByJob, Memory, Seen, State, WatchFile, evaluate,
};

/// Maximum length of a stored reason, in bytes.
const MAX_WHY_BYTES: usize = 512;

/// All jobs with expectations or alerts.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(crate) jobs: BTreeMap<JobName, Entry>,
    leaders: BTreeMap<JobName, InstanceId>,
    /// Facts of a history, for jobs whose nodes do not have them.
    pub(crate) history: HistoryByJob,
    /// Number of observed changes of a job's leader to another instance.
    pub(crate) leader_changes: u64,
}

/// One job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) expectations: Vec<Expectation>,
    pub(crate) states: Vec<Assessment>,
    pub(crate) alerts: BTreeMap<ConditionKind, Alert>,
    /// Last known success of the item that has not succeeded for the longest time, in milliseconds
    /// since 1970 UTC.
    pub(crate) oldest_success: Option<i64>,
    memory: Memory,
    exists: bool,
    /// The document can differ from the stored one.
    pub(crate) is_touched: bool,
    /// The document as it is stored.
    stored: Option<(JobDoc, Version)>,
}

/// Part of a message: one expectation of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) job: JobName,
    pub(crate) kind: ConditionKind,
    pub(crate) verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Violated,
    StillViolated,
    Resolved,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::StillViolated => "still violated",
            Self::Resolved => "resolved",
        }
    }
}

impl Board {
    /// Counts a change of the leader, also of a job of which nothing is expected.
    pub(crate) fn note_leader(&mut self, job: &JobName, snapshot: Option<&JobSnapshot>) {
        let Some(snapshot) = snapshot else {
            self.leaders.remove(job);
            return;
        };
        let Some(leader) = snapshot.view().leader() else { return };
        let former = self.leaders.insert(job.clone(), leader.clone());
        self.leader_changes += u64::from(former.is_some_and(|former| former != *leader));
    }

    /// Judges a job. Returns false if nothing is expected of it and nothing was reported.
    pub(crate) fn judge(
        &mut self,
        file: &WatchFile,
        job: &JobName,
        snapshot: Option<&JobSnapshot>,
        now: Timestamp,
    ) {
        let exists = snapshot.is_some_and(JobSnapshot::has_config);
        let expectations = file.expectations_of(job.as_str());
        let is_named = || expectations.iter().any(|e| e.condition.kind() == ConditionKind::Exists);
        if !self.jobs.contains_key(job) && (expectations.is_empty() || !(exists || is_named())) {
            return;
        }
        let is_judged = exists || is_named();
        let entry = self.jobs.entry(job.clone()).or_default();
        (entry.exists, entry.is_touched) = (exists, true);
        entry.memory.observe(snapshot, &expectations, now);
        let seen = Seen::new(snapshot, &entry.memory).history(self.history.get(job.as_str()));
        let items = snapshot.into_iter().flat_map(JobSnapshot::items);
        let successes = items.filter_map(|item| seen.last_success(item.index()));
        entry.oldest_success = successes.min();
        let states = if is_judged { evaluate(&expectations, seen, now) } else { Vec::new() };
        log_changes(job, &entry.states, &states);
        (entry.expectations, entry.states) = (expectations, states);
    }

    /// Opens and closes alerts by the states of a job. Only the sender does.
    pub(crate) fn alert(&mut self, job: &JobName, now: Timestamp) {
        let Some(entry) = self.jobs.get_mut(job) else { return };
        let now = now.as_millisecond();
        let Entry { expectations, states, alerts, .. } = entry;
        for (expectation, found) in expectations.iter().zip(&*states) {
            let known = alerts.get_mut(&found.expectation);
            match (&found.state, known) {
                (State::Violated { since, why }, None) => {
                    let alert = new_alert(expectation, *since, why);
                    alerts.insert(found.expectation, alert);
                }
                (State::Violated { why, .. }, Some(alert)) => {
                    (alert.why, alert.resolved) = (cut(why), None);
                    alert.severity = expectation.severity;
                    alert.labels.clone_from(&expectation.labels);
                }
                (State::Ok, Some(alert)) => resolve(alert, now, "the condition holds again"),
                (State::Suspended { why }, Some(alert)) => {
                    resolve(alert, now, &format!("the expectation is suspended: {why}"));
                }
                // The end of the violation is not known.
                (State::Pending { .. } | State::Unknown { .. }, _) => {}
                (State::Ok | State::Suspended { .. }, None) => {}
            }
        }
        for (kind, alert) in &mut *alerts {
            if !states.iter().any(|found| found.expectation == *kind) {
                resolve(alert, now, "the job was removed, or nothing is expected of it any more");
            }
        }
        entry.settle();
    }

    /// Replaces the alerts by the stored ones, at the begin of a term.
    pub(crate) fn adopt(&mut self, stored: BTreeMap<JobName, Stored<JobDoc>>) {
        for entry in self.jobs.values_mut() {
            entry.alerts.clear();
            entry.stored = None;
        }
        for (job, Stored { value, version }) in stored {
            let entry = self.jobs.entry(job).or_default();
            entry.alerts.clone_from(&value.alerts);
            entry.memory.merge(value.memory.clone());
            entry.is_touched = true;
            entry.stored = version.map(|version| (value, version));
        }
    }

    /// Returns the parts of the next message of a channel, the most severe first.
    pub(crate) fn notices(
        &self,
        channel: &str,
        file: &WatchFile,
        silences: &SilenceView,
        now: i64,
    ) -> Vec<Notice> {
        let mut found = Vec::new();
        for (job, entry) in &self.jobs {
            for (kind, alert) in &entry.alerts {
                let reported = alert.reported.get(channel);
                let verb = match reported {
                    _ if alert.resolved.is_some() => {
                        reported.filter(|reported| !reported.is_resolved).map(|_| Verb::Resolved)
                    }
                    _ if silences.until(job, *kind, now).is_some() => None,
                    Some(reported) if !reported.is_resolved => {
                        let due = file.repeat.is_some_and(|every| now >= due(reported.at, every));
                        due.then_some(Verb::StillViolated)
                    }
                    _ => entry.sends_to(*kind, channel).then_some(Verb::Violated),
                };
                let notice = verb.map(|verb| Notice { job: job.clone(), kind: *kind, verb });
                found.extend(notice.map(|notice| (alert.severity, notice)));
            }
        }
        found.sort_by(|(a, one), (b, other)| b.cmp(a).then(one.verb.cmp(&other.verb)));
        found.into_iter().map(|(_, notice)| notice).collect()
    }

    /// Returns a board with copies of the jobs of these notices only.
    pub(crate) fn jobs_of(&self, notices: &[Notice]) -> Self {
        let entries = notices.iter().filter_map(|notice| self.jobs.get_key_value(&notice.job));
        let jobs = entries.map(|(job, entry)| (job.clone(), entry.clone())).collect();
        Self { jobs, ..Self::default() }
    }

    /// Notes that a message of a channel has these parts.
    pub(crate) fn mark_reported(&mut self, notices: &[Notice], channel: &str, n: u64, now: i64) {
        for Notice { job, kind, verb } in notices {
            let Some(entry) = self.jobs.get_mut(job) else { continue };
            if let Some(alert) = entry.alerts.get_mut(kind) {
                let reported = Reported { n, at: now, is_resolved: *verb == Verb::Resolved };
                alert.reported.insert(channel.to_owned(), reported);
            }
            entry.settle();
        }
    }

    /// Forgets messages of channels that the file no longer has.
    pub(crate) fn retain_channels(&mut self, is_known: impl Fn(&str) -> bool) {
        for entry in self.jobs.values_mut() {
            for alert in entry.alerts.values_mut() {
                alert.reported.retain(|channel, _| is_known(channel));
            }
            entry.settle();
        }
    }

    /// Returns the next time at which a state or a message is due without any change of a node.
    pub(crate) fn next_due(
        &self,
        file: &WatchFile,
        silences: &SilenceView,
        now: i64,
    ) -> Option<i64> {
        let states = self.jobs.values().flat_map(|entry| &entry.states);
        let states = states.filter_map(|state| state.due.map(Timestamp::as_millisecond));
        let alerts = self.jobs.iter().flat_map(|(job, entry)| {
            entry.alerts.iter().flat_map(move |(kind, alert)| {
                let repeats = file.repeat.into_iter().flat_map(move |every| {
                    alert.reported.values().map(move |reported| due(reported.at, every))
                });
                repeats.chain(silences.until(job, *kind, now))
            })
        });
        states.chain(alerts).filter(|due| *due > now).min()
    }

    /// Returns the jobs whose states can have changed by this time without any change of a node.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<JobName> {
        let is_due = |entry: &Entry| {
            entry.states.iter().any(|state| state.due.is_some_and(|due| due <= now))
        };
        self.jobs.iter().filter(|(_, entry)| is_due(entry)).map(|(job, _)| job.clone()).collect()
    }
}

impl Entry {
    fn sends_to(&self, kind: ConditionKind, channel: &str) -> bool {
        let is_it = |expectation: &&Expectation| expectation.condition.kind() == kind;
        self.expectations.iter().find(is_it).is_some_and(|e| e.channels.contains(channel))
    }

    /// Removes alerts that are over and of which no channel has to report the end.
    fn settle(&mut self) {
        self.is_touched = true;
        self.alerts.retain(|_, alert| {
            alert.resolved.is_none()
                || alert.reported.values().any(|reported| !reported.is_resolved)
        });
    }

    /// Returns the document to store and the version that it replaces, if they differ. `None` as
    /// document deletes it.
    pub(crate) fn unstored(&mut self) -> Option<(Option<JobDoc>, Option<Version>)> {
        if !self.is_touched {
            return None;
        }
        let unstored = self.difference();
        self.is_touched = unstored.is_some();
        unstored
    }

    fn difference(&self) -> Option<(Option<JobDoc>, Option<Version>)> {
        let version = self.stored.as_ref().map(|(_, version)| *version);
        if self.states.is_empty() && self.alerts.is_empty() {
            return version.map(|version| (None, Some(version)));
        }
        let doc = JobDoc { memory: self.memory.stored(), alerts: self.alerts.clone() };
        let is_stored = self.stored.as_ref().is_some_and(|(stored, _)| *stored == doc);
        (!is_stored).then_some((Some(doc), version))
    }

    /// Notes that the document is stored, in place of this version.
    pub(crate) fn set_stored(&mut self, doc: Option<JobDoc>, replaced: Option<Version>) {
        let version = replaced.map_or(Version(0), Version::next);
        self.stored = doc.map(|doc| (doc, version));
    }

    /// Returns true if nothing is known about the job any more.
    pub(crate) fn is_over(&self) -> bool {
        !self.exists && self.states.is_empty() && self.alerts.is_empty() && self.stored.is_none()
    }
}

fn new_alert(expectation: &Expectation, since: Timestamp, why: &str) -> Alert {
    Alert {
        since: since.as_millisecond(),
        why: cut(why),
        severity: expectation.severity,
        labels: expectation.labels.clone(),
        resolved: None,
        reported: BTreeMap::new(),
    }
}

fn resolve(alert: &mut Alert, now: i64, why: &str) {
    alert.resolved.get_or_insert(Resolved { at: now, why: cut(why) });
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_WHY_BYTES)].to_owned()
}

fn due(at: i64, after: std::time::Duration) -> i64 {
    at.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX))
}

/// Logs each change of a state in one line.
fn log_changes(job: &JobName, before: &[Assessment], now: &[Assessment]) {
    for found in now {
        let expectation = found.expectation;
        let former = before.iter().find(|one| one.expectation == expectation);
        let former = former.map_or("new", |former| former.state.as_str());
        let state = found.state.as_str();
        if former == state || (former == "new" && state == "ok") {
            continue;
        }
        match &found.state {
            State::Violated { since, why } => {
                tracing::warn!(%job, %expectation, former, %since, why, "expectation violated");
            }
            // Between these two, the state changes at each fire.
            State::Ok | State::Pending { .. } if matches!(former, "ok" | "pending" | "new") => {
                tracing::debug!(%job, %expectation, former, state, "expectation changed");
            }
            state_now @ (State::Ok
            | State::Pending { .. }
            | State::Unknown { .. }
            | State::Suspended { .. }) => {
                let why = state_now.why();
                tracing::info!(%job, %expectation, former, state, why, "expectation changed");
            }
        }
    }
}
