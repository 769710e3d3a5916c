//! Registry browser: the nodes of a job with their meaning, read only.

use coordination::{Layout, NodeKind};
use jiff::Timestamp;
use maud::{Markup, html};
use operations::JobSnapshot;
use reg_center::Node;
use serde_json::Value;

use super::cx::Cx;
use super::query::encoded;
use super::shell::{Body, Section};
use super::widgets::{Column, PAGE, empty, live_table, page_number, pager, pill};
use crate::access::Permission;
use crate::namespaces::may_hold_secrets;

/// Maximum number of bytes of a node's data that are shown.
const MAX_DATA: usize = 4_096;
/// Maximum number of times of a record that are shown beside its data.
const MAX_TIMES: usize = 12;
/// Fields of records that are times in milliseconds since 1970 UTC.
const TIMES: [&str; 13] = [
    "at",
    "at_ms",
    "began",
    "due",
    "ended",
    "fire",
    "first",
    "last",
    "next",
    "previous",
    "replaced_ms",
    "since",
    "until",
];
/// Nodes without data of their own, which only have others below them, by their paths below the
/// node of the job.
const FOLDERS: [&str; 24] = [
    "coordination",
    "coordination/checkpoints",
    "coordination/draining",
    "coordination/names",
    "coordination/permits",
    "coordination/progress",
    "coordination/runs",
    "coordination/triggers",
    "coordination/waiting",
    "guarantee",
    "guarantee/completed",
    "guarantee/started",
    "instances",
    "leader",
    "leader/election",
    "leader/election/latch",
    "leader/failover/items",
    "leader/failover/latch",
    "leader/sharding",
    "ledger",
    "servers",
    "sharding",
    "systemTime",
    "trigger",
];

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
        Column::Text(lang.written()),
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
                (meaning(cx, job.view().layout(), kind.as_ref(), node))
                @if let Some(session) = node.stat.owner {
                    " " span.label { (lang.ephemeral()) } " " (lang.of_session()) " " code { (session) }
                }
                @if let Some(fault) = fault { " " (pill("fail", &lang.unreadable())) " " span lang="en" { (fault.reason) } }
            }
            td.text { (data(cx, job, kind.as_ref(), node)) }
            td.nowrap { @if let Some(at) = written_at(node) { (cx.when(at, None)) } }
            td.num { (node.stat.version.0) }
            td.num { (node.stat.modified) }
        }
    };
    (id, row)
}

/// Returns the time of the last write, if the registry has a clock.
fn written_at(node: &Node) -> Option<Timestamp> {
    node.stat.modified_at.and_then(|time| Timestamp::try_from(time).ok())
}

/// Returns what a node is for.
fn meaning(cx: &Cx<'_>, layout: &Layout, kind: Option<&NodeKind>, node: &Node) -> Markup {
    let lang = cx.lang();
    if let Some(kind) = kind {
        return html! { (lang.node_kind(kind)) };
    }
    let below = node.path.as_str().strip_prefix(layout.root().as_str());
    let below = below.map(|below| below.trim_start_matches('/'));
    html! {
        @match below {
            Some("") => (lang.root_of_job()),
            Some(below) if FOLDERS.contains(&below) => (lang.folder()),
            Some(_) | None => { span.dim { (lang.unknown_node()) } },
        }
    }
}

/// Returns the times of a record of this project, with their fields.
fn times(kind: Option<&NodeKind>, data: &[u8]) -> Vec<(String, Timestamp)> {
    let has_times = matches!(
        kind,
        Some(
            NodeKind::Ledger(_)
                | NodeKind::Assignment
                | NodeKind::Audit
                | NodeKind::Backfills
                | NodeKind::FormerConfigs
                | NodeKind::Once
                | NodeKind::TriggerRequest(_)
                | NodeKind::Waiting(_)
        )
    );
    let mut found = Vec::new();
    if has_times && let Ok(document) = serde_json::from_slice(data) {
        collect_times(&document, &mut found);
    }
    found
}

