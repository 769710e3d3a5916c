//! Requests of the form: edit, preview, write.

use axum::http::StatusCode;
use axum::response::Response;
use coordination::JobConfig;
use maud::{Markup, html};
use operations::{
    By, Error, FieldChange, JobSnapshot, StoredConfig, Updated, delay_description, next_fires,
};
use reg_center::Revision;

use super::form::form;
use super::preview::{Preview, preview};
use super::typed::{Typed, WAS};
use super::{done, page, target};
use crate::namespaces::Namespace;
use crate::pages::cx::Cx;
use crate::pages::request::{Fault, Fields, Form, PageRequest, field};
use crate::pages::widgets::translated;
use crate::problem::{Answer, Problem};

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    let job = target(&request)?;
    let (config, revision) = stored(&job)?;
    let typed = Typed::of(config, revision);
    Ok(page(&request, StatusCode::OK, |cx| form(cx, &typed, &[], None)))
}

/// Returns the configuration and its revision.
fn stored(job: &JobSnapshot) -> Answer<(&JobConfig, Revision)> {
    let both = job.config().zip(job.config_revision());
    both.ok_or_else(|| {
        let job = job.job().clone();
        Error::Unreadable { job, reason: "its document cannot be read".to_owned() }.into()
    })
}

pub(super) async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let (namespace, job) = (&request.namespace, target(&request)?);
    let typed = Typed::read(&fields)?;
    let outcome = match field(&fields, "step") {
        Some("edit") => Outcome::Form(Vec::new()),
        Some("preview") => previewed(namespace, &job, &typed, None)?,
        Some("write") => match request.by(&fields) {
            Err(fault) => previewed(namespace, &job, &typed, Some(fault))?,
            Ok(by) => {
                request.confirm_age(&fields)?;
                write(namespace, job.job(), &typed, &by).await?
            }
        },
        other => {
            let detail = format!("step is {other:?}; valid is edit, preview or write");
            return Err(Problem::invalid(detail));
        }
    };
    Ok(match outcome {
        Outcome::Form(faults) => {
            let is_valid = faults.is_empty();
            let status = if is_valid { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
            page(&request, status, |cx| form(cx, &typed, &faults, None))
        }
        Outcome::OutOfDate(config, revision) => {
            let (typed, meanwhile) = typed.rebased(&config, revision);
            let status = StatusCode::PRECONDITION_FAILED;
            page(&request, status, |cx| form(cx, &typed, &[], Some(&meanwhile)))
        }
        Outcome::Preview { changes, wanted, fault } => {
            let status = fault.as_ref().map_or(StatusCode::OK, |_| StatusCode::BAD_REQUEST);
            page(&request, status, |cx| {
                let hidden = hidden(&typed);
                let title = cx.lang().change_configuration();
                let notice = html! { (notice(cx, &fields)) (fires(cx, &job, &changes, &wanted)) };
                let (repairs, is_editable) = (false, true);
                let changes = &changes;
                preview(
                    cx,
                    &Preview { title, notice, changes, repairs, hidden, is_editable, fault },
                )
            })
        }
        Outcome::Written(updated) => done(&request, job.job(), &updated),
    })
}

/// Page that answers a request.
enum Outcome {
    /// The form with the typed values.
    Form(Vec<Fault>),
    /// The form upon a configuration that was written after the form was made.
    OutOfDate(Box<JobConfig>, Revision),
    Preview {
        changes: Vec<FieldChange>,
        wanted: Box<JobConfig>,
        fault: Option<Fault>,
    },
    Written(Updated),
}

