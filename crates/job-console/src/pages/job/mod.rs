//! The page of a job: heading, tabs, and the tab that is shown.

mod backfills;
mod configuration;
mod dry_run;
mod failing_since;
mod gantt;
mod items;
mod now;
mod placement;
mod request;
mod runs;
mod schedule;
pub(super) mod verification;

use maud::{Markup, html};
use operations::{JobLine, JobSnapshot, JobState};
use trigger::JobSchedule;

use super::cx::Cx;
use super::history::Past;
use super::locale::Lang;
use super::query::encoded;
use super::reasons::sentence;
use super::shell::{Body, Section};
use super::view::Tab;
use super::widgets::{act, job_state};
use crate::access::Permission;
use crate::problem::{Answer, Problem};

pub(super) fn page(cx: &Cx<'_>, job: &JobSnapshot, tab: Tab, past: &Past) -> Answer<Body> {
    let lang = cx.lang();
    let line = cx.summary.list.get(job.job().as_str());
    let line = line.ok_or_else(|| {
        // The job has been removed between the two reads of the page.
        Problem::not_found("no-such-job", format!("the namespace has no job {}", job.job()))
    })?;
    let content = match tab {
        Tab::Now => now::tab(cx, job, line, past),
        Tab::Runs => runs::tab(cx, line, past),
        Tab::Schedule => schedule::tab(cx, job),
        Tab::Placement => placement::tab(cx, job),
        Tab::Configuration => configuration::tab(cx, job),
        Tab::Verification => verification::tab(cx, line, past),
        Tab::Backfills => backfills::tab(cx, job, line),
    };
    let main =
        html! { (heading(cx, line)) (subtitle(cx, job, line)) (tabs(cx, line, tab)) (content) };
    let mut crumbs = vec![(lang.jobs(), cx.here("jobs"))];
    if tab != Tab::Now {
        crumbs.push((job.job().to_string(), cx.job(job.job().as_str())));
    }
    let title = match tab {
        Tab::Now => job.job().to_string(),
        Tab::Runs
        | Tab::Schedule
        | Tab::Placement
        | Tab::Configuration
        | Tab::Verification
        | Tab::Backfills => lang.tab(tab),
    };
    let is_live = match tab {
        Tab::Placement => placement::is_live(cx),
        Tab::Verification => false,
        Tab::Now | Tab::Runs | Tab::Schedule | Tab::Configuration | Tab::Backfills => true,
    };
    Ok(Body { title, crumbs, section: Section::Jobs, main, is_live })
}

fn heading(cx: &Cx<'_>, job: &JobLine) -> Markup {
    let name = job.job_name.as_str();
    html! {
        div.title {
            h1 { (name) }
            (cx.live("state", &job_state(cx, job)))
            span.grow {}
            (cx.live("acts", &html! {
                (act(cx, "acts", Permission::Run, name, ("run", "")))
                @if job.paused_servers > 0 {
                    (act(cx, "acts", Permission::Pause, name, ("resume", "")))
                }
                @if job.status != JobState::Paused {
                    (act(cx, "acts", Permission::Pause, name, ("pause", "")))
                }
                (more_acts(cx, name))
            }))
        }
    }
}

fn more_acts(cx: &Cx<'_>, name: &str) -> Markup {
    let allowed = |rows: &[(Permission, &'static str)]| {
        let rows = rows.iter().filter(|row| cx.may(row.0, Some(name)));
        rows.map(|(_, word)| *word).collect::<Vec<_>>()
    };
    let of_runs = allowed(&[
        (Permission::Run, "rerun"),
        (Permission::Cancel, "cancel"),
        (Permission::Disable, "disable"),
        (Permission::Disable, "enable"),
    ]);
    let of_instances =
        allowed(&[(Permission::ShutDown, "shut-down"), (Permission::Remove, "remove")]);
    let (first_apart, all) = (of_runs.len(), [of_runs, of_instances].concat());
    html! {
        @if !all.is_empty() {
            details.menu {
                summary { span.hidden { (cx.lang().more_operations()) } span aria-hidden="true" { "⋯" } }
                ul {
                    @for (n, word) in all.into_iter().enumerate() {
                        li .apart[n == first_apart && n > 0] {
                            a href={ (cx.job(name)) "/act/" (word) } data-dialog {
                                (cx.lang().act_title(word)) "…"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn subtitle(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine) -> Markup {
    let lang = cx.lang();
    let config = job.config();
    let words = schedule_words(lang, job);
    let content = html! {
        p.sub {
            (sentence(&words))
            @if let Some(zone) = &line.time_zone { ", " (zone) }
            " · " (lang.items_on(job.items().len(), line.instance_count))
            @if config.is_some_and(|config| config.failover) { " · " (lang.failover_on()) }
            @if let Some(group) = config.and_then(|config| config.group.as_ref()) {
                " · " (lang.group()) " " a href=(cx.group(group)) { (group) }
            }
            @if let Some(fire) = cx.next_fire(line) {
                span data-until=(fire) {
                    " · " (lang.next_fire()) " " b { (cx.time(fire, line.time_zone.as_deref())) } " " (cx.relative(fire))
                }
            }
            @if let Some(text) = line.description.as_deref().filter(|text| !text.is_empty()) {
                br; (text)
            }
        }
    };
    cx.live("sub", &content)
}

/// Returns the schedule in words, or the expression itself if it has none in the language.
fn schedule_words(lang: Lang, job: &JobSnapshot) -> String {
    let Some(config) = job.config() else { return String::new() };
    let Some(cron) = &config.cron else { return lang.on_request() };
    let Some(words) = job.schedule().map(JobSchedule::description) else { return cron.clone() };
    match lang {
        Lang::English => words,
        Lang::Chinese => lang.description_of_schedule(&words).unwrap_or_else(|| cron.clone()),
    }
}

fn tabs(cx: &Cx<'_>, job: &JobLine, shown: Tab) -> Markup {
    html! {
        nav.tabs aria-label=(cx.lang().views_of_job()) {
            @for tab in Tab::ALL {
                @let separator = if tab == Tab::Now { "" } else { "/" };
                a href={ (cx.job(&job.job_name)) (separator) (tab.path()) }
                    aria-current=[(tab == shown).then_some("page")] { (cx.lang().tab(tab)) }
            }
            a href=(cx.here(&format!("timeline?job={}", encoded(&job.job_name)))) {
                (cx.lang().timeline())
            }
        }
    }
}
