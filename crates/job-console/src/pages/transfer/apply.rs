//! Configuration as code: a file of jobs, the plan, and the apply that is confirmed.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use operations::{Owner, RemovalPreview, Report};

use super::confirmed;
use super::forms::{DocumentField, MAX_ROWS, document_field, listed};
use crate::apply::{Declared, DeclaringFile, INVALID_FILE, PlannedApply, owner, plan};
use crate::audit_copy;
use crate::pages::act::result;
use crate::pages::configure::preview::confirmation;
use crate::pages::cx::Cx;
use crate::pages::locale::Lang;
use crate::pages::request::{Again, Fields, Form, PageRequest, field};
use crate::pages::shell::Section;
use crate::pages::widgets::pill;
use crate::problem::Answer;

/// Names of the file as the form has it, one for each language of job files.
const NAMES: [&str; 2] = ["jobs.toml", "jobs.yaml"];

/// An apply as a form has it.
#[derive(Debug)]
struct Given {
    document: String,
    /// One of [`NAMES`].
    name: String,
    owner: String,
    prune: bool,
}

impl Default for Given {
    fn default() -> Self {
        let (name, owner) = (NAMES[0].to_owned(), Owner::default().to_string());
        Self { document: String::new(), name, owner, prune: false }
    }
}

impl Given {
    fn of(fields: &Fields) -> Self {
        let text = |name| field(fields, name).unwrap_or_default().trim().to_owned();
        // A browser sends the ends of lines with a carriage return.
        let document = field(fields, "document").unwrap_or_default().replace("\r\n", "\n");
        let prune = field(fields, "prune") == Some("yes");
        Self { document, name: text("name"), owner: text("owner"), prune }
    }

    fn declared(&self) -> Result<Declared, String> {
        if !NAMES.contains(&&*self.name) {
            return Err(format!("name is {:?}; valid is {}", self.name, NAMES.join(" or ")));
        }
        let owner = owner(&self.owner)?;
        let file = DeclaringFile { name: self.name.clone(), text: self.document.clone() };
        Ok(Declared { files: vec![file], owner, prune: self.prune })
    }
}

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    request.namespace.loaded()?;
    Ok(form(&request, &Given::default(), None))
}

pub(super) async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    request.namespace.loaded()?;
    let given = Given::of(&fields);
    let step = field(&fields, "step");
    if step == Some("edit") {
        return Ok(form(&request, &given, None));
    }
    let declared = match given.declared() {
        Ok(declared) => declared,
        Err(fault) => return Ok(form(&request, &given, Some(&fault))),
    };
    let planned = match plan(&request.namespace, &request.asked.caller, declared).await {
        Err(problem) if problem.code == INVALID_FILE => {
            return Ok(form(&request, &given, Some(&problem.detail)));
        }
        planned => planned?,
    };
    match confirmed(&request, &fields, &planned.digest)? {
        Ok(by) => {
            let report = request.namespace.operations.apply(&planned.plan, &by).await;
            audit_copy::remember(&request.namespace, &report).await;
            Ok(applied(&request, &planned, &report))
        }
        Err((status, again)) => {
            let page = Preview { planned: &planned, given: &given, again };
            Ok(respond(&request, status, |cx| preview(cx, &page)))
        }
    }
}

/// Leads to the jobs, or shows what was not applied.
fn applied(request: &PageRequest, planned: &PlannedApply, report: &Report) -> Response {
    let is_whole = report.failed.is_empty() && !planned.plan.is_partial();
    if report.has_changed() && is_whole {
        return request.lead_to_changed("jobs", report.done.len());
    }
    respond(request, StatusCode::OK, |cx| {
        result(cx, &cx.lang().apply_files(), report, "transfer/apply")
    })
}

fn respond(
    request: &PageRequest,
    status: StatusCode,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    request.respond_below(Section::Transfer, status, Lang::apply_files, main)
}

/// Responds with the form, and with the fault of what was given.
fn form(request: &PageRequest, given: &Given, fault: Option<&str>) -> Response {
    let status = if fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    respond(request, status, |cx| fields(cx, given, fault))
}

