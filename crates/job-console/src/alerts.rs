//! Expectations of the jobs of a namespace with their states and silences, for the API and the
//! pages.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use coordination::JobName;
use jiff::Timestamp;
use job_watch::{
    ConditionKind, JobAssessment, Severity, Silence, Silences, State, StoreError, StoredWatch,
    WatchView,
};
use operations::By;
use reg_center::RegistryCenter;

use crate::problem::{Answer, Problem};

/// Maximum length of a silence.
pub(crate) const MAX_SILENCE: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Access to the watchers of a namespace.
#[derive(Debug)]
pub(crate) struct Alerts {
    pub(crate) stored: StoredWatch,
    silences: Silences,
    /// The watcher of this process, which knows the states of all expectations.
    watcher: OnceLock<WatchView>,
}

/// State of an expectation, the one that needs attention first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Violated,
    Unknown,
    Pending,
    Suspended,
    Ok,
    /// Only a silence is known, because no watcher runs in this process.
    NotJudged,
}

impl Standing {
    pub(crate) const ALL: [Self; 6] =
        [Self::Violated, Self::Unknown, Self::Pending, Self::Suspended, Self::Ok, Self::NotJudged];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Unknown => "unknown",
            Self::Pending => "pending",
            Self::Suspended => "suspended",
            Self::Ok => "ok",
            Self::NotJudged => "not_judged",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// One expectation of a job.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) job: String,
    pub(crate) expectation: ConditionKind,
    pub(crate) state: Standing,
    pub(crate) severity: Option<Severity>,
    /// Begin of a violation.
    pub(crate) since: Option<Timestamp>,
    /// End of the deadline that is running.
    pub(crate) until: Option<Timestamp>,
    pub(crate) why: Option<String>,
    /// Time of the last message about a violation.
    pub(crate) reported: Option<Timestamp>,
    pub(crate) silence: Option<Silence>,
}

impl Row {
    fn new(job: &str, expectation: ConditionKind, state: Standing) -> Self {
        Self {
            job: job.to_owned(),
            expectation,
            state,
            severity: None,
            since: None,
            until: None,
            why: None,
            reported: None,
            silence: None,
        }
    }

    fn of(found: JobAssessment) -> Self {
        let JobAssessment { job, severity, assessment, .. } = found;
        let (state, since, until) = match &assessment.state {
            State::Ok => (Standing::Ok, None, None),
            State::Pending { until } => (Standing::Pending, None, Some(*until)),
            State::Violated { since, .. } => (Standing::Violated, Some(*since), None),
            State::Unknown { .. } => (Standing::Unknown, None, None),
            State::Suspended { .. } => (Standing::Suspended, None, None),
        };
        let why = assessment.state.why().map(str::to_owned);
        let row = Self::new(&job, assessment.expectation, state);
        Self { severity: Some(severity), since, until, why, ..row }
    }
}

impl Alerts {
    /// Follows the watchers of a registry.
    pub(crate) fn follow(registry: Arc<dyn RegistryCenter>) -> Self {
        let stored = StoredWatch::follow(Arc::clone(&registry));
        Self { stored, silences: Silences::new(registry), watcher: OnceLock::new() }
    }

    /// Sets the watcher of this process. A second one is ignored.
    pub(crate) fn set_watcher(&self, view: WatchView) {
        self.watcher.get_or_init(|| view);
    }

    /// Returns the watcher of this process while it has not ended: its states are old afterwards.
    fn running(&self) -> Option<&WatchView> {
        self.watcher().filter(|watcher| watcher.ended().is_none())
    }

    /// Returns true if this process judges all expectations.
    pub(crate) fn judges(&self) -> bool {
        self.running().is_some()
    }

    /// Returns the watcher of this process, also after its end.
    pub(crate) fn watcher(&self) -> Option<&WatchView> {
        self.watcher.get()
    }

    /// Returns the reason why the watcher of this process has ended.
    pub(crate) fn ended(&self) -> Option<&str> {
        self.watcher()?.ended()
    }

    /// Returns the known expectations in the order of jobs and kinds.
    ///
    /// Without a watcher in this process, these are the stored violations and the silences.
    pub(crate) fn rows(&self, now: Timestamp) -> Vec<Row> {
        self.select(now, |_| true)
    }

