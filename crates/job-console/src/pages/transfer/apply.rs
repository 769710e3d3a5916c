//! Configuration as code: a file of jobs, the plan, and the apply that is confirmed.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use operations::{ImportStep, Owner, RemovalPreview, Report};

use super::forms;
use crate::apply::{Declared, DeclaringFile, INVALID_FILE, PlannedApply, plan};
use crate::pages::act::result;
use crate::pages::configure::preview::confirmation;
use crate::pages::cx::Cx;
use crate::pages::request::{Fault, Fields, Form, PageRequest, field};
use crate::pages::shell::{Body, Section};
use crate::pages::widgets::pill;
use crate::problem::{Answer, Problem};
use crate::server::MAX_BODY_BYTES;

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
        let owner = Owner::parse(&self.owner)
            .map_err(|valid| format!("owner is {:?}; valid are {valid}", self.owner))?;
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
    let shown = |status, is_changed, fault| {
        let page = Preview { planned: &planned, given: &given, is_changed, fault };
        Ok(respond(&request, status, |cx| preview(cx, &page)))
    };
    match step {
        Some("preview") => shown(StatusCode::OK, false, None),
        Some("write") if field(&fields, "digest") != Some(&*planned.digest) => {
            shown(StatusCode::CONFLICT, true, None)
        }
        Some("write") => match request.by(&fields) {
            Err(fault) => shown(StatusCode::BAD_REQUEST, false, Some(fault)),
            Ok(by) => {
                request.confirm_age(&fields)?;
                let report = request.namespace.operations.apply(&planned.plan, &by).await;
                Ok(applied(&request, &planned, &report))
            }
        },
        other => {
            let detail = format!("step is {other:?}; valid is edit, preview or write");
            Err(Problem::invalid(detail))
        }
    }
}

/// Leads to the jobs, or shows what was not applied.
fn applied(request: &PageRequest, planned: &PlannedApply, report: &Report) -> Response {
    let refused = planned.plan.steps.iter().any(forms::is_refused);
    let is_whole = report.failed.is_empty() && !refused && planned.plan.unread.is_empty();
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
    request.respond(status, |cx| Body {
        title: cx.lang().apply_files(),
        crumbs: vec![(cx.lang().transfer(), cx.here("transfer"))],
        section: Section::Transfer,
        main: main(cx),
        is_live: false,
    })
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
                div.field {
                    label for="apply-document" { (lang.job_file()) }
                    // A parser of HTML drops the first line end.
                    textarea #apply-document name="document" rows="12" required spellcheck="false"
                        aria-invalid=[fault.map(|_| "true")]
                        aria-describedby=[fault.map(|_| "fault-document")] { "\n" (given.document) }
                }
                // The script reads the file into the text, so the form has one field for both.
                div.field hidden {
                    label for="apply-file" { (lang.or_file()) }
                    input #apply-file type="file" accept=".toml,.yaml,.yml"
                        data-into="apply-document" data-max=(MAX_BODY_BYTES)
                        data-fault=(lang.file_too_large(MAX_BODY_BYTES));
                }
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
    /// True if the plan differs from the one that the reader has confirmed.
    is_changed: bool,
    fault: Option<Fault>,
}

fn preview(cx: &Cx<'_>, page: &Preview<'_>) -> Markup {
    let (lang, plan) = (cx.lang(), &page.planned.plan);
    let mut steps: Vec<&ImportStep> = plan.steps.iter().collect();
    steps.sort_by_key(|step| forms::rank(&step.act));
    let has_effect = plan.has_changes();
    html! {
        section.card aria-labelledby="preview-title" {
            h1 #preview-title { (lang.apply_files()) ": " (lang.found(steps.len())) }
            @if page.is_changed { p.why role="alert" { b { (lang.plan_has_changed()) } } }
            @if !has_effect { p.why { b { (lang.nothing_changes()) } } }
            @if !plan.unread.is_empty() {
                p.why { b { (lang.not_compared(plan.unread.len())) } }
                ul.entries {
                    @for (job, why) in &plan.unread { li { (job) ": " span lang="en" { (why) } } }
                }
            }
            (forms::counts(cx, &steps))
            (forms::table(cx, &steps))
            (removals(cx, &plan.removals))
            form.act method="post" action=(cx.here("transfer/apply")) {
                input type="hidden" name="document" value=(page.given.document);
                input type="hidden" name="name" value=(page.given.name);
                input type="hidden" name="owner" value=(page.given.owner);
                @if page.given.prune { input type="hidden" name="prune" value="yes"; }
                input type="hidden" name="digest" value=(page.planned.digest);
                @if has_effect { (confirmation(cx, page.fault.as_ref())) }
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
                @for removal in removals {
                    li {
                        (pill("fail", &lang.apply_removes())) " " (removal.job) " "
                        span.dim { (lang.n_nodes(removal.nodes)) }
                        @if !removal.instances.is_empty() {
                            " " b { (lang.refused_while_alive(removal.instances.len())) }
                        }
                    }
                }
            }
        }
    }
}
