//! Three instances share a job that fires every second. One of them dies in the middle of an item,
//! and another one takes the run over. The example needs no server and ends by itself:
//!
//! ```text
//! cargo run --example quickstart
//! ```
//!
//! The figures at the end are counted from the event records. The exit code is 1 if no instance
//! took the run over, if a fire of an item took effect twice, or if an item of a fire was lost:
//! neither run nor recorded as missed.
#![expect(clippy::print_stdout, reason = "an example prints its results")]
#![expect(clippy::disallowed_methods, reason = "an application may sleep as it likes")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lite::{
    FireTime, InstanceId, JobBuilder, JobEvent, JobHandle, JobRecord, Outcome, RunSource,
    Scheduler, ShardingContext, ShardingItem, job_fn,
};
use parking_lot::Mutex;
use reg_center::{MemoryCenter, MemoryRegistry, RegistryCenter};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

type Failure = Box<dyn std::error::Error>;

const N_ITEMS: u32 = 6;
/// Duration of a run, long enough to kill an instance during one.
const WORK: Duration = Duration::from_millis(150);
/// Number of runs before an instance dies, and again before the example ends.
const ROUNDS: usize = 3 * N_ITEMS as usize;
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// One of the three instances. Each has a session of its own, as a process would.
struct Instance {
    center: Arc<MemoryCenter>,
    scheduler: Scheduler,
    handle: JobHandle,
}

/// The store that the items write to. It rejects an effect under a smaller token than it has seen
/// for the item. Without that, the scheduler cannot prevent a paused process from writing when it
/// resumes.
#[derive(Default)]
struct Store {
    greatest_token: BTreeMap<ShardingItem, u64>,
    /// Number of effects of each fire of each item.
    effects: BTreeMap<(ShardingItem, String), u32>,
    rejected: u32,
}

impl Store {
    fn begin(&mut self, run: &ShardingContext) {
        let greatest = self.greatest_token.entry(run.item()).or_default();
        *greatest = run.fencing_token().max(*greatest);
    }

