//! Servers, and one server with its jobs.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{ServerIp, ServerState};
use maud::{Markup, html};
use operations::jobs_of_server;

use super::cx::Cx;
use super::digest::{Digest, JobServer};
use super::query::encoded;
use super::shell::{Body, Section};
use super::view::Snapshots;
use super::widgets::{PAGE, act, empty, page_number, pager, pill};
use crate::access::Permission;
use crate::problem::{Answer, Problem};

/// A server with the jobs that know it.
#[derive(Debug, Default)]
struct Server<'a> {
    instances: BTreeSet<&'a str>,
    jobs: usize,
    paused: usize,
    disabled: usize,
    running: usize,
}

/// Returns all servers by their address.
fn servers<'a>(cx: &'a Cx<'_>) -> BTreeMap<&'a str, Server<'a>> {
    let mut servers: BTreeMap<&str, Server<'_>> = BTreeMap::new();
    for job in &cx.summary.jobs {
        for JobServer { ip, state, instances } in &job.servers {
            let server = servers.entry(ip).or_default();
            server.jobs += 1;
            server.paused += usize::from(*state == ServerState::Paused);
            server.disabled += usize::from(*state == ServerState::Disabled);
            server.instances.extend(instances.iter().map(String::as_str));
            server.running += running_on(job, instances);
        }
    }
    servers
}

fn running_on(job: &Digest, instances: &BTreeSet<String>) -> usize {
    let on = |id: &Option<String>| id.as_ref().is_some_and(|id| instances.contains(id));
    job.running.iter().filter(|run| on(&run.runs_on)).count()
}

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let text = cx.address.value("q").unwrap_or_default();
    let all = servers(cx);
    let found: Vec<_> = all.iter().filter(|(ip, _)| ip.contains(text)).collect();
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let shown = found.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|(ip, server)| row(cx, ip, server)).collect();
    let main = html! {
        div.title {
            h1 { (lang.servers()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
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
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.server()) }
                    th scope="col" { (lang.state()) }
                    th.num scope="col" { (lang.instances()) }
                    th.num scope="col" { (lang.jobs()) }
                    th.num scope="col" { (lang.running()) }
                    th.num scope="col" { (lang.paused()) }
                    th.num scope="col" { (lang.disabled()) }
                } }
                (cx.live_rows("rows", rows))
            }
        }
    }
}

fn row(cx: &Cx<'_>, ip: &str, server: &Server<'_>) -> (String, Markup) {
    let id = format!("s-{}", encoded(ip));
    let row = html! {
        tr id=(id) {
            th scope="row" { a href=(cx.server(ip)) { (ip) } }
            td { (state(cx, server)) }
            td.num { (server.instances.len()) }
            td.num { (server.jobs) }
            td.num { (server.running) }
            td.num { (server.paused) }
            td.num { (server.disabled) }
        }
    };
    (id, row)
}

fn state(cx: &Cx<'_>, server: &Server<'_>) -> Markup {
    let lang = cx.lang();
    if server.instances.is_empty() {
        pill("off", &lang.no_instances())
    } else if server.disabled == server.jobs {
        lang.server_pill(ServerState::Disabled)
    } else if server.paused == server.jobs {
        lang.server_pill(ServerState::Paused)
    } else if server.paused + server.disabled > 0 {
        pill("wait", &lang.partly())
    } else {
        lang.server_pill(ServerState::Enabled)
    }
}

/// Returns the page of one server.
pub(super) fn server_page(cx: &Cx<'_>, jobs: &Snapshots, ip: &ServerIp) -> Answer<Body> {
    let lang = cx.lang();
    let all = servers(cx);
    let server = all.get(ip.as_str()).ok_or_else(|| {
        let known: Vec<&str> = all.keys().take(8).copied().collect();
        let detail = format!("no job knows server {ip}; known are {}", known.join(", "));
        Problem::not_found("no-such-server", detail)
    })?;
    let rows = jobs_of_server(jobs.configured(), ip).into_iter().map(|job| {
        let digest = cx.summary.jobs.iter().find(|digest| digest.name.as_str() == job.job_name);
        job_row(cx, ip, &job, digest.map(|digest| &**digest))
    });
    let main = html! {
        div.title {
            h1 { (ip) }
            (cx.live("state", &state(cx, server)))
            span.grow {}
            (cx.live("acts", &acts(cx, ip)))
        }
        (cx.live("sub", &html! {
            p.sub { (lang.server_sum(server.instances.len(), server.jobs, server.running)) }
            ul.plain { @for id in &server.instances { li { code { (id) } } } }
        }))
        section.card aria-labelledby="jobs-title" {
            h2 #jobs-title { (lang.jobs_of_server()) }
            div.scroll {
                table {
                    thead { tr {
                        th scope="col" { (lang.job()) }
                        th scope="col" { (lang.state()) }
                        th.num scope="col" { (lang.instances()) }
                        th.num scope="col" { (lang.running()) }
                        th scope="col" { (lang.operations()) }
                    } }
                    (cx.live_rows("rows", rows.collect()))
                }
            }
        }
    };
    let crumbs = vec![(lang.servers(), cx.here("servers"))];
    Ok(Body { title: ip.to_string(), crumbs, section: Section::Servers, main, is_live: true })
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
    digest: Option<&Digest>,
) -> (String, Markup) {
    let (lang, name) = (cx.lang(), job.job_name.as_str());
    let id = format!("j-{}", encoded(name));
    let here = digest.and_then(|digest| {
        let server = digest.servers.iter().find(|server| server.ip == ip.as_str())?;
        Some((server.state, running_on(digest, &server.instances)))
    });
    let link = |permission, word: &str| {
        act(
            cx,
            permission,
            name,
            &format!("{word}?server={}", encoded(ip.as_str())),
            &lang.act_title(word),
        )
    };
    let row = html! {
        tr id=(id) {
            th scope="row" { a href=(cx.job(name)) { (name) } }
            td { @if let Some((state, _)) = here { (lang.server_pill(state)) } }
            td.num { (job.instance_count) }
            td.num { (here.map_or(0, |(_, running)| running)) }
            td.nowrap {
                @match here.map(|(state, _)| state) {
                    Some(ServerState::Enabled) => {
                        (link(Permission::Pause, "pause")) " " (link(Permission::Disable, "disable"))
                    },
                    Some(ServerState::Paused) => { (link(Permission::Pause, "resume")) },
                    Some(ServerState::Disabled) => { (link(Permission::Disable, "enable")) },
                    None => {},
                }
            }
        }
    };
    (id, row)
}
