//! The forms of the transfer: export, import, the plan, and the result.

use maud::{Markup, html};
use operations::{ExportedJob, FieldChange, ImportAct, ImportStep};

use crate::pages::configure::preview::confirmation;
use crate::pages::cx::Cx;
use crate::pages::request::Again;
use crate::pages::widgets::{pill, search_field};
use crate::server::MAX_BODY_BYTES;
use crate::transfer::{LeftOut, Plan};

/// Maximum number of listed jobs and groups. All are counted.
pub(super) const MAX_ROWS: usize = 100;

/// Maximum length of a selection of jobs in a form, in characters.
const MAX_SELECTION: usize = 4096;

/// An import as a form has it.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) document: String,
    /// Names and patterns of the jobs to import; blank for all of the document.
    pub(super) jobs: String,
    /// True to replace configurations that differ.
    pub(super) overwrite: bool,
}

pub(super) fn form(
    cx: &Cx<'_>,
    jobs: &[ExportedJob],
    left_out: &[LeftOut],
    given: &Given,
    fault: Option<&str>,
) -> Markup {
    html! {
        h1 { (cx.lang().transfer()) }
        (export(cx, jobs, left_out))
        (import(cx, given, fault))
    }
}

fn export(cx: &Cx<'_>, jobs: &[ExportedJob], left_out: &[LeftOut]) -> Markup {
    let lang = cx.lang();
    let fields = [
        ("jobs", lang.job_names()),
        ("q", lang.search_jobs()),
        ("label", lang.label()),
        ("server", lang.server()),
    ];
    let query = cx.address.with(&[("changed", "")]);
    let query = query.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    let more = left_out.len().saturating_sub(MAX_ROWS);
    html! {
        section.card aria-labelledby="export-title" {
            h2 #export-title { (lang.export()) }
            p.sub { (lang.export_hint()) }
            form.filters role="search" aria-label=(lang.filter()) action=(cx.here("transfer")) {
                @for (name, label) in fields { (search_field(cx, name, &label)) }
                button type="submit" { (lang.filter()) }
            }
            @if !left_out.is_empty() {
                p.why { b { (lang.left_out_of_export(left_out.len())) } }
                ul.entries {
                    @for one in left_out.iter().take(MAX_ROWS) {
                        li { (one.job) ": " span lang="en" { (one.reason) } }
                    }
                }
                @if more > 0 { p.dim { (lang.and_more(more)) } }
            }
            (names(cx, jobs))
            div.acts {
                @if jobs.is_empty() { span.dim { (lang.no_job_matches()) } }
                @else {
                    a.button href=(cx.here(&format!("transfer/export{query}"))) download {
                        (lang.download_jobs(jobs.len()))
                    }
                }
            }
        }
    }
}

/// Returns the names of the jobs that are exported.
fn names(cx: &Cx<'_>, jobs: &[ExportedJob]) -> Markup {
    let more = jobs.len().saturating_sub(MAX_ROWS);
    html! {
        @if !jobs.is_empty() {
            details {
                summary { (cx.lang().found(jobs.len())) }
                ul.entries { @for job in jobs.iter().take(MAX_ROWS) { li { (job.job) } } }
                @if more > 0 { p.dim { (cx.lang().and_more(more)) } }
            }
        }
    }
}

fn import(cx: &Cx<'_>, given: &Given, fault: Option<&str>) -> Markup {
    let lang = cx.lang();
    html! {
        section.card aria-labelledby="import-title" {
            h2 #import-title { (lang.import()) }
            p.sub {
                (lang.import_hint()) " "
                a href=(cx.here("transfer/apply")) { (lang.apply_files()) "…" }
            }
            @if let Some(fault) = fault {
                p.why.bad #fault-document role="alert" lang="en" { (fault) }
            }
            form.act method="post" action=(cx.here("transfer")) {
                (document_field(cx, &DocumentField {
                    prefix: "import",
                    label: lang.exported_document(),
                    rows: 8,
                    accept: ".json,.yaml,.yml",
                    text: &given.document,
                    is_faulty: fault.is_some(),
                }))
                div.field {
                    label for="import-jobs" { (lang.job_names()) }
                    input #import-jobs name="jobs" type="text" maxlength=(MAX_SELECTION)
                        autocomplete="off" value=(given.jobs);
                }
                div.check {
                    input #import-overwrite type="checkbox" name="overwrite" value="yes"
                        checked[given.overwrite];
                    label for="import-overwrite" { (lang.replace_different()) }
                }
                div.acts {
                    button.primary type="submit" name="step" value="preview" {
                        (lang.show_changes()) "…"
                    }
                }
            }
        }
    }
}

/// A text of a form that the script can read from a file.
pub(super) struct DocumentField<'a> {
    /// Start of the ids.
    pub(super) prefix: &'a str,
    pub(super) label: String,
    pub(super) rows: u8,
    /// Ends of the names of files.
    pub(super) accept: &'a str,
    pub(super) text: &'a str,
    /// The element `fault-document` has the fault.
    pub(super) is_faulty: bool,
}

