//! Changes of servers: pause, resume, disable, enable, drain, shutdown and removal.

use axum::http::StatusCode;
use axum::response::Response;
use operations::{Change, DrainMode, Drained, DrainedServer, Scope};
use serde::Deserialize;

use super::change::{Changed, Intent, Reason, answer, changed, wait};
use super::input::Body;
use super::place::Place;
use crate::problem::{Answer, Problem};
use crate::selection::servers_of_all_jobs;

macro_rules! changes {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident, $path:tt, $scope:ident, $method:ident, $change:ident;
    )*) => {
        $(
            $(#[doc = $doc])*
            #[utoipa::path(
                post,
                path = $path,
                request_body = Reason,
                responses((status = 200, description = "The effects", body = Changed)),
            )]
            pub(super) async fn $name(
                place: Place,
                intent: Intent,
                Body(body): Body<Reason>,
            ) -> Answer<Response> {
                let (by, scope) = (intent.by(body.reason.as_deref())?, $scope(&place)?);
                let operations = &place.namespace.operations;
                Ok(changed(match by {
                    Some(by) => operations.$method(&scope, &by).await?,
                    None => operations.preview(&scope, &Change::$change(scope.clone())).await?,
                }))
            }
        )*
    };
}

fn all_servers(place: &Place) -> Answer<Scope> {
    Ok(Scope::of_job(place.job()?))
}

fn all_jobs(place: &Place) -> Answer<Scope> {
    Ok(Scope::of_server(place.server()?))
}

fn one_server(place: &Place) -> Answer<Scope> {
    Ok(Scope::of_both(place.job()?, place.server()?))
}

changes! {
    /// Pauses all servers of a job.
    pause_job, "/api/v1/namespaces/{namespace}/jobs/{job}/pause", all_servers, pause, Pause;
    /// Resumes the paused servers of a job.
    resume_job, "/api/v1/namespaces/{namespace}/jobs/{job}/resume", all_servers, resume, Resume;
    /// Disables all servers of a job.
    disable_job, "/api/v1/namespaces/{namespace}/jobs/{job}/disable", all_servers, disable, Disable;
    /// Enables all servers of a job.
    enable_job, "/api/v1/namespaces/{namespace}/jobs/{job}/enable", all_servers, enable, Enable;
    /// Shuts down all instances of a job.
    shut_down_job, "/api/v1/namespaces/{namespace}/jobs/{job}/shutdown", all_servers, shut_down, ShutDown;
    /// Pauses a server for all jobs.
    pause_server, "/api/v1/namespaces/{namespace}/servers/{server}/pause", all_jobs, pause, Pause;
    /// Resumes a paused server for all jobs.
    resume_server, "/api/v1/namespaces/{namespace}/servers/{server}/resume", all_jobs, resume, Resume;
    /// Disables a server for all jobs.
    disable_server, "/api/v1/namespaces/{namespace}/servers/{server}/disable", all_jobs, disable, Disable;
    /// Enables a server for all jobs.
    enable_server, "/api/v1/namespaces/{namespace}/servers/{server}/enable", all_jobs, enable, Enable;
    /// Shuts down the instances of all jobs on a server.
    shut_down_server,
    "/api/v1/namespaces/{namespace}/servers/{server}/shutdown", all_jobs, shut_down, ShutDown;
    /// Removes a server from all jobs, and shuts its instances down.
    remove_server,
    "/api/v1/namespaces/{namespace}/servers/{server}/removal", all_jobs, remove_servers, RemoveServers;
    /// Pauses a server for one job.
    pause_server_of_job,
    "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/pause", one_server, pause, Pause;
    /// Resumes a paused server for one job.
    resume_server_of_job,
    "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/resume", one_server, resume, Resume;
    /// Disables a server for one job.
    disable_server_of_job,
    "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/disable", one_server, disable, Disable;
    /// Enables a server for one job.
    enable_server_of_job,
    "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/enable", one_server, enable, Enable;
    /// Shuts down the instances of one job on a server.
    shut_down_server_of_job,
    "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/shutdown", one_server, shut_down, ShutDown;
    /// Removes a server from one job, and shuts its instances down.
    remove_server_of_job,
    "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/removal", one_server, remove_servers, RemoveServers;
}

