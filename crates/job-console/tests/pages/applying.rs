//! Files of jobs, applied by a form.

use axum::http::StatusCode;
use coordination::{GroupLimits, GroupName};
use operations::By;

use super::configuring::form_of;
use super::markup::faults;
use super::world::World;

const APPLY: &str = "/n/orders/transfer/apply";

fn form(document: &str, more: &[(&str, &str)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("document", document).extend_pairs(more).finish()
}

fn file(job: &str) -> String {
    format!("[[jobs]]\nname = '{job}'\nsharding_total_count = 2\nstored = true\n")
}

/// A preview of a TOML file of the default owner.
fn preview<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&[("step", "preview"), ("name", "jobs.toml"), ("owner", "default")], more].concat()
}

#[tokio::test]
async fn apply_shows_its_plan_then_writes_what_was_confirmed() {
    let world = World::empty().await;
    world.until("n/orders/jobs", |page| page.contains("class=\"fresh ok\"")).await;
    let page = world.get("/n/orders/transfer").await.text;
    assert!(page.contains("transfer/apply\">Apply job files…</a>"), "{page}");
    let page = world.get(APPLY).await;
    assert_eq!((page.status, faults(&page.text)), (StatusCode::OK, vec![]), "{}", page.text);

    let plan = world.post(APPLY, &form(&file("first"), &preview(&[]))).await;
    assert_eq!(plan.status, StatusCode::OK, "{}", plan.text);
    assert_eq!(faults(&plan.text), [""; 0]);
    assert!(plan.text.contains(">created<"), "{}", plan.text);
    let blank = world.post(APPLY, &form_of(&plan.text, &[("step", "write"), ("why", " ")])).await;
    assert_eq!(blank.status, StatusCode::BAD_REQUEST);
    assert!(blank.text.contains("id=\"fault-why\""), "{}", blank.text);
    let edit = world.post(APPLY, &form_of(&plan.text, &[("step", "edit")])).await.text;
    assert!(edit.contains("name = &#39;first&#39;") || edit.contains("name = 'first'"), "{edit}");
    let write = form_of(&plan.text, &[("step", "write"), ("why", "a new job")]);
    let answer = world.post(APPLY, &write).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert_eq!(answer.headers["location"], "../../../n/orders/jobs?changed=1");
    assert!(world.job("first").await.has_config());

    // The same form again meets another plan, which is shown instead.
    let answer = world.post(APPLY, &write).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("The jobs or groups have changed"), "{}", answer.text);

    let prune = preview(&[("prune", "yes")]);
    let plan = world.post(APPLY, &form(&file("second"), &prune)).await;
    assert!(plan.text.contains("1 job is removed:"), "{}", plan.text);
    assert!(plan.text.contains(">removed</span> first"), "{}", plan.text);
    let write = form_of(&plan.text, &[("step", "write"), ("why", "renamed")]);
    let answer = world.post(APPLY, &write).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert!(world.job("second").await.has_config());
    let is_removed = |page: &str| page.contains("j-second") && !page.contains("j-first");
    world.until("n/orders/jobs", is_removed).await;
}

#[tokio::test]
async fn limits_of_groups_are_shown_then_set() {
    let world = World::empty().await;
    world.until("n/orders/jobs", |page| page.contains("class=\"fresh ok\"")).await;
    let limits = |max: u32| format!("[[groups]]\nname = 'db'\ncluster_concurrency = {max}\n");
    let document = limits(2) + &file("first") + "group = 'db'\n";
    let plan = world.post(APPLY, &form(&document, &preview(&[]))).await;
    assert_eq!((plan.status, faults(&plan.text)), (StatusCode::OK, vec![]), "{}", plan.text);
    for expected in [
        "Job or group</th>",
        "<th scope=\"row\">Group db</th>",
        "<code>cluster_concurrency</code>: <del><code>none</code></del> <ins><code>2</code></ins>",
    ] {
        assert!(plan.text.contains(expected), "{expected}: {}", plan.text);
    }
    let zh = world.post(&format!("{APPLY}?lang=zh"), &form(&document, &preview(&[]))).await.text;
    assert!(zh.contains("<th scope=\"row\">组 db</th>"), "{zh}");

    let group = GroupName::new("db").unwrap();
    let by = By::new("anna", "the database is slow").unwrap();
    let one = GroupLimits { cluster_concurrency: Some(1), start_rate: None };
    world.operations().set_group(&group, one, &by).await.unwrap();
    let write = form_of(&plan.text, &[("step", "write"), ("why", "a new job")]);
    let again = world.post(APPLY, &write).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(again.text.contains("The jobs or groups have changed"), "{}", again.text);
    assert!(again.text.contains("<del><code>1</code></del>"), "{}", again.text);
    let write = form_of(&again.text, &[("step", "write"), ("why", "a new job")]);
    let answer = world.post(APPLY, &write).await;
    assert_eq!(answer.headers["location"], "../../../n/orders/jobs?changed=2", "{}", answer.text);
    let stored = world.operations().group(&group).await.unwrap();
    assert_eq!(stored.view().limits().unwrap().cluster_concurrency, Some(2));
    let record = stored.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why), ("console", "a new job"));
    assert_eq!(world.job("first").await.config().unwrap().group, Some(group));
}

#[tokio::test]
async fn unusable_file_is_named_beside_its_field() {
    let world = World::empty().await;
    world.until("n/orders/jobs", |page| page.contains("class=\"fresh ok\"")).await;
    let zero = file("a").replace("= 2", "= 0");
    let other = [("step", "preview"), ("name", "jobs.toml"), ("owner", "team a")];
    let form_name = [("step", "preview"), ("name", "jobs.txt"), ("owner", "default")];
    let often = format!("[[groups]]\nname = 'db'\nstart_rate = 'often'\n{}", file("a"));
    for (document, fields, expected) in [
        (
            &*often,
            &preview(&[])[..],
            "start_rate is &quot;often&quot;; valid is a number of starts",
        ),
        (&*zero, &preview(&[])[..], "line 3: job &quot;a&quot;: sharding_total_count is 0"),
        ("[[jobs", &preview(&[])[..], "jobs.toml: the file is not valid TOML"),
        (&*file("a"), &other[..], "owner is &quot;team a&quot;"),
        (&*file("a"), &form_name[..], "name is &quot;jobs.txt&quot;"),
    ] {
        let answer = world.post(APPLY, &form(document, fields)).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{document}");
        assert_eq!(faults(&answer.text), [""; 0]);
        let fault = answer.text.split("id=\"fault-document\"").nth(1).expect("a fault is shown");
        assert!(fault.split("</p>").next().unwrap().contains(expected), "{document}: {fault}");
    }
    let fly = [("step", "fly"), ("name", "jobs.toml"), ("owner", "default")];
    let answer = world.post(APPLY, &form(&file("a"), &fly)).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}
