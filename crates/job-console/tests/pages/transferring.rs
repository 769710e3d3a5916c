//! Export and import of configurations by forms.

use axum::http::StatusCode;

use super::configuring::form_of;
use super::lists::create;
use super::markup::faults;
use super::world::World;

const TRANSFER: &str = "/n/orders/transfer";

/// Returns the form that a reader sends with a document.
fn form(document: &str, more: &[(&str, &str)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("document", document).extend_pairs(more).finish()
}

async fn exported(world: &World, query: &str) -> String {
    let answer = world.get(&format!("{TRANSFER}/export{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.headers["content-type"], "application/json");
    let name = &answer.headers["content-disposition"];
    assert_eq!(name, "attachment; filename=\"orders-export.json\"");
    answer.text
}

#[tokio::test]
async fn export_has_the_matching_jobs_and_the_form_of_the_api() {
    let world = World::empty().await;
    create(&world, 3).await;
    let page = world.get(&format!("{TRANSFER}?q=job-001")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("transfer/export?q=job-001\" download>Download 1 job<"), "{page}");
    let one: serde_json::Value =
        serde_json::from_str(&exported(&world, "?q=job-001").await).unwrap();
    assert_eq!(one["jobs"].as_array().unwrap().len(), 1);
    let all: serde_json::Value = serde_json::from_str(&exported(&world, "").await).unwrap();
    let api = world.get("/api/v1/namespaces/orders/export").await.text;
    let api: serde_json::Value = serde_json::from_str(&api).unwrap();
    assert_eq!(all, api["export"]);
    assert_eq!(all["jobs"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn jobs_are_selected_by_names_and_patterns_in_both_directions() {
    let world = World::empty().await;
    create(&world, 3).await;
    let page = world.get(&format!("{TRANSFER}?jobs=job-000,*-002")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("Download 2 jobs") && !page.contains("<li>job-001</li>"), "{page}");
    let document = exported(&world, "?jobs=job-000,*-002").await;
    let names: serde_json::Value = serde_json::from_str(&document).unwrap();
    let names: Vec<_> = names["jobs"].as_array().unwrap().iter().map(|job| &job["job"]).collect();
    assert_eq!(names, ["job-000", "job-002"]);

    let all = exported(&world, "").await.replace("0 0 3 * * ?", "0 0 4 * * ?");
    let only = [("step", "preview"), ("overwrite", "yes"), ("jobs", "*-002")];
    let preview = world.post(TRANSFER, &form(&all, &only)).await;
    assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
    assert_eq!(preview.text.matches(">replaced</span></td>").count(), 1, "{}", preview.text);
    let write = form_of(&preview.text, &[("step", "write"), ("why", "one job only")]);
    let answer = world.post(TRANSFER, &write).await;
    assert_eq!(answer.headers["location"], "../../n/orders/jobs?changed=1", "{}", answer.text);
    let cron = async |job: &str| world.job(job).await.config().unwrap().cron.clone();
    assert_eq!(cron("job-002").await.as_deref(), Some("0 0 4 * * ?"));
    assert_eq!(cron("job-000").await.as_deref(), Some("0 0 3 * * ?"));

    let none = world.post(TRANSFER, &form(&all, &[("step", "preview"), ("jobs", "x-*")])).await;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = "selects none of the 3 jobs of the document, such as job-000, job-001, job-002";
    assert!(none.text.contains(expected), "{}", none.text);
}

#[tokio::test]
async fn import_shows_its_plan_then_writes_what_was_confirmed() {
    let world = World::empty().await;
    create(&world, 2).await;
    // One job is new, one differs, and one is the same.
    let document = exported(&world, "?q=job").await;
    let document = document.replacen("0 0 3 * * ?", "0 0 4 * * ?", 1);
    let (head, tail) = document.rsplit_once("\n    }\n  ]").unwrap();
    let second = head.rsplit_once("\n    {").unwrap().1;
    let third = second.replace("job-001", "job-new");
    let document = format!("{head}\n    }},\n    {{{third}\n    }}\n  ]{tail}");

    let stays = world.post(TRANSFER, &form(&document, &[("step", "preview")])).await.text;
    assert!(stays.contains("differs, stays") && stays.contains(">created<"), "{stays}");
    let more = [("step", "preview"), ("overwrite", "yes")];
    let preview = world.post(TRANSFER, &form(&document, &more)).await;
    assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
    assert_eq!(faults(&preview.text), [""; 0]);
    for expected in [">created<", ">replaced<", ">unchanged<", "<ins><code>&quot;0 0 4 * * ?"] {
        assert!(preview.text.contains(expected), "{expected}: {}", preview.text);
    }
    let cron = async |job: &str| world.job(job).await.config().unwrap().cron.clone();
    assert_eq!(cron("job-000").await.as_deref(), Some("0 0 3 * * ?"), "the preview writes nothing");

    let write = form_of(&preview.text, &[("step", "write"), ("why", " ")]);
    let answer = world.post(TRANSFER, &write).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.text.contains("id=\"fault-why\""), "{}", answer.text);
    let edit = world.post(TRANSFER, &form_of(&preview.text, &[("step", "edit")])).await.text;
    assert!(edit.contains("0 0 4 * * ?") && edit.contains("checked"), "{edit}");

    let write = form_of(&preview.text, &[("step", "write"), ("why", "a new region")]);
    let answer = world.post(TRANSFER, &write).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert_eq!(answer.headers["location"], "../../n/orders/jobs?changed=2");
    assert_eq!(cron("job-000").await.as_deref(), Some("0 0 4 * * ?"));
    let record = world.job("job-new").await;
    let record = record.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why), ("console", "a new region"));

    // The same form again meets another plan, which is shown instead.
    world.until("n/orders/jobs?q=job-new", |page| page.contains("j-job-new")).await;
    let is_shown = |page: &str| page.contains("0 0 4 * * ?");
    world.until("n/orders/jobs?q=job-000", is_shown).await;
    let answer = world.post(TRANSFER, &write).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("The jobs or groups have changed"), "{}", answer.text);
    assert!(answer.text.contains("Nothing changes."), "{}", answer.text);
}

#[tokio::test]
async fn unusable_document_is_named_beside_its_field() {
    let world = World::empty().await;
    world.until("n/orders/jobs", |page| page.contains("class=\"fresh ok\"")).await;
    for (document, expected) in [
        ("", "document is not an export"),
        ("jobs: [", "document is not an export"),
        ("format: other\nversion: 1\njobs: []\n", "valid is &quot;ejob-export&quot;"),
        ("format: ejob-export\nversion: 9\njobs: []\n", "this program reads version 1"),
    ] {
        let answer = world.post(TRANSFER, &form(document, &[("step", "preview")])).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{document}");
        assert_eq!(faults(&answer.text), [""; 0]);
        let fault = answer.text.split("id=\"fault-document\"").nth(1).expect("a fault is shown");
        assert!(fault.split("</p>").next().unwrap().contains(expected), "{document}: {fault}");
    }
    let empty = "format: ejob-export\nversion: 1\njobs: []\n";
    let answer = world.post(TRANSFER, &form(empty, &[("step", "fly")])).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}