    /// Returns the known expectations of the jobs that are meant.
    fn select(&self, now: Timestamp, is_meant: impl Fn(&str) -> bool) -> Vec<Row> {
        let judged = self.running().map(WatchView::assessments).unwrap_or_default();
        let mut rows: BTreeMap<(String, ConditionKind), Row> = BTreeMap::new();
        for row in judged.into_iter().map(Row::of).filter(|row| is_meant(&row.job)) {
            rows.insert((row.job.clone(), row.expectation), row);
        }
        for found in self.stored.violations() {
            if !is_meant(found.job.as_str()) {
                continue;
            }
            let key = (found.job.to_string(), found.expectation);
            // Without a watcher, the end of a violation says no more about the expectation.
            let is_shown = rows.contains_key(&key) || !found.is_over;
            if !is_shown {
                continue;
            }
            let row = rows.entry(key).or_insert_with(|| Row {
                severity: Some(found.severity),
                since: Some(found.since),
                why: Some(found.why.clone()),
                ..Row::new(found.job.as_str(), found.expectation, Standing::Violated)
            });
            row.reported = found.reported;
        }
        for silenced in self.stored.silences(now) {
            if !is_meant(silenced.job.as_str()) {
                continue;
            }
            for silence in silenced.silences {
                let (job, kind) = (silenced.job.as_str(), silence.expectation);
                let row = rows.entry((job.to_owned(), kind));
                let row = row.or_insert_with(|| Row::new(job, kind, Standing::NotJudged));
                row.silence = Some(silence);
            }
        }
        rows.into_values().collect()
    }

    /// Returns the violated expectations of a job.
    pub(crate) fn violated_of(&self, job: &str, now: Timestamp) -> Vec<Row> {
        let mut rows = self.select(now, |name| name == job);
        rows.retain(|row| row.state == Standing::Violated);
        rows
    }

    /// Silences an expectation until a time, or ends its silence.
    pub(crate) async fn silence(
        &self,
        job: &JobName,
        expectation: ConditionKind,
        until: Option<Timestamp>,
        by: &By,
    ) -> Answer<()> {
        let now = Timestamp::now();
        let silence = Silence {
            expectation,
            until: until.unwrap_or(now).as_millisecond(),
            by: by.who().to_owned(),
            why: by.why().to_owned(),
        };
        self.silences.set(job, silence, now).await?;
        // The registry keeps a silence only until its end, and no record of it.
        let (who, why, until) = (by.who(), by.why(), until.map(tracing::field::display));
        tracing::info!(%job, %expectation, who, why, until, "silence changed");
        Ok(())
    }
}

/// Returns the end of a silence of this length.
pub(crate) fn end_of(field: &str, seconds: u64) -> Answer<Timestamp> {
    let length = Duration::from_secs(seconds);
    let end = Timestamp::now().checked_add(length).ok();
    end.filter(|_| seconds > 0 && length <= MAX_SILENCE).ok_or_else(|| {
        let max = MAX_SILENCE.as_secs();
        Problem::invalid(format!("{field} is {seconds}; valid is 1 to {max}"))
    })
}

/// Returns the kind of this name.
pub(crate) fn expectation(text: &str) -> Answer<ConditionKind> {
    ConditionKind::parse(text).ok_or_else(|| {
        let valid = ConditionKind::ALL.map(ConditionKind::as_str).join(", ");
        Problem::invalid(format!("expectation is {text:?}; valid is one of {valid}"))
    })
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (status, code, outcome_unknown) = match &error {
            StoreError::Registry { .. } => (StatusCode::BAD_GATEWAY, "registry", true),
            StoreError::Deadline { .. } => (StatusCode::GATEWAY_TIMEOUT, "deadline", true),
            StoreError::Conflict { .. } => (StatusCode::CONFLICT, "contended", false),
            StoreError::Newer { .. } => (StatusCode::CONFLICT, "newer-record", false),
            StoreError::TooLarge { .. } => (StatusCode::INSUFFICIENT_STORAGE, "too-much", false),
            StoreError::Damaged { .. } | _ => (StatusCode::CONFLICT, "unreadable-silences", false),
        };
        Self { outcome_unknown, ..Self::new(status, code, error.to_string()) }
    }
}
