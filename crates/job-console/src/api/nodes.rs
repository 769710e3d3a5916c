//! The nodes of a job in the registry: decoded kind, data and metadata. Read only.

use axum::Extension;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coordination::{Layout, NodeKind};
use jiff::Timestamp;
use operations::JobSnapshot;
use reg_center::Node;
use serde::{Deserialize, Serialize};

use super::input::Query;
use super::paging::{Page, Paging};
use super::place::Live;
use super::scan;
use crate::access::{Caller, Permission};
use crate::namespaces::may_hold_secrets;
use crate::problem::Answer;

/// Maximum number of shown bytes of the data of a node.
const MAX_DATA: usize = 16 << 10;

/// Conditions and page of a list of nodes.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NodesQuery {
    /// Only the node at this path below the job, and the nodes below it.
    #[param(example = "sharding/0")]
    below: Option<String>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// A node in the registry.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct NodeDetail {
    /// Path of the node.
    path: String,
    /// Purpose of the node; null for parents, and for nodes that this program does not know.
    #[schema(example = "item-owner")]
    kind: Option<&'static str>,
    /// Why the data cannot be read.
    fault: Option<String>,
    /// Size of the data, in bytes.
    bytes: usize,
    /// The first 16 384 bytes of the data, if these are UTF-8.
    text: Option<String>,
    /// The first 16 384 bytes of other data, as base64.
    base64: Option<String>,
    /// True if the data is longer.
    cut: bool,
    /// True if the data is not shown, because it may hold secrets and the caller may not configure
    /// the job.
    hidden: bool,
    /// Number of writes since the creation.
    version: u32,
    /// Revision of the creation.
    created: u64,
    /// Revision of the last write.
    modified: u64,
    /// Time of the last write; null if the registry has no clock.
    #[schema(value_type = Option<String>, format = DateTime)]
    modified_at: Option<Timestamp>,
    /// Session whose end removes the node; null for a persistent node.
    #[schema(example = "0x1000a5c3d2e0001")]
    owner_session: Option<String>,
}

/// Lists the nodes of a job in the order of their paths.
///
/// Java configurations may hold passwords. Their data is shown to callers that may configure the
/// job.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/nodes",
    params(NodesQuery),
    responses((status = 200, description = "A page of nodes", body = Page<NodeDetail>)),
)]
pub(super) async fn list_nodes(
    live: Live,
    Extension(caller): Extension<Caller>,
    Query(query): Query<NodesQuery>,
) -> Answer<Response> {
    let paging = Paging::<String>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, job) = (live.fresh(), live.nodes()?);
    let may_configure = caller.check(Permission::Configure, Some(job.job().as_str())).is_ok();
    let below = query.below.unwrap_or_default();
    let select = move || page_of(&job, &paging, below.trim_matches('/'), may_configure);
    Ok(fresh.answer(scan(select).await?))
}

/// Returns the page of the nodes at and below a path in the job. It decodes and sorts all nodes.
fn page_of(
    job: &JobSnapshot,
    paging: &Paging<String>,
    below: &str,
    may_configure: bool,
) -> Page<NodeDetail> {
    let layout = job.view().layout();
    let root = layout.root().to_string();
    let top = if below.is_empty() { root } else { format!("{root}/{below}") };
    let is_meant = |node: &Node| {
        let rest = node.path.as_str().strip_prefix(top.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let fault = |node: &Node| {
        if node.path == layout.config_path() {
            return job.config_fault().map(str::to_owned);
        }
        let anomaly = job.anomalies().iter().find(|anomaly| anomaly.path == node.path);
        anomaly.map(|anomaly| anomaly.reason.clone())
    };
    let rows = job.nodes().filter(is_meant).map(|node| (node.path.to_string(), node));
    let page = paging.select_sorted(rows);
    page.map(|node| NodeDetail { fault: fault(&node), ..detail(layout, &node, may_configure) })
}

fn detail(layout: &Layout, node: &Node, may_configure: bool) -> NodeDetail {
    let kind = layout.parse(&node.path);
    let hidden = may_hold_secrets(kind.as_ref()) && !may_configure;
    let shown = &node.data[..node.data.len().min(MAX_DATA)];
    let cut = shown.len() < node.data.len();
    let text = match std::str::from_utf8(shown) {
        Ok(text) => Some(text),
        // The cut may be within a character.
        Err(error) if cut && error.error_len().is_none() => {
            std::str::from_utf8(&shown[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let modified_at = node.stat.modified_at.and_then(|time| Timestamp::try_from(time).ok());
    let base64 = (!hidden && text.is_none()).then(|| STANDARD.encode(shown));
    NodeDetail {
        path: node.path.to_string(),
        kind: kind.as_ref().map(name_of),
        fault: None,
        bytes: node.data.len(),
        text: text.filter(|_| !hidden).map(str::to_owned),
        base64,
        cut,
        hidden: hidden && !node.data.is_empty(),
        version: node.stat.version.0,
        created: node.stat.created.0,
        modified: node.stat.modified.0,
        modified_at,
        owner_session: node.stat.owner.map(|session| session.to_string()),
    }
}

/// Returns the purpose of a node as a word.
fn name_of(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Config => "configuration",
        NodeKind::Instance(_) => "instance",
        NodeKind::Trigger(_) => "request-to-instance",
        NodeKind::Server(_) => "server",
        NodeKind::Leader => "leader",
        NodeKind::Latch(..) => "latch",
        NodeKind::Necessary => "resharding-request",
        NodeKind::Processing => "resharding-in-progress",
        NodeKind::FailoverRoot => "failover-queue",
        NodeKind::NextServer => "next-server",
        NodeKind::QueuedItem(_) => "failover-queue-entry",
        NodeKind::Item(_) => "item",
        NodeKind::OfItem(..) => "unknown-of-item",
        NodeKind::Owner(_) => "item-owner",
        NodeKind::Running(_) => "run-mark",
        NodeKind::Alive(_) => "holder-session",
        NodeKind::Misfire(_) => "misfire-mark",
        NodeKind::Failovering(_) => "takeover-in-progress",
        NodeKind::Failover(_) => "takeover-mark",
        NodeKind::ItemDisabled(_) => "item-disabled",
        NodeKind::Counted(..) => "once-count",
        NodeKind::SystemTime => "registry-time-probe",
        NodeKind::Ledger(_) => "ledger-record",
        NodeKind::Term => "leader-term",
        NodeKind::Servers => "server-count",
        NodeKind::Request => "resharding-count",
        NodeKind::Assignment => "assignment",
        NodeKind::Draining(_) => "draining-mark",
        NodeKind::Waiting(_) => "waiting-runs",
        NodeKind::Permit(_) => "permit",
        NodeKind::Starts => "starts",
        NodeKind::Name(_) => "instance-name",
        NodeKind::TriggerRequest(_) => "run-request",
        NodeKind::Once => "once-record",
        NodeKind::Checkpoint(_) => "checkpoint",
        NodeKind::Progress(_) => "progress",
        NodeKind::Audit => "audit-log",
        NodeKind::Backfills => "backfills",
        NodeKind::FormerConfigs => "former-configurations",
        NodeKind::Template => "template",
        NodeKind::Group(..) => "group",
        _ => "other",
    }
}
