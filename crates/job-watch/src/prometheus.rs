//! A whole namespace in the text format of Prometheus, version 0.0.4. A pure function.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::Duration;

use operations::{JobBrief, JobState};

use crate::{ConditionKind, JobAssessment, MessageCounts, State};

/// Facts beside the nodes of the jobs.
#[non_exhaustive]
pub struct NamespaceFacts<'a> {
    /// The last judgements.
    pub assessments: &'a [JobAssessment],
    /// Returns the last known success of the item that has not succeeded for the longest time, in
    /// milliseconds since 1970 UTC, by the name of a job.
    pub last_success: &'a dyn Fn(&str) -> Option<i64>,
    /// Number of changes of a leader that were observed.
    pub leader_changes: u64,
    /// Age of the nodes; `None` before the first ones.
    pub data_age: Option<Duration>,
    /// Duration of the last request to the registry.
    pub registry_latency: Option<Duration>,
    /// True while this watcher is the sender.
    pub is_sender: bool,
    /// Numbers of messages.
    pub messages: MessageCounts,
}

impl<'a> NamespaceFacts<'a> {
    /// Returns the facts of a watcher that is not the sender and has not read the registry yet. Set
    /// the fields that differ.
    pub fn new(
        assessments: &'a [JobAssessment],
        last_success: &'a dyn Fn(&str) -> Option<i64>,
    ) -> Self {
        Self {
            assessments,
            last_success,
            leader_changes: 0,
            data_age: None,
            registry_latency: None,
            is_sender: false,
            messages: MessageCounts::default(),
        }
    }
}

impl fmt::Debug for NamespaceFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { assessments, data_age, is_sender, .. } = self;
        let mut shown = f.debug_struct("NamespaceFacts");
        shown.field("assessments", &assessments.len()).field("data_age", data_age);
        shown.field("is_sender", is_sender).finish_non_exhaustive()
    }
}

/// Returns the metrics of a namespace. The cost does not depend on the number of items.
#[must_use]
pub fn prometheus<'a>(
    jobs: impl IntoIterator<Item = &'a JobBrief>,
    facts: &NamespaceFacts<'_>,
) -> String {
    let jobs: Vec<&JobBrief> = jobs.into_iter().collect();
    let mut text = Text::default();
    of_jobs(&mut text, &jobs, facts);
    of_expectations(&mut text, facts);
    of_watcher(&mut text, facts);
    text.0
}

/// Returns the metrics of several namespaces as one text, in which each sample has the name of its
/// namespace as the label `registry`. The texts are those of [`prometheus`].
///
/// # Examples
/// ```
/// use job_watch::with_registries;
///
/// let text = "# TYPE jobs gauge\njobs{state=\"OK\"} 2\n".to_owned();
/// let all = with_registries([("orders", text.clone()), ("money", text)]);
/// assert_eq!(
///     all,
///     "# TYPE jobs gauge\n\
///      jobs{registry=\"orders\",state=\"OK\"} 2\n\
///      jobs{registry=\"money\",state=\"OK\"} 2\n"
/// );
/// ```
#[must_use]
pub fn with_registries<'a>(texts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    // All samples of a family stand below its comments, which it has once.
    let mut families: Vec<(String, String)> = Vec::new();
    for (registry, text) in texts {
        let label = format!("registry=\"{}\"", escaped(registry));
        let (mut at, mut comments) = (0, String::new());
        for line in text.lines() {
            if line.starts_with('#') {
                // A family without samples has no comments either.
                if line.starts_with("# HELP ") {
                    comments.clear();
                }
                comments.push_str(line);
                comments.push('\n');
                continue;
            }
            if !comments.is_empty() {
                let known = families.iter().position(|(known, _)| *known == comments);
                at = known.unwrap_or(families.len());
                if known.is_none() {
                    families.push((std::mem::take(&mut comments), String::new()));
                }
                comments.clear();
            }
            let Some((_, samples)) = families.get_mut(at) else { continue };
            let end = line.find(['{', ' ']).unwrap_or(line.len());
            let (name, rest) = line.split_at(end);
            let _ = match rest.strip_prefix('{') {
                Some(labels) => writeln!(samples, "{name}{{{label},{labels}"),
                None => writeln!(samples, "{name}{{{label}}}{rest}"),
            };
        }
    }
    families.into_iter().map(|(comments, samples)| comments + &samples).collect()
}

fn of_jobs(text: &mut Text, jobs: &[&JobBrief], facts: &NamespaceFacts<'_>) {
    const STATES: [JobState; 7] = [
        JobState::Ok,
        JobState::Failing,
        JobState::Resharding,
        JobState::Paused,
        JobState::Disabled,
        JobState::NoInstance,
        JobState::Crashed,
    ];
    text.family("ejob_namespace_jobs", "gauge", "Number of jobs in a state.");
    for state in STATES {
        let n = jobs.iter().filter(|job| job.status == state).count();
        text.sample("ejob_namespace_jobs", &[("state", state.as_str())], n);
    }
    text.family("ejob_namespace_instances", "gauge", "Number of live instances of a job.");
    for job in jobs {
        text.sample("ejob_namespace_instances", &[("job", &job.job_name)], job.instance_count);
    }
    items(text, jobs, facts.assessments);
    let name = "ejob_namespace_runs_total";
    text.family(name, "counter", "Number of runs of a job with an outcome, by its records.");
    for job in jobs {
        let Some(runs) = job.runs else { continue };
        for (outcome, n) in [("succeeded", runs.succeeded), ("failed", runs.failed)] {
            text.sample(name, &[("job", &job.job_name), ("outcome", outcome)], n);
        }
    }
    let name = "ejob_namespace_last_success_timestamp_seconds";
    let help =
        "Last known success of the item of a job that has not succeeded for the longest time.";
    text.family(name, "gauge", help);
    for job in jobs {
        if let Some(ms) = (facts.last_success)(&job.job_name) {
            text.sample(name, &[("job", &job.job_name)], Seconds(ms));
        }
    }
}

