//! Creation of a job from a template that processes offer: the form, the page that shows the new
//! configuration, and the write.

use std::collections::BTreeSet;
use std::fmt::Display;

use axum::http::StatusCode;
use axum::response::Response;
use coordination::{
    Dialect, JavaSettings, JobConfig, JobName, Label, TemplateName, TemplateRecord,
};
use maud::{Markup, html};
use operations::{Error, Operations, next_fires};
use reg_center::Revision;

use super::config_value;
use super::edit::hidden;
use super::form::{controls, fault_list};
use super::preview::confirmation;
use super::typed::Typed;
use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::pages::locale::Lang;
use crate::pages::query::encoded;
use crate::pages::request::{Fault, Fields, Form, PageRequest, field};
use crate::pages::shell::Section;
use crate::problem::{Answer, Problem};

/// Dialects in which a job can be stored.
const DIALECTS: [Dialect; 2] = [Dialect::V2, Dialect::V3];
/// Fields of the form that are not part of the configuration, with examples of their values.
const OWN: [(&str, &str); 3] = [("job", "report-eu"), ("template", "report"), ("label", "eu")];

/// A creation as a form has it.
#[derive(Debug)]
struct Given {
    job: String,
    template: String,
    label: String,
    dialect: Dialect,
    config: Typed,
}

/// A creation as far as its fields can be read.
#[derive(Debug)]
struct Wanted {
    template: Option<TemplateRecord>,
    /// Has the default name if that of the job cannot be read.
    config: JobConfig,
}

impl Given {
    fn empty() -> Answer<Self> {
        let text = String::new;
        // The revision of a configuration that is not stored yet.
        let dialect = Dialect::default();
        let config = Typed::of(&defaults(dialect)?, Revision(0));
        Ok(Self { job: text(), template: text(), label: text(), dialect, config })
    }

    fn read(fields: &Fields) -> Answer<Self> {
        let text = |name| field(fields, name).unwrap_or_default().trim().to_owned();
        let given = text("dialect");
        let dialect = DIALECTS.into_iter().find(|one| one.as_str() == given).ok_or_else(|| {
            let valid = DIALECTS.map(Dialect::as_str).join(" or ");
            Problem::invalid(format!("dialect is {given:?}; valid is {valid}"))
        })?;
        let config = Typed::read(fields)?;
        Ok(Self {
            job: text("job"),
            template: text("template"),
            label: text("label"),
            dialect,
            config,
        })
    }

    /// Returns the value of one of the fields in [`OWN`].
    fn own(&self, name: &str) -> &str {
        match name {
            "job" => &self.job,
            "template" => &self.template,
            _ => &self.label,
        }
    }

    /// Returns the job and its template, and a fault of each field that cannot be read.
    fn wanted(&self) -> Answer<(Wanted, Vec<Fault>)> {
        let mut faults = Vec::new();
        let job = readable("job", JobName::new(&self.job), &mut faults);
        let template = readable("template", TemplateName::new(&self.template), &mut faults);
        let label = Some(&*self.label).filter(|text| !text.is_empty());
        let label = label.and_then(|text| readable("label", Label::new(text), &mut faults));
        let (mut config, unread) = self.config.applied_to(&defaults(self.dialect)?);
        faults.extend(unread.into_iter().map(Fault::from));
        if let Some(job) = job {
            config.job_name = job;
        }
        let template = template.map(|template| TemplateRecord { template, label });
        Ok((Wanted { template, config }, faults))
    }
}

/// Returns the value of a field, or adds why it cannot be read.
fn readable<T, E: Display>(
    field: &'static str,
    read: Result<T, E>,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    let fault = |error: E| faults.push(Fault { field, text: error.to_string() });
    read.map_err(fault).ok()
}

/// Returns the configuration whose values the form has at first.
fn defaults(dialect: Dialect) -> Answer<JobConfig> {
    let name = JobName::new("new").map_err(Error::from)?;
    Ok(JobConfig::new(name, 1).with(|it| it.java = JavaSettings::of(dialect)))
}

