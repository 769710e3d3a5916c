//! The objects that the path of a request names, and the answers from the read model.

use std::fmt;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use coordination::{GroupName, JobName, MAX_SHARDING_TOTAL_COUNT, ServerIp};
use operations::{Freshness, JobSnapshot};
use serde::Serialize;
use sharding::{InstanceId, ShardingItem};

use crate::console::Shared;
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Age of the data of an answer from the read model, in milliseconds.
pub(super) const DATA_AGE: HeaderName = HeaderName::from_static("ejob-data-age-ms");
/// Sent while later changes are unknown, because the feed is cut.
pub(super) const DATA_STALE: HeaderName = HeaderName::from_static("ejob-data-stale");

/// The namespace that a path names, and the other names in the path.
pub(super) struct Place {
    pub(super) namespace: Arc<Namespace>,
    names: Vec<(String, String)>,
}

impl FromRequestParts<Shared> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Answer<Self> {
        let parameters = RawPathParams::from_request_parts(parts, shared).await;
        let parameters = parameters.map_err(invalid_path)?;
        let names: Vec<_> =
            parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let namespace = shared.namespaces.get(value_of(&names, "namespace"))?;
        Ok(Self { namespace: Arc::clone(namespace), names })
    }
}

/// Returns the problem of a path whose parameters cannot be decoded.
pub(crate) fn invalid_path(_: RawPathParamsRejection) -> Problem {
    Problem::invalid("a name in the path is not valid; valid is percent-encoded UTF-8")
}

/// Returns a value of the path; each handler names only parameters of its own path.
fn value_of<'a>(names: &'a [(String, String)], wanted: &str) -> &'a str {
    let found = names.iter().find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

impl Place {
    pub(super) fn job(&self) -> Answer<JobName> {
        Ok(JobName::new(value_of(&self.names, "job")).map_err(operations::Error::from)?)
    }

    pub(super) fn server(&self) -> Answer<ServerIp> {
        Ok(ServerIp::new(value_of(&self.names, "server")).map_err(operations::Error::from)?)
    }

    pub(super) fn group(&self) -> Answer<GroupName> {
        Ok(GroupName::new(value_of(&self.names, "group")).map_err(operations::Error::from)?)
    }

    pub(super) fn instance(&self) -> InstanceId {
        InstanceId::new(value_of(&self.names, "instance"))
    }

    /// Returns the id of a request of runs.
    pub(super) fn request(&self) -> &str {
        value_of(&self.names, "request")
    }

    /// Returns the id of the backfill that the path names.
    pub(super) fn backfill(&self) -> &str {
        value_of(&self.names, "backfill")
    }

    pub(super) fn item(&self) -> Answer<ShardingItem> {
        let text = value_of(&self.names, "item");
        checked_item(text.parse().ok(), format_args!("{text:?}"))
    }

    /// Returns the job of the path from the read model.
    pub(super) fn snapshot(&self) -> Answer<Arc<JobSnapshot>> {
        self.namespace.job(&self.job()?)
    }

    /// Returns the nodes of the job, which may be leftovers without a configuration.
    pub(super) fn nodes(&self) -> Answer<Arc<JobSnapshot>> {
        self.namespace.nodes(&self.job()?)
    }
}

/// A place whose first snapshot is complete.
pub(super) struct Live(Place);

impl std::ops::Deref for Live {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0
    }
}

impl FromRequestParts<Shared> for Live {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Answer<Self> {
        let place = Place::from_request_parts(parts, shared).await?;
        place.namespace.loaded()?;
        Ok(Self(place))
    }
}

impl Live {
    /// Answers with data of the read model. Call it before the data is collected, so that the age
    /// is not too low.
    pub(super) fn fresh(&self) -> Fresh {
        Fresh(self.namespace.live.freshness())
    }

    /// Returns all jobs with a configuration, in the order of their names.
    pub(super) fn jobs(&self) -> impl Iterator<Item = Arc<JobSnapshot>> + use<> {
        self.namespace.live.jobs().into_iter().filter(|job| job.has_config())
    }
}

/// Freshness at the moment when the data of an answer was collected.
pub(super) struct Fresh(Freshness);

impl Fresh {
    pub(super) fn answer<T: Serialize>(self, body: T) -> Response {
        let mut response = Json(body).into_response();
        let (age, is_stale) = age_ms(self.0);
        response.headers_mut().insert(DATA_AGE, age.into());
        if is_stale {
            response.headers_mut().insert(DATA_STALE, HeaderValue::from_static("true"));
        }
        response
    }

    /// Answers with an entity tag, or with 304 if the client has this version.
    pub(super) fn tagged<T: Serialize>(self, tag: &str, given: &HeaderMap, body: T) -> Response {
        let mut response = self.answer(body);
        if has_tag(given, tag) {
            *response.body_mut() = axum::body::Body::empty();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response.headers_mut().remove(axum::http::header::CONTENT_TYPE);
        }
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

/// Returns the age of shown data in milliseconds, and whether later changes are unknown.
pub(super) fn age_ms(freshness: Freshness) -> (u64, bool) {
    match freshness {
        Freshness::Current => (0, false),
        Freshness::Loading => (0, true),
        Freshness::Stale { since } => {
            (u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX), true)
        }
    }
}

/// Returns true if `If-None-Match` names the tag, strong or weak, or is `*`.
fn has_tag(given: &HeaderMap, tag: &str) -> bool {
    let values = given.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).any(|one| {
        let one = one.strip_prefix("W/").unwrap_or(one);
        one == "*" || one.strip_prefix('"').and_then(|one| one.strip_suffix('"')) == Some(tag)
    })
}

/// Returns the item of a number. `given` is the form in which a problem shows the value.
pub(super) fn checked_item(number: Option<u32>, given: impl fmt::Display) -> Answer<ShardingItem> {
    let number = number.filter(|number| *number < MAX_SHARDING_TOTAL_COUNT);
    number.map(ShardingItem::new).ok_or_else(|| {
        let max = MAX_SHARDING_TOTAL_COUNT - 1;
        Problem::invalid(format!("item is {given}; valid is a number from 0 to {max}"))
    })
}
