//! Jobs, as the read model shows them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use coordination::{JobName, ServerIp, server_of};
use jiff::Timestamp;
use operations::{
    JobBrief, JobLine, JobList, JobSnapshot, LiveNamespace, attention, job_brief_since,
};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::input::Query;
use super::paging::{Page, Paging};
use super::place::Live;
use super::scan;
use crate::namespaces::is_on_server;
use crate::problem::{Answer, Problem};
use crate::statuses::{has_status, shown, shown_for, words};

/// Condition for jobs. A job must meet all fields that are given.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFilter {
    /// Text that the name contains, in any case.
    #[schema(example = "report")]
    pub(super) text: Option<String>,
    /// Status of the job.
    #[schema(value_type = Option<StatusWord>)]
    pub(super) status: Option<String>,
    /// Label of the job.
    pub(super) label: Option<String>,
    /// Template that the job was created from.
    pub(super) template: Option<String>,
    /// Address of a server that the job knows, or that has an instance of the job.
    #[schema(example = "10.0.0.7")]
    pub(super) server: Option<String>,
}

/// Status of a job: its state, or the most urgent reason why it needs attention.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only the schema is used")]
enum JobStatus {
    /// The job needs no attention.
    Ok,
    /// The last run of an item failed, panicked, timed out or was interrupted.
    Failing,
    /// No instance is alive, and at least one run is unfinished.
    Crashed,
    /// The configuration cannot be read.
    Invalid,
    /// An item has not started its run in time.
    Late,
    /// An item has no live owner.
    Resharding,
    /// All servers with live instances are paused, or some are and the others are disabled.
    Paused,
    /// Some servers with live instances are paused, and at least one is enabled.
    PartlyPaused,
    /// All servers with live instances are disabled.
    Disabled,
    /// No instance is alive.
    NoInstance,
}

/// Status of a job, or `ATTENTION` for all jobs that need attention.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only the schema is used")]
enum StatusWord {
    Ok,
    Failing,
    Crashed,
    Invalid,
    Late,
    Resharding,
    Paused,
    PartlyPaused,
    Disabled,
    NoInstance,
    /// The job needs attention for any reason.
    Attention,
}

/// Summary of a job with its status, which is the word of the filter.
#[derive(Debug)]
pub(super) struct JobRow {
    brief: Arc<JobBrief>,
    status: &'static str,
}

impl JobRow {
    fn of(line: &JobLine, now_ms: i64) -> Self {
        Self { brief: Arc::clone(&line.brief), status: shown(line, now_ms).0 }
    }
}

impl Serialize for JobRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let brief = serde_json::to_value(&*self.brief).map_err(S::Error::custom)?;
        let Value::Object(mut fields) = brief else {
            return Err(S::Error::custom("a summary is an object"));
        };
        // The state of the nodes alone does not show that a job is late or invalid.
        fields.insert("status".to_owned(), self.status.into());
        fields.serialize(serializer)
    }
}

impl PartialSchema for JobRow {
    fn schema() -> RefOr<Schema> {
        let mut schema = JobBrief::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object
                .properties
                .insert("status".to_owned(), Ref::from_schema_name("JobStatus").into());
        }
        schema
    }
}

impl ToSchema for JobRow {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        JobBrief::schemas(schemas);
        schemas.push(("JobStatus".to_owned(), JobStatus::schema()));
    }
}

/// A checked condition.
pub(super) struct JobMatcher {
    text: Option<String>,
    status: Option<&'static str>,
    label: Option<String>,
    template: Option<String>,
    server: Option<ServerIp>,
}

impl JobFilter {
    /// Checks the values.
    pub(super) fn matcher(self) -> Answer<JobMatcher> {
        let status = self.status.map(|word| status_of(&word)).transpose()?;
        let server = self.server.map(|ip| ServerIp::new(&ip)).transpose();
        let server = server.map_err(operations::Error::from)?;
        let text = self.text.map(|text| text.to_lowercase());
        Ok(JobMatcher { text, status, label: self.label, template: self.template, server })
    }
}

