//! Tab "Now": why things are as they are, and the items.

use coordination::server_of;
use jiff::{SignedDuration, Timestamp};
use job_history::FireRecord;
use maud::{Markup, html};
use operations::{
    Attention, ItemBrief, JobLine, JobSnapshot, WhyNot, delay_description, fire_need, slot_briefs,
    why_not_running_in,
};

use super::failing_since;
use super::gantt::spark;
use super::items::{grid, one_item, sum};
use super::request::followed;
use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::pages::history::Past;
use crate::pages::query::encoded;
use crate::pages::reasons;
use crate::pages::summary::{Late, late};
use crate::pages::widgets::{act, between, history_fault, instance, translated};

pub(super) fn tab(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, past: &Past) -> Markup {
    let lang = cx.lang();
    let items = slot_briefs(job);
    let chosen = cx.address.number("item");
    let chosen: Vec<_> = items.iter().filter(|it| Some(it.item as usize) == chosen).collect();
    let fires = if let Past::Fires(fires) = past { fires.rows.as_slice() } else { &[] };
    let median = median(fires);
    let late = late(line, job, cx.now);
    let late = late.as_ref();
    html! {
        (followed(cx, (job, line), &items))
        (cx.live("why", &why(cx, (job, line), late, median)))
        (cx.live("since-change", &failing_since::note(cx, job, line, past)))
        (cx.live("violated", &violated(cx, line)))
        @if !chosen.is_empty() { (cx.live("item", &one_item(cx, (job, line), &chosen, late))) }
        div.cols {
            section.card aria-labelledby="items-title" {
                h2 #items-title { (lang.items()) " " (cx.live_inline("items-sum", &sum(cx, &items, late))) }
                (cx.live("counts", &counts(cx, line)))
                (grid(cx, (job, line), &items, late, median))
            }
            aside.stack aria-label=(lang.conditions()) {
                @if let Past::Failed(fault) = past {
                    (cx.live("past", &history_fault(cx, fault)))
                }
                @if !fires.is_empty() {
                    section.card aria-labelledby="last-title" {
                        h2 #last-title { (lang.last_fires()) }
                        (cx.live("spark", &spark(cx, fires, median)))
                    }
                }
                section.card aria-labelledby="conditions-title" {
                    h2 #conditions-title { (lang.conditions()) }
                    (cx.live("conditions", &conditions(cx, (job, line), &items, late)))
                }
                section.card aria-labelledby="next-title" {
                    h2 #next-title { (lang.next_fires()) }
                    (cx.live("next", &next(cx, job, line)))
                }
            }
        }
    }
}

/// Returns the numbers of all runs of the job by their outcomes, and of the records that these have
/// processed, if any was counted.
fn counts(cx: &Cx<'_>, line: &JobLine) -> Markup {
    let lang = cx.lang();
    html! {
        @if let Some(counts) = line.runs {
            p.dim { (lang.all_runs()) ": " (lang.counted_runs(counts.succeeded, counts.failed)) }
        }
        @if let Some(counts) = line.processed {
            p.dim { (lang.processed_in_all_runs()) ": " (lang.processed(counts.succeeded, counts.failed)) }
        }
    }
}

/// Returns the median duration of the runs that succeeded.
fn median(fires: &[FireRecord]) -> Option<SignedDuration> {
    let succeeded = fires.iter().filter(|fire| fire.outcome.as_str() == "succeeded");
    let mut lengths: Vec<_> =
        succeeded.filter_map(|fire| between(fire.began, fire.ended)).collect();
    lengths.sort();
    lengths.get(lengths.len() / 2).copied()
}

/// Returns the state of the job with its reason in one sentence, and the operations that help.
fn why(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    late: Option<&Late>,
    median: Option<SignedDuration>,
) -> Markup {
    let lang = cx.lang();
    let reasons = why_not_running_in(job, cx.group_of(job).as_deref(), cx.now);
    let attention = line.attention(cx.now.as_millisecond());
    let is_well = attention.is_none() && !reasons.iter().any(is_remark);
    let class = match attention {
        None if is_well => "why good",
        Some(Attention::Crashed | Attention::InvalidConfig | Attention::Failing) => "why bad",
        _ => "why",
    };
    html! {
        section class=(class) aria-label=(lang.why()) {
            div {
                @match attention {
                    None if is_well => { b { (lang.all_well(line.running_items)) } },
                    None => { b { (lang.items_run(line.running_items)) } },
                    Some(attention) => { b { (lang.why_question(attention)) } },
                }
                " "
                @if attention == Some(Attention::Late) && let Some(late) = late {
                    (reasons::late(cx, job, late)) (lang.stop())
                    @if let Some(median) = median { " " (lang.median_is(&cx.length(median))) }
                    @if late.first.runs { " " (lang.stays_until()) }
                }
                @for (index, why) in shown_reasons(attention, &reasons).enumerate() {
                    @if index > 0 || attention == Some(Attention::Late) { " " }
                    (reasons::of_job(cx, job, line, why)) (lang.stop())
                }
            }
            div.acts { (helping(cx, job, attention, late)) }
        }
    }
}

/// Returns true for a reason beside which the job is not well, although it needs no attention.
fn is_remark(why: &WhyNot) -> bool {
    why.is_limit() || matches!(why, WhyNot::Gap { .. } | WhyNot::FullQueues { .. })
}

