//! The console as a router.

use std::sync::Arc;

use axum::extract::{FromRef, Request};
use axum::http::Method;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Router, middleware};
use job_history::History;
use job_watch::WatchView;
use reg_center::RegistryCenter;

use crate::access::{self, Access, Caller};
use crate::metrics::Metrics;
use crate::mount::Prefix;
use crate::namespaces::{Namespace, Namespaces};
use crate::routes::{Routes, Rule};
use crate::{api, changes, health, pages, problem};

/// Why a console cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The name of a namespace cannot stand in an address.
    #[error("namespace is {name:?}; valid are 1 to 64 letters, digits, '-', '_' and '.'")]
    InvalidName {
        /// The given name.
        name: String,
    },
    /// The console has no namespace of this name.
    #[error("namespace {name:?} is unknown; add it before its watcher")]
    NoSuchNamespace {
        /// The given name.
        name: String,
    },
    /// Two namespaces have the same name.
    #[error("namespace {name:?} is given twice; give each namespace its own name")]
    Twice {
        /// The name.
        name: String,
    },
}

/// The web console and the HTTP API of one or more namespaces.
///
/// # Examples
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # runtime.block_on(async {
/// use std::sync::Arc;
///
/// use job_console::Console;
/// use reg_center::MemoryRegistry;
///
/// let registry = Arc::new(MemoryRegistry::new().connect());
/// let console = Console::new().namespace("orders", registry, None)?;
/// let router: axum::Router = console.router();
/// # drop(router);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Console {
    namespaces: Namespaces,
    access: Access,
    prefix: Prefix,
}

/// State that the handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) namespaces: Arc<Namespaces>,
    pub(crate) access: Arc<Access>,
    /// Path below which the console is mounted, without a slash at the end.
    pub(crate) prefix: Arc<str>,
    pub(crate) streams: pages::Streams,
}

impl FromRef<Shared> for pages::Streams {
    fn from_ref(shared: &Shared) -> Self {
        shared.streams.clone()
    }
}

impl Shared {
    /// Returns the address of a path of the console, for links and redirects.
    pub(crate) fn href(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl FromRef<Shared> for Arc<Namespaces> {
    fn from_ref(shared: &Shared) -> Self {
        Arc::clone(&shared.namespaces)
    }
}

impl Console {
    /// Creates a console without namespaces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a namespace, with the history of its jobs if there is one. It is followed from now on.
    ///
    /// # Errors
    /// [`SetupError`] if the name is not valid or given twice.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub fn namespace(
        mut self,
        name: &str,
        registry: Arc<dyn RegistryCenter>,
        history: Option<History>,
    ) -> Result<Self, SetupError> {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        // A browser removes the segments `.` and `..` from an address.
        let is_name = (1..=64).contains(&name.len()) && name != "." && name != "..";
        if !is_name || !name.chars().all(is_valid) {
            return Err(SetupError::InvalidName { name: name.to_owned() });
        }
        if self.namespaces.has(name) {
            return Err(SetupError::Twice { name: name.to_owned() });
        }
        self.namespaces.add(Namespace::follow(name.to_owned(), registry, history));
        Ok(self)
    }

    /// Shows the states of a watcher that this process runs in a namespace, instead of only those
    /// that a watcher has stored. A second watcher of a namespace is ignored.
    ///
    /// # Errors
    /// [`SetupError::NoSuchNamespace`].
    pub fn watcher(self, namespace: &str, view: WatchView) -> Result<Self, SetupError> {
        let found = self.namespaces.get(namespace);
        let no_such = |_| SetupError::NoSuchNamespace { name: namespace.to_owned() };
        found.map_err(no_such)?.alerts.set_watcher(view);
        Ok(self)
    }

    /// Returns the metrics of the namespaces that were added.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::of(self.namespaces.all().cloned().collect())
    }

    /// Sets the ways to sign in. The default is [`Access::open`] with the name `console`.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the path below which the router is mounted, for links and redirects.
    ///
    /// The router has its routes without the prefix, as [`Prefix::mount`], [`Router::nest`] and a
    /// reverse proxy that removes the prefix expect.
    #[must_use]
    pub fn prefix(mut self, prefix: Prefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// Returns all routes with the permissions that they demand.
    #[must_use]
    pub fn rules() -> Vec<Rule> {
        routes().split().2
    }

    /// Returns the router, to serve or to mount in another one.
    pub fn router(self) -> Router {
        self.with_routes(routes())
    }

    pub(crate) fn with_routes(self, routes: Routes) -> Router {
        let shared = Shared {
            namespaces: Arc::new(self.namespaces),
            access: Arc::new(self.access),
            prefix: self.prefix.as_str().into(),
            streams: pages::Streams::default(),
        };
        let (router, document, _) = routes.split();
        let signing = api::Signing {
            prefix: &shared.prefix,
            is_open: shared.access.is_open(),
            cookie: access::session_name(&shared.prefix),
        };
        let router = api::finish(router, &document, &signing);
        let answers = Arc::new(changes::Answers::default());
        let identify = middleware::from_fn_with_state(shared.clone(), access::identify);
        router
            .layer(middleware::from_fn_with_state(answers, changes::run_changes))
            .fallback(not_found)
            .layer(middleware::from_fn(pages::problems_as_pages))
            .layer(identify)
            .layer(middleware::from_fn(access::protect))
            .with_state(shared)
    }
}

/// Returns the routes of the API and of the pages.
pub(crate) fn routes() -> Routes {
    access::add_routes(pages::add(api::routes())).public("/health", get(health::health))
}

/// Answers a request that no route has. An address with a slash too many is the one without it.
async fn not_found(_: Caller, request: Request) -> Response {
    let (path, query) = (request.uri().path(), request.uri().query());
    if matches!(*request.method(), Method::GET | Method::HEAD)
        && let Some(last) = path.strip_suffix('/').and_then(|path| path.rsplit('/').next())
        && !last.is_empty()
    {
        // Relative, because the path lacks the prefix below which the console is mounted.
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        return Redirect::permanent(&format!("../{last}{query}")).into_response();
    }
    let detail = format!("{path} is no address of this console");
    problem::Problem::not_found("no-such-address", detail).into_response()
}