fn fields(cx: &Cx<'_>, given: &Given, fault: Option<&str>) -> Markup {
    let lang = cx.lang();
    html! {
        section.card aria-labelledby="apply-title" {
            h1 #apply-title { (lang.apply_files()) }
            p.sub { (lang.apply_hint()) }
            @if let Some(fault) = fault {
                p.why.bad #fault-document role="alert" lang="en" { (fault) }
            }
            form.act method="post" action=(cx.here("transfer/apply")) {
                (document_field(cx, &DocumentField {
                    prefix: "apply",
                    label: lang.job_file(),
                    rows: 12,
                    accept: ".toml,.yaml,.yml",
                    text: &given.document,
                    is_faulty: fault.is_some(),
                }))
                div.field {
                    label for="apply-name" { (lang.language_of_file()) }
                    select #apply-name name="name" {
                        @for (name, label) in NAMES.into_iter().zip(["TOML", "YAML"]) {
                            option value=(name) selected[given.name == name] { (label) }
                        }
                    }
                }
                div.field {
                    label for="apply-owner" { (lang.owner_of_files()) }
                    input #apply-owner name="owner" type="text" maxlength="64" required
                        autocomplete="off" spellcheck="false" value=(given.owner);
                }
                div.check {
                    input #apply-prune type="checkbox" name="prune" value="yes" checked[given.prune];
                    label for="apply-prune" { (lang.prune()) }
                }
                div.acts {
                    button.primary type="submit" name="step" value="preview" {
                        (lang.show_changes()) "…"
                    }
                    a.button href=(cx.here("transfer")) { (lang.cancel()) }
                }
            }
        }
    }
}

/// The plan of an apply, before it is confirmed.
struct Preview<'a> {
    planned: &'a PlannedApply,
    given: &'a Given,
    /// Why it is shown again.
    again: Option<Again>,
}

fn preview(cx: &Cx<'_>, page: &Preview<'_>) -> Markup {
    let (lang, plan) = (cx.lang(), &page.planned.plan);
    let has_effect = plan.has_changes();
    html! {
        section.card aria-labelledby="preview-title" {
            h1 #preview-title { (lang.apply_files()) (lang.colon()) (lang.found(plan.steps.len())) }
            (Again::notice(page.again.as_ref(), cx))
            @if !has_effect { p.why { b { (lang.nothing_changes()) } } }
            @if !plan.unread.is_empty() {
                p.why { b { (lang.not_compared(plan.unread.len())) } }
                ul.entries {
                    @for (job, why) in plan.unread.iter().take(MAX_ROWS) {
                        li { (job) (lang.colon()) span lang="en" { (why) } }
                    }
                }
                (more(cx, plan.unread.len()))
            }
            (listed(cx, &plan.steps))
            (removals(cx, &plan.removals))
            form.act method="post" action=(cx.here("transfer/apply")) {
                input type="hidden" name="document" value=(page.given.document);
                input type="hidden" name="name" value=(page.given.name);
                input type="hidden" name="owner" value=(page.given.owner);
                @if page.given.prune { input type="hidden" name="prune" value="yes"; }
                input type="hidden" name="digest" value=(page.planned.digest);
                @if has_effect { (confirmation(cx, page.again.as_ref().and_then(Again::fault))) }
                div.acts {
                    @if has_effect {
                        button.primary type="submit" name="step" value="write" { (lang.apply()) }
                    }
                    button type="submit" name="step" value="edit" formnovalidate { (lang.edit_again()) }
                    a.button href=(cx.here("transfer/apply")) { (lang.cancel()) }
                }
            }
        }
    }
}

/// Returns the jobs that the apply removes.
fn removals(cx: &Cx<'_>, removals: &[RemovalPreview]) -> Markup {
    let lang = cx.lang();
    html! {
        @if !removals.is_empty() {
            h2 { (lang.jobs_to_remove(removals.len())) }
            ul.entries {
                @for removal in removals.iter().take(MAX_ROWS) {
                    li {
                        (pill("fail", &lang.apply_removes())) " " (removal.job) " "
                        span.dim { (lang.n_nodes(removal.nodes)) }
                        @if !removal.instances.is_empty() {
                            " " b { (lang.refused_while_alive(removal.instances.len())) }
                        }
                    }
                }
            }
            (more(cx, removals.len()))
        }
    }
}

/// Returns the number of entries of a list that are not shown.
fn more(cx: &Cx<'_>, entries: usize) -> Markup {
    let more = entries.saturating_sub(MAX_ROWS);
    html! { @if more > 0 { p.dim { (cx.lang().and_more(more)) } } }
}