fn previewed(
    namespace: &Namespace,
    job: &JobSnapshot,
    typed: &Typed,
    fault: Option<Fault>,
) -> Answer<Outcome> {
    let (config, revision) = stored(job)?;
    if revision != typed.revision {
        return Ok(Outcome::OutOfDate(Box::new(config.clone()), revision));
    }
    let (mut wanted, unread) = typed.applied_to(config);
    let mut faults: Vec<Fault> = unread.into_iter().map(Fault::from).collect();
    // A check ends at its first fault. Each round without that value finds the next one.
    loop {
        match namespace.operations.preview_config(job, &wanted) {
            Ok(changes) if faults.is_empty() => {
                return Ok(Outcome::Preview { changes, wanted: Box::new(wanted), fault });
            }
            Ok(_) => return Ok(Outcome::Form(faults)),
            Err(Error::Invalid(error)) => {
                let goes_on = Typed::reset(&mut wanted, error.field, config);
                faults.push(error.into());
                if !goes_on {
                    return Ok(Outcome::Form(faults));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shows an invalid value beside its field. Other errors are problems.
fn invalid(error: Error) -> Answer<Outcome> {
    if let Error::Invalid(error) = error {
        return Ok(Outcome::Form(vec![error.into()]));
    }
    Err(error.into())
}

async fn write(
    namespace: &Namespace,
    job: &coordination::JobName,
    typed: &Typed,
    by: &By,
) -> Answer<Outcome> {
    let operations = &namespace.operations;
    let StoredConfig { revision, config, .. } = operations.config(job).await?;
    let unreadable = |reason| Error::Unreadable { job: job.clone(), reason };
    let config = config.map_err(unreadable)?;
    if revision != typed.revision {
        return Ok(Outcome::OutOfDate(Box::new(config), revision));
    }
    let (wanted, faults) = typed.applied_to(&config);
    if !faults.is_empty() {
        return Ok(Outcome::Form(faults.into_iter().map(Fault::from).collect()));
    }
    match operations.update_config(&wanted, revision, by).await {
        Ok(updated) => Ok(Outcome::Written(updated)),
        // Another client has written it between the two requests.
        Err(Error::StaleConfig { .. }) => {
            let StoredConfig { revision, config, .. } = operations.config(job).await?;
            Ok(Outcome::OutOfDate(Box::new(config.map_err(unreadable)?), revision))
        }
        Err(error) => invalid(error),
    }
}

/// Returns the values as hidden fields.
pub(super) fn hidden(typed: &Typed) -> Markup {
    html! {
        input type="hidden" name="revision" value=(typed.revision.0);
        @for one in &typed.values {
            input type="hidden" name={ (WAS) (one.field.name()) } value=(one.was);
            input type="hidden" name=(one.field.name()) value=(one.value);
        }
    }
}

/// Fields that change the next fires.
const SCHEDULE: [&str; 7] = [
    "cron",
    "time_zone",
    "excluded_days",
    "excluded_times",
    "not_before",
    "not_after",
    "repeated_hour",
];

/// Returns the next fires by the present and by the wanted schedule, if these may differ.
fn fires(cx: &Cx<'_>, job: &JobSnapshot, changes: &[FieldChange], wanted: &JobConfig) -> Markup {
    if !changes.iter().any(|change| SCHEDULE.contains(&change.field)) {
        return html! {};
    }
    let lang = cx.lang();
    let both = [(lang.fires_before(), job.config()), (lang.fires_after(), Some(wanted))];
    html! {
        dl.facts {
            @for (title, config) in both {
                @let fires = config.and_then(|config| next_fires(config, cx.now, 3).ok());
                @let fires = fires.unwrap_or_default();
                @let zone = config.and_then(|config| config.time_zone.as_deref());
                dt { (title) }
                dd {
                    @if let Some(words) = config.and_then(delay_description) {
                        (translated(cx, None, lang.description_of_schedule(&words), &words))
                    } @else if fires.is_empty() {
                        (lang.no_fires())
                    }
                    ul.next { @for fire in fires { li { (cx.when(fire, zone)) } } }
                }
            }
        }
    }
}

/// Warns that a program replaces the configuration when it starts.
fn notice(cx: &Cx<'_>, fields: &Fields) -> Markup {
    html! {
        p.sub { (cx.lang().confirm_changes()) }
        @if field(fields, "overwrite") == Some("true") { p.why { (cx.lang().overwritten_at_start()) } }
    }
}