fn status_of(word: &str) -> Answer<&'static str> {
    words().find(|one| *one == word).ok_or_else(|| {
        let valid: Vec<&str> = words().collect();
        Problem::invalid(format!("status is {word:?}; valid is one of {}", valid.join(", ")))
    })
}

impl JobMatcher {
    /// Returns the jobs of a list that match, in the order of their names.
    pub(super) fn matching<'a>(
        &'a self,
        live: &'a LiveNamespace,
        list: &'a JobList,
    ) -> impl Iterator<Item = &'a JobLine> {
        let now_ms = Timestamp::now().as_millisecond();
        // The cheap conditions come first.
        list.jobs().iter().filter(move |job| {
            self.matches(job, now_ms)
                && self.server.as_ref().is_none_or(|ip| {
                    let name = JobName::new(&job.job_name).ok();
                    name.and_then(|name| live.job(&name)).is_some_and(|job| is_on_server(&job, ip))
                })
        })
    }

    /// Returns the matching jobs in the order of their names.
    pub(super) fn matching_jobs(&self, live: &LiveNamespace) -> Vec<Arc<JobSnapshot>> {
        let list = live.list();
        let names = self.matching(live, &list).filter_map(|job| JobName::new(&job.job_name).ok());
        names.filter_map(|name| live.job(&name)).filter(|job| job.has_config()).collect()
    }

    /// Checks all conditions but the one for the server.
    fn matches(&self, job: &JobLine, now_ms: i64) -> bool {
        let has_text = |text: &String| job.job_name.to_lowercase().contains(text);
        let is_wanted =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.status.is_none_or(|word| has_status(job, word, now_ms))
            && is_wanted(&self.label, &job.label)
            && is_wanted(&self.template, &job.template)
            && self.text.as_ref().is_none_or(has_text)
    }
}

/// Conditions and page of a list of jobs.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct JobsQuery {
    /// Text that the name contains, in any case.
    text: Option<String>,
    /// Status of the job.
    #[param(value_type = Option<StatusWord>)]
    status: Option<String>,
    /// Label of the job.
    label: Option<String>,
    /// Template that the job was created from.
    template: Option<String>,
    /// Address of a server that the job knows, or that has an instance of the job.
    server: Option<String>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// Lists the jobs of a namespace in the order of their names.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs",
    params(JobsQuery),
    responses((status = 200, description = "A page of jobs", body = Page<JobRow>)),
)]
pub(super) async fn list_jobs(live: Live, Query(query): Query<JobsQuery>) -> Answer<Response> {
    let JobsQuery { text, status, label, template, server, limit, cursor } = query;
    let matcher = JobFilter { text, status, label, template, server }.matcher()?;
    let paging = Paging::<String>::new(limit, cursor.as_deref())?;
    let (fresh, list) = (live.fresh(), live.namespace.live.list());
    let after = paging.after.as_deref();
    let rows = matcher
        .matching(&live.namespace.live, &list)
        .filter(|job| after.is_none_or(|after| job.job_name.as_str() > after))
        .map(|job| (job.job_name.clone(), job));
    let now_ms = Timestamp::now().as_millisecond();
    Ok(fresh.answer(paging.select_sorted(rows).map(|job| JobRow::of(job, now_ms))))
}

/// One job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct JobDetail {
    /// Summary of the job.
    brief: JobRow,
    /// Revision of the configuration, which an update names in `If-Match`.
    config_revision: Option<u64>,
    /// Instance that leads; null if none leads.
    leader: Option<String>,
    /// Live instances in the order of their ids.
    instances: Vec<JobInstance>,
    /// Servers that the job knows, in the order of their addresses.
    servers: Vec<JobServer>,
    /// Nodes that cannot be read.
    anomalies: Vec<AnomalyDetail>,
}

