//! Tests specific to ZooKeeper: credentials, namespaces, ensembles, and the defects of the client
//! crate. Each defect has a control that shows it on a bare client.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use reg_center::{
    Change, Error, Feed, Lifetime, NodePath, RegistryCenter, Scope, SessionChange, SessionFeed,
    SessionId, Txn,
};
use reg_center_zookeeper::{ConnectError, ZookeeperCenter, ZookeeperOptions};
use zookeeper_client as zk;
use zookeeper_fixture::proxy::{Cut, Mode, Proxy};
use zookeeper_fixture::{Ensemble, Server};

const PATIENCE: Duration = Duration::from_secs(60);

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("a ZooKeeper server is needed"))
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

fn create(at: &str, lifetime: Lifetime) -> Txn {
    Txn::new().create(path(at), "", lifetime)
}

fn options(namespace: &str) -> ZookeeperOptions {
    ZookeeperOptions::new(server().connect_string())
        .namespace(namespace)
        .session_timeout(Duration::from_secs(5))
}

async fn connect(options: ZookeeperOptions) -> Arc<ZookeeperCenter> {
    ZookeeperCenter::connect(options).await.unwrap()
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

async fn commit(center: &ZookeeperCenter, txn: Txn) {
    let shown = format!("{txn:?}");
    let outcome = within("a transaction is answered", center.commit(txn)).await;
    assert!(outcome.as_ref().is_ok_and(|o| o.is_committed()), "{shown}: {outcome:?}");
}

async fn connected(changes: &mut SessionFeed) -> SessionId {
    within("the center is connected", async {
        loop {
            if let SessionChange::Connected { session, .. } = changes.next().await.unwrap() {
                return session;
            }
        }
    })
    .await
}

async fn suspended(changes: &mut SessionFeed) {
    within("the center is suspended", async {
        while !matches!(changes.next().await.unwrap(), SessionChange::Suspended { .. }) {}
    })
    .await;
}

/// Reads a feed until it delivers `at` with this data.
async fn delivered(feed: &mut Feed, at: &NodePath, data: &str) {
    within("the feed delivers", async {
        loop {
            match feed.next().await.unwrap() {
                Change::Entry(node) | Change::Put(node)
                    if node.path == *at && node.data == data =>
                {
                    return;
                }
                Change::Init
                | Change::Ready
                | Change::Entry(_)
                | Change::Put(_)
                | Change::Gone { .. } => {}
            }
        }
    })
    .await;
}

/// Reads a feed until a snapshot is complete.
async fn await_snapshot(feed: &mut Feed) {
    within("a snapshot", async { while feed.next().await.unwrap() != Change::Ready {} }).await;
}

/// Uses up the limit of watched paths, so that no feed of a [`long`] path gets a watch of its own.
async fn exhaust_the_watch_limit(center: &ZookeeperCenter) -> Feed {
    let parts = (0..25).map(|n| path(&format!("/{n:0>3990}")));
    let mut feed = center.watch_parts(&Scope::parts_of(NodePath::root(), parts));
    await_snapshot(&mut feed).await;
    feed
}

fn long(n: usize) -> NodePath {
    path(&format!("/{n:0>3000}"))
}

/// Returns true if a client watches exactly this path.
fn is_watched(server: &Server, path: &str) -> bool {
    server.four_letter("wchp").unwrap().lines().any(|line| line == path)
}

async fn await_unwatched(server: &Server, path: &str, center: &ZookeeperCenter) {
    within("the watch is removed", async {
        while is_watched(server, path) {
            // The client sends the removal of a watch only together with a later request.
            center.sync().await.unwrap();
        }
    })
    .await;
}

/// Connects a client of the crate `zookeeper-client` without a center.
async fn bare(address: &str, session_timeout: Duration) -> zk::Client {
    let connector = zk::Client::connector().with_session_timeout(session_timeout);
    connector.connect(address).await.unwrap()
}

/// Waits until a bare client is connected again, or its session is over.
async fn settled(client: &zk::Client) -> zk::SessionState {
    let mut states = client.state_watcher();
    within("the bare client settles", async {
        let mut state = states.state();
        while state == zk::SessionState::Disconnected {
            state = states.changed().await;
        }
        state
    })
    .await
}

/// Cuts a bare client's connection and waits until it is restored.
async fn flap_bare(proxy: &Proxy, client: &zk::Client) {
    let mut states = client.state_watcher();
    proxy.set(Mode::Close).await.unwrap();
    within("the bare client notices", async {
        while states.changed().await != zk::SessionState::Disconnected {}
    })
    .await;
    proxy.set(Mode::Pass).await.unwrap();
    assert_eq!(settled(client).await, zk::SessionState::SyncConnected);
}

async fn create_bare(client: &zk::Client, at: &str) {
    let persistent = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    client.mkdir(at, &persistent).await.unwrap();
}

#[tokio::test]
async fn a_namespace_is_created_with_its_parents_and_contains_all_nodes() {
    let raw = bare(&server().connect_string(), Duration::from_secs(5)).await;
    for round in 0..2 {
        let center = connect(options("/spaces/of/one")).await;
        commit(&center, create(&format!("/job/{round}"), Lifetime::Persistent)).await;
        let stat = raw.check_stat(&format!("/spaces/of/one/job/{round}")).await.unwrap();
        assert!(stat.is_some(), "round {round}: an existing namespace is used as well");
    }
    let other = connect(options("/spaces/of/another")).await;
    assert_eq!(other.children(&NodePath::root()).await, Ok(Some(vec![])));
    let mut feed = other.watch(&NodePath::root());
    raw.set_data("/spaces/of/another", b"x", None).await.unwrap();
    delivered(&mut feed, &NodePath::root(), "x").await;
}

/// Servers before 3.9 omit the time in replies to creations inside transactions.
#[tokio::test]
async fn the_reply_to_a_write_carries_the_time_of_the_server() {
    let life = Lifetime::Persistent;
    let creations = Txn::new().create(path("/b"), "", life).create(path("/c"), "", life);
    let both = || Txn::new().check_exists(path("/a")).put(path("/a"), "x");
    let rows = [
        ("a creation", Txn::new(), create("/a", Lifetime::Persistent)),
        ("creations in a transaction", Txn::new(), creations),
        ("a replacement", create("/a", Lifetime::Persistent), Txn::new().put(path("/a"), "x")),
        ("a replacement in a transaction", create("/a", Lifetime::Persistent), both()),
    ];
    for (n, (case, before, write)) in rows.into_iter().enumerate() {
        let center = connect(options(&format!("/time/{n}"))).await;
        let other = connect(options(&format!("/time/{n}"))).await;
        commit(&other, before).await;
        assert_eq!(center.clock_reading(), None, "{case}: this center has written nothing");
        commit(&center, write).await;
        let reading = center.clock_reading();
        let reading = reading.unwrap_or_else(|| panic!("{case}: the reply carries no time"));
        let now = SystemTime::now();
        let off = now.duration_since(reading.nearest_to(now)).unwrap_or_default();
        assert!(off < Duration::from_secs(1), "{case}: server and test share a clock: {off:?}");
    }
}

#[tokio::test]
async fn clients_without_the_password_cannot_read_or_write() {
    let base = options("/private");
    let owner = connect(base.clone().digest("scheduler:s3cret")).await;
    commit(&owner, create("/a", Lifetime::Persistent)).await;
    commit(&owner, create("/b/c/d", Lifetime::Ephemeral)).await;
    let again = connect(base.clone().digest("scheduler:s3cret")).await;
    assert!(again.read(&path("/a")).await.unwrap().is_some());
    assert!(!format!("{owner:?}").contains("s3cret"));
    let others = [
        ("a wrong password", base.clone().digest("scheduler:wrong")),
        ("another user", base.clone().digest("other:s3cret")),
        ("no user", base),
    ];
    for (case, options) in others {
        let other = connect(options).await;
        let not_authorized = Error::NotAuthorized { path: path("/a") };
        assert_eq!(other.read(&path("/a")).await, Err(not_authorized.clone()), "{case}");
        let put = other.commit(Txn::new().put(path("/a"), "")).await;
        assert_eq!(put, Err(not_authorized.clone()), "{case}");
        let both = Txn::new().check_exists(path("/a")).put(path("/b"), "");
        assert_eq!(other.commit(both).await, Err(not_authorized), "{case}: in a transaction");
        let below = other.commit(create("/a/x", Lifetime::Persistent)).await;
        assert!(matches!(below, Err(Error::NotAuthorized { .. })), "{case}: {below:?}");
    }
}

#[tokio::test]
async fn an_unauthorized_creation_of_the_namespace_fails() {
    let owner = connect(options("/walled").digest("a:b")).await;
    commit(&owner, create("/garden", Lifetime::Persistent)).await;
    let refused = ZookeeperCenter::connect(options("/walled/new").digest("c:d")).await;
    let expected = Error::NotAuthorized { path: path("/walled/new") };
    assert_eq!(refused.unwrap_err(), ConnectError::Registry(expected));
    connect(options("/walled/garden").digest("c:d")).await;
}

#[tokio::test]
async fn an_unreachable_registry_is_reported_in_time() {
    let proxy = Proxy::start(server().address()).await.unwrap();
    let invalid = ZookeeperCenter::connect(ZookeeperOptions::new("zk-1:0")).await;
    assert!(matches!(invalid, Err(ConnectError::Options(_))), "{invalid:?}");
    // The error must come at once, not at the timeout.
    let options =
        ZookeeperOptions::new("one.invalid:2181,two.invalid").connect_timeout(PATIENCE * 10);
    let unknown = within("an answer", ZookeeperCenter::connect(options)).await;
    let Err(ConnectError::UnknownHosts { hosts }) = unknown else { panic!("{unknown:?}") };
    assert!(hosts.contains("one.invalid (") && hosts.contains("two.invalid ("), "{hosts}");
    for mode in [Mode::Refuse, Mode::Close, Mode::BlackHole] {
        proxy.set(mode).await.unwrap();
        let options = ZookeeperOptions::new(proxy.connect_string())
            .connect_timeout(Duration::from_millis(300));
        let connecting = ZookeeperCenter::connect(options);
        let refused =
            tokio::time::timeout(Duration::from_secs(10), connecting).await.expect("in time");
        let unavailable = Error::Unavailable { call: "connect" };
        assert_eq!(refused.unwrap_err(), ConnectError::Registry(unavailable), "{mode:?}");
    }
}

#[tokio::test]
async fn a_dropped_center_ends_its_session() {
    let (center, observer) =
        (connect(options("/dropped")).await, connect(options("/dropped")).await);
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;
    let mut feed = observer.watch(&NodePath::root());
    delivered(&mut feed, &path("/mine"), "").await;
    drop(center);
    within("the ephemeral node goes", async {
        while !matches!(feed.next().await.unwrap(), Change::Gone { .. }) {}
    })
    .await;
}

#[tokio::test]
async fn a_dropped_feed_leaves_no_watch_on_the_server() {
    let center = connect(options("/unwatched")).await;
    let is_watched = || is_watched(server(), "/unwatched/job");
    let (one, mut two) = (center.watch(&path("/job")), center.watch(&path("/job")));
    assert_eq!(within("a snapshot", two.next()).await, Some(Change::Init));
    assert!(is_watched());
    drop(one);
    commit(&center, create("/job/a", Lifetime::Persistent)).await;
    delivered(&mut two, &path("/job/a"), "").await;
    assert!(is_watched(), "the other feed needs it");
    drop(two);
    await_unwatched(server(), "/unwatched/job", &center).await;
}

#[tokio::test]
async fn the_largest_transaction_fits_into_the_longest_namespace() {
    let namespace = format!("/{}", "n".repeat(199));
    let center = connect(options(&namespace)).await;
    let limits = center.limits();
    let at = |n: usize| format!("/{n:0>4}");
    let n_last = limits.max_ops - 1;
    let small =
        (0..n_last).fold(Txn::new(), |txn, n| txn.create(path(&at(n)), "", Lifetime::Ephemeral));
    let data = vec![b'x'; limits.max_bytes - small.size() - at(n_last).len()];
    let full = small.create(path(&at(n_last)), data, Lifetime::Ephemeral);
    assert_eq!((full.ops().len(), full.size()), (limits.max_ops, limits.max_bytes));
    commit(&center, full).await;
    assert_eq!(center.children(&NodePath::root()).await.unwrap().unwrap().len(), limits.max_ops);
}

#[tokio::test]
async fn added_steps_count_against_the_limit() {
    let center = connect(options("/steps")).await;
    let long = format!("/{}", "x".repeat(200));
    let checks =
        (0..4_000).fold(Txn::new(), |txn, n| txn.check_absent(path(&format!("{long}{n}"))));
    center.limits().admit(&checks.clone().check_exists(path("/"))).unwrap_err();
    let checks =
        (0..3_000).fold(Txn::new(), |txn, n| txn.check_absent(path(&format!("{long}{n}"))));
    center.limits().admit(&checks).unwrap();
    // Each check takes two steps, so that the request would be too large: it must not be sent.
    let refused = center.commit(checks).await;
    assert!(matches!(refused, Err(Error::TooLarge { unit: "bytes", .. })), "{refused:?}");
    commit(&center, create("/usable", Lifetime::Persistent)).await;
}

#[tokio::test]
async fn transactions_do_not_deadlock_on_permits_when_all_need_parents() {
    let center = connect(options("/permits")).await;
    let all = (0..500).map(|n| {
        let center = Arc::clone(&center);
        async move { commit(&center, create(&format!("/{n}/p/q"), Lifetime::Persistent)).await }
    });
    within("all transactions are answered", futures_util::future::join_all(all)).await;
    assert_eq!(center.children(&NodePath::root()).await.unwrap().unwrap().len(), 500);
}

/// Defect D1. Control: after a reconnect, a recursive watch of a bare client delivers session
/// events and no others.
#[tokio::test]
async fn a_feed_survives_a_reconnect_unlike_a_bare_watch() {
    let (center_proxy, bare_proxy) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let writer = connect(options("/defect-1")).await;
    commit(&writer, create("/job/a", Lifetime::Persistent)).await;
    let job = path("/job/a");

    let raw = bare(&bare_proxy.connect_string(), Duration::from_secs(5)).await;
    let mut watcher =
        raw.watch("/defect-1/job", zk::AddWatchMode::PersistentRecursive).await.unwrap();
    let center_options =
        ZookeeperOptions::new(center_proxy.connect_string()).namespace("/defect-1");
    let center = connect(center_options).await;
    let mut changes = center.session_feed();
    connected(&mut changes).await;
    let mut feed = center.watch(&path("/job"));
    commit(&writer, Txn::new().put(job.clone(), "before")).await;
    delivered(&mut feed, &job, "before").await;
    let event = within("the bare watch delivers an event", watcher.changed()).await;
    assert_eq!(event.event_type, zk::EventType::NodeDataChanged);

    flap_bare(&bare_proxy, &raw).await;
    center_proxy.kick(Cut::Reset).await.unwrap();
    suspended(&mut changes).await;
    connected(&mut changes).await;
    commit(&writer, Txn::new().put(job.clone(), "after")).await;
    delivered(&mut feed, &job, "after").await;

    // The server sends all earlier events before the answer to this read.
    let (data, _) = raw.get_data("/defect-1/job/a").await.unwrap();
    assert_eq!(data, b"after");
    let mut events = Vec::new();
    while let Some(event) = futures_util::FutureExt::now_or_never(watcher.changed()) {
        events.push(event.event_type);
    }
    assert_eq!(
        events,
        [zk::EventType::Session; 2],
        "the client crate has fixed the defect: a bare watch is enough now"
    );
}

/// Defect D2. Control: a bare client with many one-shot watches never completes a reconnect.
#[tokio::test]
async fn many_feeds_survive_a_reconnect_unlike_many_bare_watches() {
    const FEEDS: usize = 600;
    const WATCHES: usize = 2_000;
    let (center_proxy, bare_proxy) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let raw = bare(&bare_proxy.connect_string(), Duration::from_secs(2)).await;
    create_bare(&raw, "/defect-2").await;
    let mut watchers = Vec::new();
    for n in 0..WATCHES {
        let (_, watcher) = raw.check_and_watch_stat(&format!("/defect-2/{n:0>80}")).await.unwrap();
        watchers.push(watcher);
    }
    let center_options =
        ZookeeperOptions::new(center_proxy.connect_string()).namespace("/defect-2");
    let center = connect(center_options.session_timeout(Duration::from_secs(5))).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes).await;
    let root = |n: usize| path(&format!("/{n:0>250}"));
    let mut feeds: Vec<_> = (0..FEEDS).map(|n| center.watch(&root(n))).collect();
    for feed in &mut feeds {
        assert_eq!(within("a snapshot", feed.next()).await, Some(Change::Init));
    }

    let mut states = raw.state_watcher();
    bare_proxy.kick(Cut::Close).await.unwrap();
    center_proxy.kick(Cut::Close).await.unwrap();
    suspended(&mut changes).await;
    assert_eq!(connected(&mut changes).await, session, "the session survives the reconnect");
    let data = "after";
    for (n, feed) in feeds.iter_mut().enumerate().step_by(FEEDS / 6) {
        let txn = Txn::new().create(root(n), data, Lifetime::Persistent);
        commit(&center, txn).await;
        delivered(feed, &root(n), data).await;
    }
    let end = within("the bare client gives up", async {
        loop {
            let state = states.changed().await;
            if state.is_terminated() {
                return state;
            }
        }
    })
    .await;
    assert_eq!(end, zk::SessionState::Expired, "the client crate has fixed the defect");
}

