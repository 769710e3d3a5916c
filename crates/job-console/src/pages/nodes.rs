//! Registry browser: the nodes of a job with their meaning, read only.

use coordination::NodeKind;
use maud::{Markup, html};
use operations::JobSnapshot;
use reg_center::Node;

use super::cx::Cx;
use super::query::encoded;
use super::shell::{Body, Section};
use super::widgets::{Column, PAGE, empty, live_table, page_number, pager, pill};
use crate::access::Permission;
use crate::namespaces::may_hold_secrets;

/// Maximum number of bytes of a node's data that are shown.
const MAX_DATA: usize = 4_096;

/// Returns the jobs whose nodes can be shown.
pub(super) fn list(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let (jobs, total) = (cx.summary.jobs(), cx.summary.jobs().len());
    let number = page_number(cx, total);
    let main = html! {
        h1 { (lang.registry()) }
        p.sub { (lang.registry_hint()) }
        section.card aria-label=(lang.jobs()) {
            @if jobs.is_empty() {
                (empty(&lang.no_jobs(), &lang.no_jobs_hint(), Some("ejob worker jobs.toml")))
            }
            ul.plain {
                @for job in jobs.iter().skip((number - 1) * PAGE).take(PAGE) {
                    li {
                        a href=(cx.here(&format!("registry/{}", encoded(&job.job_name)))) { (job.job_name) }
                    }
                }
            }
        }
        (pager(cx, number, total))
    };
    let title = lang.registry();
    Body { title, crumbs: Vec::new(), section: Section::Registry, main, is_live: false }
}

/// Returns the nodes of one job.
pub(super) fn page(cx: &Cx<'_>, job: &JobSnapshot) -> Body {
    let lang = cx.lang();
    let text = cx.address.value("q").unwrap_or_default();
    let found: Vec<Node> = job.nodes().filter(|node| node.path.as_str().contains(text)).collect();
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let shown = found.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|node| row(cx, job, &node)).collect();
    let columns = [
        Column::Text(lang.node()),
        Column::Text(lang.meaning()),
        Column::Text(lang.value()),
        Column::Number(lang.version()),
        Column::Number(lang.revision()),
    ];
    let main = html! {
        div.title { h1 { (job.job()) } (cx.live("found", &html! { p.dim { (lang.found(total)) } })) }
        form.filters role="search" aria-label=(lang.filter()) {
            div.field {
                label for="by-q" { (lang.path()) }
                input #by-q name="q" type="search" maxlength="256" value=(text);
            }
            button type="submit" { (lang.filter()) }
        }
        section.card aria-label=(lang.registry()) {
            (live_table(cx, "rows", columns, rows))
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let crumbs = vec![(lang.registry(), cx.here("registry"))];
    Body { title: job.job().to_string(), crumbs, section: Section::Registry, main, is_live: true }
}

fn row(cx: &Cx<'_>, job: &JobSnapshot, node: &Node) -> (String, Markup) {
    let lang = cx.lang();
    let path = node.path.as_str();
    let id = encoded(path);
    let kind = job.view().layout().parse(&node.path);
    let fault = job.anomalies().iter().find(|anomaly| anomaly.path == node.path);
    let row = html! {
        tr id=(id) {
            th.text scope="row" { code { (path) } }
            td.text {
                @match &kind { Some(kind) => (lang.node_kind(kind)), None => { span.dim { (lang.unknown_node()) } } }
                @if node.stat.owner.is_some() { " " span.label { (lang.ephemeral()) } }
                @if let Some(fault) = fault { " " (pill("fail", &lang.unreadable())) " " span lang="en" { (fault.reason) } }
            }
            td.text { (data(cx, job, kind.as_ref(), node)) }
            td.num { (node.stat.version.0) }
            td.num { (node.stat.modified) }
        }
    };
    (id, row)
}

/// Returns the data of a node. Only callers who may change the configuration see what may hold
/// secrets.
fn data(cx: &Cx<'_>, job: &JobSnapshot, kind: Option<&NodeKind>, node: &Node) -> Markup {
    if node.data.is_empty() {
        return html! { span.dim { (cx.lang().no_data()) } };
    }
    if may_hold_secrets(kind) && !cx.may(Permission::Configure, Some(job.job().as_str())) {
        return html! { span.dim { (cx.lang().document_hidden()) } };
    }
    let shown = &node.data[..node.data.len().min(MAX_DATA)];
    let more = node.data.len() - shown.len();
    html! {
        code.data { (String::from_utf8_lossy(shown)) }
        @if more > 0 { " " span.dim { (cx.lang().more_bytes(more)) } }
    }
}