/// Adds the numbers of items by state. An item can be in several states.
fn items(text: &mut Text, jobs: &[&JobBrief], assessments: &[JobAssessment]) {
    let is_lateness = |one: &&JobAssessment| one.assessment.expectation == ConditionKind::LateAfter;
    let lateness = assessments.iter().filter(is_lateness);
    let late: BTreeMap<&str, usize> =
        lateness.map(|one| (one.job.as_str(), one.assessment.items)).collect();
    text.family("ejob_namespace_items", "gauge", "Number of items of a job in a state.");
    for job in jobs {
        let counts = [
            ("running", job.running_items),
            ("failing", job.failing_items),
            ("unowned", job.unowned_items),
            ("disabled", job.disabled_items),
        ];
        let late = late.get(job.job_name.as_str()).map(|items| ("late", *items));
        for (state, n) in counts.into_iter().chain(late) {
            let labels = [("job", job.job_name.as_str()), ("state", state)];
            text.sample("ejob_namespace_items", &labels, n);
        }
    }
}

fn of_expectations(text: &mut Text, facts: &NamespaceFacts<'_>) {
    const STATES: [&str; 5] = ["ok", "pending", "violated", "unknown", "suspended"];
    let name = "ejob_namespace_expectations";
    text.family(name, "gauge", "Number of expectations in a state.");
    for state in STATES {
        let is_it = |one: &&JobAssessment| one.assessment.state.as_str() == state;
        text.sample(name, &[("state", state)], facts.assessments.iter().filter(is_it).count());
    }
    let name = "ejob_namespace_expectation_violated";
    text.family(name, "gauge", "1 if an expectation of a job is violated, otherwise 0.");
    for one in facts.assessments {
        let labels = [
            ("job", one.job.as_str()),
            ("expectation", one.assessment.expectation.as_str()),
            ("severity", one.severity.as_str()),
        ];
        let is_violated = matches!(one.assessment.state, State::Violated { .. });
        text.sample(name, &labels, u8::from(is_violated));
    }
}

fn of_watcher(text: &mut Text, facts: &NamespaceFacts<'_>) {
    let name = "ejob_namespace_leader_changes_total";
    text.family(name, "counter", "Number of changes of a job's leader that the watcher observed.");
    text.sample(name, &[], facts.leader_changes);
    let seconds = |time: Duration| time.as_secs_f64();
    let name = "ejob_namespace_data_age_seconds";
    text.family(name, "gauge", "Age of the last known state; 0 while the registry answers.");
    facts.data_age.map(seconds).into_iter().for_each(|age| text.sample(name, &[], age));
    let name = "ejob_namespace_registry_latency_seconds";
    text.family(name, "gauge", "Duration of the watcher's last request to the registry.");
    facts.registry_latency.map(seconds).into_iter().for_each(|time| text.sample(name, &[], time));
    let name = "ejob_watch_sender";
    text.family(name, "gauge", "1 while this watcher sends the messages, otherwise 0.");
    text.sample(name, &[], u8::from(facts.is_sender));
    let name = "ejob_watch_messages_total";
    text.family(name, "counter", "Number of messages by outcome.");
    let MessageCounts { sent, unknown, dropped } = facts.messages;
    for (outcome, n) in [("sent", sent), ("unknown", unknown), ("dropped", dropped)] {
        text.sample(name, &[("outcome", outcome)], n);
    }
}

/// Milliseconds that are printed as seconds.
struct Seconds(i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.max(0);
        let (seconds, ms) = (ms / 1_000, ms % 1_000);
        write!(f, "{seconds}.{ms:03}")
    }
}

/// The text under construction.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.0.push_str(name);
        for (n, (label, value)) in labels.iter().enumerate() {
            let before = if n == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{after} {value}");
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_several_registries_are_merged() {
        let jobs: [&JobBrief; 0] = [];
        let text = || prometheus(jobs, &NamespaceFacts::new(&[], &|_| None));
        let all = with_registries([("orders", text()), ("money", text())]);
        let comments: Vec<&str> = all.lines().filter(|line| line.starts_with('#')).collect();
        let mut once = comments.clone();
        once.dedup();
        assert_eq!(comments, once, "{all}");
        for (family, value) in
            [("ejob_watch_sender", "0"), ("ejob_namespace_leader_changes_total", "0")]
        {
            let orders = format!("{family}{{registry=\"orders\"}} {value}\n");
            let money = format!("{family}{{registry=\"money\"}} {value}\n");
            assert!(all.contains(&(orders + &money)), "{all}");
        }
        assert!(all.contains("ejob_namespace_jobs{registry=\"money\",state=\"OK\"} 0\n"), "{all}");
        // A family without samples has no comments either.
        assert!(!all.contains("ejob_namespace_data_age_seconds"), "{all}");
    }

    #[test]
    fn label_values_are_escaped() {
        let mut text = Text::default();
        text.sample("m", &[("job", "a\"b\\c\nd"), ("x", "月报")], 1);
        assert_eq!(text.0, "m{job=\"a\\\"b\\\\c\\nd\",x=\"月报\"} 1\n");
        let mut text = Text::default();
        text.sample("m", &[], Seconds(1_709_208_000_012));
        assert_eq!(text.0, "m 1709208000.012\n");
    }
}
