//! Planned moves, next fires, and reasons why a job does not run, for nodes of real schedulers.

use crate::support;

use operations::{
    FireNeed, MAX_WHAT_IF_ENTRIES, MovePlan, PlanError, Scope, WhatIf, WhatIfPart, WhyNot,
    diagnose, next_fires, plan_moves, why_item_not_running, why_not_running,
};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use support::{World, by, every_ten_seconds, ip, items, job, noon, on_request, shared_by, within};

fn plan(job: &operations::JobSnapshot, what_if: &WhatIf) -> MovePlan {
    plan_moves(job, what_if, &StrategyRegistry::default(), 0).unwrap()
}

/// Returns the owner of each item after a plan.
fn owners(job: &operations::JobSnapshot, plan: &MovePlan) -> Vec<Option<String>> {
    let mut owners: Vec<_> =
        job.items().into_iter().map(|item| job.owner(item).map(ToString::to_string)).collect();
    for planned in &plan.moves {
        owners.resize(owners.len().max(planned.item as usize + 1), None);
        owners[planned.item as usize].clone_from(&planned.to);
    }
    owners
}

#[tokio::test(start_paused = true)]
async fn plan_matches_the_decision_of_the_leader() {
    let world = World::new();
    let one = world.member(1, on_request()).await;
    let before = world.until("the first to own all items", |job| shared_by(job, &[1])).await;
    assert!(plan(&before, &WhatIf::default()).moves.is_empty(), "no change, no moves");

    let join = WhatIf::default().with(|it| it.join = vec![InstanceId::new("10.0.0.2@-@2")]);
    let planned = plan(&before, &join);
    let _two = world.member(2, on_request()).await;
    let after = world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    assert_eq!(owners(&before, &planned), owners(&after, &plan(&after, &WhatIf::default())));

    let disable = plan(&after, &WhatIf::default().with(|it| it.disable = vec![ip(2)]));
    let leave = WhatIf::default().with(|it| it.leave = vec![InstanceId::new("10.0.0.1@-@1")]);
    let planned = plan(&after, &leave);
    assert_eq!((disable.moves.len(), planned.moves.len()), (2, 2));
    within("leaving", one.handle.shutdown(support::DEADLINE)).await.unwrap();
    let last = world.until("the second to own all items", |job| shared_by(job, &[2])).await;
    assert_eq!(owners(&after, &planned), owners(&last, &plan(&last, &WhatIf::default())));
    let empty = plan(&last, &WhatIf::default().with(|it| it.disable = vec![ip(2)]));
    assert!(empty.no_available_instance && empty.moves.is_empty());

    let more = WhatIf::default().with(|it| it.total_count = Some(6));
    let added: Vec<_> = plan(&last, &more).moves.iter().map(|planned| planned.item).collect();
    assert_eq!(added, [4, 5]);
    let unknown = WhatIf::default().with(|it| it.strategy = Some("RANDOM".into()));
    let error = plan_moves(&last, &unknown, &StrategyRegistry::default(), 0).unwrap_err();
    assert_eq!(error.part(), Some(WhatIfPart::Strategy));
    assert!(error.to_string().starts_with("strategy is \"RANDOM\"; valid is one of "), "{error}");
}

/// Returns a hypothetical change with parts of these texts.
fn change_of(parts: &[(WhatIfPart, &str)]) -> Result<WhatIf, PlanError> {
    let mut what_if = WhatIf::default();
    for (part, text) in parts {
        what_if.set(*part, text)?;
    }
    Ok(what_if)
}

