//! A page that was open during random operations and faults equals the page that a fresh read of
//! the registry shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::configuring::form_of;
use super::dom::{Node, apply, difference, parse, without_ages};
use super::world::{Events, World, answer_of};

/// Variable with the number of seeds; 4 without it.
const SEEDS: &str = "EJOB_TEST_SEEDS";
/// Variable with the first seed; 0 without it.
const FIRST_SEED: &str = "EJOB_TEST_FIRST_SEED";
/// Number of namespaces at the same time. Most of the time they wait for an update.
const AT_ONCE: usize = 4;
/// Number of operations and faults of one seed.
const STEPS: usize = 20;
/// Longest wait for equal pages after the last fault is healed. The outcomes of the last day are
/// read again after five seconds.
const DEADLINE: Duration = Duration::from_secs(40);

const PAGES: [&str; 19] = [
    "n/orders",
    "n/orders/jobs",
    "n/orders/jobs?sort=next",
    "n/orders/jobs/report",
    "n/orders/jobs/report/runs",
    "n/orders/jobs/report/schedule",
    "n/orders/jobs/report/placement",
    "n/orders/jobs/report/configuration",
    "n/orders/jobs/report/backfills",
    "n/orders/running",
    "n/orders/servers",
    "n/orders/servers/10.0.0.1",
    "n/orders/groups",
    "n/orders/groups/database",
    "n/orders/timeline",
    "n/orders/alerts",
    "n/orders/doctor",
    "n/orders/audit",
    "n/orders/registry/report",
];

/// A page that is open in a browser.
struct Tab {
    page: &'static str,
    shown: Arc<Mutex<Vec<Node>>>,
    following: JoinHandle<()>,
}

impl Tab {
    async fn open(router: &Router, page: &'static str) -> Self {
        let document = get(router, page).await;
        assert!(document.contains(" data-stream=\""), "{page} opens no stream");
        let shown = Arc::new(Mutex::new(parse(&document)));
        let following = follow(router, page, Arc::clone(&shown)).await;
        Self { page, shown, following }
    }

    /// Opens the stream again, as a browser does whose connection was cut.
    async fn reconnect(&mut self, router: &Router) {
        self.following.abort();
        self.following = follow(router, self.page, Arc::clone(&self.shown)).await;
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// Applies the events of a page's stream to a tree.
async fn follow(router: &Router, page: &str, shown: Arc<Mutex<Vec<Node>>>) -> JoinHandle<()> {
    let mut stream = Events::of_router(router, page).await;
    tokio::spawn(async move {
        loop {
            let event = stream.next_change().await;
            let lines = event.lines().filter_map(|line| line.strip_prefix("data: "));
            apply(&mut shown.lock(), &lines.collect::<Vec<_>>().join("\n"));
        }
    })
}

async fn get(router: &Router, page: &str) -> String {
    let request = Request::get(format!("/{page}")).header("accept", "text/html");
    answer_of(router, request.body(Body::empty()).unwrap()).await.text
}

/// The choices of one seed.
struct Chooser(fastrand::Rng);

impl Chooser {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.usize(..of.len())]
    }
}

/// Sends a form. While the registry does not answer, the answer waits until it does.
fn post(world: &World, path: String, form: String) -> JoinHandle<()> {
    let router = world.router.clone();
    let request = Request::post(path)
        .header("accept", "text/html")
        .header("content-type", "application/x-www-form-urlencoded");
    let request = request.body(Body::from(form)).unwrap();
    tokio::spawn(async move {
        // An operation can be refused, but the console must not fail.
        let answer = answer_of(&router, request).await;
        assert_ne!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", answer.text);
    })
}

