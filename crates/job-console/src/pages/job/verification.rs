//! Tab "Verification": judges the fires of a period by the history and the registry.

use jiff::{SignedDuration, Timestamp};
use job_history::{Error, History, JudgedFire, UnjudgedPeriod, Verdict, Verification, VerifyQuery};
use maud::{Markup, html};
use operations::{GroupSnapshot, JobLine, JobSnapshot};

use crate::api::verdicts;
use crate::pages::cx::Cx;
use crate::pages::history::{Dropped, Past};
use crate::pages::query::Address;
use crate::pages::shell::choice;
use crate::pages::timeline::{control_time, time};
use crate::pages::widgets::{
    empty, history_fault, history_gap, instance, outcome_class, pill, translated,
};
use crate::problem::Answer;

/// Maximum number of listed fires.
const ROWS: u32 = 500;
/// Period that the form begins with.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Verification of the period in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// The address has no period.
    Unasked,
    /// The period cannot be judged, with what would be valid.
    Invalid(String),
    Found(Box<Verification>),
}

/// Judges the period that an address names.
pub(crate) async fn ask(
    history: &History,
    (job, group): (&JobSnapshot, Option<&GroupSnapshot>),
    address: &Address,
    now: Timestamp,
) -> job_history::Result<Verified> {
    let query = match query_of(address, now) {
        Ok(Some(query)) => query,
        Ok(None) => return Ok(Verified::Unasked),
        Err(problem) => return Ok(Verified::Invalid(problem.detail)),
    };
    match history.verify_in(job, group, now, &query).await {
        Ok(found) => Ok(Verified::Found(Box::new(found))),
        Err(error @ Error::InvalidOption { .. }) => Ok(Verified::Invalid(error.to_string())),
        Err(error) => Err(error),
    }
}

fn query_of(address: &Address, now: Timestamp) -> Answer<Option<VerifyQuery>> {
    let Some(from) = time(address, "from")? else { return Ok(None) };
    let until = time(address, "until")?.unwrap_or(now);
    let query = VerifyQuery::new(from, until).limit(ROWS);
    Ok(Some(match address.value("verdict") {
        Some(words) => query.verdicts(verdicts(words)?),
        None => query,
    }))
}

pub(super) fn tab(cx: &Cx<'_>, job: &JobLine, past: &Past) -> Markup {
    let lang = cx.lang();
    let answer = match past {
        Past::None => {
            let command = "ejob console --history sqlite:history.db";
            return empty(&lang.no_history(), &lang.no_history_hint(), Some(command));
        }
        Past::Failed(fault) => history_fault(cx, fault),
        Past::Verified(Verified::Invalid(fault)) => html! { p.why.bad lang="en" { (fault) } },
        Past::Verified(Verified::Found(found)) => found_markup(cx, job, found),
        Past::Verified(Verified::Unasked)
        | Past::Fires(_)
        | Past::Day { .. }
        | Past::Jobs(_)
        | Past::Timeline(_)
        | Past::Audited(_)
        | Past::Unasked => html! {},
    };
    html! {
        p.sub { (lang.verification_hint()) }
        (form(cx, job))
        (answer)
    }
}

/// Returns the begin of a minute. A period that is proposed needs no seconds.
fn minute(at: Timestamp) -> Timestamp {
    let ms = at.as_millisecond();
    Timestamp::from_millisecond(ms - ms.rem_euclid(60_000)).unwrap_or(at)
}

fn form(cx: &Cx<'_>, job: &JobLine) -> Markup {
    let lang = cx.lang();
    let words = Verdict::ALL.map(|verdict| (verdict.as_str(), lang.verdict(verdict)));
    let verdicts: Vec<_> = std::iter::once(("", lang.all())).chain(words).collect();
    let day_ago = minute(cx.now.checked_sub(DAY).unwrap_or(cx.now));
    let given = |name| time(cx.address, name).ok().flatten();
    let times = [
        ("from", lang.begin_utc(), Some(given("from").unwrap_or(day_ago))),
        ("until", lang.end_utc(), given("until")),
    ];
    html! {
        form.filters action={ (cx.job(&job.job_name)) "/verification" } {
            @for (name, label, value) in times {
                @let id = format!("by-{name}");
                div.field {
                    label for=(id) { (label) }
                    input id=(id) name=(name) type="datetime-local" step="any"
                        value=(value.map(control_time).unwrap_or_default());
                }
            }
            (choice("verdict", &lang.verdict_title(), &verdicts, cx.address.value("verdict").unwrap_or_default()))
            button type="submit" { (lang.judge_period()) }
        }
    }
}

fn found_markup(cx: &Cx<'_>, job: &JobLine, found: &Verification) -> Markup {
    let lang = cx.lang();
    html! {
        nav.states aria-label=(lang.verdict_title()) {
            @for verdict in Verdict::ALL {
                a href=(cx.with(&[("verdict", verdict.as_str())])) {
                    (lang.verdict(verdict)) " " b.n { (found.counts.of(verdict)) }
                }
            }
        }
        @if found.is_explained() { p.sub { (lang.all_explained()) } }
        @for UnjudgedPeriod { from, until, reason, .. } in &found.unjudged {
            p.why {
                b { (lang.not_judged()) } " " (cx.when(*from, job.time_zone.as_deref())) " – "
                (cx.when(*until, job.time_zone.as_deref())) (lang.colon()) (translated(cx, None, lang.reason_of_verdict(None, reason), reason))
            }
        }
        (history_gap(cx, Dropped::among(&found.drops)))
        section.card aria-label=(lang.verification()) {
            @if found.fires.is_empty() {
                (empty(&lang.no_such_verdict(), &lang.no_such_verdict_hint(), None))
            } @else {
                @if found.has_more { p.why { (lang.more_verdicts()) } }
                (table(cx, job, &found.fires))
            }
        }
    }
}

fn table(cx: &Cx<'_>, job: &JobLine, fires: &[JudgedFire]) -> Markup {
    let lang = cx.lang();
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.fire()) }
                    th.num scope="col" { (lang.item()) }
                    th scope="col" { (lang.verdict_title()) }
                    th scope="col" { (lang.outcome_title()) }
                    th scope="col" { (lang.instance()) }
                    th scope="col" { (lang.why()) }
                } }
                tbody { @for fire in fires { (row(cx, job, fire)) } }
            }
        }
    }
}

fn row(cx: &Cx<'_>, job: &JobLine, fire: &JudgedFire) -> Markup {
    let lang = cx.lang();
    let record = fire.record.as_ref();
    html! {
        tr {
            th.nowrap scope="row" { (cx.time(fire.fire, job.time_zone.as_deref())) }
            td.num { (fire.item) }
            td { (pill(class_of(fire.verdict), &lang.verdict(fire.verdict))) }
            td {
                @if let Some(record) = record {
                    @let word = record.outcome.as_str();
                    (pill(outcome_class(word), &lang.outcome(word)))
                    @if let Some(source) = record.source {
                        " " span.dim { (lang.source(source.as_str())) }
                    }
                }
            }
            td {
                @if let Some(id) = record.and_then(|record| record.instance.as_ref()) {
                    (instance(cx, id.as_str()))
                }
            }
            td.text {
                @if let Some(reason) = &fire.reason {
                    @let outcome = record.map(|record| record.outcome.as_str());
                    (translated(cx, None, lang.reason_of_verdict(outcome, reason), reason))
                }
            }
        }
    }
}

fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Run => "done",
        Verdict::RunTwice | Verdict::Unexplained => "fail",
        Verdict::Missed => "wait",
        Verdict::Open => "run",
        _ => "off",
    }
}
