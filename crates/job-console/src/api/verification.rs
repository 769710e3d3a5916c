//! Verification of a job: a verdict about each fire of a period.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use jiff::Timestamp;
use job_history::{JudgedFire, UnjudgedPeriod, Verdict, Verification, VerifyQuery};
use serde::{Deserialize, Serialize};

use super::history::{DropDetail, FireDetail, history};
use super::input::Query;
use super::paging::limit;
use super::place::Place;
use crate::problem::{Answer, Problem};

/// Deadline of a verification, which reads all records of the period.
const DEADLINE: Duration = Duration::from_secs(30);

/// Period to judge, and the verdicts to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct VerificationQuery {
    /// Beginning of the period.
    #[param(value_type = String, format = DateTime)]
    from: Timestamp,
    /// Exclusive end of the period; now if absent. At most 366 days, and 1 000 000 fires of items.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Verdicts to list, separated by commas; all if absent. All fires are counted.
    #[param(example = "run_twice,unexplained")]
    verdict: Option<String>,
    /// Maximum number of listed fires, the earliest first.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

impl VerificationQuery {
    fn checked(&self, now: Timestamp) -> Answer<VerifyQuery> {
        let until = self.until.unwrap_or(now);
        let query = VerifyQuery::new(self.from, until).limit(limit(self.limit)?);
        Ok(match &self.verdict {
            Some(words) => query.verdicts(verdicts(words)?),
            None => query,
        })
    }
}

/// Parses verdicts that are separated by commas.
pub(crate) fn verdicts(words: &str) -> Answer<Vec<Verdict>> {
    let verdict = |word: &str| {
        Verdict::of_word(word).ok_or_else(|| {
            let valid = Verdict::ALL.map(Verdict::as_str).join(", ");
            Problem::invalid(format!("verdict is {word:?}; valid are {valid}"))
        })
    };
    words.split(',').map(|word| verdict(word.trim())).collect()
}

/// Number of fires of items by verdict.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct VerdictNumbers {
    /// One run is completed, or ended as interrupted or cancelled.
    run: u64,
    /// Two runs are completed.
    run_twice: u64,
    /// Not run, with a recorded reason.
    missed: u64,
    /// The records do not show what became of them.
    unexplained: u64,
    /// Running, waiting for a run, or too young to have a record.
    open: u64,
}

/// A fire of an item with its verdict.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct VerifiedFire {
    /// Scheduled fire time; for a manual request, the time of the request.
    #[schema(value_type = String, format = DateTime)]
    fire: Timestamp,
    /// Item number.
    item: u32,
    /// `run`, `run_twice`, `missed`, `unexplained` or `open`.
    verdict: &'static str,
    /// Reason of the verdict, or error of the run.
    reason: Option<String>,
    /// Record of the fire; null if the history has none.
    record: Option<FireDetail>,
}

/// Time in which the expected fires are not known, so that missing records are not found.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct UnjudgedTime {
    /// Beginning.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// Exclusive end.
    #[schema(value_type = String, format = DateTime)]
    until: Timestamp,
    /// Why the fires are not known.
    reason: String,
}

/// Verdicts about the fires of a period.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct VerificationDetail {
    /// True if nothing ran twice, nothing is unexplained, and no time is left unjudged.
    explained: bool,
    /// Number of all fires of the period by verdict.
    counts: VerdictNumbers,
    /// The listed fires, the earliest first.
    rows: Vec<VerifiedFire>,
    /// True if more fires have a wanted verdict.
    more: bool,
    /// Times in which only the recorded fires are judged.
    unjudged: Vec<UnjudgedTime>,
    /// Records of any job that the store has lost in the period.
    drops: Vec<DropDetail>,
}

impl From<Verification> for VerificationDetail {
    fn from(found: Verification) -> Self {
        let of = |verdict| found.counts.of(verdict);
        Self {
            explained: found.is_explained(),
            counts: VerdictNumbers {
                run: of(Verdict::Run),
                run_twice: of(Verdict::RunTwice),
                missed: of(Verdict::Missed),
                unexplained: of(Verdict::Unexplained),
                open: of(Verdict::Open),
            },
            rows: found.fires.into_iter().map(VerifiedFire::from).collect(),
            more: found.has_more,
            unjudged: found.unjudged.into_iter().map(UnjudgedTime::from).collect(),
            drops: found.drops.into_iter().map(DropDetail::from).collect(),
        }
    }
}

impl From<JudgedFire> for VerifiedFire {
    fn from(fire: JudgedFire) -> Self {
        Self {
            fire: fire.fire,
            item: fire.item.index(),
            verdict: fire.verdict.as_str(),
            reason: fire.reason,
            record: fire.record.map(FireDetail::from),
        }
    }
}

impl From<UnjudgedPeriod> for UnjudgedTime {
    fn from(period: UnjudgedPeriod) -> Self {
        Self { from: period.from, until: period.until, reason: period.reason }
    }
}

/// Judges each fire of a job in a period: run, run twice, missed, unexplained, or open.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/verification",
    params(VerificationQuery),
    responses((status = 200, description = "The verdicts", body = VerificationDetail)),
)]
pub(super) async fn verify_job(
    place: Place,
    Query(query): Query<VerificationQuery>,
) -> Answer<Json<VerificationDetail>> {
    let history = history(&place.namespace)?;
    let (job, now) = (place.snapshot()?, place.namespace.operations.present());
    let query = query.checked(now)?;
    let group = place.namespace.live.group_of(&job);
    let verified = history.verify_in(&job, group.as_deref(), now, &query);
    let found = tokio::time::timeout(DEADLINE, verified).await;
    let found = found.map_err(|_| {
        let detail =
            format!("the history has not answered within {DEADLINE:?}; choose a shorter period");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "history", detail)
    })?;
    Ok(Json(found?.into()))
}