/// Performs one operation or fault. Returns the request of an operation.
async fn step(world: &World, tabs: &mut [Tab], chooser: &mut Chooser) -> Option<JoinHandle<()>> {
    const WORDS: [&str; 7] = ["run", "rerun", "cancel", "pause", "resume", "disable", "enable"];
    const PLACES: [&str; 4] = ["", "?server=10.0.0.1", "?server=10.0.0.2", "?item=1"];
    let lease = Duration::from_secs(30);
    match chooser.0.u8(..16) {
        0..=5 => {
            let (word, job) = (chooser.one(&WORDS), chooser.one(&["report", "wide"]));
            let place = chooser.one(&PLACES);
            let path = format!("/n/orders/jobs/{job}/act/{word}{place}");
            return Some(post(world, path, "why=a+random+step&stale=yes".to_owned()));
        }
        6 => {
            let words = ["pause", "resume", "disable", "enable", "drain", "shut-down"];
            let (word, server) = (chooser.one(&words), chooser.one(&["10.0.0.1", "10.0.0.2"]));
            let path = format!("/n/orders/servers/{server}/act/{word}");
            return Some(post(world, path, "why=a+random+step&stale=yes".to_owned()));
        }
        7 => {
            let edit = "/n/orders/jobs/report/configuration/edit";
            let form = world.get(edit).await.text;
            if form.contains("name=\"cron\"") {
                let hour = chooser.0.u8(1..9).to_string();
                let cron = format!("0 30 {hour} * * ?");
                let items = chooser.0.u8(2..5).to_string();
                let changes = [
                    ("step", "write"),
                    ("why", "random"),
                    ("cron", &cron),
                    ("sharding_total_count", &items),
                ];
                return Some(post(world, edit.to_owned(), form_of(&form, &changes)));
            }
        }
        8 => world.center.suspend(lease),
        9 => world.center.resume(),
        10 => world.center.expire(),
        11 => chooser.one(&[&world.members[0], &world.members[1]]).expire(),
        12 => {
            world.center.hold_feeds();
            let path = "/n/orders/jobs/report/act/disable?item=0".to_owned();
            let sent = post(world, path, "why=held+back&stale=yes".to_owned());
            tokio::task::yield_now().await;
            world.center.release_feeds();
            return Some(sent);
        }
        13 => {
            let day = chooser.0.u8(2..9);
            let request = format!(
                "/n/orders/jobs/report/backfills/request?from=2024-02-01&to=2024-02-0{day}"
            );
            let preview = world.get(&request).await.text;
            if preview.contains("name=\"digest\"") {
                let form = form_of(&preview, &[("why", "random"), ("stale", "yes")]);
                return Some(post(world, request, form));
            }
        }
        14 => {
            let runs = chooser.0.u8(1..4);
            let request =
                format!("/n/orders/group-limits?group=database&cluster_concurrency={runs}");
            let preview = world.get(&request).await.text;
            if preview.contains("name=\"digest\"") {
                let form = form_of(&preview, &[("why", "random"), ("stale", "yes")]);
                return Some(post(world, request, form));
            }
        }
        _ => {
            let tab = chooser.0.usize(..tabs.len());
            tabs[tab].reconnect(&world.router).await;
        }
    }
    None
}

/// Returns the first difference between the open pages, newly loaded ones, and a fresh read.
async fn first_difference(world: &World, tabs: &[Tab]) -> Option<String> {
    let fresh = world.fresh_router().await;
    let mut stream = Events::of_router(&fresh, "n/orders").await;
    let loaded = async {
        while get(&fresh, "health").await.contains("\"loading\"") {
            stream.next().await;
        }
    };
    tokio::time::timeout(DEADLINE, loaded).await.expect("the fresh read has loaded");
    for tab in tabs {
        let mut shown = tab.shown.lock().clone();
        let mut loaded = parse(&get(&world.router, tab.page).await);
        let mut expected = parse(&get(&fresh, tab.page).await);
        [&mut shown, &mut loaded, &mut expected].into_iter().for_each(without_ages);
        let rows = [("the page as it is loaded", loaded), ("the page that was open", shown)];
        for (case, page) in rows {
            if let Some(found) = difference(&page, &expected) {
                return Some(format!("{} ({case}): {found}", tab.page));
            }
        }
    }
    None
}

async fn check(seed: u64) {
    let world = World::with_jobs().await;
    let mut tabs = Vec::new();
    for page in PAGES {
        tabs.push(Tab::open(&world.router, page).await);
    }
    let mut chooser = Chooser(fastrand::Rng::with_seed(seed));
    let mut pace = Events::of(&world, "n/orders/jobs").await;
    let mut sent = Vec::new();
    for _ in 0..STEPS {
        sent.extend(step(&world, &mut tabs, &mut chooser).await);
        // Some steps follow each other at once, others after an update of the pages.
        if chooser.0.bool() {
            pace.next().await;
        }
    }
    world.center.resume();
    for request in sent {
        request.await.unwrap();
    }
    world.history.flush(DEADLINE).await.unwrap();
    let healed = Instant::now();
    while let Some(found) = first_difference(&world, &tabs).await {
        assert!(healed.elapsed() < DEADLINE, "seed {seed}: {found}");
        pace.next().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_pages_equal_a_fresh_read_after_random_operations_and_faults() {
    let number = |variable: &str, default: u64| match std::env::var(variable) {
        Ok(text) => {
            text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}; valid is a number"))
        }
        Err(_) => default,
    };
    let (first, n) = (number(FIRST_SEED, 0), number(SEEDS, 4));
    let seeds: Vec<u64> = (first..first + n).collect();
    for together in seeds.chunks(AT_ONCE) {
        let all: Vec<_> = together.iter().map(|seed| tokio::spawn(check(*seed))).collect();
        for one in all {
            one.await.unwrap();
        }
    }
}
