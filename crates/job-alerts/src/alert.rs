//! Content of an alert: one failure, or all failures that were collected for a while.

use std::sync::Arc;

use jiff::Timestamp;
use lite::{FailedIn, RunFailure};
use serde::Serialize;
use serde_json::{Value, json};

use crate::channel::Content;

/// Number of failures that an alert shows in detail; further failures are only counted.
const MAX_SHOWN: usize = 10;
/// Maximum length of the error, in bytes, if the alert has one failure.
const MAX_ERROR_BYTES: usize = 2 * 1024;
/// Maximum length of each error, in bytes, if the alert has several failures.
const MAX_EACH_ERROR_BYTES: usize = 256;

/// One or more failures of one job that are sent together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    /// The first failures, in order, at most `MAX_SHOWN`.
    shown: Vec<Arc<RunFailure>>,
    last: Arc<RunFailure>,
    total: u64,
}

impl Alert {
    pub(crate) fn of(failure: RunFailure) -> Self {
        let failure = Arc::new(failure);
        Self { shown: vec![Arc::clone(&failure)], last: failure, total: 1 }
    }

    pub(crate) fn add(&mut self, failure: RunFailure) {
        let failure = Arc::new(failure);
        if self.shown.len() < MAX_SHOWN {
            self.shown.push(Arc::clone(&failure));
        }
        self.last = failure;
        self.total += 1;
    }

    fn left_out(&self) -> u64 {
        self.total - self.shown.len() as u64
    }

    /// Returns the body of the request to a webhook.
    fn body_fields(&self) -> Body<'_> {
        let limit = if self.total == 1 { MAX_ERROR_BYTES } else { MAX_EACH_ERROR_BYTES };
        Body {
            version: 1,
            job: self.last.run.job.as_str(),
            summary: self.subject(),
            total: self.total,
            left_out: self.left_out(),
            last_ended: self.last.run.ended.to_string(),
            failures: self.shown.iter().map(|failure| Failed::of(failure, limit)).collect(),
        }
    }
}

impl Content for Alert {
    fn subject(&self) -> String {
        let job = &self.last.run.job;
        let text = match self.total {
            1 => format!("job {job}: {}", self.last.summary()),
            n => format!("job {job}: {n} failures"),
        };
        text.chars().filter(|character| !character.is_control()).collect()
    }

    fn text(&self, max: usize) -> String {
        let mut text = self.subject();
        let limit = if self.total == 1 { MAX_ERROR_BYTES } else { MAX_EACH_ERROR_BYTES };
        for failure in &self.shown {
            let RunFailure { run, attempts, .. } = &**failure;
            let (error, summary) = (cut(failure.error(), limit), failure.summary());
            text.push_str(&match self.total {
                1 => format!(
                    "\n{error}\ninstance {}, {}, token {}, attempts {attempts}",
                    run.instance, run.source, run.token
                ),
                _ => format!("\n{summary} on {}: {error}", run.instance),
            });
        }
        match self.left_out() {
            0 => {}
            n => text.push_str(&format!("\nand {n} more; the last one: {}", self.last.summary())),
        }
        cut(&text, max)
    }

    fn body(&self) -> Value {
        json!(self.body_fields())
    }
}

/// Body of the request to a webhook.
#[derive(Debug, Serialize)]
struct Body<'a> {
    version: u32,
    job: &'a str,
    summary: String,
    total: u64,
    left_out: u64,
    last_ended: String,
    failures: Vec<Failed<'a>>,
}

/// One failure in the body of the request to a webhook.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    item: u32,
    fire_time: Option<String>,
    source: &'static str,
    instance: String,
    token: u64,
    attempts: u32,
    began: String,
    ended: String,
    outcome: &'static str,
    failed_in: &'static str,
    listener: Option<&'a str>,
    error: String,
}

impl<'a> Failed<'a> {
    fn of(failure: &'a RunFailure, limit: usize) -> Self {
        let RunFailure { run, attempts, failed_in, .. } = failure;
        let (failed_in, listener) = match failed_in {
            FailedIn::Before { listener } => ("before", Some(listener.as_str())),
            FailedIn::After { listener, .. } => ("after", Some(listener.as_str())),
            FailedIn::Code | _ => ("code", None),
        };
        let fire_time = Timestamp::from_millisecond(run.fire.0).ok();
        Self {
            item: run.item.index(),
            fire_time: fire_time.map(|time| time.to_string()),
            source: run.source.as_str(),
            instance: run.instance.to_string(),
            token: run.token.0,
            attempts: *attempts,
            began: run.began.to_string(),
            ended: run.ended.to_string(),
            outcome: failure.outcome().as_str(),
            failed_in,
            listener,
            error: cut(failure.error(), limit),
        }
    }
}

