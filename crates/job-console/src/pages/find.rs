//! Entries of the palette: pages, jobs and servers that have a text.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::cx::Cx;
use super::shell::Section;
use super::{Asked, html as respond};
use crate::namespaces::Namespaces;
use crate::problem::Answer;

/// Maximum number of entries of each kind.
const MAX: usize = 12;

pub(super) async fn find(
    State(namespaces): State<Arc<Namespaces>>,
    mut asked: Asked,
) -> Answer<Response> {
    let segments = asked.address.segments();
    let namespace = namespaces.get(segments.get(1).copied().unwrap_or_default())?;
    // The entries stand in a page of another depth, which gives its own way to the root.
    if let Some(root) = asked.address.value("root").filter(|root| is_root(root)) {
        asked.root = root.to_owned();
    }
    let summary = asked.summary(namespace).await;
    let cx = asked.cx(Some(namespace), &[], &summary);
    Ok(respond(StatusCode::OK, entries(&cx)))
}

/// Returns true for `./` and for any number of `../`.
fn is_root(text: &str) -> bool {
    text == "./" || (!text.is_empty() && text.replace("../", "").is_empty())
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
    let pages = Section::visible(cx).map(|section| (section.label(lang), section.path()));
    let pages = pages.filter(|(label, path)| has_text(label) || has_text(path));
    let found: Vec<(String, String, String)> = jobs
        .into_iter()
        .take(MAX)
        .map(|job| (lang.job(), job.to_owned(), cx.job(job)))
        .chain(ips.take(MAX).map(|ip| (lang.server(), ip.to_owned(), cx.server(ip))))
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
