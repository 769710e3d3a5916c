//! Each rule finds the write or the state that violates it, and accepts the lawful ones.

use std::collections::BTreeMap;

use coordination::internals::{RUST_MARK, encode_ledger};
use coordination::{
    Claimant, FireRange, FireTime, JobConfig, JobName, JobView, Layout, Ledger, LedgerState,
    ManualRequest, NodeKind, Outcome, Overlap, Run, RunKind, RunSource, ServerIp, encode_config,
};
use promises::{
    Breach, Finding, ItemChange, Leadership, Write, breach_of_election, breach_of_expiry,
};
use reg_center::{Change, Node, NodePath, Revision, SessionId, Stat, Version};
use sharding::{InstanceId, ShardingItem};

const LEADER: &str = "10.0.0.1@-@1";
const MEMBER: &str = "10.0.0.2@-@1";
const ITEM: ShardingItem = ShardingItem::new(0);
const CONFIG: Version = Version(0);
const FIRST: FireTime = FireTime(1_000);
const SECOND: FireTime = FireTime(2_000);
const THIRD: FireTime = FireTime(3_000);

/// A job with one item, which the member owns, and two instances.
#[derive(Clone)]
struct Job {
    layout: Layout,
    nodes: BTreeMap<NodePath, Node>,
}

fn instance(id: &str) -> InstanceId {
    InstanceId::new(id)
}

fn server(id: &str) -> ServerIp {
    coordination::server_of(&instance(id)).expect("the id is valid")
}

fn config() -> JobConfig {
    JobConfig::new(JobName::new("job").expect("the name is valid"), 1)
}

fn queueing_config() -> String {
    encode_config(&config().with(|it| it.overlap = Some(Overlap::Queue(2))))
}