/// Truncates a text to `max` bytes, between characters, and marks the cut with an ellipsis.
pub(crate) fn cut(text: &str, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= max {
        return text.to_owned();
    }
    let fits = |(at, character): &(usize, char)| at + character.len_utf8() + MARK.len() <= max;
    let kept = text.char_indices().take_while(fits).map(|(_, character)| character);
    kept.chain(MARK.chars()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use lite::ShardingItem;
    use lite::{FencingToken, InstanceId, JobName, Outcome, RunReport};

    use super::*;

    /// Returns a failure of an item with an error text.
    pub(crate) fn failure(item: u32, error: &str) -> RunFailure {
        let began: Timestamp = "2024-02-29T12:00:00Z".parse().unwrap();
        let (job, instance) = (JobName::new("report").unwrap(), InstanceId::new("10.0.0.1@-@1"));
        let mut run = RunReport::new(job, instance, ShardingItem::new(item), began);
        run.token = FencingToken(4);
        run.outcome = Outcome::Failed;
        run.cause = Some(error.to_owned());
        let mut failure = RunFailure::new(run);
        failure.attempts = 2;
        failure
    }

    pub(crate) fn alert(n: u32) -> Alert {
        let mut alert = Alert::of(failure(0, "the disk is full"));
        (1..n).for_each(|item| alert.add(failure(item, "the disk is full")));
        alert
    }

    #[test]
    fn text_has_details_of_one_failure_and_the_number_of_many() {
        let one = "job report: item 0 failed for the fire of 2024-02-29T12:00:00Z\n\
                   the disk is full\n\
                   instance 10.0.0.1@-@1, NORMAL, token 4, attempts 2";
        assert_eq!(alert(1).text(2048), one);
        let many = alert(57).text(usize::MAX);
        assert!(
            many.starts_with("job report: 57 failures\nitem 0 failed for the fire of"),
            "{many}"
        );
        assert!(many.contains("on 10.0.0.1@-@1: the disk is full"), "{many}");
        let end =
            "\nand 47 more; the last one: item 56 failed for the fire of 2024-02-29T12:00:00Z";
        assert!(many.ends_with(end), "{many}");
        assert_eq!(many.lines().count(), 12);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        for max in 3..40 {
            let text = cut("äöü and so on, for quite a while", max);
            assert!(text.len() <= max && text.is_char_boundary(text.len()), "{max}: {text}");
        }
        assert_eq!(cut("short", 5), "short");
        let long = Alert::of(failure(0, &"x".repeat(100_000)));
        assert!(long.text(2_000).len() <= 2_000);
        assert!(long.text(usize::MAX).len() < MAX_ERROR_BYTES + 300);
    }

    #[test]
    fn subject_is_one_line() {
        let mut failure = failure(0, "x");
        failure.failed_in = FailedIn::After {
            listener: "a\r\nBcc: them@example.com".to_owned(),
            outcome: Outcome::Failed,
            error: String::new(),
        };
        let subject = Alert::of(failure).subject();
        assert!(!subject.contains(['\r', '\n']), "{subject}");
    }

    #[test]
    fn webhook_body_has_the_documented_form() {
        let body = alert(1).body();
        let expected = serde_json::json!({
            "version": 1,
            "job": "report",
            "summary": "job report: item 0 failed for the fire of 2024-02-29T12:00:00Z",
            "total": 1,
            "left_out": 0,
            "last_ended": "2024-02-29T12:00:00Z",
            "failures": [{
                "item": 0,
                "fire_time": "2024-02-29T12:00:00Z",
                "source": "NORMAL",
                "instance": "10.0.0.1@-@1",
                "token": 4,
                "attempts": 2,
                "began": "2024-02-29T12:00:00Z",
                "ended": "2024-02-29T12:00:00Z",
                "outcome": "failed",
                "failed_in": "code",
                "listener": null,
                "error": "the disk is full",
            }],
        });
        assert_eq!(body, expected);
        let many = alert(57).body();
        assert_eq!((&many["total"], &many["left_out"]), (&57.into(), &47.into()));
    }
}
