//! Deliberately broken backends: each breaks one guarantee, and the suite has to say which one, the
//! expected and the found value, and the usual mistake.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reg_center::contract::{Case, Client, Failure, Harness};
use reg_center::feed::FeedSender;
use reg_center::{
    Conflict, ConflictReason, Delegate, Error, Feed, Lifetime, Limits, Node, NodePath, Op,
    RegistryCenter, Result, Revision, SessionId, Txn, TxnOutcome, Version, feed,
};

use crate::memory::{MemoryHarness, on_an_empty_registry};

/// The broken rule of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    ErrorsAreAbsence,
    LostReplyIsAConflict,
    OneTransactionPerOperation,
    CommitsWaitBeforeTheyAreSent,
    VersionsStayAtZero,
    ParentsInATransactionOfTheirOwn,
    CloseKeepsTheSession,
    BoundSessionIsIgnored,
    LeaseForEverySession,
    FeedsForgetTheirWatches,
    ReadsFromACache,
    LimitIsNotChecked,
}

/// A registry with one defect.
#[derive(Debug)]
struct Broken {
    center: Arc<dyn RegistryCenter>,
    defect: Defect,
    cache: Mutex<BTreeMap<NodePath, Option<Node>>>,
    /// The senders of feeds that deliver a snapshot and then nothing.
    silent: Mutex<Vec<FeedSender>>,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "each defect concerns one method")]
#[async_trait]
impl Delegate for Broken {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.center
    }

    fn limits(&self) -> Limits {
        let Limits { max_ops, max_bytes } = self.center.limits();
        let less = usize::from(self.defect == Defect::LimitIsNotChecked);
        Limits { max_ops: max_ops - less, max_bytes }
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        match self.defect {
            Defect::LeaseForEverySession => Some(Duration::from_secs(10)),
            _ => self.center.lease_remaining(session),
        }
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        let answer = self.center.read(path).await;
        match self.defect {
            Defect::ErrorsAreAbsence => Ok(answer.unwrap_or_default()),
            Defect::ReadsFromACache => {
                let answer = answer?;
                Ok(self.cache.lock().entry(path.clone()).or_insert(answer).clone())
            }
            Defect::VersionsStayAtZero => Ok(answer?.map(|mut node| {
                node.stat.version = Version(0);
                node
            })),
            _ => answer,
        }
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        match self.defect {
            Defect::LostReplyIsAConflict => match self.center.commit(txn).await {
                Err(Error::Unknown { .. }) => {
                    let conflict = Conflict { index: 0, reason: ConflictReason::Exists };
                    Ok(TxnOutcome::Conflict(conflict))
                }
                answer => answer,
            },
            Defect::OneTransactionPerOperation => self.one_by_one(&txn).await,
            Defect::CommitsWaitBeforeTheyAreSent => {
                tokio::task::yield_now().await;
                self.center.commit(txn).await
            }
            Defect::ParentsInATransactionOfTheirOwn => {
                self.create_parents(&txn).await?;
                self.center.commit(txn).await
            }
            Defect::BoundSessionIsIgnored => {
                self.center.commit(txn.ops().iter().cloned().fold(Txn::new(), Txn::op)).await
            }
            _ => self.center.commit(txn).await,
        }
    }

    fn watch(&self, root: &NodePath) -> Feed {
        let mut whole = self.center.watch(root);
        if self.defect != Defect::FeedsForgetTheirWatches {
            return whole;
        }
        let (sender, feed) = feed::channel();
        while let Some(change) = whole.try_next() {
            sender.send(change);
        }
        self.silent.lock().push(sender);
        feed
    }

    async fn close(&self) -> Result<()> {
        match self.defect {
            Defect::CloseKeepsTheSession => Ok(()),
            _ => self.center.close().await,
        }
    }
}