/// Returns the link to the form, for callers who may create a job.
pub(in crate::pages) fn link(cx: &Cx<'_>) -> Markup {
    html! {
        @if cx.caller.check_role(Permission::Create).is_ok() {
            a.button href=(cx.here("create")) { (cx.lang().create_job()) "…" }
        }
    }
}

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    request.namespace.loaded()?;
    let given = Given::empty()?;
    Ok(respond(&request, StatusCode::OK, |cx| form(cx, &given, &[])))
}

pub(super) async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    request.namespace.loaded()?;
    let given = Given::read(&fields)?;
    let by = match field(&fields, "step") {
        Some("edit") => return Ok(respond(&request, StatusCode::OK, |cx| form(cx, &given, &[]))),
        Some("preview") => None,
        Some("write") => Some(request.by(&fields)),
        other => {
            let detail = format!("step is {other:?}; valid is edit, preview or write");
            return Err(Problem::invalid(detail));
        }
    };
    let (wanted, unread) = given.wanted()?;
    let job = wanted.config.job_name.as_str();
    request.asked.caller.check(Permission::Create, Some(job))?;
    let operations = &request.namespace.operations;
    let stored = checked(operations, &wanted.config, unread).await?;
    let (template, stored) = match (wanted.template, stored) {
        (Some(template), Ok(stored)) => (template, stored),
        (_, stored) => {
            let faults = stored.err().unwrap_or_default();
            return Ok(refused(&request, &given, &faults));
        }
    };
    let fault = match by {
        None => None,
        Some(Err(fault)) => Some(fault),
        Some(Ok(by)) => {
            request.confirm_age(&fields)?;
            let report = match operations.create_job(&template, &wanted.config, &by).await {
                Ok(report) => report,
                Err(error) => return Ok(refused(&request, &given, &[fault_of(error)?])),
            };
            // The list is live, so that it shows the job as soon as the console has read it.
            let page = format!("jobs?q={}", encoded(job));
            return Ok(request.lead_to_changed(&page, report.done.len()));
        }
    };
    let status = fault.as_ref().map_or(StatusCode::OK, |_| StatusCode::BAD_REQUEST);
    let fault = fault.as_ref();
    Ok(respond(&request, status, |cx| preview(cx, &given, &template, &stored, fault)))
}

/// Returns the configuration that would be stored, or the faults of all fields.
async fn checked(
    operations: &Operations,
    config: &JobConfig,
    mut faults: Vec<Fault>,
) -> Answer<Result<JobConfig, Vec<Fault>>> {
    let base = defaults(config.java.dialect())?;
    let mut wanted = config.clone();
    // A check ends at its first fault. Each round without that value finds the next one.
    loop {
        let fault = match operations.preview_creation(&wanted).await {
            Ok(stored) if faults.is_empty() => return Ok(Ok(stored)),
            Ok(_) => return Ok(Err(faults)),
            Err(error) => fault_of(error)?,
        };
        let goes_on = Typed::reset(&mut wanted, fault.field, &base);
        // A fault of the name that cannot be read comes first.
        if faults.iter().all(|known| known.field != fault.field) {
            faults.push(fault);
        }
        if !goes_on {
            return Ok(Err(faults));
        }
    }
}

/// Returns the fault of a field, if a field is the reason of the error.
fn fault_of(error: Error) -> Answer<Fault> {
    if let Error::JobExists { .. } = error {
        return Ok(Fault { field: "job", text: error.to_string() });
    }
    if let Error::Invalid(error) = error {
        return Ok(error.into());
    }
    Err(error.into())
}

fn refused(request: &PageRequest, given: &Given, faults: &[Fault]) -> Response {
    respond(request, StatusCode::UNPROCESSABLE_ENTITY, |cx| form(cx, given, faults))
}

fn respond(
    request: &PageRequest,
    status: StatusCode,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    request.respond_below(Section::Jobs, status, Lang::create_job, main)
}

