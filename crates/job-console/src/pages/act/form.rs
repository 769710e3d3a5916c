//! The page before an operation: what will change, the reason, and who is recorded.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use coordination::{AuditRecord, ServerIp, ServerState};
use maud::{Markup, html};
use operations::{Entry, JobSnapshot, Report, WhatIf, plan_moves, preview};
use sharding::StrategyRegistry;

use super::target::{Operation, Target};
use crate::api::scan;
use crate::pages::cx::{Age, Cx};
use crate::pages::html as respond;
use crate::pages::request::PageRequest;
use crate::pages::shell::{Body, Section, document};
use crate::pages::widgets::effect_text;
use crate::problem::Answer;

/// Maximum number of entries of each list. All are counted.
const MAX_ENTRIES: usize = 100;

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    let target = Target::of(&request.asked.address)?;
    let jobs = target.jobs(&request.namespace)?;
    // The plan of a server visits the items of all its jobs.
    let rendered = scan(move || {
        request.with_cx(|cx| Ok(respond(StatusCode::OK, document(cx, &page(cx, &target, &jobs)?))))
    });
    rendered.await?
}

fn page(cx: &Cx<'_>, target: &Target, jobs: &[Arc<JobSnapshot>]) -> Answer<Body> {
    let (has_effect, effect) = match target.change() {
        Some(change) => {
            let mut report = Report::default();
            for job in jobs {
                match preview(job, &change, cx.now) {
                    Ok(one) => report.extend(one),
                    Err(error) if jobs.len() == 1 => return Err(error.into()),
                    Err(error) => report.fail(job.job().as_str(), "job", error),
                }
            }
            let effect = html! {
                (moves(cx, target, jobs)) (pauses(cx, target, jobs)) (entries(cx, &report))
            };
            (report.has_changed(), effect)
        }
        None => (true, removal(cx, jobs)),
    };
    let lang = cx.lang();
    let word = target.operation.word();
    let main = html! {
        section #act-form.card aria-labelledby="act-title" {
            h1 #act-title tabindex="-1" { (lang.act_title(word)) (cx.lang().colon()) (heading(cx, target)) }
            p.sub { (lang.act_effect(word)) }
            (effect)
            @if has_effect { (form(cx, target, jobs)) } @else { (leave(cx, target)) }
        }
    };
    Ok(Body {
        title: lang.act_title(word),
        crumbs: vec![(target.name(), cx.here(&target.page()))],
        section: if target.job.is_some() { Section::Jobs } else { Section::Servers },
        main,
        is_live: false,
    })
}

