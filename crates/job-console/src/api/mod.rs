//! The HTTP API, version 1. Each route is declared once, with its document and its permission.

mod jobs;

use axum::routing::get;
use axum::{Json, Router};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::routes;

use crate::access::Permission;
use crate::console::Shared;
use crate::routes::Routes;

/// Head of the API's document. The routes add their parts to it.
#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "Elastic Job console",
    description = "Jobs, servers, history and operator actions of the namespaces of a console."
))]
struct Document;

pub(crate) fn routes() -> Routes {
    Routes::new(Document::openapi())
        .api(Permission::View, routes!(jobs::list))
        .api(Permission::View, routes!(jobs::one))
}

/// Adds the route of the document, which needs no permission: it has no data.
pub(crate) fn with_document(router: Router<Shared>, document: &OpenApi) -> Router<Shared> {
    let document = Json(document.clone());
    router.route("/api/v1/openapi.json", get(async || document))
}