/// Returns the reasons for the sentence. The heading already has a next fire that will be started,
/// and the late items; the limits for which these wait are added.
fn shown_reasons(
    attention: Option<Attention>,
    reasons: &[WhyNot],
) -> impl Iterator<Item = &WhyNot> {
    let is_late = attention == Some(Attention::Late);
    let is_shown = move |why: &&WhyNot| {
        let is_next = matches!(why, WhyNot::NextFire { .. } | WhyNot::WaitsForFire { .. });
        !is_next && (!is_late || why.is_limit())
    };
    reasons.iter().filter(is_shown).take(3)
}

/// Returns the violated expectations of the job. They do not change its state: an expectation is a
/// bound of the watcher's file, and lateness a rule for all jobs.
fn violated(cx: &Cx<'_>, line: &JobLine) -> Markup {
    let lang = cx.lang();
    let name = line.job_name.as_str();
    let rows = cx.source.map(|namespace| namespace.alerts.violated_of(name, cx.now));
    html! {
        @for row in rows.unwrap_or_default() {
            section.why aria-label=(lang.alerts()) {
                div {
                    b { (lang.violated_expectation()) " " (lang.expectation_of(row.expectation)) }
                    @if let Some(since) = row.since { " " (lang.since_then()) " " (cx.when(since, line.time_zone.as_deref())) }
                    @if let Some(why) = &row.why { (cx.lang().colon()) (translated(cx, line.time_zone.as_deref(), lang.reason_of_expectation(why), why)) }
                }
                div.acts {
                    a.button href=(cx.here(&format!("alerts?q={}", encoded(name)))) { (lang.alerts()) }
                }
            }
        }
    }
}

/// Returns the operations that help against a late item: to drain the server of the instance whose
/// run does not end, and the page of the item.
fn helping_late(cx: &Cx<'_>, job: &JobSnapshot, late: &Late) -> Markup {
    let (lang, item) = (cx.lang(), late.first.item);
    let holder = job.runner(item).filter(|_| late.first.runs).and_then(server_of);
    let server = holder.filter(|_| cx.may(Permission::Drain, None));
    html! {
        @if let Some(ip) = server {
            a.button href={ (cx.server(ip.as_str())) "/act/drain" } data-dialog {
                (lang.act_title("drain")) " " (ip) "…"
            }
        }
        a.button href={ (cx.job(job.job().as_str())) "?item=" (item) } { (lang.item()) " " (item) }
    }
}

fn helping(
    cx: &Cx<'_>,
    job: &JobSnapshot,
    attention: Option<Attention>,
    late: Option<&Late>,
) -> Markup {
    let (lang, name) = (cx.lang(), job.job().as_str());
    let button = |permission, word: &str| act(cx, "help", permission, name, (word, ""));
    let Some(attention) = attention else { return html! {} };
    match attention {
        Attention::Failing => button(Permission::Run, "rerun"),
        Attention::Paused | Attention::PartlyPaused => button(Permission::Pause, "resume"),
        Attention::Crashed | Attention::NoInstance => {
            html! { a.button href=(cx.here("servers")) { (lang.servers()) } }
        }
        Attention::InvalidConfig => {
            html! { a.button href={ (cx.job(name)) "/configuration" } { (lang.configuration()) } }
        }
        Attention::Late => html! {
            @if let Some(late) = late { (helping_late(cx, job, late)) }
            a.button href={ (cx.job(name)) "/runs" } { (lang.runs()) }
        },
        Attention::Resharding => {
            html! { a.button href={ (cx.job(name)) "/placement" } { (lang.placement()) } }
        }
        _ => html! {},
    }
}

fn conditions(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    items: &[ItemBrief],
    late: Option<&Late>,
) -> Markup {
    let lang = cx.lang();
    let view = job.view();
    let leader = view.leader().filter(|leader| view.is_registered(leader));
    let first_slots = || items.iter().filter(|item| item.slot == 0);
    let unowned = first_slots().filter(|item| item.instance_id.is_none()).count();
    let pending = first_slots().filter(|item| item.moves_to.is_some()).count();
    let orphaned = items.iter().filter(|item| item.orphaned).count();
    let class = |is_met| if is_met { "ok" } else { "warn" };
    html! {
        ul.cond {
            li class=(class(leader.is_some())) {
                @match leader {
                    Some(leader) => { (lang.leader_is()) " " (instance(cx, leader.as_str())) },
                    None => (lang.no_leader()),
                }
            }
            li class=(class(unowned == 0)) {
                @if unowned == 0 { (lang.all_owned()) } @else { (lang.n_unowned(unowned)) }
            }
            li class=(class(pending == 0)) {
                @if pending == 0 { (lang.assignment_current()) } @else { (lang.n_pending(pending)) }
            }
            @if orphaned > 0 { li.warn { (lang.n_orphaned(orphaned)) } }
            @if let Some(late) = late {
                li.warn { (reasons::late(cx, job, late)) }
            }
            @let problems = cx.summary.found.problems_of(job);
            @if problems > 0 {
                li.warn { a href=(cx.here(&format!("doctor?job={}", encoded(line.job_name.as_str())))) { (lang.n_findings(problems)) } }
            }
        }
    }
}

fn next(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine) -> Markup {
    let lang = cx.lang();
    if let Some(need) = line.status.fire_need().or_else(|| fire_need(job)) {
        return html! { p.dim { (lang.no_fire_unless(need)) } };
    }
    let fires: Vec<Timestamp> = job.next_fires(cx.now, 3).unwrap_or_default();
    let delay = job.config().and_then(delay_description);
    html! {
        @match delay {
            Some(words) => p.dim { (translated(cx, None, lang.description_of_schedule(&words), &words)) },
            None if fires.is_empty() => p.dim { (lang.no_fires()) },
            None => {},
        }
        ul.next { @for fire in fires { li data-until=(fire) { (cx.when(fire, line.time_zone.as_deref())) } } }
    }
}
