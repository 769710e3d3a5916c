//! Groups: the list, the page of one group, and the forms that change limits.

use axum::http::StatusCode;
use coordination::{GroupLimits, GroupName, JobConfig, JobName, Layout, NodeKind, encode_config};
use reg_center::{Lifetime, NodePath, RegistryCenter as _, Txn};

use super::configuring::form_of;
use super::lists::create;
use super::markup::faults;
use super::world::{Events, World};

const GROUP: &str = "/n/orders/groups/db";
const SET: &str = "/n/orders/group-limits";
const PERMIT: &str = r#"{"v":1,"job":"import","item":3,"by":"10.0.0.7@-@42","token":1}"#;

async fn write(world: &World, nodes: &[(&str, &str)]) {
    for (path, data) in nodes {
        let path = NodePath::parse(path).unwrap();
        let txn = Txn::new().create(path, (*data).to_owned(), Lifetime::Persistent);
        assert!(world.registry.connect().commit(txn).await.unwrap().is_committed());
    }
}

async fn set(world: &World, runs: u32) {
    let limits = GroupLimits { cluster_concurrency: Some(runs), start_rate: None };
    let by = operations::By::new("anna", "the database is slow").unwrap();
    world.operations().set_group(&GroupName::new("db").unwrap(), limits, &by).await.unwrap();
}

