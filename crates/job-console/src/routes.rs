//! Routes with the permission that each demands.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::MethodRouter;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::access::{Caller, Permission};
use crate::api::{DRY_RUN, invalid_path, pairs};
use crate::console::Shared;
use crate::problem::Problem;

/// One route, and the permission that it demands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Rule {
    /// Method, such as `GET`.
    pub method: String,
    /// Path below the prefix of the console, such as `/api/v1/namespaces/{namespace}/jobs`.
    pub path: String,
    /// Permission that the caller needs.
    pub permission: Permission,
    /// True if the route checks the job pattern of the caller for each job that it changes, because
    /// its path names none.
    pub checks_each_job: bool,
}

/// Routes of the API and of the pages. A route cannot be added without its permission.
#[derive(Default)]
pub(crate) struct Routes {
    router: OpenApiRouter<Shared>,
    rules: Vec<Rule>,
}

impl Routes {
    pub(crate) fn new(document: OpenApi) -> Self {
        Self { router: OpenApiRouter::with_openapi(document), rules: Vec::new() }
    }

    /// Adds routes of the API, which are part of its document.
    pub(crate) fn api(self, permission: Permission, routes: UtoipaMethodRouter<Shared>) -> Self {
        self.add_api(permission, Target::OfPath, routes)
    }

    /// Adds routes of the API whose handlers check the caller for each job that they change.
    pub(crate) fn api_per_job(
        self,
        permission: Permission,
        routes: UtoipaMethodRouter<Shared>,
    ) -> Self {
        self.add_api(permission, Target::PerJob, routes)
    }

    fn add_api(
        mut self,
        permission: Permission,
        target: Target,
        (schemas, mut paths, methods): UtoipaMethodRouter<Shared>,
    ) -> Self {
        let mut known = Vec::new();
        for (path, item) in &mut paths.paths {
            let operations = [
                (Method::GET, &mut item.get),
                (Method::PUT, &mut item.put),
                (Method::POST, &mut item.post),
                (Method::DELETE, &mut item.delete),
                (Method::PATCH, &mut item.patch),
            ];
            for (method, operation) in operations {
                let Some(operation) = operation else { continue };
                let role = permission.least_role();
                let note = format!("Needs the permission `{permission}` (role {role}).");
                let text = operation.description.get_or_insert_default();
                text.push_str(if text.is_empty() { "" } else { "\n\n" });
                text.push_str(&note);
                known.extend(query_parameters(operation));
                if !method.is_safe() {
                    known.push(DRY_RUN.to_owned());
                }
                self.rules.push(Rule {
                    method: method.to_string(),
                    path: path.clone(),
                    permission,
                    checks_each_job: target == Target::PerJob,
                });
            }
        }
        let known: Arc<[String]> = known.into();
        let methods = methods.route_layer(middleware::from_fn_with_state(known, check_query));
        self.router = self.router.routes((schemas, paths, guarded(methods, permission, target)));
        self
    }

    /// Adds a page or another route that is not part of the API's document.
    pub(crate) fn page(
        self,
        permission: Permission,
        method: &Method,
        path: &str,
        methods: MethodRouter<Shared>,
    ) -> Self {
        self.add_page(permission, Target::OfPath, (method, path), methods)
    }

    /// Adds a page whose handler checks the caller for each job that it changes.
    pub(crate) fn page_per_job(
        self,
        permission: Permission,
        method: &Method,
        path: &str,
        methods: MethodRouter<Shared>,
    ) -> Self {
        self.add_page(permission, Target::PerJob, (method, path), methods)
    }

    fn add_page(
        mut self,
        permission: Permission,
        target: Target,
        (method, path): (&Method, &str),
        methods: MethodRouter<Shared>,
    ) -> Self {
        self.rules.push(Rule {
            method: method.to_string(),
            path: path.to_owned(),
            permission,
            checks_each_job: target == Target::PerJob,
        });
        self.router = self.router.route(path, guarded(methods, permission, target));
        self
    }

    /// Adds a route that needs no caller: it has no data, and changes none.
    pub(crate) fn public(mut self, path: &str, methods: MethodRouter<Shared>) -> Self {
        self.router = self.router.route(path, methods);
        self
    }

    pub(crate) fn split(self) -> (Router<Shared>, OpenApi, Vec<Rule>) {
        let (router, document) = self.router.split_for_parts();
        (router, document, self.rules)
    }
}

fn query_parameters(operation: &Operation) -> Vec<String> {
    let parameters = operation.parameters.iter().flatten();
    let in_query = |one: &RefOr<Parameter>| match one {
        RefOr::T(one) if one.parameter_in == ParameterIn::Query => Some(one.name.clone()),
        RefOr::T(_) | RefOr::Ref(_) => None,
    };
    parameters.filter_map(in_query).collect()
}

/// Jobs for which the permission is checked before the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The job in the path, or all jobs if the path has none.
    OfPath,
    /// None: the handler checks each job.
    PerJob,
}

fn guarded(
    methods: MethodRouter<Shared>,
    permission: Permission,
    target: Target,
) -> MethodRouter<Shared> {
    methods.route_layer(middleware::from_fn_with_state((permission, target), check))
}

/// Lets a request through if its caller has the permission for the job in its path.
async fn check(
    State((permission, target)): State<(Permission, Target)>,
    caller: Caller,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let parameters = parameters.map_err(invalid_path)?;
    let job = parameters.iter().find_map(|(name, value)| (name == "job").then_some(value));
    match target {
        Target::OfPath => caller.check(permission, job)?,
        Target::PerJob => caller.check_role(permission)?,
    }
    Ok(next.run(request).await)
}

/// Refuses query parameters that the document of the route lacks.
async fn check_query(
    State(known): State<Arc<[String]>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let names = pairs(request.uri());
    if let Some((name, _)) = names.iter().find(|(name, _)| !known.contains(name)) {
        let valid = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let detail = format!("query parameter {name:?} is unknown; valid are {valid}");
        return Err(Problem::invalid(detail));
    }
    Ok(next.run(request).await)
}
