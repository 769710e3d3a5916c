//! The pages: HTML that the server renders, from the same functions for a page and for its stream.
//!
//! In reading order: `view` (addresses) · `cx` (the context of a page) · `shell` (the frame) ·
//! `summary` (numbers of each page) · one module for each page · `stream` (changes of a page) ·
//! `act` (operations) · `locale`, `texts` (languages).

mod about;
mod act;
mod alerts;
mod assets;
mod audit;
mod backfill;
mod bulk;
mod configure;
mod cx;
mod doctor;
mod error_page;
mod find;
mod groups;
mod history;
mod job;
mod jobs;
mod locale;
mod nodes;
mod outcome;
mod overview;
mod preferences;
mod prefs;
mod query;
mod reasons;
mod remove_servers;
mod repair;
mod request;
mod running;
mod servers;
mod shell;
mod stream;
mod summary;
mod texts;
mod time;
mod timeline;
mod transfer;
mod view;
mod widgets;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use maud::Markup;

use crate::access::{Caller, Means, Permission};
use crate::api::scan;
use crate::findings::Findings;
use crate::namespaces::{Namespace, Namespaces};
use crate::problem::Answer;
use crate::routes::Routes;
use cx::{Age, Cx};
use history::Past;
use prefs::Prefs;
use query::{Address, encoded, root_of};
use request::PageRequest;
use shell::{Body, document};
use summary::Summary;
use view::View;

pub(crate) use assets::{Asset, ICON, STYLE};
pub(crate) use error_page::problems_as_pages;
pub(crate) use history::LastDay;
pub(crate) use locale::Lang;
pub(crate) use stream::Streams;

/// Pages that a viewer may see, below the root of the console.
const PAGES: [&str; 22] = [
    "/n/{namespace}",
    "/n/{namespace}/jobs",
    "/n/{namespace}/jobs/{job}",
    "/n/{namespace}/jobs/{job}/runs",
    "/n/{namespace}/jobs/{job}/schedule",
    "/n/{namespace}/jobs/{job}/placement",
    "/n/{namespace}/jobs/{job}/verification",
    "/n/{namespace}/jobs/{job}/backfills",
    "/n/{namespace}/jobs/{job}/configuration",
    "/n/{namespace}/outcome",
    "/n/{namespace}/running",
    "/n/{namespace}/servers",
    "/n/{namespace}/servers/{server}",
    "/n/{namespace}/groups",
    "/n/{namespace}/groups/{group}",
    "/n/{namespace}/timeline",
    "/n/{namespace}/alerts",
    "/n/{namespace}/doctor",
    "/n/{namespace}/audit",
    "/n/{namespace}/registry",
    "/n/{namespace}/registry/{job}",
    "/n/{namespace}/about",
];

/// Adds the pages.
pub(crate) fn add(routes: Routes) -> Routes {
    let view = Permission::View;
    let routes = routes
        .page(view, &Method::GET, "/", get(home))
        .page(view, &Method::GET, "/n/{namespace}/find", get(find::find))
        .page(view, &Method::GET, "/n/{namespace}/stream", get(stream::stream));
    let routes = groups::add(routes);
    let routes = backfill::add(remove_servers::add(preferences::add(routes)));
    let routes =
        PAGES.iter().fold(routes, |routes, path| routes.page(view, &Method::GET, path, get(show)));
    assets::add(alerts::add(transfer::add(repair::add(bulk::add(configure::add(act::add(
        routes,
    )))))))
}

/// A request: its address, its reader, and its time.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) address: Address,
    pub(crate) root: String,
    pub(crate) prefs: Prefs,
    pub(crate) caller: Caller,
    /// The caller has signed in at a page of the console.
    pub(crate) can_sign_out: bool,
    /// The page is rendered for its stream.
    pub(crate) is_stream: bool,
    pub(crate) now: Timestamp,
}

/// Extracts the address and the reader, or answers with the challenge to sign in.
impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let caller = Caller::from_request_parts(parts, state).await?;
        Ok(Self::new(&parts.uri, &parts.headers, caller).identified(&parts.extensions))
    }
}

impl Asked {
    pub(crate) fn new(uri: &Uri, headers: &HeaderMap, caller: Caller) -> Self {
        let address = Address::of(uri);
        let prefs = Prefs::of(&address, headers);
        Self {
            root: root_of(uri),
            prefs,
            address,
            caller,
            can_sign_out: false,
            is_stream: false,
            now: Timestamp::now(),
        }
    }

    /// Adds how the caller was identified.
    fn identified(self, extensions: &Extensions) -> Self {
        let can_sign_out = extensions.get::<Means>() == Some(&Means::Session);
        Self { can_sign_out, ..self }
    }

    /// Returns the context of a page of a namespace.
    pub(crate) fn cx<'a>(
        &'a self,
        namespace: Option<&'a Namespace>,
        namespaces: &'a [&'a str],
        summary: &'a Summary,
    ) -> Cx<'a> {
        Cx {
            prefs: self.prefs,
            root: &self.root,
            address: &self.address,
            namespaces,
            caller: &self.caller,
            can_sign_out: self.can_sign_out,
            summary,
            source: namespace,
            age: namespace.map_or(Age::Current, |one| Age::of(one.live.freshness(), self.now)),
            now: self.now,
            is_stream: self.is_stream,
            fragments: RefCell::default(),
        }
    }
}

/// Returns the language of a reader, by the address, the cookie, or the headers, in this order.
pub(crate) fn language_of(uri: &Uri, headers: &HeaderMap) -> Lang {
    Prefs::of(&Address::of(uri), headers).lang
}

/// Returns a document as a response. [`protect`](crate::access::protect) adds the headers that
/// protect it.
pub(crate) fn html(status: StatusCode, markup: Markup) -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    (status, headers, markup.into_string()).into_response()
}

/// Returns a redirect to an address below the root, as an answer to a form.
pub(crate) fn see_other(root: &str, path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, format!("{root}{path}"))]).into_response()
}

/// Leads to the first namespace.
async fn home(State(namespaces): State<Arc<Namespaces>>, asked: Asked) -> Response {
    match namespaces.all().next() {
        Some(first) => see_other(&asked.root, &format!("n/{}", encoded(&first.name))),
        None => {
            let summary = Summary::default();
            let cx = asked.cx(None, &[], &summary);
            html(StatusCode::OK, document(&cx, &without_namespaces(&cx)))
        }
    }
}

fn without_namespaces(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let command = Some("ejob console --registry zk://HOST:2181/NAMESPACE");
    Body {
        title: lang.no_namespaces(),
        crumbs: Vec::new(),
        section: shell::Section::Overview,
        main: widgets::empty(&lang.no_namespaces(), &lang.no_namespaces_hint(), command),
        is_live: false,
    }
}

/// Shows a page of a namespace.
async fn show(request: PageRequest) -> Answer<Response> {
    let (asked, namespace) = (&request.asked, &request.namespace);
    let view = View::at(&asked.address)?;
    let past = Past::of(namespace, &view, &asked.address, asked.now, Duration::ZERO).await;
    Findings::refresh(namespace).await;
    // A page can visit all nodes of a job, or plan the moves of its items.
    let rendered = scan(move || {
        request.with_cx(|cx| {
            let body = view.body(cx, &view.snapshots(&request.namespace)?, &past)?;
            Ok(html(StatusCode::OK, document(cx, &body)))
        })
    });
    rendered.await?
}