/// Writes a group with a limit of one run, which a run of another job has, and two waiting jobs.
async fn with_group(world: &World) {
    create(world, 2).await;
    set(world, 1).await;
    let name = JobName::new("sync").unwrap();
    let mut config = JobConfig::new(name.clone(), 1);
    config.group = GroupName::new("db").ok();
    let path = Layout::new(&name).path(&NodeKind::Config);
    write(
        world,
        &[
            (path.as_str(), &encode_config(&config)),
            ("/sync/ledger/0", r#"{"v":1,"state":"idle","token":1}"#),
            ("/job@-@groups/db/permits/0", PERMIT),
            ("/job@-@groups/db/waiting/sync", r#"{"v":1,"by":"10.0.0.8@-@1"}"#),
            ("/job@-@groups/db/waiting/job-000", r#"{"v":1,"by":"10.0.0.9@-@1"}"#),
        ],
    )
    .await;
    // The stream of a page ends while the console does not know its group.
    world.until("n/orders/groups", |page| page.contains("groups/db")).await;
    world.until("n/orders/groups/db", |page| page.contains("w-job-000")).await;
}

#[tokio::test]
async fn list_teaches_how_a_group_gets_limits() {
    let world = World::empty().await;
    let page = world.get("/n/orders/groups").await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("No groups") && page.contains("ejob group set"), "{page}");
    assert!(page.contains("group-limits\">Set limits…</a>"), "{page}");
    let answer = world.get(GROUP).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
}

#[tokio::test]
async fn group_shows_its_runs_the_line_its_jobs_and_its_changes() {
    let world = World::empty().await;
    with_group(&world).await;
    let list = world.get("/n/orders/groups").await.text;
    assert_eq!(faults(&list), [""; 0]);
    for expected in
        ["1 of 1", "all permits taken", "jobs/sync\">sync</a>", "Groups <b class=\"n\">1<"]
    {
        assert!(list.contains(expected), "{expected}: {list}");
    }
    assert!(world.get("/n/orders/groups?q=DB").await.text.contains("groups/db\">db</a>"));
    assert!(!world.get("/n/orders/groups?q=api").await.text.contains("groups/db"));

    let page = world.get(GROUP).await.text;
    assert_eq!(faults(&page), [""; 0]);
    for expected in [
        "jobs/import?item=3\">3</a>",
        "title=\"10.0.0.7@-@42\"",
        "no limits -&gt; at most 1 run at once",
        "by anna",
        "the database is slow",
        "<tr id=\"j-sync\">",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let place = |job: &str| page.find(&format!("<tr id=\"w-{job}\">")).unwrap();
    assert!(place("sync") < place("job-000"), "the job that has waited longest comes first");
    let zh = world.get(&format!("{GROUP}?lang=zh")).await.text;
    assert!(zh.contains("没有上限 → 最多同时 1 个运行"), "{zh}");

    let audit = world.get("/n/orders/audit").await.text;
    assert_eq!(faults(&audit), [""; 0]);
    assert!(audit.contains("groups/db\">db</a>") && audit.contains("set group"), "{audit}");
}

#[tokio::test]
async fn page_of_a_job_explains_its_group_and_follows_it() {
    let world = World::empty().await;
    with_group(&world).await;
    let item = "n/orders/jobs/sync?item=0";
    let page = world.get(&format!("/{item}")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    let expected = "Waits for a permit of the group db (1 of 1 are taken): import item 3 on";
    assert!(page.contains(expected), "{page}");
    assert!(page.contains("groups/db\">db</a>"), "{page}");
    let mut stream = Events::of(&world, item).await;
    stream.next_change().await;
    set(&world, 2).await;
    let change = stream.next_change().await;
    assert!(change.contains("id=\"item\"") && !change.contains(expected), "{change}");
}

#[tokio::test]
async fn limits_are_shown_before_they_are_written() {
    let world = World::empty().await;
    with_group(&world).await;
    let form = world.get(&format!("{SET}?group=db")).await.text;
    assert_eq!(faults(&form), [""; 0]);
    assert!(form.contains("name=\"cluster_concurrency\" type=\"number\""), "{form}");
    assert!(form.contains("value=\"1\""), "the present limit is in the form: {form}");

    let address = format!("{SET}?group=db&cluster_concurrency=&start_rate=9+in+1m");
    let preview = world.get(&address).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    for expected in ["<del><code>1</code>", "<ins><code>9 in 1m</code>", "2 jobs wait now"] {
        assert!(preview.contains(expected), "{expected}: {preview}");
    }
    let blank = world.post(&address, &form_of(&preview, &[("why", " ")])).await;
    assert_eq!(blank.status, StatusCode::BAD_REQUEST);
    assert!(blank.text.contains("id=\"fault-why\""), "{}", blank.text);
    // Another operator has changed the limits meanwhile.
    set(&world, 3).await;
    let again = world.post(&address, &form_of(&preview, &[("why", "test")])).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(again.text.contains("<del><code>3</code>"), "{}", again.text);
    let done = world.post(&address, &form_of(&again.text, &[("why", "a new disk")])).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    assert_eq!(done.headers["location"], "../../n/orders/groups/db?changed=1");
    let group = world.operations().group(&GroupName::new("db").unwrap()).await.unwrap();
    assert_eq!(group.view().limits().unwrap().to_string(), "at most 9 starts in 1m");
    assert_eq!(group.audit().next_back().unwrap().why, "a new disk");
    world.until("n/orders/groups/db", |page| page.contains("a new disk")).await;
    let same = world.get(&address).await.text;
    assert!(same.contains("Nothing changes.") && !same.contains("name=\"why\""), "{same}");
}

#[tokio::test]
async fn unusable_limits_are_named_beside_their_controls() {
    let world = World::empty().await;
    for (query, expected) in [
        ("group=&cluster_concurrency=1", "group is missing; valid is a name of at most 128"),
        ("group=a%2Fb&cluster_concurrency=1", "id=\"fault-group\""),
        ("group=db&cluster_concurrency=0", "cluster_concurrency is 0; valid is 1 to 4294967295"),
        (
            "group=db&cluster_concurrency=x",
            "cluster_concurrency is &quot;x&quot;; valid is a number",
        ),
        (
            "group=db&start_rate=often",
            "start_rate is &quot;often&quot;; valid is a number of starts",
        ),
        ("group=db&cluster_concurrency=&start_rate=", "are both missing; valid is one of them"),
    ] {
        let answer = world.get(&format!("{SET}?{query}")).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
        assert_eq!(faults(&answer.text), [""; 0]);
        assert!(answer.text.contains(expected), "{query}: {}", answer.text);
    }
    assert!(world.operations().groups().await.unwrap().is_empty());
}

#[tokio::test]
async fn timeline_of_a_job_has_the_changes_of_its_group() {
    let world = World::empty().await;
    with_group(&world).await;
    for (filter, is_shown) in [
        ("", true),
        ("?job=sync", true),
        ("?job=job-000", false),
        ("?kind=operator", true),
        ("?kind=configuration", false),
    ] {
        let page = world.get(&format!("/n/orders/timeline{filter}")).await.text;
        assert_eq!(faults(&page), [""; 0]);
        assert_eq!(page.contains("groups/db\">db</a>"), is_shown, "{filter}: {page}");
        assert_eq!(page.contains("the database is slow"), is_shown, "{filter}: {page}");
    }
}

#[tokio::test]
async fn removal_of_limits_is_a_dialog_and_keeps_the_group_of_its_jobs() {
    let world = World::empty().await;
    with_group(&world).await;
    let page = world.get(GROUP).await.text;
    assert!(page.contains("groups/db/removal\" data-dialog"), "{page}");
    let address = format!("{GROUP}/removal");
    let form = world.get(&address).await.text;
    assert_eq!(faults(&form), [""; 0]);
    assert!(form.contains("1 job is in the group:"), "{form}");
    let blank = world.post(&address, &form_of(&form, &[("why", "")])).await;
    assert_eq!(blank.status, StatusCode::BAD_REQUEST);
    let done = world.post(&address, &form_of(&form, &[("why", "it has grown")])).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
    world.until("n/orders/groups/db", |page| page.contains("it has grown")).await;
    let page = world.get(GROUP).await.text;
    assert!(page.contains("no limits") && !page.contains("/removal"), "{page}");
    assert!(page.contains("<tr id=\"j-sync\">"), "{page}");
}

#[tokio::test]
async fn finding_about_a_group_leads_to_its_group_and_to_its_repair() {
    let world = World::empty().await;
    with_group(&world).await;
    let finding = "groups/db/repair?code=orphaned-group-permit";
    world.until("n/orders/doctor", |page| page.contains(finding)).await;
    let page = world.get("/n/orders/doctor").await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("Group <a href=\"../../n/orders/groups/db\">db</a>"), "{page}");
    let link = page.split(finding).nth(1).unwrap().split('"').next().unwrap();
    let address = format!("/n/orders/{finding}{}", link.replace("&amp;", "&"));
    let form = world.get(&address).await.text;
    assert_eq!(faults(&form), [""; 0]);
    let digest = form.split("name=\"digest\" value=\"").nth(1).unwrap();
    let digest = digest.split('"').next().unwrap();
    let answer = world.post(&address, &format!("digest={digest}&why=left+over")).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let group = world.operations().group(&GroupName::new("db").unwrap()).await.unwrap();
    assert_eq!(group.view().permits().len(), 0);
    let record = group.audit().next_back().unwrap();
    assert_eq!((&*record.why, &*record.act), ("left over", "fix"));
}
