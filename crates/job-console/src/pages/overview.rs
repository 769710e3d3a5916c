//! Overview: problems first, then the next fires, the runs, and the failures of the last day.

use std::collections::BTreeMap;

use jiff::Timestamp;
use job_history::FireRecord;
use maud::{Markup, html};
use operations::{Attention, JobLine, JobState, WhyNot, why_not_running_in};

use super::cx::Cx;
use super::history::{Past, Runs};
use super::reasons;
use super::shell::{Body, Section};
use super::summary::{Since, late, moment};
use super::widgets::{
    attention_class, empty, history_fault, history_gap, outcome_class, pill, reason_of_outcome,
    since,
};

/// Maximum number of listed jobs that need attention, and of those that fail at times. The list of
/// jobs has them all.
const MAX_PROBLEMS: usize = 50;
/// Number of next fires.
const FIRES: usize = 20;

pub(super) fn page(cx: &Cx<'_>, past: &Past) -> Body {
    let lang = cx.lang();
    let flapping = flapping(cx, past);
    let main = html! {
        h1 { (lang.overview()) }
        (cx.live("verdict", &verdict(cx, flapping.len())))
        div.cols {
            div.stack {
                section.card aria-labelledby="attention-title" {
                    h2 #attention-title { (lang.needs_attention()) }
                    (attention(cx, &flapping))
                }
                section.card aria-labelledby="failed-title" {
                    h2 #failed-title { (lang.last_day()) }
                    (cx.live("day", &day(cx, past)))
                }
            }
            aside.stack aria-label=(lang.next_fires()) {
                section.card aria-labelledby="fires-title" {
                    h2 #fires-title { (lang.next_fires()) }
                    (cx.live("fires", &fires(cx)))
                }
            }
        }
    };
    let title = lang.overview();
    Body { title, crumbs: Vec::new(), section: Section::Overview, main, is_live: true }
}

/// Returns the number of jobs that need attention, and of runs, in one sentence.
fn verdict(cx: &Cx<'_>, flapping: usize) -> Markup {
    let (lang, summary) = (cx.lang(), cx.summary);
    let (jobs, running) = (summary.jobs().len(), summary.running());
    html! {
        @if jobs == 0 {
            p.why.neutral { (lang.verdict_no_jobs()) }
        } @else if summary.attention == 0 && flapping > 0 {
            p.why { b { (lang.n_fail_at_times(flapping)) } " " (lang.verdict_running(running)) }
        } @else if summary.attention == 0 {
            p.why.good { b { (lang.verdict_good(jobs)) } " " (lang.verdict_running(running)) }
        } @else {
            p.why {
                b { (lang.verdict_bad(summary.attention, jobs)) } " "
                // The table below has these jobs, too.
                @if flapping > 0 { (lang.n_more_fail_at_times(flapping)) " " }
                (lang.verdict_running(running))
            }
        }
    }
}

/// Returns the jobs that need attention, the most urgent first.
fn urgent<'a>(cx: &'a Cx<'_>) -> Vec<(Attention, &'a JobLine)> {
    let jobs = cx.summary.jobs().iter();
    let now = cx.now.as_millisecond();
    let mut found: Vec<_> = jobs.filter_map(|job| Some((job.attention(now)?, job))).collect();
    // The list is sorted by name, and a stable sort keeps that order among equals.
    found.sort_by_key(|(attention, _)| *attention);
    found
}

/// Returns the jobs that are well now, and whose runs of the last hour failed in part.
fn flapping<'a>(cx: &'a Cx<'_>, past: &'a Past) -> Vec<(&'a JobLine, Runs)> {
    let Past::Day { hour, .. } = past else { return Vec::new() };
    let is_well = |line: &JobLine| {
        line.status == JobState::Ok && line.attention(cx.now.as_millisecond()).is_none()
    };
    let flapping = hour.iter().filter(|(_, runs)| runs.is_flapping());
    let known = flapping.filter_map(|(job, runs)| Some((cx.summary.list.get(job)?, *runs)));
    known.filter(|(line, _)| is_well(line)).collect()
}