pub(super) fn document_field(cx: &Cx<'_>, it: &DocumentField<'_>) -> Markup {
    let (id, file) = (format!("{}-document", it.prefix), format!("{}-file", it.prefix));
    html! {
        div.field {
            label for=(id) { (it.label) }
            // A parser of HTML drops the first line end.
            textarea id=(id) name="document" rows=(it.rows) required spellcheck="false"
                aria-invalid=[it.is_faulty.then_some("true")]
                aria-describedby=[it.is_faulty.then_some("fault-document")] { "\n" (it.text) }
        }
        // The script reads the file into the text, so the form has one field for both.
        div.field hidden {
            label for=(file) { (cx.lang().or_file()) }
            input id=(file) type="file" accept=(it.accept) data-into=(id)
                data-max=(MAX_BODY_BYTES) data-fault=(cx.lang().file_too_large(MAX_BODY_BYTES));
        }
    }
}

/// The plan of an import, before it is confirmed.
pub(super) struct Preview<'a> {
    pub(super) plan: &'a Plan,
    pub(super) given: &'a Given,
    /// Why it is shown again.
    pub(super) again: Option<Again>,
}

pub(super) fn preview(cx: &Cx<'_>, page: &Preview<'_>) -> Markup {
    let lang = cx.lang();
    let steps = &page.plan.steps;
    let has_effect = steps.iter().any(ImportStep::has_effect);
    html! {
        section.card aria-labelledby="preview-title" {
            h1 #preview-title { (lang.import()) (lang.colon()) (lang.found(steps.len())) }
            (Again::notice(page.again.as_ref(), cx))
            @if !has_effect { p.why { b { (lang.nothing_changes()) } } }
            (listed(cx, steps))
            form.act method="post" action=(cx.here("transfer")) {
                input type="hidden" name="document" value=(page.given.document);
                @if !page.given.jobs.is_empty() {
                    input type="hidden" name="jobs" value=(page.given.jobs);
                }
                @if page.given.overwrite { input type="hidden" name="overwrite" value="yes"; }
                input type="hidden" name="digest" value=(page.plan.digest);
                @if has_effect { (confirmation(cx, page.again.as_ref().and_then(Again::fault))) }
                div.acts {
                    @if has_effect {
                        button.primary type="submit" name="step" value="write" { (lang.import()) }
                    }
                    button type="submit" name="step" value="edit" formnovalidate { (lang.edit_again()) }
                    a.button href=(cx.here("transfer")) { (lang.cancel()) }
                }
            }
        }
    }
}

/// Returns the steps of a plan: their numbers by effect, and the first of them.
pub(super) fn listed(cx: &Cx<'_>, steps: &[ImportStep]) -> Markup {
    let mut steps: Vec<&ImportStep> = steps.iter().collect();
    steps.sort_by_key(|step| rank(&step.act));
    html! { (counts(cx, &steps)) (table(cx, &steps)) }
}

/// Returns how many steps have each effect. The steps are sorted by their [`rank`].
fn counts(cx: &Cx<'_>, steps: &[&ImportStep]) -> Markup {
    html! {
        ul.counts {
            @for of_act in steps.chunk_by(|a, b| rank(&a.act) == rank(&b.act)) {
                @if let [first, ..] = of_act { li { (effect(cx, &first.act)) " " b { (of_act.len()) } } }
            }
        }
    }
}

fn table(cx: &Cx<'_>, steps: &[&ImportStep]) -> Markup {
    let lang = cx.lang();
    html! {
        @if steps.len() > MAX_ROWS { p { (lang.first_jobs(MAX_ROWS)) } }
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.job_or_group()) }
                    th scope="col" { (lang.effect()) }
                    th scope="col" { (lang.changes()) }
                } }
                tbody {
                    @for step in steps.iter().take(MAX_ROWS) {
                        tr {
                            th scope="row" {
                                @if let Some(group) = &step.group { (lang.group()) " " (group) }
                                @else { (step.job) }
                            }
                            td { (effect(cx, &step.act)) }
                            td.text { (details(&step.act)) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the order in which steps are listed: first those that need a look.
fn rank(act: &ImportAct) -> u8 {
    match act {
        ImportAct::Refused { .. } => 0,
        ImportAct::Replace { .. } => 1,
        ImportAct::Create { .. } => 2,
        ImportAct::Stays { .. } => 3,
        ImportAct::Same => 4,
    }
}

pub(super) fn is_refused(step: &ImportStep) -> bool {
    matches!(step.act, ImportAct::Refused { .. })
}

fn effect(cx: &Cx<'_>, act: &ImportAct) -> Markup {
    let lang = cx.lang();
    match act {
        ImportAct::Refused { .. } => pill("fail", &lang.import_refused()),
        ImportAct::Replace { .. } => pill("wait", &lang.import_replaces()),
        ImportAct::Create { .. } => pill("run", &lang.import_creates()),
        ImportAct::Stays { .. } => pill("off", &lang.import_stays()),
        ImportAct::Same => pill("done", &lang.import_same()),
    }
}

fn details(act: &ImportAct) -> Markup {
    match act {
        ImportAct::Same => html! {},
        ImportAct::Refused { reason } => html! { span lang="en" { (reason) } },
        ImportAct::Create { changes }
        | ImportAct::Replace { changes }
        | ImportAct::Stays { changes } => html! {
            @if !changes.is_empty() {
                ul.plain { @for FieldChange { field, from, to } in changes {
                    li { code { (field) } ": " del { code { (from) } } " " ins { code { (to) } } }
                } }
            }
        },
    }
}
