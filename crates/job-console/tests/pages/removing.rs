//! Removal of servers by a pattern.

use axum::http::StatusCode;
use coordination::{JobName, Layout, NodeKind, ServerIp};
use reg_center::{Lifetime, RegistryCenter as _, Txn};

use super::configuring::form_of;
use super::lists::create;
use super::markup::faults;
use super::world::World;

const REMOVAL: &str = "/n/orders/servers/removal";

/// Writes a job that three servers without instances know.
async fn with_servers(world: &World) {
    create(world, 1).await;
    let layout = Layout::new(&JobName::new("job-000").unwrap());
    let server = |ip| layout.path(&NodeKind::Server(ServerIp::new(ip).unwrap()));
    let txn = ["10.0.0.1", "10.0.0.2", "10.1.0.1"]
        .into_iter()
        .fold(Txn::new(), |txn, ip| txn.create(server(ip), Vec::new(), Lifetime::Persistent));
    world.registry.connect().commit(txn).await.unwrap();
    world.until("n/orders/servers", |page| page.contains("10.1.0.1")).await;
}

#[tokio::test]
async fn matching_servers_are_shown_then_removed() {
    let world = World::empty().await;
    with_servers(&world).await;
    let page = world.get("/n/orders/servers").await.text;
    assert!(page.contains("servers/removal\">Remove servers…</a>"), "{page}");
    let form = world.get(REMOVAL).await;
    assert_eq!((form.status, faults(&form.text)), (StatusCode::OK, vec![]), "{}", form.text);

    let address = format!("{REMOVAL}?servers=10.0.*");
    let preview = world.get(&address).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    for (ip, is_shown) in [("10.0.0.1", true), ("10.0.0.2", true), ("10.1.0.1", false)] {
        assert_eq!(preview.contains(&format!("server {ip}")), is_shown, "{ip}: {preview}");
    }
    let blank = world.post(&address, &form_of(&preview, &[("why", " ")])).await;
    assert_eq!(blank.status, StatusCode::BAD_REQUEST);
    assert!(blank.text.contains("id=\"fault-why\""), "{}", blank.text);
    let answer = world.post(&address, &form_of(&preview, &[("why", "these hosts are gone")])).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert_eq!(answer.headers["location"], "../../../n/orders/servers?changed=2");
    let job = world.job("job-000").await;
    let left: Vec<_> = job.view().servers().map(|(ip, _)| ip.to_string()).collect();
    assert_eq!(left, ["10.1.0.1"]);
    assert_eq!(job.audit().next_back().unwrap().why, "these hosts are gone");
}

#[tokio::test]
async fn removal_is_shown_again_if_other_servers_match() {
    let world = World::empty().await;
    with_servers(&world).await;
    let address = format!("{REMOVAL}?servers=10.*");
    let preview = world.get(&address).await.text;
    let narrower = format!("{REMOVAL}?servers=10.0.*");
    let answer = world.post(&narrower, &form_of(&preview, &[("why", "test")])).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("have changed"), "{}", answer.text);
    assert_eq!(world.job("job-000").await.view().servers().count(), 3);
}

#[tokio::test]
async fn unusable_pattern_is_named_and_none_changes_nothing() {
    let world = World::empty().await;
    with_servers(&world).await;
    let answer = world.get(&format!("{REMOVAL}?servers=host-*")).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(faults(&answer.text), [""; 0]);
    assert!(
        answer.text.contains("servers is &quot;host-*&quot;; valid is an IP address"),
        "{}",
        answer.text
    );
    let answer = world.get(&format!("{REMOVAL}?servers=192.168.*")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.text.contains("Nothing changes."), "{}", answer.text);
}
