//! Placement by zones, labels, weights and pins, and strategies of the program.

use crate::error_handlers::store;
use crate::support;

use std::sync::Arc;

use coordination::JobConfig;
use lite::{JobBuilder, JobHandle};
use sharding::{
    Assignment, InstanceId, PlacementRules, ShardingStrategy, StrategyInput, StrategyRegistry,
};

use support::{Cluster, EVERY_TEN_SECONDS, Member, Runs, within};

fn placed(rules: &str) -> JobConfig {
    JobBuilder::new("job", 9).cron(EVERY_TEN_SECONDS).placement(rules).build().unwrap()
}

fn member(cluster: &Cluster, n: u8, attributes: &str) -> Member {
    let attributes = attributes.parse().unwrap();
    cluster.member_with(n, |builder| builder.attributes(attributes))
}

async fn join(member: &Member, config: &JobConfig) -> JobHandle {
    let handle = member.scheduler.schedule(config.clone(), Runs::default().job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle
}

/// Returns the number of items of each server from 1 on.
fn loads(cluster: &Cluster, servers: u8) -> Vec<usize> {
    let owners = cluster.owners("job", 9);
    let on = |n: u8| {
        let prefix = format!("10.0.0.{n}@");
        owners.iter().filter(|owner| owner.starts_with(&prefix)).count()
    };
    (1..=servers).map(on).collect()
}

async fn until_loads(cluster: &Cluster, expected: &[usize]) {
    let servers = u8::try_from(expected.len()).unwrap();
    cluster.until("job", "these loads", || loads(cluster, servers) == expected).await;
}

#[tokio::test(start_paused = true)]
async fn items_follow_weights_zones_labels_and_pins() {
    let cluster = Cluster::new();
    let config = placed("avoid disk=hdd; pin 7 server=10.0.0.1");
    let one = member(&cluster, 1, "zone=a disk=hdd");
    let two = member(&cluster, 2, "zone=a disk=ssd weight=2");
    let three = member(&cluster, 3, "zone=b disk=ssd");
    join(&one, &config).await;
    until_loads(&cluster, &[9]).await;
    let on_two = join(&two, &config).await;
    until_loads(&cluster, &[1, 8]).await;
    join(&three, &config).await;
    until_loads(&cluster, &[1, 6, 2]).await;
    assert!(cluster.owners("job", 9)[7].starts_with("10.0.0.1@"), "item 7 is pinned");

    cluster.configure(&placed("require disk=ssd").with(|it| it.overwrite = false)).await;
    until_loads(&cluster, &[0, 6, 3]).await;
    within("leaving", on_two.shutdown(support::DEADLINE)).await.unwrap();
    until_loads(&cluster, &[0, 0, 9]).await;
}

/// Instances that do not meet a required condition run nothing, even if no other instance lives.
#[tokio::test(start_paused = true)]
async fn excluded_instance_runs_nothing() {
    let cluster = Cluster::new();
    let one = member(&cluster, 1, "disk=hdd");
    let runs = Runs::default();
    let config = placed("require disk=ssd");
    one.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    cluster.pass(std::time::Duration::from_secs(35)).await;
    assert_eq!(runs.until("no runs", |_| true).await.len(), 0);
    let two = member(&cluster, 2, "disk=ssd");
    join(&two, &config).await;
    until_loads(&cluster, &[0, 9]).await;
}

/// Returns the strategy in the stored document.
fn stored_strategy(cluster: &Cluster, job: &str) -> String {
    let document = cluster.stored(job, &["config"]).unwrap();
    coordination::decode_config(document.as_bytes()).unwrap().strategy
}

#[tokio::test(start_paused = true)]
async fn new_single_item_jobs_spread_over_the_instances() {
    let cluster = Cluster::new();
    let members: Vec<Member> = (1..=3).map(|n| member(&cluster, n, "")).collect();
    let names: Vec<String> = (0..24).map(|n| format!("job-{n}")).collect();
    for name in &names {
        let config = JobBuilder::new(name, 1).cron(EVERY_TEN_SECONDS).build().unwrap();
        for member in &members {
            join(member, &config).await;
        }
        assert_eq!(stored_strategy(&cluster, name), "PLACEMENT");
    }
    let mut loads = [0; 3];
    for name in &names {
        let is_placed = || {
            let assignment = cluster.stored(name, &["coordination", "assignment"]);
            assignment.is_some_and(|it| (1..=3).all(|n| it.contains(&format!("10.0.0.{n}@"))))
        };
        cluster.until(name, "an assignment to three instances", is_placed).await;
        let owner = cluster.owners(name, 1).remove(0);
        let server = (1..=3).find(|n| owner.starts_with(&format!("10.0.0.{n}@"))).unwrap();
        loads[server - 1] += 1;
    }
    assert!(loads.iter().all(|load| (2..=14).contains(load)), "{loads:?}");
}

/// The strategy is fixed when the job is created: another program that names none accepts it.
#[tokio::test(start_paused = true)]
async fn declaration_without_a_strategy_keeps_the_stored_default() {
    let of = |strategy: &str| {
        JobBuilder::new("job", 9).cron(EVERY_TEN_SECONDS).strategy(strategy).overwrite(true)
    };
    for (stored, in_force) in [("", ""), ("PLACEMENT", "PLACEMENT"), ("ODEVITY", "PLACEMENT")] {
        let cluster = Cluster::new();
        store(&cluster, &of(stored).build().unwrap()).await;
        let kept = of("").overwrite(false).build().unwrap();
        let handle = join(&member(&cluster, 1, ""), &kept).await;
        let differs = handle.config_differences().iter().any(|it| it.field == "strategy");
        assert_eq!(differs, stored != in_force, "{stored}");
        assert_eq!(stored_strategy(&cluster, "job"), stored);
        join(&member(&cluster, 2, ""), &of("").build().unwrap()).await;
        assert_eq!(stored_strategy(&cluster, "job"), in_force, "{stored}");
    }
    let cluster = Cluster::new();
    let java = of("").java_class("a.B").build().unwrap();
    join(&member(&cluster, 1, ""), &java).await;
    assert_eq!(stored_strategy(&cluster, "job"), "", "Java instances may join");
}

#[test]
fn rules_need_a_strategy_that_applies_them() {
    let rows = [
        ("", "require a=b", None),
        ("AVG_ALLOCATION", "require a=b", None),
        ("PLACEMENT", "pin 0 a=b", None),
        ("AVG_ALLOCATION", "pin 0 a=b", Some("placement")),
        ("MINIMAL_MOVEMENT", "zones even", Some("placement")),
    ];
    let registry = StrategyRegistry::default();
    for (strategy, rules, field) in rows {
        let job = JobBuilder::new("job", 2).strategy(strategy).placement(rules);
        let config = job.build().unwrap();
        let strategy = registry.get(&config.strategy).unwrap();
        let error = config.check_rules_for(&*strategy).err();
        assert_eq!(error.map(|error| error.field), field, "{rules} with {}", strategy.name());
    }
    let error = JobBuilder::new("job", 2).placement("pin x a=b").build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "placement is \"x\" in rule 1, items of the pin; valid is an item such as `3`, or items such as `4..7`"
    );
    let error = JobBuilder::new("job", 2).placement("require a=b").java_class("a.B");
    let error = error.cron(EVERY_TEN_SECONDS).build().unwrap().check_for_java().unwrap_err();
    assert_eq!(error.field, "placement");
    assert!(PlacementRules::default().is_empty());
}

/// Gives all items to the instance with the most weight.
#[derive(Debug)]
struct Heaviest;

impl ShardingStrategy for Heaviest {
    fn name(&self) -> &str {
        "HEAVIEST"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let weight = |id: &&InstanceId| input.attributes_of(id).weight();
        let owner = input.instances.iter().max_by_key(weight);
        Assignment::from_owners((0..input.total_count).map(|_| owner.cloned()))
    }
}

#[tokio::test(start_paused = true)]
async fn strategy_of_the_program_reads_the_attributes() {
    let cluster = Cluster::new();
    let with_strategy = |n: u8, weight: u32| {
        let mut strategies = StrategyRegistry::default();
        strategies.register(Arc::new(Heaviest));
        cluster.member_with(n, |builder| builder.strategies(strategies).weight(weight).unwrap())
    };
    let (one, two) = (with_strategy(1, 3), with_strategy(2, 1));
    let config = JobBuilder::new("job", 9).cron(EVERY_TEN_SECONDS).strategy("HEAVIEST");
    let config = config.build().unwrap();
    join(&two, &config).await;
    until_loads(&cluster, &[0, 9]).await;
    join(&one, &config).await;
    until_loads(&cluster, &[9, 0]).await;
}