#[tokio::test]
async fn feeds_beyond_the_watch_limit_share_one_watch_and_get_their_own_changes() {
    const FEEDS: usize = 200;
    // A server of its own, so that only the requests of this test are counted.
    let server = Server::start().expect("a ZooKeeper server is needed");
    let proxy = Proxy::start(server.address()).await.unwrap();
    let center_options = ZookeeperOptions::new(proxy.connect_string()).namespace("/crowded");
    let center = connect(center_options.session_timeout(Duration::from_secs(5))).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes).await;
    let filler = exhaust_the_watch_limit(&center).await;
    assert!(!is_watched(&server, "/crowded"));
    let before = server.request_count().unwrap();
    let mut feeds: Vec<_> = (0..FEEDS).map(|n| center.watch(&long(n))).collect();
    for feed in &mut feeds {
        await_snapshot(feed).await;
    }
    let requests = server.request_count().unwrap() - before;
    assert!(
        requests < FEEDS as u64 * 3 / 2,
        "{requests} requests; expected a snapshot for each feed and one watch for all"
    );
    assert!(is_watched(&server, "/crowded"));

    for n in (0..FEEDS).rev() {
        commit(&center, Txn::new().create(long(n), "1", Lifetime::Persistent)).await;
    }
    for (n, feed) in feeds.iter_mut().enumerate() {
        match within("a change", feed.next()).await {
            Some(Change::Put(node)) => assert_eq!((node.path, &*node.data), (long(n), &b"1"[..])),
            other => panic!("{other:?}"),
        }
    }

    proxy.kick(Cut::Reset).await.unwrap();
    suspended(&mut changes).await;
    assert_eq!(connected(&mut changes).await, session);
    assert_delivered_after_a_gap(&center, &mut feeds, "2").await;

    proxy.set(Mode::Close).await.unwrap();
    center.expire_through(&server.connect_string()).await.unwrap();
    proxy.set(Mode::Pass).await.unwrap();
    while connected(&mut changes).await == session {}
    assert_delivered_after_a_gap(&center, &mut feeds, "3").await;

    drop((filler, feeds));
    await_unwatched(&server, "/crowded", &center).await;
}