/// A live instance of a job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct JobInstance {
    /// Instance id, such as `10.0.0.7@-@4123`.
    pub(super) instance_id: String,
    /// Address of its server; null if the id has none.
    pub(super) server_ip: Option<String>,
    /// True for a Java instance; null while a request in 2.1.5 hides the kind.
    pub(super) java: Option<bool>,
    /// True if the instance may run items.
    pub(super) available: bool,
    /// True if the instance is leaving.
    pub(super) draining: bool,
    /// True if the instance leads.
    pub(super) leads: bool,
    /// Number of items that the instance owns.
    pub(super) owned_items: usize,
    /// Weight, zone and labels, as `key=value`; empty at the defaults.
    #[schema(example = "weight=2 zone=a disk=ssd")]
    pub(super) attributes: String,
    /// Condition of the job's placement rules that excludes the instance.
    #[schema(example = "disk=ssd")]
    pub(super) unmet: Option<String>,
}

/// A server of a job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct JobServer {
    /// Address.
    server_ip: String,
    /// `enabled`, `paused` or `disabled`.
    #[schema(example = "enabled")]
    state: String,
    /// Number of live instances of the job on the server.
    live_instances: usize,
}

/// A node that cannot be read.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct AnomalyDetail {
    /// Path of the node.
    node: String,
    /// Why it cannot be read.
    reason: String,
}

/// Returns one job. The entity tag changes with each node of the job.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}",
    responses(
        (status = 200, description = "The job", body = JobDetail),
        (status = 304, description = "The client has this version"),
    ),
)]
pub(super) async fn get_job(live: Live, headers: HeaderMap) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let list = live.namespace.live.list();
    let line = list.get(job.job().as_str());
    let times = line.map(|line| (line.ready_ms, line.state_since_ms));
    let (tag, detail) = scan(move || (tag_of(&job), detail(&job, times))).await?;
    Ok(fresh.tagged(&tag, &headers, detail))
}

/// Returns a job. The times are those at which the reader first saw its instances ready, and at
/// which its state began.
fn detail(job: &JobSnapshot, times: Option<(i64, i64)>) -> JobDetail {
    let now_ms = Timestamp::now().as_millisecond();
    let (ready_ms, since_ms) = (times.map(|(ready, _)| ready), times.map_or(now_ms, |(_, at)| at));
    let brief = Arc::new(job_brief_since(job, ready_ms));
    let (status, _) = shown_for(&brief, attention(&brief, since_ms, now_ms));
    let server = |(ip, state): (&ServerIp, coordination::ServerState)| JobServer {
        server_ip: ip.to_string(),
        state: state.to_string(),
        live_instances: job.instances_on(ip).count(),
    };
    let anomaly = |anomaly: &coordination::Anomaly| AnomalyDetail {
        node: anomaly.path.to_string(),
        reason: anomaly.reason.clone(),
    };
    JobDetail {
        brief: JobRow { brief, status },
        config_revision: job.config_revision().map(|revision| revision.0),
        leader: job.view().leader().map(ToString::to_string),
        instances: instances(job),
        servers: job.view().servers().map(server).collect(),
        anomalies: job.anomalies().iter().map(anomaly).collect(),
    }
}

/// Returns the live instances of a job.
pub(super) fn instances(job: &JobSnapshot) -> Vec<JobInstance> {
    let view = job.view();
    let instance = |id: &sharding::InstanceId| JobInstance {
        instance_id: id.to_string(),
        server_ip: server_of(id).map(|ip| ip.to_string()),
        java: job.is_java(id),
        available: view.is_available(id),
        draining: view.is_draining(id),
        leads: view.leader() == Some(id),
        owned_items: view.items_of(id).count(),
        attributes: view.attributes_of(id).unwrap_or_default().to_string(),
        unmet: view.unmet_condition(id).map(ToString::to_string),
    };
    view.instances().map(instance).collect()
}

/// Returns a tag that changes when a node of the job is created, written or deleted.
///
/// The greatest revision alone would miss deletions. The hash is the same in each process of this
/// program.
fn tag_of(job: &JobSnapshot) -> String {
    let mut hash = DefaultHasher::new();
    for node in job.nodes() {
        (node.path.as_str(), node.stat.created.0, node.stat.modified.0).hash(&mut hash);
    }
    format!("{:016x}", hash.finish())
}
