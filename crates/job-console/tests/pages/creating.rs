//! Creation of jobs from templates by a form.

use axum::http::StatusCode;
use coordination::Dialect;

use super::configuring::form_of;
use super::lists::create;
use super::markup::faults;
use super::world::{HOSTILE, World};

const PAGE: &str = "/n/orders/create";

const REPORT: [(&str, &str); 6] = [
    ("step", "preview"),
    ("job", "report-eu"),
    ("template", "report"),
    ("label", "eu"),
    ("cron", "0 30 4 * * ?"),
    ("dialect", "3.x"),
];

/// Returns the name and the text of each fault beside a control.
fn named(page: &str) -> Vec<(&str, &str)> {
    let all =
        page.split("id=\"fault-").skip(1).filter_map(|rest| rest.split_once("\" lang=\"en\">"));
    all.map(|(name, rest)| (name, rest.split("</p>").next().unwrap_or(rest))).collect()
}

#[tokio::test]
async fn job_is_shown_then_created_from_its_template() {
    let world = World::empty().await;
    let jobs = world.get("/n/orders/jobs").await.text;
    assert!(jobs.contains("/n/orders/create\">Create a job…</a>"), "{jobs}");
    let form = world.get(PAGE).await;
    assert_eq!((form.status, faults(&form.text)), (StatusCode::OK, vec![]), "{}", form.text);
    let preview = world.post(PAGE, &form_of(&form.text, &REPORT)).await;
    assert_eq!((preview.status, faults(&preview.text)), (StatusCode::OK, vec![]));
    for text in [
        "<dd>report</dd>",
        "<dd>eu</dd>",
        "04:30:00</time>",
        "<code>&quot;0 30 4 * * ?&quot;</code>",
    ] {
        assert!(preview.text.contains(text), "{text}: {}", preview.text);
    }
    assert!(
        world.operations().job_names().await.unwrap().is_empty(),
        "the preview creates nothing"
    );

    let edited = world.post(PAGE, &form_of(&preview.text, &[("step", "edit")])).await.text;
    for value in ["name=\"job\" value=\"report-eu\"", "name=\"cron\" value=\"0 30 4 * * ?\""] {
        assert!(edited.contains(value), "{value}: {edited}");
    }
    assert!(edited.contains("<option value=\"3.x\" selected>"), "{edited}");
    let no_reason = form_of(&preview.text, &[("step", "write"), ("why", " ")]);
    let answer = world.post(PAGE, &no_reason).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(named(&answer.text).first().map(|(name, _)| *name), Some("why"));

    let write = form_of(&preview.text, &[("step", "write"), ("why", "a new region")]);
    let answer = world.post(PAGE, &write).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap();
    assert!(location.ends_with("n/orders/jobs?q=report-eu&changed=1"), "{location}");
    let job = world.job("report-eu").await;
    let template = job.template().unwrap().unwrap();
    let label = template.label.as_ref().map(ToString::to_string);
    assert_eq!((template.template.as_str(), label.as_deref()), ("report", Some("eu")));
    let config = job.config().unwrap();
    assert_eq!(
        (config.cron.as_deref(), config.java.dialect()),
        (Some("0 30 4 * * ?"), Dialect::V3)
    );
    let record = job.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why), ("console", "a new region"));
    world.until("n/orders/jobs?q=report-eu", |page| page.contains("jobs/report-eu\"")).await;

    // The same form again finds the job, and the form offers its template.
    let again = world.post(PAGE, &write).await;
    assert_eq!((again.status, faults(&again.text)), (StatusCode::UNPROCESSABLE_ENTITY, vec![]));
    assert_eq!(named(&again.text).first().map(|(name, _)| *name), Some("job"), "{}", again.text);
    assert!(again.text.contains("<option value=\"report\">"), "{}", again.text);
}

#[tokio::test]
async fn all_faults_of_a_new_job_are_named_at_once_and_nothing_is_created() {
    let world = World::empty().await;
    create(&world, 1).await;
    let form = world.get(PAGE).await.text;
    let wrong = [
        ("step", "preview"),
        ("job", "a/b"),
        ("template", " "),
        ("label", "eu,us"),
        ("jitter", "soon"),
        ("sharding_total_count", "0"),
        ("strategy", "dice"),
        ("dialect", "2.1.5"),
    ];
    let answer = world.post(PAGE, &form_of(&form, &wrong)).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
    assert_eq!(faults(&answer.text), [""; 0]);
    let mut names: Vec<_> = named(&answer.text).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    let mut expected: Vec<_> = wrong[1..7].iter().map(|(name, _)| *name).collect();
    expected.sort_unstable();
    assert_eq!(names, expected, "{}", answer.text);

    let known = [
        ("step", "preview"),
        ("job", "job-000"),
        ("template", "report"),
        ("dialect", "2.1.5"),
        ("cron", "daily"),
    ];
    let answer = world.post(PAGE, &form_of(&form, &known)).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
    assert_eq!(named(&answer.text)[0].0, "cron", "{}", answer.text);
    let existing = form_of(&form, &known[..4]);
    let answer = world.post(PAGE, &existing).await;
    let expected = "registered by the code of its instances";
    assert!(named(&answer.text)[0].1.contains(expected), "{}", answer.text);
    let hostile = [("step", "preview"), ("job", HOSTILE), ("template", HOSTILE)];
    let hostile = [&hostile[..], &[("dialect", "3.x")]].concat();
    let preview = world.post(PAGE, &form_of(&form, &hostile)).await;
    assert_eq!((preview.status, faults(&preview.text)), (StatusCode::OK, vec![]));
    assert!(!preview.text.contains("<img"), "{}", preview.text);
    let dialect = world.post(PAGE, &form_of(&form, &[("step", "preview"), ("dialect", "4")])).await;
    assert_eq!(dialect.status, StatusCode::BAD_REQUEST);
    assert!(dialect.text.contains("valid is 2.1.5 or 3.x"), "{}", dialect.text);
    assert_eq!(world.operations().job_names().await.unwrap().len(), 1);
}
