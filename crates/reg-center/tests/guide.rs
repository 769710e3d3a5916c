//! `docs/write-a-registry.md` agrees with the example and with the suite: its code, the cases of
//! each step, and the number of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reg_center::contract::{Client, Faults, Harness, cases};
use reg_center::{
    Delegate, Feed, Lifetime, NodePath, Op, RegistryCenter, Result, Scope, SessionChange,
    SessionFeed, SessionId, Txn, TxnOutcome,
};

use crate::memory::{MemoryHarness, on_an_empty_registry};

const GUIDE: &str = include_str!("../../../docs/write-a-registry.md");
const SOURCES: [&str; 4] = [
    include_str!("../examples/registry_from_scratch/backend.rs"),
    include_str!("../examples/registry_from_scratch/store.rs"),
    include_str!("../examples/registry_from_scratch/harness.rs"),
    include_str!("from_scratch.rs"),
];

/// Returns the fenced blocks of the guide that begin with this line.
fn blocks(fence: &str) -> Vec<&'static str> {
    let begins = GUIDE.match_indices(fence).map(|(at, _)| &GUIDE[at + fence.len()..]);
    let blocks = begins.filter_map(|rest| rest.strip_prefix('\n'));
    blocks.map(|block| block.split("\n```").next().expect("a split has a first part")).collect()
}

/// Removes the indentation that all lines share.
fn without_indentation(text: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let common = filled.map(indentation).min().unwrap_or(0);
    text.lines().map(|line| line.get(common..).unwrap_or("").to_owned() + "\n").collect()
}

/// Returns true if lines of the source, one after the other, are these.
fn has_lines(source: &str, lines: &str) -> bool {
    let n_lines = lines.lines().count();
    let source: Vec<_> = source.lines().collect();
    source.windows(n_lines).any(|some| without_indentation(&some.join("\n")) == lines)
}

#[test]
fn the_code_of_the_guide_is_that_of_the_example() {
    let blocks = blocks("```rust");
    assert!(blocks.len() >= 12, "the guide has {} blocks of code", blocks.len());
    for block in blocks {
        let lines = without_indentation(block);
        let found = SOURCES.iter().any(|source| has_lines(source, &lines));
        assert!(found, "the example has no such lines:\n{block}");
    }
}

#[test]
fn the_guide_opens_a_scheduler_as_the_page_of_the_registry_crate_does() {
    let [line] = blocks("```rust,no_run")[..] else { panic!("the guide has one such block") };
    let page = include_str!("../../registry/README.md");
    assert!(page.lines().any(|other| other == line), "no tested line: {line}");
}

/// Step of the guide from which on a case can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Commit = 2,
    Sessions,
    Feed,
    LostContact,
    Limits,
}

/// The latest step whose result a case has used.
#[derive(Clone, Debug)]
struct Used(Arc<Mutex<Step>>);

impl Used {
    fn note(&self, step: Step) {
        let mut latest = self.0.lock();
        *latest = step.max(*latest);
    }
}

struct NotingHarness<'a> {
    memory: &'a MemoryHarness,
    used: Used,
}

#[async_trait]
impl Harness for NotingHarness<'_> {
    async fn connect(&self) -> Client {
        let Client { center, faults } = self.memory.connect().await;
        let center = Arc::new(NotingCenter { center, used: self.used.clone() });
        Client { center, faults: Arc::new(NotingFaults { faults, used: self.used.clone() }) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.memory.sleep(duration)
    }

    fn now(&self) -> Duration {
        self.memory.now()
    }
}

#[derive(Debug)]
struct NotingCenter {
    center: Arc<dyn RegistryCenter>,
    used: Used,
}

#[async_trait]
impl Delegate for NotingCenter {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.center
    }

    fn session(&self) -> Option<SessionChange> {
        self.used.note(Step::Sessions);
        self.center.session()
    }

    fn session_feed(&self) -> SessionFeed {
        self.used.note(Step::Sessions);
        self.center.session_feed()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.used.note(Step::Sessions);
        self.center.lease_remaining(session)
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let is_ephemeral = |op: &Op| matches!(op, Op::Create { lifetime: Lifetime::Ephemeral, .. });
        if txn.session().is_some() || txn.ops().iter().any(is_ephemeral) {
            self.used.note(Step::Sessions);
        }
        self.center.commit(txn).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.used.note(Step::Feed);
        self.center.watch(root)
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        self.used.note(Step::Feed);
        self.center.watch_parts(scope)
    }

    async fn close(&self) -> Result<()> {
        self.used.note(Step::Sessions);
        self.center.close().await
    }
}

struct NotingFaults {
    faults: Arc<dyn Faults>,
    used: Used,
}

/// An expiry that the center can notice at once needs no lost contact.
macro_rules! noting {
    ($($fault:ident => $step:ident),+) => {
        #[async_trait]
        impl Faults for NotingFaults {
            $(async fn $fault(&self) {
                self.used.note(Step::$step);
                self.faults.$fault().await;
            })+
        }
    };
}

noting! {
    cut => LostContact, reset => LostContact, slow_down => LostContact, black_hole => LostContact,
    silence => LostContact, hold_replies => LostContact, hold_requests => LostContact,
    heal => LostContact, expire => Sessions, expire_unnoticed => LostContact
}

/// Returns the names of the cases by step and guarantee.
fn cases_by_step() -> BTreeMap<(u8, u8), BTreeSet<String>> {
    let mut by_step: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for case in cases() {
        let used = Used(Arc::new(Mutex::new(Step::Commit)));
        on_an_empty_registry(async |memory| {
            case.run(&NotingHarness { memory, used: used.clone() }).await;
        });
        let used = *used.0.lock();
        let step = if case.guarantee == 11 { Step::Limits } else { used };
        by_step.entry((step as u8, case.guarantee)).or_default().insert(case.name.to_owned());
    }
    by_step
}

/// A case belongs to the first step after which all that it uses exists.
#[test]
fn the_guide_names_the_cases_that_pass_after_each_step() {
    let mut named: BTreeMap<(u8, u8), BTreeSet<String>> = BTreeMap::new();
    let mut step = 0;
    let mut guarantee = None;
    for line in GUIDE.lines() {
        if let Some(heading) = line.strip_prefix("## Step ") {
            step = heading.split(':').next().and_then(|n| n.parse().ok()).expect("a number");
        }
        if let Some(number) = line.strip_prefix("guarantee ") {
            guarantee = number.parse().ok();
        } else if let (Some(guarantee), Some(name)) = (guarantee, line.strip_prefix("  ")) {
            named.entry((step, guarantee)).or_default().insert(name.to_owned());
        } else {
            guarantee = None;
        }
    }
    let expected = cases_by_step();
    let listed: String = expected
        .iter()
        .map(|((step, guarantee), names)| {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            format!("step {step}\nguarantee {guarantee}\n  {}\n", names.join("\n  "))
        })
        .collect();
    assert_eq!(named, expected, "the lists must be:\n{listed}");
}

#[test]
fn the_guide_states_the_size_of_the_example() {
    let n_lines = SOURCES[0].lines().count();
    assert!(GUIDE.contains(&format!("`backend.rs` has {n_lines} lines")), "{n_lines} lines");
}
