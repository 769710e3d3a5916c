//! The form that silences an expectation, or ends its silence.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use coordination::JobName;
use job_watch::{ConditionKind, Silence};
use maud::{Markup, html};

use crate::access::Permission;
use crate::alerts::{end_of, expectation};
use crate::pages::configure::preview::confirmation;
use crate::pages::cx::Cx;
use crate::pages::locale::Lang;
use crate::pages::request::{Fault, Form, PageRequest, field};
use crate::pages::shell::{Section, choice};
use crate::problem::{Answer, Problem};
use crate::routes::Routes;

const PATH: &str = "/n/{namespace}/jobs/{job}/silence";

/// Lengths of a silence that the form offers, in seconds.
const LENGTHS: [u64; 7] = [30 * 60, 3_600, 2 * 3_600, 8 * 3_600, 86_400, 7 * 86_400, 30 * 86_400];

pub(in crate::pages) fn add(routes: Routes) -> Routes {
    routes.page(Permission::Silence, &Method::GET, PATH, get(show)).page(
        Permission::Silence,
        &Method::POST,
        PATH,
        post(submit),
    )
}

/// A request about one expectation of a job, which need not exist.
struct Request<'a> {
    page: &'a PageRequest,
    job: JobName,
    kind: ConditionKind,
}

impl<'a> Request<'a> {
    fn of(page: &'a PageRequest) -> Answer<Self> {
        let kind = expectation(page.asked.address.value("expectation").unwrap_or_default())?;
        Ok(Self { page, job: page.job()?, kind })
    }

    fn present(&self) -> Option<Silence> {
        let PageRequest { asked, namespace, .. } = self.page;
        namespace.alerts.stored.silence(&self.job, self.kind, asked.now)
    }

    fn form(&self, status: StatusCode, fault: Option<&Fault>) -> Response {
        self.page.respond_below(Section::Alerts, status, Lang::silence, |cx| self.main(cx, fault))
    }

    fn main(&self, cx: &Cx<'_>, fault: Option<&Fault>) -> Markup {
        let lang = cx.lang();
        let lengths = LENGTHS.map(|seconds| {
            let length = jiff::SignedDuration::try_from(std::time::Duration::from_secs(seconds));
            (seconds.to_string(), cx.length(length.unwrap_or_default()))
        });
        let lengths: Vec<_> = lengths.iter().map(|(word, text)| (&**word, text.clone())).collect();
        let present = self.present();
        html! {
            section #act-form.card aria-labelledby="act-title" {
                h1 #act-title { (lang.silence()) (cx.lang().colon()) (self.job) " · " (self.kind) }
                p.sub { (lang.silence_hint()) }
                @if let Some(silence) = &present {
                    p.why.neutral { (lang.by_author(&silence.by)) (cx.lang().colon()) (silence.why) }
                }
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    (choice("seconds", &lang.length_of_silence(), &lengths, "7200"))
                    (confirmation(cx, fault))
                    div.acts {
                        button.primary type="submit" name="step" value="begin" { (lang.silence()) }
                        @if present.is_some() {
                            button type="submit" name="step" value="end" { (lang.end_silence()) }
                        }
                        a.button href=(cx.here("alerts")) data-close { (lang.cancel()) }
                    }
                }
            }
        }
    }
}

async fn show(page: PageRequest) -> Answer<Response> {
    Ok(Request::of(&page)?.form(StatusCode::OK, None))
}

async fn submit(page: PageRequest, Form(fields): Form) -> Answer<Response> {
    let request = Request::of(&page)?;
    page.confirm_age(&fields)?;
    let by = match page.by(&fields) {
        Ok(by) => by,
        Err(fault) => return Ok(request.form(StatusCode::BAD_REQUEST, Some(&fault))),
    };
    let until = match field(&fields, "step") {
        Some("begin") => {
            let text = field(&fields, "seconds").unwrap_or_default();
            let seconds = text.parse().map_err(|_| {
                Problem::invalid(format!("seconds is {text:?}; valid is a number of seconds"))
            })?;
            Some(end_of("seconds", seconds)?)
        }
        Some("end") => None,
        other => {
            let detail = format!("step is {other:?}; valid is begin or end");
            return Err(Problem::invalid(detail));
        }
    };
    page.namespace.alerts.silence(&request.job, request.kind, until, &by).await?;
    Ok(page.lead_to("alerts"))
}
