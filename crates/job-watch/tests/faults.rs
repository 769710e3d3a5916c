//! Laws of the messages, for random sequences of faults of two watchers.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::Dialect;
use proptest::prelude::*;
use reg_center::memory::WriteFault;
use serde_json::Value;

use super::support::Job;
use super::support::world::{Arrived, Mode, Running, World};

const FILE: &str = "group_interval = \"2s\"\nrepeat = \"never\"\n[[expect]]\njob = \"report\"\ninstances_at_least = 1";

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u64),
    Kill(usize),
    Stop(usize),
    Expire(usize),
    Suspend(usize),
    Resume(usize),
    Lose(usize, WriteFault),
    Mode(Mode),
    /// The job has an instance, or none.
    Instance(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let watcher = 0..2_usize;
    prop_oneof![
        4 => (1..40_u64).prop_map(Step::Pass),
        3 => any::<bool>().prop_map(Step::Instance),
        1 => watcher.clone().prop_map(Step::Kill),
        1 => watcher.clone().prop_map(Step::Stop),
        1 => watcher.clone().prop_map(Step::Expire),
        1 => watcher.clone().prop_map(Step::Suspend),
        1 => watcher.clone().prop_map(Step::Resume),
        1 => watcher.clone().prop_map(|n| Step::Lose(n, WriteFault::LoseReply)),
        1 => watcher.prop_map(|n| Step::Lose(n, WriteFault::LoseRequest)),
        1 => prop_oneof![3 => Just(Mode::Accept), 3 => Just(Mode::Hang), 1 => Just(Mode::Refuse)]
            .prop_map(Step::Mode),
    ]
}

/// Runs the steps, then heals everything, with a job that has an instance at the end.
async fn arrived_after(steps: &[Step]) -> Vec<Arrived> {
    let world = World::new();
    let job = Job::rust(Dialect::V2);
    world.put(&job).await;
    let mut watchers: Vec<Running> = vec![world.watch(FILE), world.watch(FILE)];
    for step in steps {
        match *step {
            Step::Pass(seconds) => world.pass(seconds).await,
            Step::Kill(n) => std::mem::replace(&mut watchers[n], world.watch(FILE)).kill().await,
            Step::Stop(n) => std::mem::replace(&mut watchers[n], world.watch(FILE)).stop().await,
            Step::Expire(n) => watchers[n].center.expire(),
            Step::Suspend(n) => watchers[n].center.suspend(Duration::from_secs(5)),
            Step::Resume(n) => watchers[n].center.resume(),
            Step::Lose(n, fault) => watchers[n].center.fail_next_write(fault),
            Step::Mode(mode) => world.set_mode(mode),
            Step::Instance(true) => world.put(&job).await,
            Step::Instance(false) => world.put(&job.clone().killed(1)).await,
        }
    }
    world.set_mode(Mode::Accept);
    watchers.iter().for_each(|watcher| watcher.center.resume());
    world.put(&job).await;
    world.pass(3_600).await;
    let found = world.arrived();
    for watcher in watchers {
        watcher.stop().await;
    }
    assert_eq!(world.arrived().len(), found.len(), "nothing is sent at the end");
    found
}

/// Returns the bodies about expectations by their numbers.
fn by_number(arrived: &[Arrived]) -> BTreeMap<u64, Vec<Value>> {
    let mut all: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for Arrived { message, .. } in arrived {
        if let Some(n) = message.body["message"].as_u64() {
            all.entry(n).or_default().push(message.body.clone());
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn message_is_repeated_once_at_most_and_marked(steps in prop::collection::vec(step(), 1..25)) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let arrived = runtime.block_on(arrived_after(&steps));
        // A message that is refused is not sent a third time if two senders are lost meanwhile.
        let can_be_lost = steps.iter().any(|step| matches!(step, Step::Mode(Mode::Refuse)));
        let mut is_violated = false;
        for (n, bodies) in by_number(&arrived) {
            prop_assert!(bodies.len() <= 2, "message {} arrived {} times", n, bodies.len());
            let unmarked = bodies.iter().filter(|body| body["possible_repeat"] == false).count();
            prop_assert!(unmarked <= 1, "message {} has an unmarked repeat", n);
            let content = |body: &Value| (body["violated"].clone(), body["resolved"].clone());
            prop_assert!(bodies.iter().all(|body| content(body) == content(&bodies[0])));
            // Violations and their ends alternate, whichever watcher sends them.
            let begins = !bodies[0]["violated"].as_array().unwrap().is_empty();
            prop_assert!(can_be_lost || begins != is_violated, "message {}: {:?}", n, arrived);
            is_violated = begins;
        }
        prop_assert!(can_be_lost || !is_violated, "the end of the violation was not reported: {:?}", arrived);
    }
}
