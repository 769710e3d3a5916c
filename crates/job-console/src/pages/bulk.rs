//! One action on all jobs that match the filters of the list: the preview, and the changes.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use operations::{JobAction, JobSnapshot, Report};

use super::act::{is_done, result};
use super::configure::preview::confirmation;
use super::cx::Cx;
use super::jobs;
use super::outcome::Outcome;
use super::request::{Again, Form, PageRequest};
use super::shell::{Body, Section};
use super::widgets::{effect_text, pill};
use crate::api::scan;
use crate::bulk::{Bulk, permission};
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

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    Request::of(&request)?.preview(StatusCode::OK, None).await
}

pub(super) async fn submit(page: PageRequest, Form(fields): Form) -> Answer<Response> {
    let request = Request::of(&page)?;
    page.confirm_age(&fields)?;
    let by = match page.confirmed(&fields, &request.digest) {
        Ok(by) => by,
        Err((status, again)) => return request.preview(status, Some(again)).await,
    };
    let report = request.bulk.apply(&page.namespace, request.jobs.clone(), &by).await;
    Ok(request.result(&report))
}

/// An action with the jobs that match at present.
struct Request<'a> {
    page: &'a PageRequest,
    bulk: Bulk,
    jobs: Vec<Arc<JobSnapshot>>,
    digest: String,
}

impl<'a> Request<'a> {
    fn of(page: &'a PageRequest) -> Answer<Self> {
        let action = JobAction::ALL.into_iter().find(|one| one.as_str() == page.segment(3));
        let action = action.ok_or_else(|| {
            let detail = format!("/{} is no operation of this console", page.asked.address.text());
            Problem::not_found("no-such-address", detail)
        })?;
        let jobs = jobs::snapshots(page);
        let bulk = Bulk { action, caller: page.asked.caller.clone() };
        let digest = bulk.digest(&jobs)?;
        Ok(Self { page, bulk, jobs, digest })
    }

    fn respond(&self, status: StatusCode, main: impl FnOnce(&Cx<'_>) -> Markup) -> Response {
        self.page.respond(status, |cx| Body {
            title: cx.lang().act_title(self.bulk.action.as_str()),
            crumbs: vec![(cx.lang().jobs(), cx.here(&self.list()))],
            section: Section::Jobs,
            main: main(cx),
            is_live: false,
        })
    }

    /// Returns the path of the list with the same filters.
    fn list(&self) -> String {
        let text = self.page.asked.address.with(&[]);
        let query = text.split_once('?').map(|(_, query)| format!("?{query}"));
        format!("jobs{}", query.unwrap_or_default())
    }

    /// Responds with the jobs and the expected changes, computed where they delay no other request.
    async fn preview(&self, status: StatusCode, again: Option<Again>) -> Answer<Response> {
        let (bulk, jobs, now) = (self.bulk.clone(), self.jobs.clone(), self.page.asked.now);
        let effects = scan(move || {
            let effect = |job: &Arc<JobSnapshot>| (job.job().to_string(), bulk.preview(job, now));
            jobs.iter().map(effect).collect::<Vec<Effect>>()
        });
        let effects = effects.await?;
        let back = self.list();
        Ok(self.respond(status, |cx| {
            let lang = cx.lang();
            let word = self.bulk.action.as_str();
            html! {
                section.card aria-labelledby="bulk-title" {
                    h1 #bulk-title { (lang.act_title(word)) (cx.lang().colon()) (lang.found(effects.len())) }
                    p.sub { (lang.act_effect(word)) }
                    @if matches!(again, Some(Again::Changed)) { p.why role="alert" { b { (lang.matching_jobs_changed()) } } }
                    (table(cx, &effects))
                    form.act method="post" action=(cx.href(&cx.address.text())) {
                        input type="hidden" name="digest" value=(self.digest);
                        @let changes = effects.iter().any(|(_, effect)| has_changes(effect));
                        @if changes { (confirmation(cx, again.as_ref().and_then(Again::fault))) }
                        div.acts {
                            @if changes { button.primary type="submit" { (lang.act_title(word)) } }
                            a.button href=(cx.here(&back)) { (lang.cancel()) }
                        }
                    }
                }
            }
        }))
    }

    /// Leads to the outcome for each job, or shows what was not changed.
    fn result(&self, report: &Report) -> Response {
        let back = self.list();
        if is_done(report)
            && let Some(outcome) = Outcome::path(&report.records)
        {
            return self.page.lead_to(&outcome);
        }
        self.respond(StatusCode::OK, |cx| {
            result(cx, &cx.lang().act_title(self.bulk.action.as_str()), report, &back)
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
            @if n > 0 { (lang.semicolon()) }
            (lang.target_of_change(&entry.target)) (lang.colon()) (effect_text(cx, &entry.what))
        }
        @if more > 0 { (lang.semicolon()) span.dim { (lang.and_more(more)) } }
    }
}