/// A removal of the servers that match a pattern.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServersRemoval {
    /// IP address, or a pattern in which `*` stands for any characters.
    #[schema(example = "10.0.*", max_length = 45)]
    servers: String,
    /// True to change nothing, and to return the servers that would be removed: the same as the
    /// query parameter `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Reason, recorded with each change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Removes the servers that match a pattern from all jobs, and shuts their instances down.
///
/// A pattern that matches no server is an error with status 404.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/servers/removal",
    request_body = ServersRemoval,
    responses((status = 200, description = "The effects, or those of a dry run", body = Changed)),
)]
pub(super) async fn remove_servers(
    place: Place,
    intent: Intent,
    Body(body): Body<ServersRemoval>,
) -> Answer<Response> {
    let scope = servers_of_all_jobs(&body.servers).map_err(Problem::invalid)?;
    let operations = &place.namespace.operations;
    let report = match intent.or_dry(body.dry_run).by(body.reason.as_deref())? {
        Some(by) => operations.remove_servers(&scope, &by).await?,
        None => operations.preview_removal_of_servers(&scope).await?,
    };
    if report.is_empty() {
        return Err(no_such_server(&body.servers));
    }
    Ok(changed(report))
}

/// Shuts down one instance of a job. Its runs end first.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/instances/{instance}/shutdown",
    request_body = Reason,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn shut_down_instance(
    place: Place,
    intent: Intent,
    Body(body): Body<Reason>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (job, instance, operations) = (place.job()?, place.instance(), &place.namespace.operations);
    let report = match by {
        Some(by) => operations.shut_down_instance(&job, &instance, &by).await?,
        None => {
            let change = Change::ShutDownInstance(instance);
            operations.preview(&Scope::of_job(job), &change).await?
        }
    };
    Ok(changed(report))
}

/// A drain.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DrainRequest {
    /// `disable` (the default): items get other owners. `pause`: items stay.
    mode: Option<Mode>,
    /// Maximum wait until no item runs on the server, in seconds.
    #[serde(default = "default_wait")]
    #[schema(minimum = 0, maximum = 600, default = 30)]
    wait_seconds: u64,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

impl DrainRequest {
    fn mode(&self) -> DrainMode {
        match self.mode {
            None | Some(Mode::Disable) => DrainMode::Disable,
            Some(Mode::Pause) => DrainMode::Pause,
        }
    }
}

fn default_wait() -> u64 {
    30
}

/// Way in which a drain stops new runs.
#[derive(Clone, Copy, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Disable the server: its items get other owners.
    Disable,
    /// Pause the server: its items stay.
    Pause,
}

/// Disables or pauses a server for one job, and waits until its runs have ended.
///
/// At the end of the wait the answer lists the remaining items, and the server stays as it is.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/servers/{server}/drain",
    request_body = DrainRequest,
    responses((status = 200, description = "The effects and the remaining items", body = Drained)),
)]
pub(super) async fn drain_server(
    place: Place,
    intent: Intent,
    Body(body): Body<DrainRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (mode, wait) = (body.mode(), wait(body.wait_seconds)?);
    let (job, server, operations) = (place.job()?, place.server()?, &place.namespace.operations);
    let drained = match by {
        Some(by) => operations.drain(&job, &server, mode, &by, wait).await?,
        None => operations.preview_drain(&job, &server, mode).await?,
    };
    Ok(answer(!drained.report.failed.is_empty(), drained))
}

/// Disables or pauses a server for all jobs that know it, and waits until the runs of all have
/// ended.
///
/// The wait is that of all jobs together. At its end the answer lists the remaining items of each
/// job, and the server stays as it is.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/servers/{server}/drain",
    request_body = DrainRequest,
    responses((
        status = 200, description = "The effects and the remaining items", body = DrainedServer,
    )),
)]
pub(super) async fn drain_server_of_all_jobs(
    place: Place,
    intent: Intent,
    Body(body): Body<DrainRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (mode, wait, server) = (body.mode(), wait(body.wait_seconds)?, place.server()?);
    let operations = &place.namespace.operations;
    let drained = match by {
        Some(by) => operations.drain_server(&server, mode, &by, wait).await?,
        None => operations.preview_drain_server(&server, mode).await?,
    };
    if drained.report.is_empty() {
        return Err(no_such_server(server.as_str()));
    }
    Ok(answer(!drained.report.failed.is_empty(), drained))
}

fn no_such_server(text: &str) -> Problem {
    let detail = format!("no job knows a server that matches {text:?}");
    Problem::new(StatusCode::NOT_FOUND, "no-such-server", detail)
}
