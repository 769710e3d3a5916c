//! One action on all jobs that match the filters of the list: the preview, and the changes.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use operations::{JobAction, JobSnapshot, Report};

use super::act::{check_age, entries};
use super::configure::preview::confirmation;
use super::configure::{Fault, by, field};
use super::cx::{Age, Cx};
use super::shell::{Body, Section, document};
use super::summary::Summary;
use super::widgets::pill;
use super::{Asked, html as respond, jobs, see_other};
use crate::bulk::{Bulk, permission};
use crate::namespaces::{Namespace, Namespaces};
use crate::problem::{Answer, Problem};
use crate::routes::Routes;

/// Maximum number of listed jobs. All are counted.
const MAX_ROWS: usize = 100;
/// Maximum number of shown targets of a job.
const MAX_TARGETS: usize = 3;

/// Adds a page and a request for each action. The caller is checked for each job.
pub(super) fn add(routes: Routes) -> Routes {
    JobAction::ALL.into_iter().fold(routes, |routes, action| {
        let path = format!("/n/{{namespace}}/act/{action}");
        let needed = permission(action);
        routes.page_per_job(needed, &Method::GET, &path, get(show)).page_per_job(
            needed,
            &Method::POST,
            &path,
            post(submit),
        )
    })
}

/// Returns the menu of the actions on all `n` jobs that match the filters of the list.
pub(super) fn menu(cx: &Cx<'_>, n: usize) -> Markup {
    let may = |action: &JobAction| cx.caller.check_role(permission(*action)).is_ok();
    let allowed: Vec<_> = JobAction::ALL.into_iter().filter(may).collect();
    let filters = cx.address.with(&[("page", ""), ("sort", ""), ("changed", "")]);
    let filters = filters.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    html! {
        @if n > 0 && !allowed.is_empty() {
            details.menu {
                summary { (cx.lang().act_on_all(n)) }
                ul {
                    @for action in allowed {
                        li {
                            a href=(cx.here(&format!("act/{action}{filters}"))) {
                                (cx.lang().act_title(action.as_str())) "…"
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) async fn show(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
) -> Answer<Response> {
    let request = Request::of(&namespaces, &asked)?;
    request.preview(StatusCode::OK, false, None).await
}

pub(super) async fn submit(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
    Form(fields): Form<Vec<(String, String)>>,
) -> Answer<Response> {
    let request = Request::of(&namespaces, &asked)?;
    let age = Age::of(request.namespace.live.freshness(), asked.now);
    check_age(age, field(&fields, "stale").unwrap_or_default())?;
    if field(&fields, "digest") != Some(&*request.digest) {
        return request.preview(StatusCode::CONFLICT, true, None).await;
    }
    let by = match by(&asked, &fields) {
        Ok(by) => by,
        Err(fault) => return request.preview(StatusCode::BAD_REQUEST, false, Some(fault)).await,
    };
    let report = request.bulk.apply(request.namespace, request.jobs.clone(), &by).await;
    Ok(request.result(&report))
}

/// An action with the jobs that match at present.
struct Request<'a> {
    namespaces: &'a Namespaces,
    namespace: &'a Arc<Namespace>,
    asked: &'a Asked,
    bulk: Bulk,
    jobs: Vec<Arc<JobSnapshot>>,
    digest: String,
}

impl<'a> Request<'a> {
    fn of(namespaces: &'a Namespaces, asked: &'a Asked) -> Answer<Self> {
        let segments = asked.address.segments();
        let segment = |at: usize| segments.get(at).copied().unwrap_or_default();
        let namespace = namespaces.get(segment(1))?;
        let action = JobAction::ALL.into_iter().find(|one| one.as_str() == segment(3));
        let action = action.ok_or_else(|| {
            let detail = format!("/{} is no operation of this console", asked.address.text());
            Problem::not_found("no-such-address", detail)
        })?;
        let summary = Summary::of(namespace, asked.now);
        let names = jobs::matching(&asked.cx(Some(namespace), &[], &summary));
        // A job that has been removed since the summary does not match any more.
        let jobs: Vec<_> = names.iter().filter_map(|name| namespace.job(name).ok()).collect();
        let bulk = Bulk { action, caller: asked.caller.clone() };
        let digest = bulk.digest(&jobs)?;
        Ok(Self { namespaces, namespace, asked, bulk, jobs, digest })
    }

    fn respond(&self, status: StatusCode, main: impl FnOnce(&Cx<'_>) -> Markup) -> Response {
        let names: Vec<&str> = self.namespaces.all().map(|one| one.name.as_str()).collect();
        let summary = Summary::of(self.namespace, self.asked.now);
        let cx = self.asked.cx(Some(self.namespace), &names, &summary);
        let lang = cx.lang();
        let body = Body {
            title: lang.act_title(self.bulk.action.as_str()),
            crumbs: vec![(lang.jobs(), cx.here(&self.list()))],
            section: Section::Jobs,
            main: main(&cx),
            is_live: false,
        };
        respond(status, document(&cx, &body))
    }

    /// Returns the path of the list with the same filters.
    fn list(&self) -> String {
        let text = self.asked.address.with(&[]);
        let query = text.split_once('?').map(|(_, query)| format!("?{query}"));
        format!("jobs{}", query.unwrap_or_default())
    }

    /// Responds with the jobs and the expected changes, computed where they delay no other request.
    async fn preview(
        &self,
        status: StatusCode,
        is_changed: bool,
        fault: Option<Fault>,
    ) -> Answer<Response> {
        let (bulk, jobs, now) = (self.bulk.clone(), self.jobs.clone(), self.asked.now);
        let effects = tokio::task::spawn_blocking(move || {
            let effect = |job: &Arc<JobSnapshot>| (job.job().to_string(), bulk.preview(job, now));
            jobs.iter().map(effect).collect::<Vec<Effect>>()
        });
        let effects = effects.await.map_err(|error| {
            let detail = format!("the preview ended unexpectedly: {error}");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
        })?;
        let back = self.list();
        Ok(self.respond(status, |cx| {
            let lang = cx.lang();
            let word = self.bulk.action.as_str();
            html! {
                section.card aria-labelledby="bulk-title" {
                    h1 #bulk-title { (lang.act_title(word)) ": " (lang.found(effects.len())) }
                    p.sub { (lang.act_effect(word)) }
                    @if is_changed { p.why role="alert" { b { (lang.matching_jobs_changed()) } } }
                    (table(cx, &effects))
                    form.act method="post" action=(cx.href(&cx.address.text())) {
                        input type="hidden" name="digest" value=(self.digest);
                        @let changes = effects.iter().any(|(_, effect)| has_changes(effect));
                        @if changes { (confirmation(cx, fault.as_ref())) }
                        div.acts {
                            @if changes { button.primary type="submit" { (lang.act_title(word)) } }
                            a.button href=(cx.here(&back)) { (lang.cancel()) }
                        }
                    }
                }
            }
        }))
    }

    /// Leads back to the list, or shows what was not changed.
    fn result(&self, report: &Report) -> Response {
        let back = self.list();
        let is_clean = report.left.iter().all(|entry| entry.as_wanted) && report.failed.is_empty();
        if is_clean && report.has_changed() {
            let separator = if back.contains('?') { '&' } else { '?' };
            let namespace = super::query::encoded(&self.namespace.name);
            let path = format!("n/{namespace}/{back}{separator}changed={}", report.done.len());
            return see_other(&self.asked.root, &path);
        }
        self.respond(StatusCode::OK, |cx| {
            html! {
                section.card aria-labelledby="bulk-title" {
                    h1 #bulk-title { (cx.lang().act_title(self.bulk.action.as_str())) }
                    p.sub { (cx.lang().result()) }
                    (entries(cx, report))
                    div.acts { a.button.primary href=(cx.here(&back)) { (cx.lang().back()) } }
                }
            }
        })
    }
}

/// A job, with its expected report or why it is left alone.
type Effect = (String, Result<Report, String>);

fn has_changes(effect: &Result<Report, String>) -> bool {
    effect.as_ref().is_ok_and(Report::has_changed)
}

fn table(cx: &Cx<'_>, effects: &[Effect]) -> Markup {
    let lang = cx.lang();
    let changed = effects.iter().filter(|(_, effect)| has_changes(effect)).count();
    html! {
        @if effects.is_empty() { p.why { b { (lang.no_job_matches()) } } }
        @else {
            p {
                b { (lang.n_jobs_change(changed)) } ", " (lang.n_jobs_left(effects.len() - changed)) ". "
                @if effects.len() > MAX_ROWS { (lang.first_jobs(MAX_ROWS)) }
            }
            div.scroll {
                table {
                    thead { tr { th scope="col" { (lang.job()) } th scope="col" { (lang.effect()) } } }
                    tbody {
                        @for (job, effect) in effects.iter().take(MAX_ROWS) {
                            tr {
                                th scope="row" { a href=(cx.job(job)) { (job) } }
                                td.text { (described(cx, effect)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn described(cx: &Cx<'_>, effect: &Result<Report, String>) -> Markup {
    let lang = cx.lang();
    let report = match effect {
        Ok(report) => report,
        Err(refused) => {
            return html! { (pill("off", &lang.left_alone())) " " span lang="en" { (refused) } };
        }
    };
    let (class, word, all) = if report.has_changed() {
        ("done", lang.will_change(), &report.done)
    } else {
        ("off", lang.left_alone(), &report.left)
    };
    let more = all.len().saturating_sub(MAX_TARGETS);
    html! {
        (pill(class, &word)) " "
        @for (n, entry) in all.iter().take(MAX_TARGETS).enumerate() {
            @if n > 0 { "; " }
            span lang="en" { (entry.target) ": " (entry.what) }
        }
        @if more > 0 { "; " span.dim { (lang.and_more(more)) } }
    }
}