    fn apply(&mut self, run: &ShardingContext) {
        if self.greatest_token.get(&run.item()) > Some(&run.fencing_token()) {
            self.rejected += 1;
        } else {
            *self.effects.entry((run.item(), run.idempotency_key())).or_default() += 1;
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match timeout(TIME_LIMIT, play()).await {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(failure)) => fail(&failure.to_string()),
        Err(_) => fail(&format!("the example has not ended after {TIME_LIMIT:?}")),
    }
}

fn fail(reason: &str) -> ExitCode {
    println!("FAILED: {reason}");
    ExitCode::FAILURE
}

async fn play() -> Result<bool, Failure> {
    let registry = MemoryRegistry::new();
    let store = Arc::new(Mutex::new(Store::default()));
    let (sender, mut records) = mpsc::unbounded_channel();
    let mut instances = Vec::new();
    for n in 1..=3 {
        instances.push(start(&registry, n, &store, &sender).await?);
    }
    // All instances have joined, so every fire from now on must be accounted for.
    let mut summary = Summary::since(FireTime(Timestamp::now().as_millisecond()));

    println!("\n--- three instances, {N_ITEMS} items, a fire every second");
    summary.listen(&mut records, |summary| summary.succeeded >= ROUNDS).await?;
    show_ownership(&instances).await?;

    println!("\n--- the leader dies inside an item");
    let victim = leader(&instances).await?;
    let id = instances[victim].handle.status().await?.instance.ok_or("the leader has no id")?;
    let (item, fire) = summary.listen_for_a_claim_of(&mut records, &id).await?;
    let dead = instances.remove(victim);
    dead.scheduler.abort();
    // The instance does not deregister. The registry detects the end of its session.
    dead.center.close().await?;
    println!("{id} died inside item {item} of fire {}", fire_time(fire));

    println!("\n--- the other two go on");
    let before = summary.succeeded;
    let is_over = |summary: &Summary| {
        let taken = summary.takeovers.contains_key(&(item, fire));
        taken && summary.succeeded >= before + ROUNDS
    };
    summary.listen(&mut records, is_over).await?;
    show_ownership(&instances).await?;
    // A leaving instance takes no more fires, and the latest fire may still be in progress, so it
    // is not counted.
    let end = summary.accounts.last_key_value().map(|((fire, _), _)| *fire);
    let end = end.ok_or("there was no fire")?;
    for Instance { scheduler, .. } in &instances {
        for report in scheduler.shutdown(Duration::from_secs(2)).await {
            println!("left in order: {}, {} items drained", report.is_clean(), report.items.len());
        }
    }
    while let Ok(record) = records.try_recv() {
        summary.take(&record);
    }
    Ok(summary.verdict(&store.lock(), (item, fire), end))
}

/// Starts one instance on a session of its own.
async fn start(
    registry: &MemoryRegistry,
    n: u8,
    store: &Arc<Mutex<Store>>,
    sender: &mpsc::UnboundedSender<JobRecord>,
) -> Result<Instance, Failure> {
    let center = Arc::new(registry.connect());
    let sender = sender.clone();
    let scheduler = Scheduler::builder(center.clone())
        .server_ip(&format!("10.0.0.{n}"))?
        .event_subscriber(move |record: &JobRecord| drop(sender.send(record.clone())))
        .build()?;
    let config = JobBuilder::new("quickstart", N_ITEMS)
        .cron("* * * * * ?")
        .failover(true)
        .description("counts to six, every second")
        .build()?;
    let store = Arc::clone(store);
    let job = job_fn(move |run| {
        let store = Arc::clone(&store);
        async move {
            store.lock().begin(&run);
            sleep(WORK).await;
            store.lock().apply(&run);
            Ok(())
        }
    });
    let handle = scheduler.schedule(config, job).await?;
    handle.joined().await?;
    Ok(Instance { center, scheduler, handle })
}

async fn show_ownership(instances: &[Instance]) -> Result<(), Failure> {
    for Instance { handle, .. } in instances {
        let status = handle.status().await?;
        let id = status.instance.map(|id| id.to_string()).unwrap_or_default();
        let items: Vec<String> = status.owned.iter().map(ToString::to_string).collect();
        let role = if status.leads { "leads" } else { "" };
        println!("         {id:<28} owns items {:<12} {role}", items.join(" "));
    }
    Ok(())
}

async fn leader(instances: &[Instance]) -> Result<usize, Failure> {
    for (index, Instance { handle, .. }) in instances.iter().enumerate() {
        if handle.status().await?.leads {
            return Ok(index);
        }
    }
    Err("no instance is the leader".into())
}

/// Describes an event in one line, and the frequent events in a short form.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other events use their `Display`")]
fn describe(event: &JobEvent) -> String {
    match event {
        JobEvent::Claimed { item, fire, source, token, .. } => {
            format!("item {item} begins  ({source}, fire {}, token {token})", fire_time(*fire))
        }
        JobEvent::Settled { item, fire, source, token, outcome } => {
            format!("item {item} {outcome}  ({source}, fire {}, token {token})", fire_time(*fire))
        }
        JobEvent::Orphaned { item, fire, holder, .. } => {
            format!("item {item} of fire {} was left unfinished by {holder}", fire_time(*fire))
        }
        other => other.to_string(),
    }
}

fn fire_time(fire: FireTime) -> String {
    Timestamp::from_millisecond(fire.0).map_or_else(|_| fire.to_string(), time)
}

fn time(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

/// State of an item of a fire by the event records. The greatest state counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Account {
    /// It was claimed or orphaned, and no later record has its end.
    Unfinished,
    Missed,
    /// It met the running item and is merged into a later fire.
    Merged,
    Run,
}

/// Counts from the event records of all instances.
struct Summary {
    /// Fires after this time are counted.
    since: FireTime,
    claimed: usize,
    succeeded: usize,
    other_outcomes: usize,
    orphaned: usize,
    accounts: BTreeMap<(FireTime, ShardingItem), Account>,
    /// Fires that an instance missed for all of its items.
    missed_altogether: BTreeSet<FireTime>,
    takeovers: BTreeMap<(ShardingItem, FireTime), InstanceId>,
}

impl Summary {
    fn since(since: FireTime) -> Self {
        Self {
            since,
            claimed: 0,
            succeeded: 0,
            other_outcomes: 0,
            orphaned: 0,
            accounts: BTreeMap::new(),
            missed_altogether: BTreeSet::new(),
            takeovers: BTreeMap::new(),
        }
    }

    /// Reads records until a condition holds.
    async fn listen(
        &mut self,
        records: &mut mpsc::UnboundedReceiver<JobRecord>,
        is_enough: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        while !is_enough(self) {
            let record = records.recv().await.ok_or("all instances have ended")?;
            self.take(&record);
        }
        Ok(())
    }