fn collect_times(value: &Value, found: &mut Vec<(String, Timestamp)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = value.as_i64().filter(|_| TIMES.contains(&name.as_str()));
                match at.and_then(|at| Timestamp::from_millisecond(at).ok()) {
                    Some(at) => found.push((name.clone(), at)),
                    None => collect_times(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_times(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
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
    let times = times(kind, &node.data);
    html! {
        code.data { (String::from_utf8_lossy(shown)) }
        @if more > 0 { " " span.dim { (cx.lang().more_bytes(more)) } }
        @for (name, at) in times.iter().take(MAX_TIMES) {
            div.dim { code { (name) } " " (cx.when(*at, None)) }
        }
        @if times.len() > MAX_TIMES { div.dim { (cx.lang().and_more(times.len() - MAX_TIMES)) } }
    }
}

#[cfg(test)]
mod tests {
    use coordination::{JobName, Latch, OnceStage, ServerIp};
    use reg_center::NodePath;
    use sharding::{InstanceId, ShardingItem};

    use super::*;

    #[test]
    fn parents_of_all_nodes_are_folders() {
        let (item, id) = (ShardingItem::new(0), InstanceId::new("10.0.0.1@-@1"));
        let layout = Layout::new(&JobName::new("a").unwrap());
        let mut found = std::collections::BTreeSet::new();
        for kind in [
            NodeKind::Config,
            NodeKind::Instance(id.clone()),
            NodeKind::Trigger(id.clone()),
            NodeKind::Server(ServerIp::new("10.0.0.1").unwrap()),
            NodeKind::Leader,
            NodeKind::Latch(Latch::Election, "x".to_owned()),
            NodeKind::Latch(Latch::Failover, "x".to_owned()),
            NodeKind::Necessary,
            NodeKind::QueuedItem(item),
            NodeKind::Owner(item),
            NodeKind::Alive(item),
            NodeKind::Counted(OnceStage::Started, item),
            NodeKind::Counted(OnceStage::Completed, item),
            NodeKind::SystemTime,
            NodeKind::Ledger(item),
            NodeKind::Assignment,
            NodeKind::Draining(id.clone()),
            NodeKind::Waiting(id.clone()),
            NodeKind::Name(id.clone()),
            NodeKind::TriggerRequest("x".to_owned()),
            NodeKind::Checkpoint(item),
            NodeKind::Progress(item),
            NodeKind::Permit(0),
            NodeKind::Starts,
        ] {
            let path = layout.path(&kind).to_string();
            let mut rest = path.strip_prefix("/a/").unwrap();
            while let Some((parent, _)) = rest.rsplit_once('/') {
                let is_known =
                    layout.parse(&NodePath::parse(&format!("/a/{parent}")).unwrap()).is_some();
                assert!(is_known || FOLDERS.contains(&parent), "{parent} of {path}");
                found.insert(parent.to_owned());
                rest = parent;
            }
        }
        for folder in FOLDERS {
            assert!(found.contains(folder), "{folder} is the parent of no node");
        }
    }

    #[test]
    fn times_of_records_are_found_with_their_fields() {
        let item = NodeKind::Ledger(ShardingItem::new(0));
        let data = br#"{"v":1,"token":7,"began":1709208000000,"gaps":[{"first":1709208060000}]}"#;
        let texts = |kind, data: &[u8]| -> Vec<String> {
            times(Some(&kind), data).iter().map(|(name, at)| format!("{name} {at}")).collect()
        };
        let expected = ["began 2024-02-29T12:00:00Z", "first 2024-02-29T12:01:00Z"];
        assert_eq!(texts(item, data), expected);
        assert_eq!(texts(NodeKind::Config, data), [""; 0]);
        let log = br#"[{"at_ms":1709208000000},{"at_ms":1709208060000}]"#;
        assert_eq!(texts(NodeKind::Audit, log).len(), 2);
    }
}
