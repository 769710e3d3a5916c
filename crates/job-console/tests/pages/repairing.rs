//! Repairs of findings by forms.

use axum::http::StatusCode;
use coordination::{JobConfig, JobName, Layout, NodeKind, ServerIp, encode_config};
use reg_center::{Lifetime, RegistryCenter as _, Txn};

use super::markup::faults;
use super::world::World;

/// Writes a job with an instance node that no session owns, and returns the address of its repair.
async fn with_finding(world: &World) -> String {
    let job = JobName::new("report").unwrap();
    let layout = Layout::new(&job);
    let mut config = JobConfig::new(job, 2);
    config.cron = Some("0 0 3 * * ?".to_owned());
    let config = encode_config(&config);
    let id = sharding::InstanceId::new("10.0.0.9@-@77");
    let instance = layout.path(&NodeKind::Instance(id));
    let txn = Txn::new()
        .create(layout.path(&NodeKind::Config), config, Lifetime::Persistent)
        .create(instance, Vec::new(), Lifetime::Persistent);
    world.registry.connect().commit(txn).await.unwrap();
    world.until("n/orders/doctor", |page| page.contains(">ghost-instance<")).await;
    let page = world.get("/n/orders/doctor?job=report").await.text;
    assert_eq!(faults(&page), [""; 0]);
    let link = page
        .split("jobs/report/repair?code=ghost-instance")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    format!("/n/orders/jobs/report/repair?code=ghost-instance{}", link.replace("&amp;", "&"))
}

#[tokio::test]
async fn repair_is_shown_then_applied_and_recorded() {
    let world = World::empty().await;
    let address = with_finding(&world).await;
    let page = world.get(&address).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("Steps of the transaction"), "{page}");
    let digest = page.split("name=\"digest\" value=\"").nth(1).unwrap();
    let digest = digest.split('"').next().unwrap();
    for (form, status) in [
        ("why=x".to_owned(), StatusCode::CONFLICT),
        (format!("digest={digest}0&why=x"), StatusCode::CONFLICT),
        (format!("digest={digest}&why="), StatusCode::BAD_REQUEST),
    ] {
        let answer = world.post(&address, &form).await;
        assert_eq!(answer.status, status, "{form}");
        assert_eq!(faults(&answer.text), [""; 0]);
    }
    let answer = world.post(&address, &format!("digest={digest}&why=left+over")).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap();
    assert!(location.ends_with("n/orders/doctor?changed=1"), "{location}");
    let record = world.job("report").await;
    let record = record.audit().next_back().unwrap();
    assert_eq!((&*record.why, &*record.act), ("left over", "fix"));
}

#[tokio::test]
async fn doctor_names_leftovers_without_a_configuration_and_leads_to_their_nodes() {
    let world = World::empty().await;
    let job = JobName::new("gone").unwrap();
    let server = Layout::new(&job).path(&NodeKind::Server(ServerIp::new("10.0.0.9").unwrap()));
    let txn = Txn::new().create(server, Vec::new(), Lifetime::Persistent);
    world.registry.connect().commit(txn).await.unwrap();
    world.until("n/orders/doctor", |page| page.contains(">no-config<")).await;
    let page = world.get("/n/orders/doctor").await.text;
    assert!(page.contains("n/orders/registry/gone\">gone</a>"), "{page}");
    assert_eq!(world.get("/n/orders/registry/gone").await.status, StatusCode::OK);
}
