//! The repair of one finding: its steps as a dry run, and the guarded transaction.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use coordination::JobName;
use maud::{Markup, html};
use operations::{Error, Finding, Fix};

use super::act::{check_age, entries};
use super::configure::preview::confirmation;
use super::configure::{Fault, by, field};
use super::cx::{Age, Cx};
use super::query::encoded;
use super::shell::{Body, Section, document};
use super::summary::Summary;
use super::{Asked, html as respond, see_other};
use crate::access::Permission;
use crate::bulk::digest;
use crate::findings::finding;
use crate::namespaces::{Namespace, Namespaces};
use crate::problem::Answer;
use crate::routes::Routes;

const PATH: &str = "/n/{namespace}/jobs/{job}/repair";

pub(super) fn add(routes: Routes) -> Routes {
    let repair = Permission::Repair;
    routes.page(repair, &Method::GET, PATH, get(show)).page(
        repair,
        &Method::POST,
        PATH,
        post(submit),
    )
}

/// Returns the link to the repair of a finding, if it has one that the caller may apply.
pub(super) fn link(cx: &Cx<'_>, finding: &Finding) -> Markup {
    let is_allowed = finding.fix.is_some() && cx.may(Permission::Repair, Some(&finding.job));
    let node = finding.node.as_deref().map(|node| format!("&node={}", encoded(node)));
    let address = format!(
        "{}/repair?code={}{}",
        cx.job(&finding.job),
        finding.code,
        node.unwrap_or_default()
    );
    html! { @if is_allowed { a.button href=(address) data-dialog { (cx.lang().repair()) "…" } } }
}

pub(super) async fn show(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
) -> Answer<Response> {
    let (namespace, found) = found(&namespaces, &asked)?;
    Ok(shown((&namespaces, namespace), &asked, &found, StatusCode::OK, None))
}

/// Returns the finding that an address names, if it is still there.
fn found<'a>(namespaces: &'a Namespaces, asked: &Asked) -> Answer<(&'a Arc<Namespace>, Finding)> {
    let segments = asked.address.segments();
    let segment = |at: usize| segments.get(at).copied().unwrap_or_default();
    let namespace = namespaces.get(segment(1))?;
    let name = JobName::new(segment(3)).map_err(Error::from)?;
    // A job without a configuration has findings, too.
    let job = namespace.nodes(&name)?;
    let code = asked.address.value("code").unwrap_or_default();
    let now = namespace.operations.present();
    let found = finding(&job, code, asked.address.value("node"), now)?;
    Ok((namespace, found))
}

/// Returns the digest of the steps, so that only those are applied that the reader has seen.
fn digest_of(finding: &Finding) -> String {
    let steps = finding.fix.iter().flat_map(Fix::steps).map(ToString::to_string);
    digest(finding.code.as_str(), steps)
}

fn shown(
    (namespaces, namespace): (&Namespaces, &Namespace),
    asked: &Asked,
    finding: &Finding,
    status: StatusCode,
    again: Option<Again>,
) -> Response {
    let fault = match &again {
        Some(Again::Faulty(fault)) => Some(fault),
        Some(Again::Changed) | None => None,
    };
    page((namespaces, namespace), asked, status, |cx| {
        let lang = cx.lang();
        html! {
            section #act-form.card aria-labelledby="act-title" {
                h1 #act-title { (lang.repair()) ": " (finding.job) }
                p { code { (finding.code) } " " span lang="en" { (finding.text) } }
                @if let Some(node) = &finding.node { p.sub { code { (node) } } }
                @if matches!(again, Some(Again::Changed)) {
                    p.why role="alert" { b { (lang.repair_has_changed()) } }
                }
                @match &finding.fix {
                    None => { p.why { b { (lang.no_repair_exists()) } } },
                    Some(fix) => {
                        h2 { (lang.steps_of_transaction()) }
                        ol { @for step in fix.steps() { li lang="en" { (step) } } }
                    },
                }
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    input type="hidden" name="digest" value=(digest_of(finding));
                    @if finding.fix.is_some() { (confirmation(cx, fault)) }
                    div.acts {
                        @if finding.fix.is_some() { button.primary type="submit" { (lang.repair()) } }
                        a.button href=(cx.here("doctor")) data-close { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

/// Why the repair is shown again.
enum Again {
    Changed,
    Faulty(Fault),
}

fn page(
    (namespaces, namespace): (&Namespaces, &Namespace),
    asked: &Asked,
    status: StatusCode,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    let names: Vec<&str> = namespaces.all().map(|one| one.name.as_str()).collect();
    let summary = Summary::of(namespace, asked.now);
    let cx = asked.cx(Some(namespace), &names, &summary);
    let body = Body {
        title: cx.lang().repair(),
        crumbs: vec![(cx.lang().doctor(), cx.here("doctor"))],
        section: Section::Doctor,
        main: main(&cx),
        is_live: false,
    };
    respond(status, document(&cx, &body))
}

pub(super) async fn submit(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
    Form(fields): Form<Vec<(String, String)>>,
) -> Answer<Response> {
    let (namespace, found) = found(&namespaces, &asked)?;
    let place = (&*namespaces, &**namespace);
    let age = Age::of(namespace.live.freshness(), asked.now);
    check_age(age, field(&fields, "stale").unwrap_or_default())?;
    if field(&fields, "digest") != Some(&*digest_of(&found)) {
        return Ok(shown(place, &asked, &found, StatusCode::CONFLICT, Some(Again::Changed)));
    }
    let by = match by(&asked, &fields) {
        Ok(by) => by,
        Err(fault) => {
            let again = Some(Again::Faulty(fault));
            return Ok(shown(place, &asked, &found, StatusCode::BAD_REQUEST, again));
        }
    };
    let report = namespace.operations.fix(&found, &by).await?;
    if report.has_changed() && report.left.is_empty() && report.failed.is_empty() {
        let namespace = encoded(&namespace.name);
        let path = format!("n/{namespace}/doctor?changed={}", report.done.len());
        return Ok(see_other(&asked.root, &path));
    }
    Ok(page(place, &asked, StatusCode::OK, |cx| {
        html! {
            section.card aria-labelledby="act-title" {
                h1 #act-title { (cx.lang().repair()) }
                p.sub { (cx.lang().result()) }
                (entries(cx, &report))
                div.acts { a.button.primary href=(cx.here("doctor")) { (cx.lang().back()) } }
            }
        }
    }))
}