    /// Reads records until this instance claims an item.
    async fn listen_for_a_claim_of(
        &mut self,
        records: &mut mpsc::UnboundedReceiver<JobRecord>,
        id: &InstanceId,
    ) -> Result<(ShardingItem, FireTime), Failure> {
        // Claims in the queue may have ended already, so only a later claim counts.
        while let Ok(record) = records.try_recv() {
            self.take(&record);
        }
        loop {
            let record = records.recv().await.ok_or("all instances have ended")?;
            self.take(&record);
            if let JobEvent::Claimed { item, fire, .. } = record.event
                && record.instance.as_ref() == Some(id)
            {
                return Ok((item, fire));
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are only printed")]
    fn take(&mut self, record: &JobRecord) {
        let id = record.instance.clone().unwrap_or_else(|| InstanceId::new(""));
        println!("{} {id:<28} {}", time(record.at), describe(&record.event));
        match &record.event {
            JobEvent::Claimed { item, fire, .. } => {
                self.claimed += 1;
                self.account(*fire, *item, Account::Unfinished);
            }
            JobEvent::Settled { item, fire, source, outcome: Outcome::Succeeded, .. } => {
                self.succeeded += 1;
                self.account(*fire, *item, Account::Run);
                if *source == RunSource::Failover {
                    self.takeovers.insert((*item, *fire), id);
                }
            }
            JobEvent::Settled { .. } => self.other_outcomes += 1,
            JobEvent::MisfireNoted { item, waiting } => {
                self.account(waiting.last, *item, Account::Merged);
            }
            JobEvent::Missed { item: Some(item), fire, .. } => {
                self.account(*fire, *item, Account::Missed);
            }
            JobEvent::Missed { item: None, fire, .. } => {
                self.missed_altogether.insert(*fire);
            }
            JobEvent::Orphaned { item, fire, .. } => {
                self.orphaned += 1;
                self.account(*fire, *item, Account::Unfinished);
            }
            _ => {}
        }
    }

    fn account(&mut self, fire: FireTime, item: ShardingItem, account: Account) {
        let known = self.accounts.entry((fire, item)).or_insert(account);
        *known = account.max(*known);
    }

    /// Returns the state of each item of each recorded fire before `end`; `None` if no record has
    /// it.
    fn states(&self, end: FireTime) -> Vec<Option<Account>> {
        let noticed = self.accounts.keys().map(|(fire, _)| *fire);
        let fires: BTreeSet<_> = noticed.chain(self.missed_altogether.iter().copied()).collect();
        let mut states = Vec::new();
        for fire in fires.into_iter().filter(|fire| self.since < *fire && *fire < end) {
            let missed = self.missed_altogether.contains(&fire).then_some(Account::Missed);
            states.extend((0..N_ITEMS).map(|item| {
                let account = self.accounts.get(&(fire, ShardingItem::new(item))).copied();
                account.max(missed)
            }));
        }
        states
    }

    /// Prints the counts, and returns true if the guarantees hold.
    fn verdict(
        &self,
        store: &Store,
        (item, fire): (ShardingItem, FireTime),
        end: FireTime,
    ) -> bool {
        let states = self.states(end);
        let n_states = |wanted: &[Option<Account>]| {
            states.iter().filter(|state| wanted.contains(state)).count()
        };
        let missed = n_states(&[Some(Account::Missed)]);
        let lost = n_states(&[None, Some(Account::Unfinished)]);
        let doubled = store.effects.values().filter(|times| **times > 1).count();
        let taken_over = self.takeovers.get(&(item, fire));
        println!("\n--- counted from the records of all instances");
        println!("items claimed                {}", self.claimed);
        println!("items that succeeded         {}", self.succeeded);
        println!("items with another outcome   {}", self.other_outcomes);
        println!("runs left unfinished         {}", self.orphaned);
        println!("runs taken over              {}", self.takeovers.len());
        println!("--- of all fires while all were there, or one had died: {} items", states.len());
        println!("run                          {}", n_states(&[Some(Account::Run)]));
        println!("run with a later fire        {}", n_states(&[Some(Account::Merged)]));
        println!("missed, with a reason        {missed}");
        println!("lost                         {lost}");
        println!("--- counted by the store");
        println!("effects                      {}", store.effects.len());
        println!("effects of stale tokens      {} (rejected)", store.rejected);
        println!("fires with two effects       {doubled}");
        match taken_over {
            Some(by) => println!("\nok: item {item} was taken over by {by}"),
            None => println!("\nFAILED: no instance took item {item} over"),
        }
        let is_good = taken_over.is_some()
            && self.orphaned > 0
            && doubled == 0
            && lost == 0
            && !states.is_empty();
        match (is_good, missed) {
            (true, 0) => println!("ok: nothing lost, nothing missed, nothing doubled"),
            (true, _) => {
                println!("ok: nothing lost, nothing doubled, {missed} missed and recorded")
            }
            (false, _) => println!("FAILED: {lost} lost, {doubled} doubled"),
        }
        is_good
    }
}
