//! A request about a namespace, with the parts that pages and forms share.

use std::sync::Arc;

use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use coordination::{GroupName, InvalidConfig, JobName};
use maud::{Markup, html};
use operations::{By, Error};

use super::cx::{Age, Cx};
use super::locale::Lang;
use super::query::encoded;
use super::shell::{Body, Section, document};
use super::summary::Summary;
use super::{Asked, html as respond, see_other};
use crate::console::Shared;
use crate::namespaces::{Namespace, Namespaces};
use crate::problem::{Answer, Problem};
use crate::server::MAX_BODY_BYTES;

/// Fields of a form.
pub(super) type Fields = [(String, String)];

pub(super) fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The fields of a form in the body of a request. A body that is no form is a problem, as all other
/// faults of a page are, and not a line of plain text.
#[derive(Debug)]
pub(super) struct Form(pub(super) Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        let read = extract::Form::from_request(request, state).await;
        let extract::Form(fields) = read.map_err(|rejection| {
            let text = rejection.body_text();
            let detail =
                format!("the form cannot be read: {text}; valid are up to {MAX_BODY_BYTES} bytes");
            Problem::new(rejection.status(), "invalid-form", detail)
        })?;
        Ok(Self(fields))
    }
}

/// Why a request is answered by its form: the field, and the fault with the valid values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) text: String,
}

/// Why the effects of an operation are shown again instead of being caused.
pub(super) enum Again {
    /// They differ from those that the reader has confirmed.
    Changed,
    Faulty(Fault),
}

impl Again {
    /// Returns the fault of the form, if that is why.
    pub(super) fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Faulty(fault) => Some(fault),
            Self::Changed => None,
        }
    }

    /// Returns the notice that the plan has changed since the reader saw it, if that is why.
    pub(super) fn notice(again: Option<&Self>, cx: &Cx<'_>) -> Markup {
        html! {
            @if let Some(Self::Changed) = again {
                p.why role="alert" { b { (cx.lang().plan_has_changed()) } }
            }
        }
    }
}

impl From<InvalidConfig> for Fault {
    fn from(error: InvalidConfig) -> Self {
        Self { field: error.field, text: error.to_string() }
    }
}

/// A request about a namespace.
#[derive(Clone, Debug)]
pub(super) struct PageRequest {
    pub(super) asked: Asked,
    pub(super) namespace: Arc<Namespace>,
    pub(super) namespaces: Arc<Namespaces>,
}

impl FromRequestParts<Shared> for PageRequest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let asked = Asked::from_request_parts(parts, shared).await?;
        let namespaces = Arc::clone(&shared.namespaces);
        match namespaces.get(segment(&asked, 1)).cloned() {
            Ok(namespace) => Ok(Self { asked, namespace, namespaces }),
            Err(problem) => Err(problem.into_response()),
        }
    }
}

/// Returns a segment of the path, which each route has.
fn segment(asked: &Asked, at: usize) -> &str {
    asked.address.segments.get(at).map(String::as_str).unwrap_or_default()
}

impl PageRequest {
    /// Returns a segment of the path, counted from 0.
    pub(super) fn segment(&self, at: usize) -> &str {
        segment(&self.asked, at)
    }

    /// Returns the job that the path names.
    pub(super) fn job(&self) -> Answer<JobName> {
        Ok(JobName::new(self.segment(3)).map_err(Error::from)?)
    }

    /// Returns the group that the path names.
    pub(super) fn group(&self) -> Answer<GroupName> {
        Ok(GroupName::new(self.segment(3)).map_err(Error::from)?)
    }

    /// Calls a function with the context of a page.
    pub(super) fn with_cx<T>(&self, render: impl FnOnce(&Cx<'_>) -> T) -> T {
        let names: Vec<&str> = self.namespaces.all().map(|one| one.name.as_str()).collect();
        let summary = Summary::of(&self.namespace, self.asked.now);
        render(&self.asked.cx(Some(&self.namespace), &names, &summary))
    }

    /// Responds with a page.
    pub(super) fn respond(
        &self,
        status: StatusCode,
        body: impl FnOnce(&Cx<'_>) -> Body,
    ) -> Response {
        self.with_cx(|cx| respond(status, document(cx, &body(cx))))
    }

    /// Responds with a page below that of a section, which no stream follows.
    pub(super) fn respond_below(
        &self,
        section: Section,
        status: StatusCode,
        title: impl FnOnce(Lang) -> String,
        main: impl FnOnce(&Cx<'_>) -> Markup,
    ) -> Response {
        self.respond(status, |cx| Body {
            title: title(cx.lang()),
            crumbs: vec![(section.label(cx.lang()), cx.here(section.path()))],
            section,
            main: main(cx),
            is_live: false,
        })
    }

    /// Leads to a page of the namespace.
    pub(super) fn lead_to(&self, path: &str) -> Response {
        let namespace = encoded(&self.namespace.name);
        see_other(&self.asked.root, &format!("n/{namespace}/{path}"))
    }

    /// Leads to a page of the namespace that shows the number of changes.
    pub(super) fn lead_to_changed(&self, path: &str, changes: usize) -> Response {
        let separator = if path.contains('?') { '&' } else { '?' };
        self.lead_to(&format!("{path}{separator}changed={changes}"))
    }

    /// Leads to a page of the namespace that shows an operation by its word, and the number of
    /// changes.
    pub(super) fn lead_to_done(&self, path: &str, word: &str, changes: usize) -> Response {
        let separator = if path.contains('?') { '&' } else { '?' };
        self.lead_to_changed(&format!("{path}{separator}did={word}"), changes)
    }

    /// Refuses a change of a reader of old data who has not confirmed it.
    pub(super) fn confirm_age(&self, fields: &Fields) -> Answer<()> {
        let age = Age::of(self.namespace.live.freshness(), self.asked.now);
        if age == Age::Current || field(fields, "stale") == Some("yes") {
            return Ok(());
        }
        let detail = "the console has no contact with the registry; confirm the change by the \
            field stale with the value yes, or wait until the console is current";
        Err(Problem::new(StatusCode::CONFLICT, "stale-data", detail))
    }

    /// Returns the author and the reason, or the fault of the reason.
    pub(super) fn by(&self, fields: &Fields) -> Result<By, Fault> {
        let why = field(fields, "why").unwrap_or_default().trim();
        By::new(self.asked.caller.name.clone(), why)
            .map_err(|error| Fault { field: "why", text: error.to_string() })
    }

    /// Returns the author of a confirmed change, or how its effects are shown again. `digest` is
    /// that of the present effects, which the form has to name.
    pub(super) fn confirmed(
        &self,
        fields: &Fields,
        digest: &str,
    ) -> Result<By, (StatusCode, Again)> {
        if field(fields, "digest") != Some(digest) {
            return Err((StatusCode::CONFLICT, Again::Changed));
        }
        self.by(fields).map_err(|fault| (StatusCode::BAD_REQUEST, Again::Faulty(fault)))
    }
}
