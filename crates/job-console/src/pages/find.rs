//! Entries of the palette: jobs, servers and pages that have a text, and operations on the first
//! job and the first server.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::cx::Cx;
use super::html as html_response;
use super::request::PageRequest;
use super::shell::Section;
use crate::access::Permission;

/// Maximum number of entries of each kind.
const MAX: usize = 12;

pub(super) async fn find(mut request: PageRequest) -> Response {
    // The entries stand in a page of another depth, which gives its own way to the root.
    if let Some(root) = request.asked.address.value("root").filter(|root| is_root(root)) {
        request.asked.root = root.to_owned();
    }
    request.with_cx(|cx| html_response(StatusCode::OK, entries(cx)))
}

/// Returns true for `./` and for any number of `../`.
fn is_root(text: &str) -> bool {
    text == "./" || (!text.is_empty() && text.replace("../", "").is_empty())
}

/// Kind, label and address.
type Entry = (String, String, String);

const OF_JOB: [(Permission, &str); 5] = [
    (Permission::Run, "run"),
    (Permission::Run, "rerun"),
    (Permission::Pause, "pause"),
    (Permission::Pause, "resume"),
    (Permission::Disable, "enable"),
];
const OF_SERVER: [(Permission, &str); 4] = [
    (Permission::Drain, "drain"),
    (Permission::Disable, "enable"),
    (Permission::Pause, "pause"),
    (Permission::Pause, "resume"),
];

/// Returns the permitted operations, each with the page that shows its effect.
fn operations(cx: &Cx<'_>, job: Option<&&str>, server: Option<&&str>) -> Vec<Entry> {
    let lang = cx.lang();
    let entry = |name: &str, page: &str, word: &str| {
        let label = format!("{} {name}…", lang.act_title(word));
        (lang.operation(), label, format!("{page}/act/{word}"))
    };
    let of_job = job.into_iter().flat_map(|job| {
        let permitted = OF_JOB.into_iter().filter(|(permission, _)| cx.may(*permission, Some(job)));
        permitted.map(|(_, word)| entry(job, &cx.job(job), word))
    });
    let of_server = server.into_iter().flat_map(|ip| {
        let permitted = OF_SERVER.into_iter().filter(|(permission, _)| cx.may(*permission, None));
        permitted.map(|(_, word)| entry(ip, &cx.server(ip), word))
    });
    of_job.chain(of_server).collect()
}

fn entries(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    let text = cx.address.value("q").unwrap_or_default().to_lowercase();
    let has_text = |name: &str| name.to_lowercase().contains(&text);
    let jobs = cx.summary.jobs().iter();
    // Names that begin with the text come first.
    let mut jobs: Vec<&str> =
        jobs.map(|job| job.job_name.as_str()).filter(|name| has_text(name)).collect();
    jobs.sort_by_key(|name| (!name.to_lowercase().starts_with(&text), *name));
    let servers = cx.source.map(|namespace| namespace.live.servers()).unwrap_or_default();
    let ips = servers.iter().map(|server| server.server_ip.as_str()).filter(|ip| has_text(ip));
    let ips: Vec<&str> = ips.take(MAX).collect();
    let operations =
        if text.is_empty() { Vec::new() } else { operations(cx, jobs.first(), ips.first()) };
    let pages = Section::visible(cx).map(|section| (section.label(lang), section.path()));
    let pages = pages.filter(|(label, path)| has_text(label) || has_text(path));
    let found: Vec<Entry> = jobs
        .into_iter()
        .take(MAX)
        .map(|job| (lang.job(), job.to_owned(), cx.job(job)))
        .chain(ips.into_iter().map(|ip| (lang.server(), ip.to_owned(), cx.server(ip))))
        .chain(operations)
        .chain(pages.map(|(label, path)| (lang.page(), label, cx.here(path))))
        .collect();
    html! {
        @if found.is_empty() { p.dim { (lang.no_match()) } }
        @for (index, (kind, label, address)) in found.iter().enumerate() {
            a id={ "found-" (index) } role="option" tabindex="-1" aria-selected=(index == 0) href=(address) {
                span { (label) } " " span.dim { (kind) }
            }
        }
    }
}
