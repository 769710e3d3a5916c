//! The form that silences an expectation, or ends its silence.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use coordination::JobName;
use job_watch::{ConditionKind, Silence};
use maud::{Markup, html};
use operations::Error;

use crate::access::Permission;
use crate::alerts::{end_of, expectation};
use crate::namespaces::{Namespace, Namespaces};
use crate::pages::act::check_age;
use crate::pages::configure::preview::confirmation;
use crate::pages::configure::{Fault, by, field};
use crate::pages::cx::{Age, Cx};
use crate::pages::query::encoded;
use crate::pages::shell::{Body, Section, choice, document};
use crate::pages::summary::Summary;
use crate::pages::{Asked, html as respond, see_other};
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
    namespaces: &'a Namespaces,
    namespace: &'a Arc<Namespace>,
    asked: &'a Asked,
    job: JobName,
    kind: ConditionKind,
}

impl<'a> Request<'a> {
    fn of(namespaces: &'a Namespaces, asked: &'a Asked) -> Answer<Self> {
        let segments = asked.address.segments();
        let segment = |at: usize| segments.get(at).copied().unwrap_or_default();
        let namespace = namespaces.get(segment(1))?;
        let job = JobName::new(segment(3)).map_err(Error::from)?;
        let kind = expectation(asked.address.value("expectation").unwrap_or_default())?;
        Ok(Self { namespaces, namespace, asked, job, kind })
    }

    fn present(&self) -> Option<Silence> {
        let all = self.namespace.alerts.stored.silences(self.asked.now);
        let of_job = all.into_iter().find(|one| one.job == self.job)?;
        of_job.silences.into_iter().find(|one| one.expectation == self.kind)
    }

    fn form(&self, status: StatusCode, fault: Option<&Fault>) -> Response {
        let names: Vec<&str> = self.namespaces.all().map(|one| one.name.as_str()).collect();
        let summary = Summary::of(self.namespace, self.asked.now);
        let cx = self.asked.cx(Some(self.namespace), &names, &summary);
        let lang = cx.lang();
        let body = Body {
            title: lang.silence(),
            crumbs: vec![(lang.alerts(), cx.here("alerts"))],
            section: Section::Alerts,
            main: self.main(&cx, fault),
            is_live: false,
        };
        respond(status, document(&cx, &body))
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
                h1 #act-title { (lang.silence()) ": " (self.job) " · " (self.kind) }
                p.sub { (lang.silence_hint()) }
                @if let Some(silence) = &present {
                    p.why.neutral { (lang.by_author(&silence.by)) ": " (silence.why) }
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

async fn show(State(namespaces): State<Arc<Namespaces>>, asked: Asked) -> Answer<Response> {
    Ok(Request::of(&namespaces, &asked)?.form(StatusCode::OK, None))
}

async fn submit(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
    Form(fields): Form<Vec<(String, String)>>,
) -> Answer<Response> {
    let request = Request::of(&namespaces, &asked)?;
    let age = Age::of(request.namespace.live.freshness(), asked.now);
    check_age(age, field(&fields, "stale").unwrap_or_default())?;
    let by = match by(&asked, &fields) {
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
    request.namespace.alerts.silence(&request.job, request.kind, until, &by).await?;
    let namespace = encoded(&request.namespace.name);
    Ok(see_other(&asked.root, &format!("n/{namespace}/alerts")))
}
