//! Servers, and one server with its jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{AuditRecord, JobName, ServerIp, ServerState};
use maud::{Markup, html};
use operations::{JobSnapshot, ServerBrief, jobs_of_server};
use sharding::InstanceId;

use super::cx::Cx;
use super::query::encoded;
use super::remove_servers;
use super::shell::{Body, Section};
use super::summary::moment;
use super::view::Snapshots;
use super::widgets::{Column, PAGE, act, empty, live_table, page_number, pager, pill};
use crate::access::Permission;
use crate::problem::{Answer, Problem};

/// Returns all servers in the order of their addresses as text.
fn servers(cx: &Cx<'_>) -> Arc<Vec<ServerBrief>> {
    cx.source.map(|namespace| namespace.live.servers()).unwrap_or_default()
}

/// Numbers of running items by instance.
type Runs = BTreeMap<InstanceId, usize>;

fn runs(cx: &Cx<'_>) -> Runs {
    cx.source.map(|namespace| namespace.live.runs_by_instance()).unwrap_or_default()
}

fn running_on(server: &ServerBrief, runs: &Runs) -> usize {
    let of = |id: &String| runs.get(&InstanceId::new(id.as_str())).copied().unwrap_or_default();
    server.instances.iter().map(of).sum()
}

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let text = cx.address.value("q").unwrap_or_default();
    let all = servers(cx);
    let found: Vec<_> = all.iter().filter(|server| server.server_ip.contains(text)).collect();
    let runs = runs(cx);
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let shown = found.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|server| row(cx, server, running_on(server, &runs))).collect();
    let main = html! {
        div.title {
            h1 { (lang.servers()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
            span.grow {}
            (remove_servers::link(cx))
        }
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("servers")) {
            div.field {
                label for="by-q" { (lang.address()) }
                input #by-q name="q" type="search" maxlength="64" value=(text);
            }
            button type="submit" { (lang.filter()) }
        }
        section.card aria-label=(lang.servers()) {
            @if rows.is_empty() {
                @let hint = empty(&lang.no_servers(), &lang.no_servers_hint(), Some("ejob worker jobs.toml"));
                (cx.live("rows", &hint))
            } @else { (table(cx, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let title = lang.servers();
    Body { title, crumbs: Vec::new(), section: Section::Servers, main, is_live: true }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.server()),
        Column::Text(lang.state()),
        Column::Number(lang.instances()),
        Column::Number(lang.jobs()),
        Column::Number(lang.running_items()),
        Column::Number(lang.paused_for()),
        Column::Number(lang.disabled_for()),
    ];
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, server: &ServerBrief, running: usize) -> (String, Markup) {
    let ip = server.server_ip.as_str();
    let id = format!("s-{}", encoded(ip));
    let row = html! {
        tr id=(id) {
            th scope="row" { a href=(cx.server(ip)) { (ip) } }
            td { (state(cx, server)) }
            td.num { (server.instances.len()) }
            td.num { (server.jobs_num) }
            td.num { (running) }
            td.num { (server.paused_jobs_num) }
            td.num { (server.disabled_jobs_num) }
        }
    };
    (id, row)
}

fn state(cx: &Cx<'_>, server: &ServerBrief) -> Markup {
    let lang = cx.lang();
    let (jobs, paused, disabled) =
        (server.jobs_num, server.paused_jobs_num, server.disabled_jobs_num);
    if server.instances.is_empty() {
        pill("off", &lang.no_instances())
    } else if disabled == jobs {
        lang.server_pill(ServerState::Disabled)
    } else if paused == jobs {
        lang.server_pill(ServerState::Paused)
    } else if paused + disabled > 0 {
        pill("wait", &lang.of_n_jobs(paused + disabled, jobs))
    } else {
        lang.server_pill(ServerState::Enabled)
    }
}

/// Returns the page of one server.
pub(super) fn server_page(cx: &Cx<'_>, jobs: &Snapshots, ip: &ServerIp) -> Answer<Body> {
    let lang = cx.lang();
    let all = servers(cx);
    let server = all.iter().find(|server| server.server_ip == ip.as_str()).ok_or_else(|| {
        let known: Vec<&str> = all.iter().take(8).map(|one| one.server_ip.as_str()).collect();
        let detail = format!("no job knows server {ip}; known are {}", known.join(", "));
        Problem::not_found("no-such-server", detail)
    })?;
    let rows = jobs_of_server(jobs.configured(), ip).into_iter().map(|job| {
        let name = JobName::new(&job.job_name).ok();
        job_row(cx, ip, &job, name.and_then(|name| jobs.get(&name)))
    });
    let columns = [
        Column::Text(lang.job()),
        Column::Text(lang.state()),
        Column::Number(lang.instances()),
        Column::Number(lang.running_items()),
        Column::Text(lang.operations()),
    ];
    let main = html! {
        div.title {
            h1 { (ip) }
            (cx.live("state", &state(cx, server)))
            span.grow {}
            (cx.live("acts", &acts(cx, ip)))
        }
        (cx.live("sub", &html! {
            p.sub { (lang.server_sum(server.instances_num, server.jobs_num, running_on(server, &runs(cx)))) }
            @if let Some((record, held)) = last_held_by(jobs, ip) {
                p.why.neutral {
                    (lang.last_held_by()) " " b { (lang.act_title(&record.act)) } " "
                    (jobs_held(cx, &held, server.jobs_num)) " " (held_by(cx, record))
                    @if record.act == "drain" { (lang.stop()) " " (drained(cx, jobs, ip)) }
                }
            }
            ul.plain { @for id in &server.instances { li { code { (id) } } } }
        }))
        section.card aria-labelledby="jobs-title" {
            h2 #jobs-title { (lang.jobs_of_server()) }
            (live_table(cx, "rows", columns, rows.collect()))
        }
    };
    let crumbs = vec![(lang.servers(), cx.here("servers"))];
    Ok(Body { title: ip.to_string(), crumbs, section: Section::Servers, main, is_live: true })
}

/// Returns who holds the server back, when and why.
fn held_by(cx: &Cx<'_>, record: &AuditRecord) -> Markup {
    let at = moment(Some(record.at_ms));
    html! {
        (cx.lang().by(&record.who)) " "
        @if let Some(at) = at { (cx.when(at, None)) }
        (cx.lang().colon()) (record.why)
    }
}

/// Maximum number of jobs that a sentence names.
const MAX_NAMED: usize = 3;

/// Returns the latest operation by which jobs do not run on the server, with the names of the jobs.
/// An operation on a server has a record for each job.
fn last_held_by<'a>(jobs: &'a Snapshots, ip: &ServerIp) -> Option<(&'a AuditRecord, Vec<&'a str>)> {
    let held = jobs.configured().filter_map(|job| Some((job.job().as_str(), job.held_by(ip)?)));
    let held: Vec<_> = held.collect();
    let (_, last) = held.iter().max_by_key(|(_, record)| record.at_ms)?;
    let is_same = |record: &AuditRecord| {
        (&record.act, &record.who, &record.why) == (&last.act, &last.who, &last.why)
    };
    let names = held.iter().filter(|(_, record)| is_same(record)).map(|(name, _)| *name);
    Some((last, names.collect()))
}

/// Returns the jobs of an operation on a server, which knows this number of jobs.
fn jobs_held(cx: &Cx<'_>, names: &[&str], of: usize) -> Markup {
    let lang = cx.lang();
    if names.len() == of && of > 1 {
        return html! { (lang.for_all_jobs(of)) };
    }
    html! {
        (lang.for_jobs(names.len()))
        @for (n, name) in names.iter().take(MAX_NAMED).enumerate() {
            @if n > 0 { (lang.comma()) }
            " " a href=(cx.job(name)) { (name) }
        }
        @if names.len() > MAX_NAMED { " " (lang.and_more(names.len() - MAX_NAMED)) }
    }
}

fn running_on_server(job: &JobSnapshot, ip: &ServerIp) -> usize {
    job.instances_on(ip).map(|id| job.runs_on(id)).sum()
}

/// Returns the progress of the drain: the runs that it waits for.
fn drained(cx: &Cx<'_>, jobs: &Snapshots, ip: &ServerIp) -> Markup {
    // A job whose server was disabled before is part of the drain, too.
    let is_left = |job: &&JobSnapshot| {
        job.view().server_state(ip).is_some_and(|state| state != ServerState::Enabled)
    };
    let running: usize =
        jobs.configured().filter(is_left).map(|job| running_on_server(job, ip)).sum();
    html! {
        @if running == 0 { b { (cx.lang().drained()) } } @else { b { (cx.lang().n_still_run(running)) } }
    }
}

fn acts(cx: &Cx<'_>, ip: &ServerIp) -> Markup {
    let rows = [
        (Permission::Drain, "drain"),
        (Permission::Pause, "pause"),
        (Permission::Pause, "resume"),
        (Permission::Disable, "disable"),
        (Permission::Disable, "enable"),
        (Permission::ShutDown, "shut-down"),
        (Permission::Remove, "remove"),
    ];
    html! {
        @for (permission, word) in rows {
            @if cx.may(permission, None) {
                a.button href={ (cx.server(ip.as_str())) "/act/" (word) } data-dialog {
                    (cx.lang().act_title(word)) "…"
                }
            }
        }
    }
}

fn job_row(
    cx: &Cx<'_>,
    ip: &ServerIp,
    job: &operations::ServerJob,
    snapshot: Option<&JobSnapshot>,
) -> (String, Markup) {
    let (lang, name) = (cx.lang(), job.job_name.as_str());
    let id = format!("j-{}", encoded(name));
    let here =
        snapshot.and_then(|job| Some((job.view().server_state(ip)?, running_on_server(job, ip))));
    let query = format!("?server={}", encoded(ip.as_str()));
    let link = |permission, word: &str| act(cx, &id, permission, name, (word, &query));
    let row = html! {
        tr id=(id) {
            th scope="row" { a href=(cx.job(name)) { (name) } }
            td.text {
                @if let Some((state, _)) = here { (lang.server_pill(state)) }
                @if let Some(record) = snapshot.and_then(|job| job.held_by(ip)) {
                    div.dim { (held_by(cx, record)) }
                }
            }
            td.num { (job.instance_count) }
            td.num { (here.map_or(0, |(_, running)| running)) }
            td.nowrap {
                @match here.map(|(state, _)| state) {
                    Some(ServerState::Enabled) => {
                        (link(Permission::Pause, "pause")) " " (link(Permission::Disable, "disable"))
                        " " (link(Permission::Drain, "drain"))
                    },
                    Some(ServerState::Paused) => {
                        (link(Permission::Pause, "resume")) " " (link(Permission::Drain, "drain"))
                    },
                    Some(ServerState::Disabled) => { (link(Permission::Disable, "enable")) },
                    None => {},
                }
                @if job.instance_count > 0 { " " (link(Permission::ShutDown, "shut-down")) }
                @if here.is_some() { " " (link(Permission::Remove, "remove")) }
            }
        }
    };
    (id, row)
}
