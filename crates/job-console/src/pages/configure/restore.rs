//! Restoring a former configuration: preview and write.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::Response;
use coordination::FormerConfig;
use maud::html;
use operations::{Error, JobSnapshot};

use super::former::{changes, newest_first, when};
use super::preview::{Preview, preview};
use super::typed::revision;
use super::{Fault, by, done, field, page, target};
use crate::namespaces::{Namespace, Namespaces};
use crate::pages::Asked;
use crate::pages::act::check_age;
use crate::pages::cx::Age;
use crate::problem::{Answer, Problem};

pub(super) async fn show(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
) -> Answer<Response> {
    let (namespace, job) = target(&namespaces, &asked)?;
    let former = former(&asked, &job)?;
    shown((&namespaces, namespace), &asked, &job, &former, None)
}

/// Returns the former configuration that an address names by the time of its replacement.
///
/// If two were replaced in the same millisecond, it is the later one. The preview shows it.
fn former(asked: &Asked, job: &JobSnapshot) -> Answer<FormerConfig> {
    let all = newest_first(job)?;
    let text = asked.address.value("replaced").unwrap_or_default();
    let found = all.iter().find(|one| one.replaced_ms.to_string() == text);
    found.cloned().ok_or_else(|| {
        let valid: Vec<_> = all.iter().map(|one| one.replaced_ms.to_string()).collect();
        let valid = if valid.is_empty() { "none".to_owned() } else { valid.join(", ") };
        let detail = format!(
            "replaced is {text:?}; job {} has the former configurations {valid}",
            job.job()
        );
        Problem::not_found("no-such-configuration", detail)
    })
}

/// Why the preview is shown again.
enum Again {
    OutOfDate,
    Faulty(Fault),
}

fn shown(
    place: (&Namespaces, &Namespace),
    asked: &Asked,
    job: &JobSnapshot,
    former: &FormerConfig,
    again: Option<Again>,
) -> Answer<Response> {
    let changes = changes(job, former)?;
    let present = job.config_revision().map(|revision| revision.0.to_string()).unwrap_or_default();
    let (status, is_out_of_date, fault) = match again {
        None => (StatusCode::OK, false, None),
        Some(Again::OutOfDate) => (StatusCode::PRECONDITION_FAILED, true, None),
        Some(Again::Faulty(fault)) => (StatusCode::BAD_REQUEST, false, Some(fault)),
    };
    Ok(page(place, asked, status, |cx| {
        let lang = cx.lang();
        let notice = html! {
            @if is_out_of_date {
                p.why role="alert" { b { (lang.changed_meanwhile()) } " " (lang.check_differences()) }
            }
            p.sub {
                (lang.was_replaced()) " " (when(cx, job, former)) " "
                (lang.by_author(&former.who)) ": " (former.why)
            }
        };
        let hidden = html! { input type="hidden" name="revision" value=(present); };
        let (title, repairs) = (lang.restore_configuration(), job.config().is_none());
        let (changes, is_editable) = (&changes, false);
        preview(cx, &Preview { title, notice, changes, repairs, hidden, is_editable, fault })
    }))
}

pub(super) async fn submit(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
    Form(fields): Form<Vec<(String, String)>>,
) -> Answer<Response> {
    let (namespace, job) = target(&namespaces, &asked)?;
    let (former, expected) = (former(&asked, &job)?, revision(&fields)?);
    let place = (&*namespaces, &**namespace);
    let by = match by(&asked, &fields) {
        Ok(by) => by,
        Err(fault) => return shown(place, &asked, &job, &former, Some(Again::Faulty(fault))),
    };
    let age = Age::of(namespace.live.freshness(), asked.now);
    check_age(age, field(&fields, "stale").unwrap_or_default())?;
    match namespace.operations.restore_config(job.job(), &former, expected, &by).await {
        Ok(updated) => Ok(done(&asked, namespace, job.job(), &updated)),
        Err(Error::StaleConfig { .. }) => {
            let present = namespace.operations.job(job.job()).await?;
            shown(place, &asked, &present, &former, Some(Again::OutOfDate))
        }
        Err(error) => Err(error.into()),
    }
}