#[tokio::test(start_paused = true)]
async fn attributes_of_a_joining_instance_decide_about_its_share() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let now = world.until("all assigned", |job| shared_by(job, &[1])).await;
    let join = (WhatIfPart::Join, "10.0.0.8");
    let strategy = (WhatIfPart::Strategy, "PLACEMENT");
    let rules = (WhatIfPart::Placement, "require disk=ssd");
    for (attributes, rules, expected) in [
        ("", None, 2),
        ("weight=3", None, 3),
        ("disk=ssd", Some(rules), 4),
        ("disk=hdd", Some(rules), 0),
    ] {
        let parts = [join, strategy, (WhatIfPart::Joining, attributes)];
        let parts: Vec<_> = parts.into_iter().chain(rules).collect();
        let plan = plan(&now, &change_of(&parts).unwrap());
        let is_new = |owner: &Option<String>| owner.as_deref() == Some("10.0.0.8@-@new-1");
        let moved = plan.items.iter().filter(|item| is_new(&item.owner)).count();
        assert_eq!(moved, expected, "{attributes:?}: {plan:?}");
        assert!(plan.items.iter().all(|item| !item.reason.is_empty()), "{plan:?}");
        assert_eq!(plan.no_available_instance, expected == 0, "{attributes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn enabled_server_gets_items_and_a_disabled_one_loses_them() {
    let world = World::new();
    let _one = world.member(1, on_request()).await;
    let _two = world.member(2, on_request()).await;
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    world.operations().disable(&Scope::of_server(ip(2)), &by()).await.unwrap();
    let now = world.until("the first to own all items", |job| shared_by(job, &[1])).await;
    let enabled = plan(&now, &change_of(&[(WhatIfPart::Enable, "10.0.0.2")]).unwrap());
    assert_eq!(enabled.moves.len(), 2, "{enabled:?}");
    assert_eq!(enabled.members.len(), 2);
    let disabled = plan(&now, &change_of(&[(WhatIfPart::Disable, "10.0.0.1")]).unwrap());
    assert!(disabled.no_available_instance, "{disabled:?}");
}

#[tokio::test(start_paused = true)]
async fn invalid_part_of_a_change_is_named_with_its_value_and_valid_ones() {
    use WhatIfPart::{Disable, Enable, Join, Joining, Leave, Placement, TotalCount};
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let now = world.until("all assigned", |job| shared_by(job, &[1])).await;
    let many = vec!["10.0.0.8"; MAX_WHAT_IF_ENTRIES + 1].join(",");
    let id = "the id of an instance such as 10.0.0.7@-@4123";
    let rows: [(&[_], WhatIfPart, String); 16] = [
        (&[(Join, "x")], Join, "join is \"x\"; valid is an IP address such as 10.0.0.7".into()),
        (&[(Join, "10.0.0.8,,10.0.0.")], Join, "join is \"10.0.0.\"; valid is an IP".into()),
        (&[(Join, &many)], Join, "join is 1001 entries; valid is at most 1000".into()),
        (&[(Joining, "zone=a")], Joining, "joining is \"zone=a\"; valid is empty, unless".into()),
        (
            &[(Join, "10.0.0.8"), (Joining, "weight=0")],
            Joining,
            "joining is \"0\" in weight; valid is 1 to 100".into(),
        ),
        (
            &[(Join, "10.0.0.8"), (Joining, "zone a")],
            Joining,
            "joining is \"zone\" in attribute; valid is `key=value`".into(),
        ),
        (&[(Leave, "10.0.0.1")], Leave, format!("leave is \"10.0.0.1\"; valid is {id}")),
        (
            &[(Leave, "10.0.0.7@-@7")],
            Leave,
            "leave: job job has no instance 10.0.0.7@-@7; it has 10.0.0.1@-@1".into(),
        ),
        (
            &[(Join, "10.0.0.8"), (Leave, "10.0.0.8@-@new-1")],
            Leave,
            "leave: job job has no instance 10.0.0.8@-@new-1; it has 10.0.0.1@-@1".into(),
        ),
        (&[(Disable, "host")], Disable, "disable is \"host\"; valid is an IP address".into()),
        (
            &[(Disable, "10.0.0.9")],
            Disable,
            "disable: job job has no server 10.0.0.9; it has 10.0.0.1".into(),
        ),
        (
            &[(Enable, "10.0.0.9")],
            Enable,
            "enable: job job has no server 10.0.0.9; it has 10.0.0.1".into(),
        ),
        (
            &[(Enable, "10.0.0.1"), (Disable, "10.0.0.1")],
            Enable,
            "enable is \"10.0.0.1\"; valid is a server that disable does not name".into(),
        ),
        (&[(TotalCount, "x")], TotalCount, "sharding_total_count is \"x\"; valid is 1 to".into()),
        (&[(TotalCount, "0")], TotalCount, "sharding_total_count is 0; valid is 1 to".into()),
        (&[(Placement, "pin x")], Placement, "placement is \"pin x\" in rule 1, text; ".into()),
    ];
    for (parts, part, expected) in rows {
        let plan = |what_if| plan_moves(&now, &what_if, &StrategyRegistry::default(), 0);
        let error = change_of(parts).and_then(plan).expect_err(&expected);
        assert_eq!(error.part(), Some(part), "{error}");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    // A server on which an instance joins need not be known.
    let joined = change_of(&[(Join, "10.0.0.8"), (Disable, "10.0.0.8")]).unwrap();
    assert_eq!(plan(&now, &joined).members, ["10.0.0.1@-@1"]);
}

#[tokio::test(start_paused = true)]
async fn running_item_is_planned_to_move_later() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.hold(&[2]);
    world.operations().trigger(&job(), Some(&items(&[2])), &by()).await.unwrap();
    let runs = |job: &operations::JobSnapshot| job.is_running(ShardingItem::new(2));
    let now = world.until("the run", runs).await;
    let elsewhere = WhatIf::default().with(|it| {
        it.join = vec![InstanceId::new("10.0.0.2@-@2")];
        it.leave = vec![InstanceId::new("10.0.0.1@-@1")];
    });
    let waiting: Vec<_> =
        plan(&now, &elsewhere).moves.iter().map(|planned| planned.waits).collect();
    assert_eq!(waiting, [false, false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn reasons_are_ordered_by_importance() {
    let world = World::new();
    let member = world.member(1, every_ten_seconds()).await;
    let now = world.until("all assigned", |job| shared_by(job, &[1])).await;
    let at_ms = noon().as_millisecond() + 10_000;
    let waits = WhyNot::WaitsForFire { at_ms };
    assert_eq!(why_not_running(&now, noon()), std::slice::from_ref(&waits));
    let fires = next_fires(now.config().unwrap(), noon(), 3).unwrap();
    let seconds: Vec<_> = fires.iter().map(|fire| fire.duration_since(noon()).as_secs()).collect();
    assert_eq!(seconds, [10, 20, 30]);

    let operations = world.operations();
    operations.disable_items(&job(), &items(&[3]), &by()).await.unwrap();
    let said = |act: &str| format!("{act} by anna at 2024-02-29T12:00:00Z: release 12");
    let next = |unless| WhyNot::NextFireMissed { at_ms, unless };
    let without_item = || WhyNot::ItemsDisabled { items: vec![3] };
    let expected = [without_item(), WhyNot::NextFire { at_ms }];
    assert_eq!(why_not_running(&world.now(), noon()), expected);
    let disabled = || WhyNot::ItemDisabled { said: Some(said("disable items")) };
    let expected = [disabled(), next(FireNeed::ItemEnabled)];
    assert_eq!(why_item_not_running(&world.now(), ShardingItem::new(3), noon()), expected);
    operations.pause(&Scope::of_job(job()), &by()).await.unwrap();
    let expected = [
        disabled(),
        WhyNot::OwnerHeldBack {
            owner: "10.0.0.1@-@1".into(),
            server: format!("server 10.0.0.1 is paused ({})", said("pause")),
        },
        next(FireNeed::ServerResumed),
    ];
    assert_eq!(why_item_not_running(&world.now(), ShardingItem::new(3), noon()), expected);
    let servers = vec![format!("server 10.0.0.1 is paused ({})", said("pause"))];
    let paused = WhyNot::Paused { servers, all: true, items: 4 };
    let expected = [paused, without_item(), next(FireNeed::ServerResumed)];
    assert_eq!(why_not_running(&world.now(), noon()), expected);
    let none = why_item_not_running(&world.now(), ShardingItem::new(4), noon());
    assert_eq!(none, [WhyNot::NoSuchItem]);

    operations.disable(&Scope::of_job(job()), &by()).await.unwrap();
    let now = world.until("no leader", |job| job.view().leader().is_none()).await;
    let servers = vec![format!("server 10.0.0.1 is disabled ({})", said("disable"))];
    let expected = [
        WhyNot::NoAvailableInstance { servers },
        WhyNot::NoLeader,
        without_item(),
        next(FireNeed::ServerEnabled),
    ];
    assert_eq!(why_not_running(&now, noon()), expected);

    within("leaving", member.handle.shutdown(support::DEADLINE)).await.unwrap();
    assert_eq!(
        why_not_running(&world.now(), noon()),
        [WhyNot::NoLiveInstance, without_item(), next(FireNeed::WorkerStarts)]
    );
}

#[tokio::test(start_paused = true)]
async fn fire_with_fixed_delay_is_never_missed() {
    let world = World::new();
    let config = every_ten_seconds().after(std::time::Duration::from_secs(60));
    let member = world.member(1, config).await;
    let now =
        world.until("the start of the delay", |job| job.view().delayed_fire().is_some()).await;
    let at_ms = now.view().delayed_fire().unwrap().0;
    assert_eq!(why_not_running(&now, noon()), [WhyNot::WaitsForFire { at_ms }]);
    within("leaving", member.handle.shutdown(support::DEADLINE)).await.unwrap();
    let expected = [WhyNot::NoLiveInstance, WhyNot::NextFire { at_ms }];
    assert_eq!(why_not_running(&world.now(), noon()), expected);
}

#[tokio::test(start_paused = true)]
async fn fixed_delay_has_no_next_fire_while_a_fire_has_not_ended() {
    let world = World::new();
    let config = every_ten_seconds().after(std::time::Duration::from_secs(60));
    let _member = world.member(1, config).await;
    world.hold(&[0]);
    world.until_seen("a run of item 0", |seen| seen.iter().any(|(item, ..)| *item == 0)).await;
    let now = world.now();
    let fire_ms = now.view().delayed_fire().unwrap().0;
    let fire = jiff::Timestamp::from_millisecond(fire_ms).unwrap();
    let before = fire - jiff::SignedDuration::from_millis(1);
    assert_eq!(now.next_fires(before, 9).unwrap(), [fire]);
    assert_eq!(now.next_fires(fire, 9).unwrap(), []);
    let waits = WhyNot::DelayNotBegun { fire_ms };
    assert_eq!(why_not_running(&now, fire), std::slice::from_ref(&waits));
    let expected =
        format!("the delay to the next fire begins when the fire of {fire} has ended on all items");
    assert_eq!(waits.to_string(), expected);

    world.hold(&[]);
    let next =
        world.until("the end", |job| job.view().delayed_fire().is_some_and(|at| at.0 > fire_ms));
    let next = next.await;
    assert_eq!(next.next_fires(fire, 9).unwrap().len(), 1);
}

/// A record has a gap until the claim after the one that found it.
#[tokio::test(start_paused = true)]
async fn gap_is_a_reason_for_a_day() {
    let world = World::new();
    let config = coordination::encode_config(&every_ten_seconds().build().unwrap());
    let gap = |first: i64, until: i64| {
        let (first, until) = (noon().as_millisecond() + first, noon().as_millisecond() + until);
        format!(
            r#"{{"v":1,"state":"idle","token":0,"last":{until},"gaps":[{{"first":{first},"until":{until},"count":3,"config":0}}]}}"#
        )
    };
    let (old, late) = (gap(-90_000, -60_000), gap(-40_000, -10_000));
    let records = [("/job/ledger/0", &*old), ("/job/ledger/1", &late), ("/job/ledger/2", &late)];
    let nodes = [&[("/job/config", &*config)][..], &records].concat();
    world.write(&nodes, &[]).await;
    let of = |items: &[u32], first: i64, until: i64| WhyNot::Gap {
        items: items.to_vec(),
        first_ms: noon().as_millisecond() + first,
        until_ms: noon().as_millisecond() + until,
        count: Some(3),
    };
    let gap_of =
        |reasons: Vec<WhyNot>| reasons.into_iter().find(|why| matches!(why, WhyNot::Gap { .. }));
    let job = world.now();
    let shown = gap_of(why_not_running(&job, noon())).unwrap();
    assert_eq!(shown, of(&[1, 2], -40_000, -10_000), "the latest gap, with all its items");
    let text = "3 fires from 2024-02-29T11:59:20Z to before 2024-02-29T11:59:50Z were not run by \
                2 items";
    assert_eq!(shown.to_string(), text);
    let of_item = |item, now| gap_of(why_item_not_running(&job, ShardingItem::new(item), now));
    assert_eq!(of_item(0, noon()), Some(of(&[0], -90_000, -60_000)));
    assert_eq!(of_item(3, noon()), None);
    let day = jiff::SignedDuration::from_hours(24);
    assert_eq!(of_item(0, noon() + day), None);
    assert!(of_item(1, noon() + day - jiff::SignedDuration::from_secs(11)).is_some());
}

#[tokio::test(start_paused = true)]
async fn excluded_time_is_a_reason_with_its_end_before_the_next_fire() {
    let world = World::new();
    let config = every_ten_seconds().excluded_times("12:00..13:00 # lunch");
    let _member = world.member(1, config).await;
    let now = world.until("all assigned", |job| shared_by(job, &[1])).await;
    let one = noon().as_millisecond() + 3_600_000;
    let excluded = WhyNot::Excluded { exclusion: "lunch".to_owned(), until_ms: Some(one) };
    let expected = [excluded, WhyNot::NextFire { at_ms: one }];
    assert_eq!(why_not_running(&now, noon()), expected);
    assert_eq!(why_item_not_running(&now, ShardingItem::new(0), noon()), expected);
    let text = "excluded: lunch until 2024-02-29T13:00:00Z";
    assert_eq!(expected[0].to_string(), text);
    let later = noon() + jiff::SignedDuration::from_hours(1);
    let waits = WhyNot::WaitsForFire { at_ms: one + 10_000 };
    assert_eq!(why_not_running(&now, later), [waits]);
}

/// Instances of other servers go on.
#[tokio::test(start_paused = true)]
async fn pause_of_one_server_is_a_reason_beside_running_servers() {
    let world = World::new();
    let _members =
        [world.member(1, every_ten_seconds()).await, world.member(2, every_ten_seconds()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let one = Scope::of_both(job(), ip(2));
    world.operations().pause(&one, &by()).await.unwrap();
    let reasons = why_not_running(&world.now(), noon());
    let said = "server 10.0.0.2 is paused (pause by anna at 2024-02-29T12:00:00Z: release 12)";
    let expected = WhyNot::Paused { servers: vec![said.to_owned()], all: false, items: 2 };
    assert_eq!(reasons[0], expected, "{reasons:?}");
    assert!(reasons[0].to_string().contains("their items do not start"), "{}", reasons[0]);
    assert!(!reasons.iter().any(|why| matches!(why, WhyNot::WaitsForFire { .. })), "{reasons:?}");
    let brief = operations::job_brief(&world.now());
    let shown = (brief.status, brief.paused_servers, brief.live_servers);
    assert_eq!(shown, (operations::JobState::Ok, 1, 2));
    let found = diagnose(&world.now(), None, noon());
    assert!(found[0].text.starts_with("items of these servers do not start: "), "{found:?}");
}

/// A disablement moves the items away, and the pause that is put back does not bring them back.
#[tokio::test(start_paused = true)]
async fn paused_server_without_items_holds_no_item_back() {
    let world = World::new();
    let _members =
        [world.member(1, every_ten_seconds()).await, world.member(2, every_ten_seconds()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let (one, operations) = (Scope::of_both(job(), ip(2)), world.operations());
    operations.pause(&one, &by()).await.unwrap();
    operations.disable(&one, &by()).await.unwrap();
    world.until("the other to own all items", |job| shared_by(job, &[1])).await;
    operations.enable(&one, &by()).await.unwrap();
    let reasons = why_not_running(&world.now(), noon());
    assert!(
        matches!(reasons[0], WhyNot::Paused { all: false, items: 0, .. })
            && reasons[0].to_string().contains("all items start on the others"),
        "{reasons:?}"
    );
    let found = diagnose(&world.now(), None, noon());
    assert!(found[0].text.contains("all items start on the others"), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn disabled_server_is_a_reason_beside_running_servers() {
    let world = World::new();
    let _members =
        [world.member(1, every_ten_seconds()).await, world.member(2, every_ten_seconds()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    world.operations().disable(&Scope::of_both(job(), ip(2)), &by()).await.unwrap();
    let now = world.until("one to have all", |job| shared_by(job, &[1])).await;
    let reasons = why_not_running(&now, noon());
    let said = "server 10.0.0.2 is disabled (disable by anna at 2024-02-29T12:00:00Z: release 12)";
    let expected = WhyNot::ServersDisabled { servers: vec![said.to_owned()] };
    assert_eq!(reasons[0], expected, "{reasons:?}");
    assert!(reasons[0].to_string().contains("their instances get no items"), "{reasons:?}");

    world.fail(&[0]);
    let failed = |job: &operations::JobSnapshot| operations::job_brief(job).failing_items == 1;
    let reasons = why_not_running(&world.until("a failed run", failed).await, noon());
    assert!(matches!(reasons[0], WhyNot::Failing { .. }), "a failure comes first: {reasons:?}");
    assert!(reasons.contains(&expected), "{reasons:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_last_runs_are_a_reason() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.fail(&[1, 2]);
    world.operations().trigger(&job(), None, &by()).await.unwrap();
    let failed = |job: &operations::JobSnapshot| operations::job_brief(job).failing_items == 2;
    let mut now = world.until("two failures", failed).await;
    let failing = |items: &[u32], of| {
        let failure = Some("it shall fail".to_owned());
        WhyNot::Failing { items: items.to_vec(), of, failure }
    };
    let expected = [failing(&[1, 2], 4), WhyNot::OnRequestOnly];
    assert_eq!(why_not_running(&now, noon()), expected);
    let text = "2 of 4 items failed in their last run; the last reason: it shall fail";
    assert_eq!(expected[0].to_string(), text);
    let item = |job: &operations::JobSnapshot, item| {
        why_item_not_running(job, ShardingItem::new(item), noon())
    };
    assert_eq!(item(&now, 2), [failing(&[2], 1), WhyNot::OnRequestOnly]);
    assert_eq!(item(&now, 2)[0].to_string(), "the last run failed: it shall fail");
    assert_eq!(item(&now, 0), [WhyNot::OnRequestOnly]);

    // With a schedule, a failing job must not be shown as healthy.
    let config = every_ten_seconds().build().unwrap();
    let revision = world.operations().config(&job()).await.unwrap().revision;
    world.operations().update_config(&config, revision, &by()).await.unwrap();
    now = world.until("the schedule", |job| job.config().is_some_and(|c| c.cron.is_some())).await;
    let reasons = why_not_running(&now, noon());
    assert!(
        matches!(reasons[..], [WhyNot::Failing { .. }, WhyNot::NextFire { .. }]),
        "{reasons:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn running_item_is_a_reason_with_its_holder() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.hold(&[0]);
    world.operations().trigger(&job(), Some(&items(&[0])), &by()).await.unwrap();
    let runs = |job: &operations::JobSnapshot| job.is_running(ShardingItem::new(0));
    let now = world.until("the run", runs).await;
    let reasons = why_item_not_running(&now, ShardingItem::new(0), noon());
    let WhyNot::Runs { holder, since_ms } = &reasons[0] else { panic!("{reasons:?}") };
    assert_eq!(holder.as_deref(), Some("10.0.0.1@-@1"));
    assert!(since_ms.is_some());
    assert_eq!(reasons[1], WhyNot::OnRequestOnly);
}

#[tokio::test(start_paused = true)]
async fn run_that_waits_for_a_place_is_a_reason() {
    let world = World::new();
    let _member = world.member_with(1, on_request(), |builder| builder.max_concurrency(1)).await;
    world.hold(&[0, 1, 2, 3]);
    world.operations().trigger(&job(), Some(&items(&[0, 1])), &by()).await.unwrap();
    let instance = InstanceId::new("10.0.0.1@-@1");
    let now = world.until("the wait", |job| job.view().waiting_runs(&instance).is_some()).await;
    let WhyNot::WaitsForPlace { limit: 1, waiting: 1, .. } = &why_not_running(&now, noon())[0]
    else {
        panic!("{:?}", why_not_running(&now, noon()));
    };
    let begun = world.seen()[0].0;
    let first = |item| why_item_not_running(&now, ShardingItem::new(item), noon()).remove(0);
    assert!(matches!(first(begun), WhyNot::Runs { .. }), "{:?}", first(begun));
    let waits = first(1 - begun);
    let text = waits.to_string();
    assert!(
        text.starts_with("1 run waits for a place in the process of 10.0.0.1@-@1, the longest"),
        "{text}"
    );
    assert!(!waits.prevents_runs());
}

#[tokio::test(start_paused = true)]
async fn item_that_waits_for_a_permit_names_the_holders() {
    let world = World::new();
    let _member = world.member(1, on_request().cluster_concurrency(1)).await;
    world.hold(&[0, 1, 2, 3]);
    world.operations().trigger(&job(), Some(&items(&[0, 1])), &by()).await.unwrap();
    let now = world.until("the permit", |job| job.view().permits().count() == 1).await;
    let begun = world.until("the run", |job| job.is_running(ShardingItem::new(0))).await;
    let reasons = why_item_not_running(&begun, ShardingItem::new(1), noon());
    let waits = reasons.iter().find(|why| matches!(why, WhyNot::WaitsForPermit { .. }));
    let expected = "waits for a permit of the job (1 of 1 are taken, cluster_concurrency): item 0 \
                    on 10.0.0.1@-@1";
    assert_eq!(waits.map(ToString::to_string).as_deref(), Some(expected));
    let runs = why_item_not_running(&now, ShardingItem::new(0), noon());
    assert!(!runs.iter().any(|why| matches!(why, WhyNot::WaitsForPermit { .. })), "{runs:?}");
    world.hold(&[]);
    world.until("no permit", |job| job.view().permits().count() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn item_that_waits_for_the_start_rate_names_the_time() {
    let world = World::new();
    let rate = lite::StartRate { max: 1, period_seconds: 60 };
    let _member = world.member(1, on_request().start_rate(rate)).await;
    world.operations().trigger(&job(), Some(&items(&[0, 1])), &by()).await.unwrap();
    let began =
        |job: &operations::JobSnapshot| job.view().starts_again_at(world.time().as_millisecond());
    let job_now = world.until("a start", |job| began(job).is_some()).await;
    let (_, at_ms) = began(&job_now).unwrap();
    let waits = |why: &WhyNot| matches!(why, WhyNot::WaitsForRate { .. });
    let reasons = why_item_not_running(&job_now, ShardingItem::new(1), world.time());
    let why = reasons.iter().find(|why| waits(why)).unwrap();
    assert_eq!(*why, WhyNot::WaitsForRate { rate: "1 in 1m".to_owned(), at_ms });
    assert!(why.to_string().contains("the next run may begin at 2"), "{why}");
    let later = jiff::Timestamp::from_millisecond(at_ms).unwrap();
    assert!(!why_item_not_running(&job_now, ShardingItem::new(1), later).iter().any(waits));
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_for_a_limit_are_a_reason_of_the_job() {
    let world = World::new();
    let _member = world.member(1, on_request().cluster_concurrency(1)).await;
    world.hold(&[0, 1, 2, 3]);
    world.operations().trigger(&job(), Some(&items(&[0])), &by()).await.unwrap();
    let alone = world.until("the run", |job| job.is_running(ShardingItem::new(0))).await;
    assert_eq!(why_not_running(&alone, noon()), [WhyNot::OnRequestOnly], "no run waits");
    world.operations().trigger(&job(), Some(&items(&[1])), &by()).await.unwrap();
    let waits = |job: &operations::JobSnapshot| {
        let ledger = job.view().item(ShardingItem::new(1)).ledger.as_ref();
        ledger.is_some_and(|ledger| ledger.value.request.is_some())
    };
    let now = world.until("a request", waits).await;
    let reasons = why_not_running(&now, noon());
    let [permit, WhyNot::OnRequestOnly] = &reasons[..] else { panic!("{reasons:?}") };
    assert!(matches!(permit, WhyNot::WaitsForPermit { limit: 1, taken: 1, .. }), "{permit:?}");
    assert!(permit.is_limit() && !permit.prevents_runs());
    world.hold(&[]);
}

#[tokio::test(start_paused = true)]
async fn start_rate_is_a_reason_of_the_job_before_an_item_is_late() {
    let world = World::new();
    let rate = lite::StartRate { max: 1, period_seconds: 60 };
    let _member = world.member(1, every_ten_seconds().start_rate(rate)).await;
    let began = |job: &operations::JobSnapshot| {
        job.view().starts_again_at(world.time().as_millisecond()).is_some()
    };
    let now = world.until("a start", began).await;
    let reasons = why_not_running(&now, world.time());
    assert!(!reasons.iter().any(|why| matches!(why, WhyNot::Late { .. })), "{reasons:?}");
    let waits = |why: &WhyNot| matches!(why, WhyNot::WaitsForRate { .. });
    assert!(reasons.iter().any(waits), "{reasons:?}");
}

#[tokio::test(start_paused = true)]
async fn queued_fires_and_full_queues_are_reasons() {
    let world = World::new();
    let queues = |config: &mut coordination::JobConfig| {
        config.overlap = Some(coordination::Overlap::Queue(2));
    };
    let config = coordination::JobConfig::new(job(), 3).with(queues);
    let config = coordination::encode_config(&config);
    let record = |fires: &[i64]| {
        let (first, last) = (fires[0], fires[fires.len() - 1]);
        let count = fires.len();
        format!(
            r#"{{"v":1,"state":"idle","token":1,"last":500,"misfire":{{"first":{first},"last":{last},"count":{count},"each":{fires:?}}}}}"#
        )
    };
    let (one, two) = (record(&[1_000]), record(&[1_000, 2_000]));
    let nodes = [("/job/config", &*config), ("/job/ledger/0", &one), ("/job/ledger/1", &two)];
    world.write(&nodes, &[]).await;
    let now = world.now();
    let full = WhyNot::FullQueues { items: vec![1], limit: 2 };
    assert!(why_not_running(&now, noon()).contains(&full), "{:?}", why_not_running(&now, noon()));
    let text = "the queues of these items are full (overlap = queue 2), so that they skip fires: 1";
    assert_eq!(full.to_string(), text);
    for (item, waiting, end) in [(0, 1, "since 1970-01-01T00:00:01Z"), (1, 2, "skips fires")] {
        let reasons = why_item_not_running(&now, ShardingItem::new(item), noon());
        let queued = WhyNot::Queued { waiting, limit: 2, first_ms: 1_000 };
        assert!(reasons.contains(&queued), "{reasons:?}");
        assert!(queued.to_string().ends_with(end), "{queued}");
    }
    let none = why_item_not_running(&now, ShardingItem::new(2), noon());
    assert!(!none.iter().any(|why| matches!(why, WhyNot::Queued { .. })), "{none:?}");
}

#[test]
fn next_fires_are_bounded() {
    let mut config = coordination::JobConfig::new(job(), 1);
    assert_eq!(next_fires(&config, noon(), 3).unwrap(), [], "the job runs on request only");
    config.cron = Some("0/10 * * * * ?".into());
    let fires = next_fires(&config, noon(), 3).unwrap();
    let after: Vec<_> = fires.iter().map(|fire| fire.duration_since(noon()).as_secs()).collect();
    assert_eq!(after, [10, 20, 30]);
    assert_eq!(next_fires(&config, noon(), usize::MAX).unwrap().len(), operations::MAX_FIRES);
    config.cron = Some("every day".into());
    assert_eq!(next_fires(&config, noon(), 1).unwrap_err().field, "cron");
}

#[tokio::test(start_paused = true)]
async fn record_of_a_later_version_is_a_reason() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.until("the first to own all items", |job| shared_by(job, &[1])).await;
    world.replace("/job/ledger/1", r#"{"v":3}"#).await;
    world.replace("/job/coordination/assignment", r#"{"v":3}"#).await;
    let is_of = |node: &str, reasons: &[WhyNot]| {
        reasons.iter().any(|reason| {
            let WhyNot::NewerRecord { node: found, fault } = reason else { return false };
            found == node && fault.contains("format version 3")
        })
    };
    let job = world.now();
    let of_item = |item| why_item_not_running(&job, ShardingItem::new(item), noon());
    assert!(is_of("ledger/1", &of_item(1)), "{:?}", of_item(1));
    assert!(!is_of("ledger/1", &of_item(0)), "{:?}", of_item(0));
    let of_job = why_not_running(&job, noon());
    assert!(is_of("coordination/assignment", &of_job), "{of_job:?}");
}
