//! Routes with the permission that each demands.

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::access::{Caller, Permission};
use crate::console::Shared;
use crate::problem::Problem;

/// One route, and the permission that it demands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Method, such as `GET`.
    pub method: String,
    /// Path below the prefix of the console, such as `/api/v1/namespaces/{namespace}/jobs`.
    pub path: String,
    /// Permission that the caller needs.
    pub permission: Permission,
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
    pub(crate) fn api(
        mut self,
        permission: Permission,
        (schemas, mut paths, methods): UtoipaMethodRouter<Shared>,
    ) -> Self {
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
                self.rules.push(Rule {
                    method: method.to_string(),
                    path: path.clone(),
                    permission,
                });
            }
        }
        self.router = self.router.routes((schemas, paths, guarded(methods, permission)));
        self
    }

    /// Adds a page or another route that is not part of the API's document.
    pub(crate) fn page(
        mut self,
        permission: Permission,
        method: &Method,
        path: &str,
        methods: MethodRouter<Shared>,
    ) -> Self {
        self.rules.push(Rule { method: method.to_string(), path: path.to_owned(), permission });
        self.router = self.router.route(path, guarded(methods, permission));
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

fn guarded(methods: MethodRouter<Shared>, permission: Permission) -> MethodRouter<Shared> {
    methods.route_layer(middleware::from_fn_with_state(permission, check))
}

/// Lets a request through if its caller has the permission for the job in its path.
async fn check(
    State(permission): State<Permission>,
    caller: Caller,
    parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let job = parameters.iter().find_map(|(name, value)| (name == "job").then_some(value));
    caller.check(permission, job)?;
    Ok(next.run(request).await)
}