fn form(cx: &Cx<'_>, given: &Given, faults: &[Fault]) -> Markup {
    let lang = cx.lang();
    let has_control = |name: &str| {
        OWN.iter().any(|(own, _)| *own == name)
            || given.config.values.iter().any(|one| one.field.name() == name)
    };
    html! {
        section.card aria-labelledby="create-title" {
            h1 #create-title { (lang.create_job()) }
            p.sub { (lang.create_hint()) }
            (fault_list(cx, faults, has_control))
            form.config method="post" action=(cx.here("create")) {
                datalist #templates { @for name in templates(cx) { option value=(name) {} } }
                @for (name, example) in OWN {
                    (own(cx, name, given.own(name), example, faults.iter().find(|it| it.field == name)))
                }
                div.field {
                    label for="c-dialect" { (lang.dialect()) }
                    select #c-dialect name="dialect" {
                        @for dialect in DIALECTS {
                            option value=(dialect.as_str()) selected[dialect == given.dialect] {
                                (dialect.as_str())
                            }
                        }
                    }
                }
                (controls(cx, &given.config, faults))
                div.acts {
                    button.primary type="submit" name="step" value="preview" { (lang.show_configuration()) "…" }
                    a.button href=(cx.here("jobs")) { (lang.cancel()) }
                }
            }
        }
    }
}

/// Returns the templates of the jobs. The registry does not have those that processes offer.
fn templates<'a>(cx: &'a Cx<'_>) -> BTreeSet<&'a str> {
    cx.summary.jobs().iter().filter_map(|job| job.template.as_deref()).collect()
}

/// Returns the control of a field that is not part of the configuration.
fn own(cx: &Cx<'_>, name: &str, value: &str, example: &str, fault: Option<&Fault>) -> Markup {
    let (lang, id, fault_id) = (cx.lang(), format!("c-{name}"), format!("fault-{name}"));
    let example_id = format!("example-{name}");
    let described_by = match fault {
        Some(_) => format!("{fault_id} {example_id}"),
        None => example_id.clone(),
    };
    let label = match name {
        "job" => lang.job(),
        "template" => lang.template(),
        _ => lang.label(),
    };
    html! {
        div.field {
            label for=(id) { (label) }
            input id=(id) name=(name) value=(value) required[name != "label"] autocomplete="off"
                spellcheck="false" autocapitalize="off" aria-invalid=[fault.map(|_| "true")]
                aria-describedby=(described_by)
                list=[(name == "template").then_some("templates")];
            p.dim id=(example_id) {
                @if name == "label" { (lang.label_hint()) " " }
                (lang.for_example()) " " code { (example) }
            }
            @if let Some(fault) = fault { p.fault id=(fault_id) lang="en" { (fault.text) } }
        }
    }
}

fn preview(
    cx: &Cx<'_>,
    given: &Given,
    template: &TemplateRecord,
    config: &JobConfig,
    fault: Option<&Fault>,
) -> Markup {
    let lang = cx.lang();
    let fires = next_fires(config, cx.now, 3).unwrap_or_default();
    let mut fields = config.fields().to_vec();
    if let Ok(defaults) = defaults(given.dialect) {
        let by_default = defaults.fields();
        fields.retain(|field| !by_default.contains(field));
    }
    html! {
        section.card aria-labelledby="preview-title" {
            h1 #preview-title { (lang.create_job()) (lang.colon()) (config.job_name) }
            p.sub { (lang.confirm_creation()) }
            dl.facts {
                dt { (lang.template()) } dd { (template.template) }
                @if let Some(label) = &template.label { dt { (lang.label()) } dd { (label) } }
                dt { (lang.dialect()) } dd { (given.dialect.as_str()) }
                dt { (lang.next_fires()) }
                dd {
                    @if fires.is_empty() { (lang.no_fires()) }
                    ul.next { @for fire in fires { li { (cx.when(fire, config.time_zone.as_deref())) } } }
                }
                @for (name, value) in fields {
                    dt { (lang.config_field(name)) " " code { (name) } } dd { (config_value(cx, name, &value)) }
                }
            }
            p.sub { (lang.other_fields_by_default()) }
            form.act method="post" action=(cx.here("create")) {
                @for (name, _) in OWN { input type="hidden" name=(name) value=(given.own(name)); }
                input type="hidden" name="dialect" value=(given.dialect.as_str());
                (hidden(&given.config))
                (confirmation(cx, fault))
                div.acts {
                    button.primary type="submit" name="step" value="write" { (lang.create_job()) }
                    button type="submit" name="step" value="edit" formnovalidate { (lang.edit_again()) }
                    a.button href=(cx.here("jobs")) { (lang.cancel()) }
                }
            }
        }
    }
}