/// Returns the target in words.
pub(super) fn heading(cx: &Cx<'_>, target: &Target) -> String {
    let job = target.job.as_ref().map(ToString::to_string);
    let server = target.server.as_ref().map(ToString::to_string);
    let item = target.item.map(|item| format!("{} {item}", cx.lang().item()));
    let fire = target.fire.map(|fire| format!("{} {fire}", cx.lang().fire()));
    let instance = target.instance.as_ref().map(ToString::to_string);
    [job, server, item, fire, instance].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns the moves of items that a disabled server causes.
fn moves(cx: &Cx<'_>, target: &Target, jobs: &[Arc<JobSnapshot>]) -> Markup {
    let is_moving = matches!(target.operation, Operation::Disable | Operation::Drain);
    let Some(server) = target.server.as_ref().filter(|_| is_moving) else { return html! {} };
    let what_if = WhatIf::default().with(|it| it.disable = vec![server.clone()]);
    let strategies = StrategyRegistry::default();
    let plans = jobs
        .iter()
        .filter_map(|job| plan_moves(job, &what_if, &strategies, cx.now.as_millisecond()).ok());
    let (mut moves, mut waiting, mut stuck) = (0, 0, 0);
    for plan in plans {
        moves += plan.moves.len();
        waiting += plan.moves.iter().filter(|planned| planned.waits).count();
        stuck += usize::from(plan.no_available_instance);
    }
    let lang = cx.lang();
    html! {
        p.why.neutral {
            b { (lang.n_moves(moves, waiting)) }
            @if stuck > 0 { " " (lang.n_without_instance(stuck)) }
        }
    }
}

/// Returns the pauses that a disablement replaces and the later enablement puts back, or that this
/// enablement puts back: the state of a server is one value.
fn pauses(cx: &Cx<'_>, target: &Target, jobs: &[Arc<JobSnapshot>]) -> Markup {
    let is_disabling = matches!(target.operation, Operation::Disable | Operation::Drain);
    let is_enabling = target.operation == Operation::Enable;
    let has_pause = |job: &JobSnapshot, ip: &ServerIp, state| {
        let is_recorded = || job.held_by(ip).is_some();
        (is_disabling && state == ServerState::Paused && is_recorded())
            || (is_enabling && job.replaced_pause(ip).is_some())
    };
    let servers = |job: &Arc<JobSnapshot>| {
        let paused = job.view().servers().filter(|(ip, state)| has_pause(job, ip, *state));
        let meant = paused.filter(|(ip, _)| target.server.as_ref().is_none_or(|one| one == *ip));
        meant.map(|(ip, _)| (job.job().clone(), ip.clone())).collect::<Vec<_>>()
    };
    let paused: Vec<_> = jobs.iter().filter(|_| target.item.is_none()).flat_map(servers).collect();
    let (lang, more) = (cx.lang(), paused.len().saturating_sub(MAX_ENTRIES));
    html! {
        @if !paused.is_empty() {
            div.why { div {
                p {
                    @if is_disabling {
                        b { (lang.n_pauses_replaced(paused.len())) } " " (lang.pause_comes_back())
                    } @else {
                        b { (lang.n_paused_again(paused.len())) } " " (lang.resume_to_start())
                    }
                }
                ul.entries {
                    @for (job, ip) in paused.iter().take(MAX_ENTRIES) {
                        li { (job) " · " (ip) }
                    }
                }
                @if more > 0 { p.dim { (lang.and_more(more)) } }
            } }
        }
    }
}

/// Returns the lists of a report.
pub(in crate::pages) fn entries(cx: &Cx<'_>, report: &Report) -> Markup {
    let lang = cx.lang();
    let lists = [
        (lang.will_change(), "done", &report.done),
        (lang.left_alone(), "off", &report.left),
        (lang.would_fail(), "fail", &report.failed),
    ];
    html! {
        @if report.done.is_empty() { p.why { b { (lang.nothing_changes()) } } }
        @for (title, class, entries) in lists {
            @if !entries.is_empty() { (list(cx, &title, class, entries)) }
        }
    }
}

/// Returns the result of a change that was not made as wanted.
pub(in crate::pages) fn result(cx: &Cx<'_>, title: &str, report: &Report, back: &str) -> Markup {
    html! {
        section.card aria-labelledby="act-title" {
            h1 #act-title { (title) }
            p.sub { (cx.lang().result()) }
            (entries(cx, report))
            div.acts { a.button.primary href=(cx.here(back)) { (cx.lang().back()) } }
        }
    }
}

/// Returns true if a change was made as wanted, so that its page needs no list.
pub(in crate::pages) fn is_done(report: &Report) -> bool {
    let is_clean = report.left.iter().all(|entry| entry.as_wanted) && report.failed.is_empty();
    is_clean && report.has_changed()
}

fn list(cx: &Cx<'_>, title: &str, class: &str, entries: &[Entry]) -> Markup {
    let more = entries.len().saturating_sub(MAX_ENTRIES);
    html! {
        h2 { (title) " " span.dim { (entries.len()) } }
        ul.entries {
            @for entry in entries.iter().take(MAX_ENTRIES) {
                li {
                    span class={ "st " (class) } { (cx.lang().target_of_change(&entry.target)) } " "
                    span.dim { (entry.job) } " "
                    (effect_text(cx, &entry.what))
                }
            }
        }
        @if more > 0 { p.dim { (cx.lang().and_more(more)) } }
    }
}

/// Returns the effect of the removal of a job.
fn removal(cx: &Cx<'_>, jobs: &[Arc<JobSnapshot>]) -> Markup {
    let lang = cx.lang();
    html! {
        @for job in jobs {
            p.why.bad { b { (lang.n_nodes(job.nodes().count())) } " " (lang.cannot_be_undone()) }
            @if !job.instances().is_empty() {
                h2 { (lang.live_instances()) }
                ul.entries { @for id in job.instances() { li { code { (id) } } } }
            }
        }
    }
}

fn form(cx: &Cx<'_>, target: &Target, jobs: &[Arc<JobSnapshot>]) -> Markup {
    let lang = cx.lang();
    let is_alive = jobs.iter().any(|job| !job.instances().is_empty());
    let is_stale = cx.age != Age::Current;
    html! {
        form.act method="post" action=(cx.href(&cx.address.text())) {
            @if target.operation == Operation::Run {
                div.field {
                    label for="act-parameter" { (lang.run_parameter()) }
                    input #act-parameter name="parameter" maxlength="1024" autocomplete="off";
                }
            }
            @if target.operation == Operation::Remove {
                div.field {
                    label for="act-name" { (lang.type_name(&target.name())) }
                    input #act-name name="name" required autocomplete="off" autocapitalize="off"
                        spellcheck="false";
                }
            }
            @if target.removes_job() && is_alive {
                (check("alive", &lang.even_if_alive(), false))
            }
            div.field {
                label for="act-why" { (lang.reason_required()) }
                input #act-why name="why" required maxlength=(AuditRecord::MAX_TEXT_BYTES)
                    autocomplete="off" autofocus;
            }
            @if is_stale { (check("stale", &lang.although_stale(), true)) }
            p.dim { (lang.recorded_as(&cx.caller.name)) }
            div.acts {
                button.primary type="submit" { (lang.act_title(target.operation.word())) }
                a.button href=(cx.here(&target.page())) data-close { (lang.cancel()) }
            }
        }
    }
}

/// Returns the way back from an operation without effect, which needs no reason.
fn leave(cx: &Cx<'_>, target: &Target) -> Markup {
    html! {
        div.acts {
            a.button href=(cx.here(&target.page())) data-close { (cx.lang().back()) }
        }
    }
}

fn check(name: &str, label: &str, is_required: bool) -> Markup {
    let id = format!("act-{name}");
    html! {
        div.check {
            input id=(id) type="checkbox" name=(name) value="yes" required[is_required];
            label for=(id) { (label) }
        }
    }
}