/// Returns an assignment for a number of items, with the names and values of `rest`.
fn assignment(total: u32, rest: &str) -> String {
    format!(r#"{{"members":["{MEMBER}","{LEADER}"],"total":{total},{rest}}}"#)
}

/// The name of the strategy and the version of the handled request.
const PRESENT: &str = r#""strategy":"","handled":0"#;

fn pending(next: &str) -> String {
    assignment(1, &format!(r#"{PRESENT},"pending":{{"{next}":[[0,0]]}}"#))
}

impl Job {
    fn settled() -> Self {
        let layout = Layout::new(&config().job_name);
        Self { layout, nodes: BTreeMap::new() }
            .with(NodeKind::Config, encode_config(&config()))
            .with(NodeKind::Server(server(LEADER)), "")
            .with(NodeKind::Server(server(MEMBER)), "")
            .with(NodeKind::Instance(instance(LEADER)), RUST_MARK)
            .with(NodeKind::Instance(instance(MEMBER)), RUST_MARK)
            .led_by(LEADER)
            .with_term(LEADER)
            .with(NodeKind::Request, "")
            .with(NodeKind::Assignment, assignment(1, PRESENT))
            .owned_by(MEMBER)
            .with_record(&idle())
    }

    fn with(mut self, kind: NodeKind, data: impl Into<String>) -> Self {
        let path = self.layout.path(&kind);
        let is_ephemeral = matches!(kind, NodeKind::Instance(_) | NodeKind::Leader);
        let stat = Stat {
            version: Version(0),
            created: Revision(1),
            modified: Revision(1),
            modified_at: None,
            owner: is_ephemeral.then_some(SessionId(1)),
        };
        let node = Node { path: path.clone(), data: data.into().into(), stat };
        self.nodes.insert(path, node);
        self
    }

    fn without(mut self, kind: &NodeKind) -> Self {
        self.nodes.remove(&self.layout.path(kind));
        self
    }

    fn led_by(self, id: &str) -> Self {
        self.with(NodeKind::Leader, id)
    }

    fn with_term(self, id: &str) -> Self {
        self.with(NodeKind::Term, format!(r#"{{"leader":"{id}"}}"#))
    }

    fn owned_by(self, id: &str) -> Self {
        self.with(NodeKind::Owner(ITEM), id)
    }

    fn with_record(self, ledger: &Ledger) -> Self {
        self.with(NodeKind::Ledger(ITEM), encode_ledger(ledger))
    }

    fn view(&self) -> JobView {
        let mut view = JobView::new(self.layout.clone());
        let entries = self.nodes.values().cloned().map(Change::Entry);
        for change in std::iter::once(Change::Init).chain(entries).chain([Change::Ready]) {
            view.apply(change).expect("the nodes are valid");
        }
        view
    }

    /// Judges the write of an instance that changes this job to `after`. `dead` has no session.
    fn judge(&self, after: &Self, writer: &str, dead: Option<&str>) -> Option<Breach> {
        let (view, after) = (self.view(), after.view());
        let writer = instance(writer);
        let write = Write {
            view: &view,
            writer: Some(&writer),
            leads: Leadership::of(&view).permits(&writer),
            is_alive: &|id| Some(id.as_str()) != dead,
            has_claimed: &|_, _, run| run.holder == writer,
        };
        let of_slot = |key| ItemChange::between(key, |of| view.item(of), |of| after.item(of));
        let further = after.further_slots().map(|(slot, _)| slot.key());
        let mut keys = [ITEM].into_iter().chain(further);
        keys.find_map(|key| write.breach_of(&of_slot(key))).map(|finding| finding.breach)
    }

    /// Judges the write of an instance that replaces the record of the item.
    fn judge_record(&self, old: &Ledger, new: &Ledger, writer: &str) -> Option<Breach> {
        let before = self.clone().with_record(old);
        before.judge(&before.clone().with_record(new), writer, None)
    }
}

/// A record that has run the first fire.
fn idle() -> Ledger {
    let done = claim(&Ledger::new(None), FIRST).complete(Outcome::Succeeded, 1_500);
    done.expect("the item is running")
}

fn by(holder: &str) -> Claimant {
    Claimant { holder: instance(holder), config: CONFIG, now_ms: 0 }
}

fn claim(old: &Ledger, fire: FireTime) -> Ledger {
    old.claim(&by(MEMBER), fire, None).expect("the item can be claimed")
}

/// A record whose run of the second fire is in progress.
fn running() -> Ledger {
    claim(&idle(), SECOND)
}

fn noted() -> Ledger {
    let noted = running().note_misfire(THIRD, None).expect("the item is busy");
    noted.complete(Outcome::Succeeded, 2_500).expect("the item is running")
}

fn requested() -> Ledger {
    let request =
        ManualRequest { id: "r".into(), at: FireTime(1_501), parameter: None, past_fire: None };
    idle().with_request(request).expect("no request waits")
}

/// Changes the run of a record.
fn with_run(ledger: &Ledger, change: impl FnOnce(&mut Run)) -> Ledger {
    let mut run = ledger.run().expect("the record has a run").clone();
    change(&mut run);
    Ledger { state: LedgerState::Running(run), ..ledger.clone() }
}

/// Returns the record after the leader has taken over its run in progress.
fn taken(old: &Ledger) -> Ledger {
    let orphan = old.orphan().expect("the item is running");
    orphan.take_over(&by(LEADER)).expect("the run waits for a takeover")
}

#[test]
fn lawful_writes_have_no_breach() {
    let job = Job::settled();
    let (lost, later) = (running(), noted());
    let abandoned = lost.abandon(2_500).expect("the item is running");
    let replay = later.replay(&by(MEMBER), None).expect("fires are noted");
    let answer = requested().answer(&by(MEMBER)).expect("a request waits");
    let complete = lost.complete(Outcome::Failed, 2_500).expect("the item is running");
    for (old, new) in [
        (idle(), running()),
        (lost.clone(), complete),
        (later.clone(), replay),
        (later.clone(), claim(&later, FireTime(4_000))),
        (requested(), answer),
    ] {
        assert_eq!(
            job.judge_record(&old, &new, MEMBER),
            None,
            "{} {}",
            old.summary(),
            new.summary()
        );
    }
    let before = job.clone().with_record(&lost);
    for new in [taken(&lost), lost.orphan().expect("the item is running"), abandoned] {
        let after = before.clone().with_record(&new);
        assert_eq!(before.judge(&after, LEADER, Some(MEMBER)), None, "{}", new.summary());
    }
    assert_eq!(job.judge(&job.clone().owned_by(LEADER), LEADER, None), None);
}

#[test]
fn claim_needs_a_newer_token_and_an_idle_record() {
    let job = Job::settled();
    let old_token = Ledger { token: idle().token, ..running() };
    assert_eq!(job.judge_record(&idle(), &old_token, MEMBER), Some(Breach::Claims));
    let second =
        Ledger { token: running().token.next(), ..with_run(&running(), |run| run.fire = THIRD) };
    let second = Ledger { last_fire: Some(THIRD), ..second };
    assert_eq!(job.judge_record(&running(), &second, MEMBER), Some(Breach::Claims));
}

#[test]
fn only_the_registered_owner_claims() {
    let job = Job::settled();
    let claimed = |job: &Job, writer| job.judge_record(&idle(), &running(), writer);
    let unregistered = job.clone().without(&NodeKind::Instance(instance(MEMBER)));
    let pending = job.clone().with(NodeKind::Assignment, pending(LEADER));
    let of_two_items = job.clone().with(NodeKind::Assignment, assignment(2, PRESENT));
    assert_eq!(claimed(&job, LEADER), Some(Breach::Ownership), "claimed for another instance");
    assert_eq!(claimed(&job.owned_by(LEADER), MEMBER), Some(Breach::Ownership));
    assert_eq!(claimed(&unregistered, MEMBER), Some(Breach::Ownership));
    assert_eq!(claimed(&pending, MEMBER), Some(Breach::Ownership));
    assert_eq!(claimed(&of_two_items, MEMBER), Some(Breach::Ownership));
}

#[test]
fn disabled_item_or_server_is_not_claimed() {
    let job = Job::settled();
    for data in ["DISABLED", "PAUSED"] {
        let job = job.clone().with(NodeKind::Server(server(MEMBER)), data);
        assert_eq!(job.judge_record(&idle(), &running(), MEMBER), Some(Breach::Disabled), "{data}");
    }
    let (old, new) = (Ledger { disabled: true, ..idle() }, Ledger { disabled: true, ..running() });
    assert_eq!(job.judge_record(&old, &new, MEMBER), Some(Breach::Disabled));
}

#[test]
fn claim_uses_the_stored_configuration() {
    let job = Job::settled();
    let other = Ledger { config: Some(Version(7)), ..running() };
    assert_eq!(job.judge_record(&idle(), &other, MEMBER), Some(Breach::Configuration));
    let without = job.without(&NodeKind::Config);
    assert_eq!(without.judge_record(&idle(), &running(), MEMBER), Some(Breach::Configuration));
}

#[test]
fn fire_is_claimed_once() {
    let job = Job::settled();
    let breach = |old: &Ledger, new: &Ledger| job.judge_record(old, new, MEMBER);
    let again = with_run(&running(), |run| run.fire = FIRST);
    let again = Ledger { last_fire: Some(FIRST), ..again };
    let unasked = with_run(&running(), |run| {
        (run.source, run.kind) = (RunSource::Manual, RunKind::Manual);
    });
    let not_noted = with_run(&running(), |run| run.source = RunSource::Misfire);
    let past_noted = Ledger { misfire: noted().misfire, ..claim(&noted(), FireTime(4_000)) };
    let lowered = Ledger { last_fire: None, ..idle() };
    assert_eq!(breach(&idle(), &again), Some(Breach::FireAgain));
    assert_eq!(breach(&idle(), &unasked), Some(Breach::FireAgain));
    assert_eq!(breach(&idle(), &not_noted), Some(Breach::FireAgain));
    assert_eq!(breach(&noted(), &past_noted), Some(Breach::FireAgain));
    assert_eq!(breach(&idle(), &lowered), Some(Breach::FireAgain));
}

#[test]
fn queued_fires_run_one_by_one_within_the_limit() {
    let job = Job::settled().with(NodeKind::Config, queueing_config());
    let breach = |old: &Ledger, new: &Ledger| job.judge_record(old, new, MEMBER);
    let queue = |it: &Ledger, fire: i64| it.queue(FireTime(fire), None, 9).expect("it is busy");
    let (one, two) = (queue(&running(), 3_000), queue(&queue(&running(), 3_000), 4_000));
    let ended = two.complete(Outcome::Succeeded, 5_000).expect("the item is running");
    let first = ended.run_queued(&by(MEMBER), None).expect("fires are queued");
    assert_eq!(breach(&running(), &one), None);
    assert_eq!(breach(&one, &two), None);
    assert_eq!(breach(&two, &ended), None);
    assert_eq!(breach(&ended, &first), None);
    assert_eq!(breach(&two, &queue(&two, 5_000)), Some(Breach::Queue), "longer than the limit");
    let merged = ended.replay(&by(MEMBER), None).expect("fires are queued");
    assert_eq!(breach(&ended, &merged), Some(Breach::Queue), "one run for all");
    let last = FireRange { first: FireTime(4_000), last: FireTime(4_000), count: 1 };
    let without = Ledger { misfire: Some(last), queued: vec![last.last], ..two.clone() };
    assert_eq!(breach(&two, &without), Some(Breach::Queue), "the first one is lost");
    let unqueued = Job::settled().judge_record(&running(), &one, MEMBER);
    assert_eq!(unqueued, Some(Breach::Queue), "the job has no queue");
}

#[test]
fn record_is_not_deleted_and_its_token_does_not_fall() {
    let job = Job::settled();
    let deleted = job.clone().without(&NodeKind::Ledger(ITEM));
    assert_eq!(job.judge(&deleted, MEMBER, None), Some(Breach::Claims));
    let lowered = Ledger { token: Ledger::new(None).token, ..idle() };
    assert_eq!(job.judge_record(&idle(), &lowered, MEMBER), Some(Breach::Claims));
}

#[test]
fn waiting_fires_and_requests_leave_only_with_their_run() {
    let job = Job::settled();
    let breach = |old: &Ledger, new: &Ledger| job.judge_record(old, new, MEMBER);
    let unmerged = with_run(&claim(&noted(), FireTime(4_000)), |run| run.merged = None);
    assert_eq!(breach(&noted(), &Ledger { misfire: None, ..noted() }), Some(Breach::Dropped));
    assert_eq!(breach(&noted(), &unmerged), Some(Breach::Dropped));
    assert_eq!(breach(&requested(), &idle()), Some(Breach::Dropped));
    let disabled = Ledger { disabled: true, ..requested() };
    let dropped = disabled.drop_request().expect("a request waits");
    assert_eq!(breach(&disabled, &dropped), None, "disabled items drop requests");
}

#[test]
fn only_the_leader_takes_lost_runs_over() {
    let job = Job::settled().with_record(&running());
    let after = job.clone().with_record(&taken(&running()));
    assert_eq!(job.judge(&after, LEADER, None), Some(Breach::FalseFailover));
    let deposed = |job: &Job| job.clone().led_by(MEMBER).with_term(MEMBER);
    let breach = deposed(&job).judge(&deposed(&after), LEADER, Some(MEMBER));
    assert_eq!(breach, Some(Breach::Leader));
    let other_fire = with_run(&taken(&running()), |run| run.fire = THIRD);
    let other_fire = job.clone().with_record(&Ledger { last_fire: Some(THIRD), ..other_fire });
    assert_eq!(job.judge(&other_fire, LEADER, Some(MEMBER)), Some(Breach::Claims));
}

#[test]
fn only_the_holder_ends_a_run() {
    let job = Job::settled().with_record(&running());
    let abandoned = running().abandon(2_500).expect("the item is running");
    let abandoned = job.clone().with_record(&abandoned);
    let orphan = job.clone().with_record(&running().orphan().expect("the item is running"));
    assert_eq!(job.judge(&abandoned, LEADER, None), Some(Breach::Completion));
    assert_eq!(job.judge(&orphan, LEADER, None), Some(Breach::FalseFailover));
    let third = "10.0.0.3@-@1";
    assert_eq!(job.judge(&orphan, third, Some(MEMBER)), Some(Breach::Completion));
}

#[test]
fn only_the_leader_assigns_idle_items() {
    let job = Job::settled();
    let moved = |job: &Job| job.clone().owned_by(LEADER);
    assert_eq!(job.judge(&moved(&job), MEMBER, None), Some(Breach::Leader));
    let busy = job.with_record(&running());
    assert_eq!(busy.judge(&moved(&busy), LEADER, None), Some(Breach::MovedUnderRun));
}

#[test]
fn term_begins_only_without_another_leader() {
    let (job, member) = (Job::settled(), instance(MEMBER));
    let vacant = job.clone().without(&NodeKind::Leader);
    let elected = job.clone().led_by(MEMBER).with_term(MEMBER);
    let breach = |before: &Job, after: &Job| {
        let (before, after) = (Leadership::of(&before.view()), Leadership::of(&after.view()));
        breach_of_election(&before, &after, &member).map(|finding| finding.breach)
    };
    assert_eq!(breach(&vacant, &elected), None);
    assert_eq!(breach(&job, &elected), Some(Breach::Leader), "another instance leads");
    assert_eq!(breach(&job, &vacant), Some(Breach::Leader), "removed the leader's node");
    assert_eq!(breach(&vacant, &vacant.clone().with_term(MEMBER)), Some(Breach::Leader));
}

#[test]
fn only_idle_servers_expire_that_no_operator_has_held_back() {
    let judge = |job: Job| breach_of_expiry(&job.view(), &server(MEMBER)).map(|found| found.breach);
    let idle = || Job::settled().without(&NodeKind::Instance(instance(MEMBER)));
    let disabled = config().with(|config| config.disabled = true);
    assert_eq!(judge(idle()), None);
    assert_eq!(judge(Job::settled()), Some(Breach::Expired), "its instance is registered");
    let held_back = [
        idle().with(NodeKind::Server(server(MEMBER)), "DISABLED"),
        idle().with(NodeKind::Server(server(MEMBER)), "PAUSED"),
        idle().with(NodeKind::Config, encode_config(&disabled)),
    ];
    for job in held_back {
        assert_eq!(judge(job), Some(Breach::Expired));
    }
}

#[test]
fn each_stale_state_is_found() {
    let breaches = |job: &Job| {
        let view = job.view();
        let rules: [fn(&JobView) -> Option<Finding>; 6] = [
            promises::no_leader,
            promises::stale_assignment,
            promises::unavailable_owner,
            promises::unfinished_run,
            promises::waiting_misfire,
            promises::stale_mark,
        ];
        let of_view = rules.into_iter().filter_map(|rule| rule(&view));
        let of_nodes = promises::stale_node(&job.layout, job.nodes.keys());
        of_view.chain(of_nodes).map(|finding| finding.breach).collect::<Vec<_>>()
    };
    let job = Job::settled();
    let with = |kind, data: &str| job.clone().with(kind, data);
    let other_strategy = assignment(1, r#""strategy":"other","handled":0"#);
    let stale_request = assignment(1, r#""strategy":"","handled":1"#);
    let retired = Ledger { state: LedgerState::Retired, ..idle() };
    assert_eq!(breaches(&job), []);
    for (stale, breach) in [
        (job.clone().without(&NodeKind::Leader), Breach::NoLeader),
        (job.clone().with_term(MEMBER), Breach::NoLeader),
        (job.clone().without(&NodeKind::Assignment), Breach::NotAssigned),
        (with(NodeKind::Assignment, &assignment(2, PRESENT)), Breach::NotAssigned),
        (with(NodeKind::Assignment, &pending(LEADER)), Breach::NotAssigned),
        (with(NodeKind::Assignment, &other_strategy), Breach::NotAssigned),
        (with(NodeKind::Assignment, &stale_request), Breach::NotAssigned),
        (with(NodeKind::Instance(instance("10.0.0.1@-@2")), RUST_MARK), Breach::NotAssigned),
        (job.clone().without(&NodeKind::Owner(ITEM)), Breach::NotOwned),
        (job.clone().owned_by("10.0.0.2@-@0"), Breach::NotOwned),
        (job.clone().with_record(&running()), Breach::Unfinished),
        (job.clone().with_record(&retired), Breach::Unfinished),
        (with(NodeKind::Misfire(ITEM), "").with_record(&noted()), Breach::Unfinished),
        (with(NodeKind::Misfire(ITEM), ""), Breach::NotCleanedUp),
        (with(NodeKind::QueuedItem(ITEM), ""), Breach::NotCleanedUp),
        (with(NodeKind::Owner(ShardingItem::new(1)), MEMBER), Breach::NotCleanedUp),
        (with(NodeKind::Draining(instance("10.0.0.9@-@1")), ""), Breach::NotCleanedUp),
    ] {
        assert_eq!(breaches(&stale), [breach], "{}", stale.view());
    }
}

#[test]
fn instance_that_left_has_no_node_and_no_run() {
    let job = Job::settled();
    let breach = |job: &Job| {
        promises::leftover_of(&job.view(), &instance(MEMBER)).map(|finding| finding.breach)
    };
    let left = job.clone().without(&NodeKind::Instance(instance(MEMBER)));
    assert_eq!(breach(&left), None);
    assert_eq!(breach(&job), Some(Breach::Leftover));
    assert_eq!(breach(&left.with_record(&running())), Some(Breach::Leftover));
}
