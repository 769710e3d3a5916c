//! The console as a router.

use std::sync::Arc;

use axum::extract::{FromRef, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Extension, Router};
use job_history::History;
use reg_center::RegistryCenter;
use tower_http::compression::CompressionLayer;

use crate::access::{Caller, Role};
use crate::namespaces::{Namespace, Namespaces};
use crate::routes::{Routes, Rule};
use crate::{api, pages, problem};

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
}

/// State that the handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) namespaces: Arc<Namespaces>,
    pub(crate) streams: pages::Streams,
}

impl FromRef<Shared> for pages::Streams {
    fn from_ref(shared: &Shared) -> Self {
        shared.streams.clone()
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

    /// Returns all routes with the permissions that they demand.
    #[must_use]
    pub fn rules() -> Vec<Rule> {
        routes().split().2
    }

    /// Returns the router, to serve or to mount in another one.
    pub fn router(self) -> Router {
        let streams = pages::Streams::default();
        let shared = Shared { namespaces: Arc::new(self.namespaces), streams };
        let (router, document, _) = routes().split();
        let router = pages::with_assets(api::with_document(router, &document));
        router
            .fallback(not_found)
            .layer(middleware::from_fn(pages::problems_as_pages))
            .layer(middleware::from_fn(identify))
            .layer(CompressionLayer::new())
            .with_state(shared)
    }
}

/// Returns the routes of the API and of the pages.
fn routes() -> Routes {
    pages::add(api::routes())
}

/// Identifies the caller of a request.
async fn identify(mut request: Request, next: Next) -> Response {
    let caller = Caller { name: "console".to_owned(), role: Role::Admin, jobs: "*".to_owned() };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

async fn not_found(Extension(_): Extension<Caller>, request: Request) -> problem::Problem {
    let detail = format!("{} is no address of this console", request.uri().path());
    problem::Problem::not_found("no-such-address", detail)
}