impl Broken {
    async fn one_by_one(&self, txn: &Txn) -> Result<TxnOutcome> {
        let mut all = reg_center::Committed { revision: None::<Revision>, stats: Vec::new() };
        for (index, op) in txn.ops().iter().enumerate() {
            match self.center.commit(Txn::new().op(op.clone())).await? {
                TxnOutcome::Committed(committed) => {
                    all.revision = committed.revision;
                    all.stats.extend(committed.stats);
                }
                TxnOutcome::Conflict(conflict) => {
                    return Ok(TxnOutcome::Conflict(Conflict { index, ..conflict }));
                }
            }
        }
        Ok(TxnOutcome::Committed(all))
    }

    async fn create_parents(&self, txn: &Txn) -> Result<()> {
        let created = txn.ops().iter().filter(|op| matches!(op, Op::Create { .. }));
        for parent in created.filter_map(|op| op.path().parent()) {
            // A conflict means that the parent exists.
            self.center.commit(Txn::new().create(parent, "", Lifetime::Persistent)).await?;
        }
        Ok(())
    }
}

struct BrokenHarness<'a> {
    memory: &'a MemoryHarness,
    defect: Defect,
    patience: Duration,
}

#[async_trait]
impl Harness for BrokenHarness<'_> {
    async fn connect(&self) -> Client {
        let Client { center, faults } = self.memory.connect().await;
        let center = Broken {
            center,
            defect: self.defect,
            cache: Mutex::default(),
            silent: Mutex::default(),
        };
        Client { center: Arc::new(center), faults }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.memory.sleep(duration)
    }

    fn now(&self) -> Duration {
        self.memory.now()
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// Long enough that only a condition that never becomes true is late.
const PATIENCE: Duration = Duration::from_secs(20);
/// For conditions that never become true. Nothing else waits in memory.
const SHORT: Duration = Duration::from_millis(300);

fn check(case: &Case, defect: Defect, patience: Duration) -> Result<(), Failure> {
    let result = Mutex::new(None);
    on_an_empty_registry(async |memory| {
        let outcome = case.check(&BrokenHarness { memory, defect, patience }).await;
        *result.lock() = Some(outcome);
    });
    result.into_inner().expect("the case has run")
}

/// A defect, the case that must find it, and parts of the failure.
struct Row {
    defect: Defect,
    case: &'static str,
    patience: Duration,
    guarantee: &'static str,
    expected: &'static str,
    found: &'static str,
    mistake: &'static str,
}

const ROWS: [Row; 12] = [
    Row {
        defect: Defect::ErrorsAreAbsence,
        case: "a_read_without_a_connection_fails",
        patience: PATIENCE,
        guarantee: "guarantee 1 is broken: Error is never absence",
        expected: "expected: Err(Error::Unavailable { .. })",
        found: "found: Ok(None)",
        mistake: "an error of the connection becomes `Ok(None)`",
    },
    Row {
        defect: Defect::LostReplyIsAConflict,
        case: "a_lost_reply_never_hides_that_a_whole_transaction_happened",
        patience: PATIENCE,
        guarantee: "guarantee 2 is broken: All or nothing",
        expected: "expected: Ok(TxnOutcome::Committed(_)) | Err(Error::Unknown { .. })",
        found: "found: Ok(Conflict(Conflict { index: 0, reason: Exists }))",
        mistake: "a commit whose reply was lost is reported as `Conflict`",
    },
    Row {
        defect: Defect::OneTransactionPerOperation,
        case: "a_conflict_names_the_failed_expectation_and_changes_nothing",
        patience: PATIENCE,
        guarantee: "guarantee 2 is broken: All or nothing",
        expected: "check: create: exists\nexpected: [Node",
        found: "data: b\"2\"",
        mistake: "operations are written before all expectations are checked",
    },
    Row {
        defect: Defect::CommitsWaitBeforeTheyAreSent,
        case: "a_dropped_commit_still_happens",
        patience: SHORT,
        guarantee: "guarantee 3 is broken: Detached writes",
        expected: "expected: /round-0/second appears",
        found: "found: it did not happen in time",
        mistake: "Send the request in the first poll",
    },
    Row {
        defect: Defect::VersionsStayAtZero,
        case: "each_write_raises_the_version_by_one_and_takes_a_greater_revision",
        patience: PATIENCE,
        guarantee: "guarantee 4 is broken: Versions and revisions",
        expected: "expected: Version(1)",
        found: "found: Version(0)",
        mistake: "the revision is drawn before the locks",
    },
    Row {
        defect: Defect::ParentsInATransactionOfTheirOwn,
        case: "parents_are_not_created_if_the_transaction_conflicts",
        patience: PATIENCE,
        guarantee: "guarantee 5 is broken: Missing parents are created",
        expected: "expected: [\"/\"]",
        found: "found: [\"/\", \"/a\", \"/a/b\"]",
        mistake: "parents are created in a transaction of their own",
    },
    Row {
        defect: Defect::CloseKeepsTheSession,
        case: "closing_removes_ephemeral_nodes_at_once",
        patience: PATIENCE,
        guarantee: "guarantee 6 is broken: Ephemeral nodes",
        expected: "check: the node is gone when close has returned\nexpected: None",
        found: "found: Some(Node",
        mistake: "`close` drops the connection and leaves the session to its timeout",
    },
    Row {
        defect: Defect::BoundSessionIsIgnored,
        case: "a_bound_transaction_runs_only_in_its_session",
        patience: PATIENCE,
        guarantee: "guarantee 7 is broken: Sessions in order",
        expected: "expected: Err(SessionLost",
        found: "found: Ok(Committed",
        mistake: "`Txn::session_in` compares it",
    },
    Row {
        defect: Defect::LeaseForEverySession,
        case: "only_the_connected_session_has_a_lease",
        patience: PATIENCE,
        guarantee: "guarantee 8 is broken: Lease",
        expected: "check: a session of another client\nexpected: None",
        found: "found: Some(10s)",
        mistake: "the lease is kept without its session",
    },
    Row {
        defect: Defect::FeedsForgetTheirWatches,
        case: "changes_of_every_kind_are_delivered",
        patience: SHORT,
        guarantee: "guarantee 9 is broken: Feed",
        expected: "check: the feed delivers the final state within 300ms\nexpected: [Node",
        found: "in the feed; number of snapshots: 1",
        mistake: "only some kinds of changes are in the log of the feed",
    },
    Row {
        defect: Defect::ReadsFromACache,
        case: "a_read_sees_writes_of_the_same_client",
        patience: PATIENCE,
        guarantee: "guarantee 10 is broken: Read your writes",
        expected: "expected: \"1\"",
        found: "found: b\"0\"",
        mistake: "reads go to a replica or a cache",
    },
    Row {
        defect: Defect::LimitIsNotChecked,
        case: "a_transaction_over_the_limit_fails_with_size_and_limit",
        patience: PATIENCE,
        guarantee: "guarantee 11 is broken: Limits are checked before sending",
        expected: "expected: Err(TooLarge { unit: \"operations\", size: 5000, limit: 4999 })",
        found: "found: Ok(Committed",
        mistake: "Call `Limits::admit` first",
    },
];

#[test]
fn a_failure_names_the_guarantee_the_values_and_the_usual_mistake() {
    for row in ROWS {
        let case = Case::named(row.case).expect("the suite has the case");
        let failure = check(&case, row.defect, row.patience).expect_err(row.case);
        let text = failure.to_string();
        let named = format!("case: {}", row.case);
        let begin = text.starts_with(row.guarantee);
        assert!(begin, "{:?}: {:?} is missing in:\n{text}", row.defect, row.guarantee);
        for part in [&named, row.expected, row.found, row.mistake] {
            assert!(text.contains(part), "{:?}: {part:?} is missing in:\n{text}", row.defect);
        }
        assert_eq!(failure.guarantee, Some(case.guarantee), "{:?}", row.defect);
    }
}

#[test]
fn a_wrapper_without_a_defect_passes_the_same_cases() {
    for row in ROWS {
        let case = Case::named(row.case).expect("the suite has the case");
        assert_eq!(check(&case, Defect::None, PATIENCE), Ok(()), "{}", row.case);
    }
}

#[test]
fn every_guarantee_has_a_broken_backend() {
    let tested: std::collections::BTreeSet<u8> =
        ROWS.iter().filter_map(|row| Case::named(row.case)).map(|case| case.guarantee).collect();
    assert!(tested.into_iter().eq(1..=11));
}

/// The text that `cargo test` prints for a failed case.
#[test]
fn a_case_panics_with_the_text_of_its_failure() {
    let case = Case::named("a_read_without_a_connection_fails").expect("the suite has the case");
    let failure = check(&case, Defect::ErrorsAreAbsence, PATIENCE).expect_err("the case fails");
    let run = || {
        on_an_empty_registry(async |memory| {
            let defect = Defect::ErrorsAreAbsence;
            case.run(&BrokenHarness { memory, defect, patience: PATIENCE }).await;
        });
    };
    let panic = std::panic::catch_unwind(run).expect_err("the case panics");
    assert_eq!(panic.downcast_ref::<String>(), Some(&failure.to_string()));
    let guide = include_str!("../../../docs/write-a-registry.md");
    assert!(guide.contains(&failure.to_string()), "the guide shows this failure");
    let lines: Vec<_> = failure.to_string().lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "guarantee 1 is broken: Error is never absence",
            "case: a_read_without_a_connection_fails",
            "check: a read of /a while the connection is cut",
            "expected: Err(Error::Unavailable { .. })",
            "found: Ok(None)",
            "usual mistake: an error of the connection becomes `Ok(None)` (`unwrap_or_default`, \
             `.ok()`), or the read is answered from a cache.",
        ]
    );
}

