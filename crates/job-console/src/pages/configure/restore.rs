//! Restoring a former configuration: preview and write.

use axum::http::StatusCode;
use axum::response::Response;
use coordination::FormerConfig;
use maud::html;
use operations::{Error, JobSnapshot};

use super::former::{changes, newest_first, when};
use super::preview::{Preview, preview};
use super::typed::revision;
use super::{done, page, target};
use crate::pages::request::{Fault, Form, PageRequest};
use crate::problem::{Answer, Problem};

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    let job = target(&request)?;
    let former = former(&request, &job)?;
    shown(&request, &job, &former, None)
}

/// Returns the former configuration that an address names by the time of its replacement.
///
/// If two were replaced in the same millisecond, it is the later one. The preview shows it.
fn former(request: &PageRequest, job: &JobSnapshot) -> Answer<FormerConfig> {
    let all = newest_first(job)?;
    let text = request.asked.address.value("replaced").unwrap_or_default();
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
    request: &PageRequest,
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
    Ok(page(request, status, |cx| {
        let lang = cx.lang();
        let notice = html! {
            @if is_out_of_date {
                p.why role="alert" { b { (lang.changed_meanwhile()) } " " (lang.check_differences()) }
            }
            p.sub {
                (lang.was_replaced()) " " (when(cx, job, former)) " "
                (lang.by_author(&former.who)) (cx.lang().colon()) (former.why)
            }
        };
        let hidden = html! { input type="hidden" name="revision" value=(present); };
        let (title, repairs) = (lang.restore_configuration(), job.config().is_none());
        let (changes, is_editable) = (&changes, false);
        preview(cx, &Preview { title, notice, changes, repairs, hidden, is_editable, fault })
    }))
}

pub(super) async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let (namespace, job) = (&request.namespace, target(&request)?);
    let (former, expected) = (former(&request, &job)?, revision(&fields)?);
    let by = match request.by(&fields) {
        Ok(by) => by,
        Err(fault) => return shown(&request, &job, &former, Some(Again::Faulty(fault))),
    };
    request.confirm_age(&fields)?;
    match namespace.operations.restore_config(job.job(), &former, expected, &by).await {
        Ok(updated) => Ok(done(&request, job.job(), &updated)),
        Err(Error::StaleConfig { .. }) => {
            let present = namespace.operations.job(job.job()).await?;
            shown(&request, &present, &former, Some(Again::OutOfDate))
        }
        Err(error) => Err(error.into()),
    }
}