/// Waits for new snapshots, changes a node of each feed, and waits until the feeds deliver the
/// changes.
async fn assert_delivered_after_a_gap(center: &ZookeeperCenter, feeds: &mut [Feed], data: &str) {
    for feed in &mut *feeds {
        await_snapshot(feed).await;
    }
    for n in 0..feeds.len() {
        commit(center, Txn::new().put(long(n), data.to_owned())).await;
    }
    for (n, feed) in feeds.iter_mut().enumerate() {
        delivered(feed, &long(n), data).await;
    }
}

#[tokio::test]
async fn the_next_feed_sets_the_common_watch_if_the_first_is_dropped_meanwhile() {
    let proxy = Proxy::start(server().address()).await.unwrap();
    let center =
        connect(ZookeeperOptions::new(proxy.connect_string()).namespace("/left-to-others")).await;
    let _filler = exhaust_the_watch_limit(&center).await;
    proxy.set(Mode::HoldReplies).await.unwrap();
    let first = center.watch(&long(1));
    within("the server has set the watch, and the client has no reply", async {
        while !is_watched(server(), "/left-to-others") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut next = center.watch(&long(2));
    drop(first);
    proxy.set(Mode::Pass).await.unwrap();
    await_snapshot(&mut next).await;
    commit(&center, Txn::new().create(long(2), "x", Lifetime::Persistent)).await;
    delivered(&mut next, &long(2), "x").await;
    drop(next);
    await_unwatched(server(), "/left-to-others", &center).await;
}

/// Defect D5. Control: a bare client with one address waits so long between its attempts that its
/// session expires.
#[tokio::test]
async fn an_outage_shorter_than_the_session_does_not_end_it() {
    const SESSION_TIMEOUT: Duration = Duration::from_secs(5);
    const OUTAGE: Duration = Duration::from_millis(3_700);
    let (center_proxy, bare_proxy) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let raw = bare(&bare_proxy.connect_string(), SESSION_TIMEOUT).await;
    let center_options =
        ZookeeperOptions::new(center_proxy.connect_string()).namespace("/defect-5");
    let center = connect(center_options.session_timeout(SESSION_TIMEOUT)).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes).await;
    let mut states = raw.state_watcher();
    for proxy in [&center_proxy, &bare_proxy] {
        proxy.set(Mode::Refuse).await.unwrap();
    }
    tokio::time::sleep(OUTAGE).await;
    for proxy in [&center_proxy, &bare_proxy] {
        proxy.set(Mode::Pass).await.unwrap();
    }
    assert_eq!(connected(&mut changes).await, session);
    let end = within("the bare client settles", async {
        let mut state = states.changed().await;
        while state == zk::SessionState::Disconnected {
            state = states.changed().await;
        }
        state
    })
    .await;
    assert_eq!(end, zk::SessionState::Expired, "the client crate has fixed the defect");
}

/// Control: a bare client later executes a request whose future was dropped.
#[tokio::test]
async fn a_commit_that_failed_as_unavailable_is_never_executed() {
    let (center_proxy, bare_proxy) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let raw = bare(&bare_proxy.connect_string(), Duration::from_secs(5)).await;
    create_bare(&raw, "/late").await;
    let center =
        connect(ZookeeperOptions::new(center_proxy.connect_string()).namespace("/late")).await;
    let mut changes = center.session_feed();
    connected(&mut changes).await;
    let mut states = raw.state_watcher();
    for proxy in [&center_proxy, &bare_proxy] {
        proxy.set(Mode::Close).await.unwrap();
    }
    suspended(&mut changes).await;
    while states.changed().await != zk::SessionState::Disconnected {}
    let unavailable = center.commit(create("/by-center", Lifetime::Persistent)).await;
    assert!(matches!(unavailable, Err(Error::Unavailable { .. })), "{unavailable:?}");
    let persistent = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    drop(raw.create("/late/by-bare-client", b"", &persistent));
    for proxy in [&center_proxy, &bare_proxy] {
        proxy.set(Mode::Pass).await.unwrap();
    }
    assert_eq!(settled(&raw).await, zk::SessionState::SyncConnected);
    connected(&mut changes).await;
    raw.sync("/").await.unwrap();
    center.sync().await.unwrap();
    let found = center.children(&NodePath::root()).await.unwrap().unwrap();
    assert_eq!(found, ["by-bare-client"], "only the bare client executes its request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_the_crash_of_the_ensemble_leader() {
    let mut ensemble = tokio::task::spawn_blocking(|| Ensemble::start(3).unwrap()).await.unwrap();
    let there = ZookeeperOptions::new(ensemble.connect_string()).namespace("/jobs");
    let there = there.session_timeout(Duration::from_secs(6));
    let (owner, reader) = (connect(there.clone()).await, connect(there).await);
    let session = connected(&mut owner.session_feed()).await;
    commit(&owner, create("/job/mine", Lifetime::Ephemeral)).await;
    commit(&owner, create("/job/n", Lifetime::Persistent)).await;
    let mut feed = reader.watch(&path("/job"));
    let leader = ensemble.wait_for_leader(PATIENCE).unwrap();
    ensemble.server_mut(leader).kill().unwrap();
    for round in 0..20 {
        let data = round.to_string();
        // A put without an expected version is idempotent here, so it can be repeated until it is
        // acknowledged.
        within("the write is acknowledged", async {
            while owner.commit(Txn::new().put(path("/job/n"), data.clone())).await.is_err() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    delivered(&mut feed, &path("/job/n"), "19").await;
    assert_eq!(connected(&mut owner.session_feed()).await, session);
    owner.sync().await.unwrap();
    let mine = owner
        .read(&path("/job/mine"))
        .await
        .unwrap()
        .expect("the session survived, so its node exists");
    assert_eq!(mine.stat.owner, Some(session));
}

/// A client without any answer assumes that its session has expired. An ensemble without a quorum
/// expires no session, however: it continues all of them afterwards, with their ephemeral nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_session_opens_only_after_the_old_one_has_ended() {
    let mut ensemble = tokio::task::spawn_blocking(|| Ensemble::start(3).unwrap()).await.unwrap();
    let there = ZookeeperOptions::new(ensemble.connect_string()).namespace("/jobs");
    let center = connect(there.session_timeout(Duration::from_secs(4))).await;
    let mut changes = center.session_feed();
    let old = connected(&mut changes).await;
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;
    let leader = ensemble.wait_for_leader(PATIENCE).unwrap();
    for index in [leader, (leader + 1) % 3] {
        ensemble.server_mut(index).kill().unwrap();
    }
    within("the center reports the session as lost", async {
        while changes.next().await.unwrap() != (SessionChange::Lost { session: old }) {}
    })
    .await;
    // Two servers of three are a quorum again.
    let restart = move || {
        ensemble.server_mut(leader).restart().unwrap();
        ensemble
    };
    let ensemble = tokio::task::spawn_blocking(restart).await.unwrap();
    let new = connected(&mut changes).await;
    assert_ne!(new, old);
    // If the old session lived, its node would still exist, and this commit would conflict.
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;
    let node = center.read(&path("/mine")).await.unwrap().unwrap();
    assert_eq!(node.stat.owner, Some(new));
    drop(ensemble);
}