/// A test server that is missing must not look like a broken guarantee.
#[test]
fn a_panic_of_the_harness_is_no_broken_guarantee() {
    struct NoServer;

    #[async_trait]
    impl Harness for NoServer {
        async fn connect(&self) -> Client {
            panic!("no server: install the package etcd-server");
        }

        fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }

        fn now(&self) -> Duration {
            Duration::ZERO
        }
    }

    let case = Case::named("an_absent_node_differs_from_an_empty_node").expect("it exists");
    let checked = futures_util::FutureExt::now_or_never(case.check(&NoServer));
    let failure = checked.expect("the panic ends the case").expect_err("the case fails");
    assert_eq!(
        failure.to_string(),
        "guarantee 1 cannot be judged: Error is never absence\n\
         case: an_absent_node_differs_from_an_empty_node\n\
         the backend or its harness panicked: no server: install the package etcd-server"
    );
}

/// A sequence prints its steps, so that it can be stored and replayed.
#[test]
fn a_sequence_panics_with_its_steps_and_the_difference() {
    let text = "0> create /a 1\n1> look /a\n0> put /a 2\n";
    let sequence = text.parse().expect("a valid sequence");
    let run = || {
        on_an_empty_registry(async |memory| {
            let defect = Defect::ReadsFromACache;
            let harness = BrokenHarness { memory, defect, patience: PATIENCE };
            reg_center::contract::replay(&harness, &sequence).await;
        });
    };
    let panic = std::panic::catch_unwind(run).expect_err("the replay panics");
    let panic = panic.downcast_ref::<String>().expect("a text");
    for part in [
        "the registry differs from the reference\n",
        text,
        "expected: ",
        "usual mistake: the backend evaluates operations by its own rules.",
    ] {
        assert!(panic.contains(part), "{part:?} is missing in:\n{panic}");
    }
}