fn flapping_row(cx: &Cx<'_>, job: &JobLine, runs: Runs) -> Markup {
    let (lang, name) = (cx.lang(), job.job_name.as_str());
    html! {
        tr id={ "p-" (super::query::encoded(name)) } {
            td {
                @if runs.fails_mostly() { (pill("fail", &lang.fails_mostly())) }
                @else { (pill("wait", &lang.fails_at_times())) }
            }
            th scope="row" { a href={ (cx.job(name)) "/runs" } { (name) } }
            td.nowrap { (lang.last_hour()) }
            td.text { (lang.failed_of(runs.failed, runs.failed + runs.succeeded)) }
        }
    }
}

fn attention(cx: &Cx<'_>, flapping: &[(&JobLine, Runs)]) -> Markup {
    let lang = cx.lang();
    let found = urgent(cx);
    if found.is_empty() && flapping.is_empty() {
        let text = if cx.summary.jobs().is_empty() {
            empty(&lang.no_jobs(), &lang.no_jobs_hint(), Some("ejob worker jobs.toml"))
        } else {
            html! { p.dim { (lang.no_problem()) } }
        };
        return cx.live("attention", &text);
    }
    let more = found.len().saturating_sub(MAX_PROBLEMS);
    let rows = found.into_iter().take(MAX_PROBLEMS).map(|(kind, job)| problem(cx, kind, job));
    // A new problem is shown at once: it may be the reason why the page is open.
    let table = html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.problem()) }
                    th scope="col" { (lang.job()) }
                    th scope="col" { (lang.since()) }
                    th scope="col" { (lang.why()) }
                } }
                tbody {
                    @for row in rows { (row) }
                    @for (job, runs) in flapping.iter().take(MAX_PROBLEMS) {
                        (flapping_row(cx, job, *runs))
                    }
                }
            }
        }
        @if more > 0 {
            p { a href=(cx.here("jobs?status=ATTENTION")) { (lang.and_more(more)) } }
        }
        @if flapping.len() > MAX_PROBLEMS {
            p { a href=(cx.here("jobs")) { (lang.n_fail_at_times(flapping.len())) } }
        }
    };
    cx.live("attention", &table)
}

/// Returns the most important reason, and a held back server that is another one.
fn shown_reasons(reasons: &[WhyNot]) -> (Option<&WhyNot>, Option<&WhyNot>) {
    let is_held_back =
        |why: &&WhyNot| matches!(why, WhyNot::Paused { .. } | WhyNot::ServersDisabled { .. });
    (reasons.first(), reasons.iter().skip(1).find(is_held_back))
}

fn problem(cx: &Cx<'_>, kind: Attention, job: &JobLine) -> Markup {
    let (name, zone) = (job.job_name.as_str(), job.time_zone.as_deref());
    let snapshot = cx.snapshot(name);
    let snapshot = snapshot.as_deref();
    let late = snapshot.filter(|_| kind == Attention::Late).and_then(|it| late(job, it, cx.now));
    let reasons = || {
        let reasons = snapshot.map(|job| {
            let group = cx.group_of(job);
            why_not_running_in(job, group.as_deref(), cx.now)
        });
        reasons.unwrap_or_default()
    };
    let (from, why) = match (snapshot, late) {
        (Some(snapshot), Some(late)) => {
            let from = moment(Some(late.first.late_from_ms()));
            let from = html! { @if let Some(from) = from { (cx.when(from, zone)) } };
            let why = html! {
                (reasons::late(cx, snapshot, &late))
                @if let Some(limit) = reasons().iter().find(|why| why.is_limit()) {
                    div.dim { (reasons::of_job(cx, snapshot, job, limit)) }
                }
            };
            (from, why)
        }
        _ => {
            let reasons = reasons();
            let from = Since::of(job, snapshot);
            let from = html! { @if let Some(from) = from { (since(cx, from, zone)) } };
            let (first, beside) = shown_reasons(&reasons);
            let text = |why| snapshot.map(|it| reasons::of_job(cx, it, job, why));
            let why = html! {
                @if let Some(first) = first.and_then(text) { (first) }
                @if let Some(beside) = beside.and_then(text) { div.dim { (beside) } }
            };
            (from, why)
        }
    };
    html! {
        tr id={ "p-" (super::query::encoded(name)) } {
            td { (pill(attention_class(kind), &cx.lang().attention(kind))) }
            th scope="row" { a href=(cx.job(name)) { (name) } }
            td.nowrap { (from) }
            td.text { (why) }
        }
    }
}

/// Returns the next fires of all jobs, the earliest first.
fn upcoming<'a>(cx: &'a Cx<'_>) -> Vec<(Timestamp, &'a JobLine)> {
    // Only the jobs that fire first can have later fires among the next ones.
    let live = cx.source.map(|namespace| &namespace.live);
    let first = live.map(|live| live.next_fires(cx.now.as_millisecond(), FIRES));
    let mut fires = Vec::new();
    for (_, name) in first.unwrap_or_default() {
        let line =
            cx.summary.list.get(name.as_str()).filter(|line| line.status.fire_need().is_none());
        let Some(line) = line else { continue };
        let snapshot = cx.snapshot(name.as_str());
        let of_job = snapshot.as_ref().and_then(|job| job.next_fires(cx.now, FIRES).ok());
        fires.extend(of_job.unwrap_or_default().into_iter().map(|fire| (fire, line)));
    }
    fires.sort_by(|(a, one), (b, two)| a.cmp(b).then_with(|| one.job_name.cmp(&two.job_name)));
    fires.truncate(FIRES);
    fires
}

fn fires(cx: &Cx<'_>) -> Markup {
    let fires = upcoming(cx);
    html! {
        @if fires.is_empty() { p.dim { (cx.lang().no_fires()) } }
        ol.fires {
            @for (fire, job) in fires {
                li data-until=(fire) {
                    span.nowrap { (cx.when(fire, job.time_zone.as_deref())) }
                    a href=(cx.job(&job.job_name)) { (job.job_name) }
                }
            }
        }
    }
}

fn day(cx: &Cx<'_>, past: &Past) -> Markup {
    let lang = cx.lang();
    match past {
        Past::None => empty(
            &lang.no_history(),
            &lang.no_history_hint(),
            Some("ejob console --history sqlite:history.db"),
        ),
        Past::Failed(fault) => history_fault(cx, fault),
        Past::Day { counts, failed, dropped, .. } => html! {
            (history_gap(cx, *dropped))
            (outcomes(cx, counts))
            @if failed.is_empty() { p.dim { (lang.no_failures()) } } @else { (failures(cx, failed)) }
        },
        Past::Fires(_)
        | Past::Jobs(_)
        | Past::Timeline(_)
        | Past::Verified(_)
        | Past::Audited(_)
        | Past::Unasked => {
            html! {}
        }
    }
}

fn zone_of<'a>(cx: &'a Cx<'_>, job: &str) -> Option<&'a str> {
    cx.summary.list.get(job)?.time_zone.as_deref()
}

fn outcomes(cx: &Cx<'_>, counts: &BTreeMap<String, u64>) -> Markup {
    html! {
        ul.counts {
            // Runs in progress have no outcome: the page shows their present number above.
            @for (word, n) in counts.iter().filter(|(word, _)| *word != "running") {
                li { (pill(outcome_class(word), &cx.lang().outcome(word))) " " b { (n) } }
            }
        }
    }
}

fn failures(cx: &Cx<'_>, failed: &[FireRecord]) -> Markup {
    let lang = cx.lang();
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.fire()) }
                    th scope="col" { (lang.job()) }
                    th.num scope="col" { (lang.item()) }
                    th scope="col" { (lang.outcome_title()) }
                    th scope="col" { (lang.why()) }
                } }
                tbody {
                    @for fire in failed {
                        tr {
                            td.nowrap { (cx.when(fire.fire, zone_of(cx, &fire.job))) }
                            th scope="row" { a href={ (cx.job(&fire.job)) "/runs" } { (fire.job) } }
                            td.num { (fire.item) }
                            @let word = fire.outcome.as_str();
                            td {
                                (pill(outcome_class(word), &lang.outcome(word)))
                            }
                            td.text { (reason_of_outcome(cx, word, fire.reason.as_deref())) }
                        }
                    }
                }
            }
        }
    }
}
