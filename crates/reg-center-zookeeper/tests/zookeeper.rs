//! What is special about ZooKeeper: credentials, namespaces, ensembles, and the defects of the client crate, each with
//! a control that shows the defect on a bare client.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

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
    within("the centre is connected", async {
        loop {
            if let SessionChange::Connected { session, .. } = changes.next().await.unwrap() {
                return session;
            }
        }
    })
    .await
}

async fn suspended(changes: &mut SessionFeed) {
    within("the centre is suspended", async {
        while !matches!(changes.next().await.unwrap(), SessionChange::Suspended { .. }) {}
    })
    .await;
}

/// Reads a feed until a change of `at` with this data comes.
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
async fn listed(feed: &mut Feed) {
    within("a snapshot", async { while feed.next().await.unwrap() != Change::Ready {} }).await;
}

/// Takes so much of the room for watched paths that no feed of a [`long`] path has any.
async fn take_the_room(center: &ZookeeperCenter) -> Feed {
    let parts = (0..25).map(|n| path(&format!("/{n:0>3990}")));
    let mut feed = center.watch_parts(&Scope::parts_of(NodePath::root(), parts));
    listed(&mut feed).await;
    feed
}

fn long(n: usize) -> NodePath {
    path(&format!("/{n:0>3000}"))
}

/// Returns true if somebody watches this very path.
fn is_watched(server: &Server, path: &str) -> bool {
    server.four_letter("wchp").unwrap().lines().any(|line| line == path)
}

async fn unwatched(server: &Server, path: &str, center: &ZookeeperCenter) {
    within("the watch is removed", async {
        while is_watched(server, path) {
            // Each request gives the client an opportunity to send the removal before it.
            center.sync().await.unwrap();
        }
    })
    .await;
}

/// Connects a bare client of the crate, without anything of ours.
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

/// Cuts a bare client's connection and waits until it is back.
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

async fn make(client: &zk::Client, at: &str) {
    let persistent = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    client.mkdir(at, &persistent).await.unwrap();
}

#[tokio::test]
async fn a_namespace_is_created_with_its_parents_and_holds_everything() {
    let raw = bare(&server().connect_string(), Duration::from_secs(5)).await;
    for round in 0..2 {
        let center = connect(options("/spaces/of/one")).await;
        commit(&center, create(&format!("/job/{round}"), Lifetime::Persistent)).await;
        let seen = raw.check_stat(&format!("/spaces/of/one/job/{round}")).await.unwrap();
        assert!(seen.is_some(), "round {round}: an existing namespace is used as well");
    }
    let other = connect(options("/spaces/of/another")).await;
    assert_eq!(other.children(&NodePath::root()).await, Ok(Some(vec![])));
    let mut feed = other.watch(&NodePath::root());
    raw.set_data("/spaces/of/another", b"x", None).await.unwrap();
    delivered(&mut feed, &NodePath::root(), "x").await;
}

/// Servers before 3.9 leave the time out of the replies to creations inside of transactions.
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
        assert_eq!(center.clock_reading(), None, "{case}: nothing was written");
        commit(&center, write).await;
        let reading = center.clock_reading();
        let reading = reading.unwrap_or_else(|| panic!("{case}: the reply carries no time"));
        let now = SystemTime::now();
        let off = now.duration_since(reading.nearest_to(now)).unwrap_or_default();
        assert!(off < Duration::from_secs(1), "{case}: server and test share a clock: {off:?}");
    }
}

#[tokio::test]
async fn only_those_who_know_the_password_may_read_and_write() {
    let base = options("/private");
    let owner = connect(base.clone().digest("scheduler:s3cret")).await;
    commit(&owner, create("/a", Lifetime::Persistent)).await;
    commit(&owner, create("/b/c/d", Lifetime::Ephemeral)).await;
    let again = connect(base.clone().digest("scheduler:s3cret")).await;
    assert!(again.read(&path("/a")).await.unwrap().is_some());
    assert!(!format!("{owner:?}").contains("s3cret"));
    let strangers = [
        ("a wrong password", base.clone().digest("scheduler:wrong")),
        ("another user", base.clone().digest("other:s3cret")),
        ("nobody", base),
    ];
    for (case, options) in strangers {
        let stranger = connect(options).await;
        let not_authorized = Error::NotAuthorized { path: path("/a") };
        assert_eq!(stranger.read(&path("/a")).await, Err(not_authorized.clone()), "{case}");
        let put = stranger.commit(Txn::new().put(path("/a"), "")).await;
        assert_eq!(put, Err(not_authorized.clone()), "{case}");
        let both = Txn::new().check_exists(path("/a")).put(path("/b"), "");
        assert_eq!(stranger.commit(both).await, Err(not_authorized), "{case}: in a transaction");
        let below = stranger.commit(create("/a/x", Lifetime::Persistent)).await;
        assert!(matches!(below, Err(Error::NotAuthorized { .. })), "{case}: {below:?}");
    }
}

#[tokio::test]
async fn a_namespace_that_may_not_be_created_is_an_error() {
    let owner = connect(options("/walled").digest("a:b")).await;
    commit(&owner, create("/garden", Lifetime::Persistent)).await;
    let refused = ZookeeperCenter::connect(options("/walled/new").digest("c:d")).await;
    let expected = Error::NotAuthorized { path: path("/walled/new") };
    assert_eq!(refused.unwrap_err(), ConnectError::Registry(expected));
    connect(options("/walled/garden").digest("c:d")).await;
}

#[tokio::test]
async fn an_unreachable_registry_is_told_in_time() {
    let proxy = Proxy::start(server().address()).await.unwrap();
    let invalid = ZookeeperCenter::connect(ZookeeperOptions::new("zk-1:0")).await;
    assert!(matches!(invalid, Err(ConnectError::Options(_))), "{invalid:?}");
    // Not after the timeout.
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
        let unavailable = Error::Unavailable { act: "connect" };
        assert_eq!(refused.unwrap_err(), ConnectError::Registry(unavailable), "{mode:?}");
    }
}

#[tokio::test]
async fn a_dropped_centre_ends_its_session() {
    let (center, observer) =
        (connect(options("/dropped")).await, connect(options("/dropped")).await);
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;
    let mut feed = observer.watch(&NodePath::root());
    delivered(&mut feed, &path("/mine"), "").await;
    drop(center);
    within("its node goes", async {
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
    unwatched(server(), "/unwatched/job", &center).await;
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
async fn steps_that_are_added_count_as_well() {
    let center = connect(options("/steps")).await;
    let long = format!("/{}", "x".repeat(200));
    let checks =
        (0..4_000).fold(Txn::new(), |txn, n| txn.check_absent(path(&format!("{long}{n}"))));
    center.limits().admit(&checks.clone().check_exists(path("/"))).unwrap_err();
    let checks =
        (0..3_000).fold(Txn::new(), |txn, n| txn.check_absent(path(&format!("{long}{n}"))));
    center.limits().admit(&checks).unwrap();
    // Each check is two steps, so that this is more than a request can hold: it must not be sent.
    let refused = center.commit(checks).await;
    assert!(matches!(refused, Err(Error::TooLarge { unit: "bytes", .. })), "{refused:?}");
    commit(&center, create("/usable", Lifetime::Persistent)).await;
}

#[tokio::test]
async fn more_transactions_than_permits_do_not_block_each_other_when_all_need_parents() {
    let center = connect(options("/permits")).await;
    let all = (0..500).map(|n| {
        let center = Arc::clone(&center);
        async move { commit(&center, create(&format!("/{n}/p/q"), Lifetime::Persistent)).await }
    });
    within("all are answered", futures_util::future::join_all(all)).await;
    assert_eq!(center.children(&NodePath::root()).await.unwrap().unwrap().len(), 500);
}

/// D1. The control: a recursive watch of a bare client is told that the connection is back, and of nothing more.
#[tokio::test]
async fn a_feed_outlives_the_reconnect_that_a_bare_watch_does_not() {
    let (ours, theirs) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let writer = connect(options("/defect-1")).await;
    commit(&writer, create("/job/a", Lifetime::Persistent)).await;
    let job = path("/job/a");

    let raw = bare(&theirs.connect_string(), Duration::from_secs(5)).await;
    let mut watcher =
        raw.watch("/defect-1/job", zk::AddWatchMode::PersistentRecursive).await.unwrap();
    let here = ZookeeperOptions::new(ours.connect_string()).namespace("/defect-1");
    let center = connect(here).await;
    let mut changes = center.session_feed();
    connected(&mut changes).await;
    let mut feed = center.watch(&path("/job"));
    commit(&writer, Txn::new().put(job.clone(), "before")).await;
    delivered(&mut feed, &job, "before").await;
    let event = within("the bare watch works", watcher.changed()).await;
    assert_eq!(event.event_type, zk::EventType::NodeDataChanged);

    flap_bare(&theirs, &raw).await;
    ours.kick(Cut::Reset).await.unwrap();
    suspended(&mut changes).await;
    connected(&mut changes).await;
    commit(&writer, Txn::new().put(job.clone(), "after")).await;
    delivered(&mut feed, &job, "after").await;

    // A read that shows the write is answered after all events of the server until then.
    let (data, _) = raw.get_data("/defect-1/job/a").await.unwrap();
    assert_eq!(data, b"after");
    let mut told = Vec::new();
    while let Some(event) = futures_util::FutureExt::now_or_never(watcher.changed()) {
        told.push(event.event_type);
    }
    assert_eq!(told, [zk::EventType::Session; 2], "the defect is gone: a bare watch is enough now");
}

/// D2. The control: a bare client with many one-shot watches never gets through a reconnect.
#[tokio::test]
async fn many_feeds_survive_the_reconnect_that_many_bare_watches_do_not() {
    const FEEDS: usize = 600;
    const WATCHES: usize = 2_000;
    let (ours, theirs) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let raw = bare(&theirs.connect_string(), Duration::from_secs(2)).await;
    make(&raw, "/defect-2").await;
    let mut watchers = Vec::new();
    for n in 0..WATCHES {
        let (_, watcher) = raw.check_and_watch_stat(&format!("/defect-2/{n:0>80}")).await.unwrap();
        watchers.push(watcher);
    }
    let here = ZookeeperOptions::new(ours.connect_string()).namespace("/defect-2");
    let center = connect(here.session_timeout(Duration::from_secs(5))).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes).await;
    let root = |n: usize| path(&format!("/{n:0>250}"));
    let mut feeds: Vec<_> = (0..FEEDS).map(|n| center.watch(&root(n))).collect();
    for feed in &mut feeds {
        assert_eq!(within("a snapshot", feed.next()).await, Some(Change::Init));
    }

    let mut states = raw.state_watcher();
    theirs.kick(Cut::Close).await.unwrap();
    ours.kick(Cut::Close).await.unwrap();
    suspended(&mut changes).await;
    assert_eq!(connected(&mut changes).await, session, "the connection comes back in time");
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
    assert_eq!(end, zk::SessionState::Expired, "the defect is gone");
}

#[tokio::test]
async fn feeds_without_room_for_watches_share_one_and_are_told_of_their_own() {
    const FEEDS: usize = 200;
    // Nobody else is counted.
    let server = Server::start().expect("a ZooKeeper server is needed");
    let proxy = Proxy::start(server.address()).await.unwrap();
    let here = ZookeeperOptions::new(proxy.connect_string()).namespace("/crowded");
    let center = connect(here.session_timeout(Duration::from_secs(5))).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes).await;
    let room = take_the_room(&center).await;
    assert!(!is_watched(&server, "/crowded"));
    let before = server.request_count().unwrap();
    let mut feeds: Vec<_> = (0..FEEDS).map(|n| center.watch(&long(n))).collect();
    for feed in &mut feeds {
        listed(feed).await;
    }
    let requests = server.request_count().unwrap() - before;
    assert!(
        requests < FEEDS as u64 * 3 / 2,
        "{requests}: a snapshot for each, and a watch for all"
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
    told_after_a_gap(&center, &mut feeds, "2").await;

    proxy.set(Mode::Close).await.unwrap();
    center.expire_through(&server.connect_string()).await.unwrap();
    proxy.set(Mode::Pass).await.unwrap();
    while connected(&mut changes).await == session {}
    told_after_a_gap(&center, &mut feeds, "3").await;

    drop((room, feeds));
    unwatched(&server, "/crowded", &center).await;
}

/// Waits for new snapshots, changes what the feeds are about, and waits until they have told of it.
async fn told_after_a_gap(center: &ZookeeperCenter, feeds: &mut [Feed], data: &str) {
    for feed in &mut *feeds {
        listed(feed).await;
    }
    for n in 0..feeds.len() {
        commit(center, Txn::new().put(long(n), data.to_owned())).await;
    }
    for (n, feed) in feeds.iter_mut().enumerate() {
        delivered(feed, &long(n), data).await;
    }
}

#[tokio::test]
async fn a_feed_that_goes_while_it_sets_the_common_watch_leaves_that_to_the_next() {
    let proxy = Proxy::start(server().address()).await.unwrap();
    let center =
        connect(ZookeeperOptions::new(proxy.connect_string()).namespace("/left-to-others")).await;
    let _room = take_the_room(&center).await;
    proxy.set(Mode::HoldReplies).await.unwrap();
    let first = center.watch(&long(1));
    within("the watch is set, and the client does not know", async {
        while !is_watched(server(), "/left-to-others") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut next = center.watch(&long(2));
    drop(first);
    proxy.set(Mode::Pass).await.unwrap();
    listed(&mut next).await;
    commit(&center, Txn::new().create(long(2), "x", Lifetime::Persistent)).await;
    delivered(&mut next, &long(2), "x").await;
    drop(next);
    unwatched(server(), "/left-to-others", &center).await;
}

/// D5. The control: a bare client with one address waits so long between its attempts that it comes too late.
#[tokio::test]
async fn an_outage_shorter_than_the_session_does_not_end_it() {
    const SESSION_TIMEOUT: Duration = Duration::from_secs(5);
    const OUTAGE: Duration = Duration::from_millis(3_700);
    let (ours, theirs) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let raw = bare(&theirs.connect_string(), SESSION_TIMEOUT).await;
    let here = ZookeeperOptions::new(ours.connect_string()).namespace("/defect-5");
    let center = connect(here.session_timeout(SESSION_TIMEOUT)).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes).await;
    let mut states = raw.state_watcher();
    for proxy in [&ours, &theirs] {
        proxy.set(Mode::Refuse).await.unwrap();
    }
    tokio::time::sleep(OUTAGE).await;
    for proxy in [&ours, &theirs] {
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
    assert_eq!(end, zk::SessionState::Expired, "the defect is gone");
}

/// The control: a bare client executes later what its caller has given up.
#[tokio::test]
async fn nothing_is_executed_later_that_was_told_as_unavailable() {
    let (ours, theirs) = (
        Proxy::start(server().address()).await.unwrap(),
        Proxy::start(server().address()).await.unwrap(),
    );
    let raw = bare(&theirs.connect_string(), Duration::from_secs(5)).await;
    make(&raw, "/late").await;
    let center = connect(ZookeeperOptions::new(ours.connect_string()).namespace("/late")).await;
    let mut changes = center.session_feed();
    connected(&mut changes).await;
    let mut states = raw.state_watcher();
    for proxy in [&ours, &theirs] {
        proxy.set(Mode::Close).await.unwrap();
    }
    suspended(&mut changes).await;
    while states.changed().await != zk::SessionState::Disconnected {}
    let unavailable = center.commit(create("/ours", Lifetime::Persistent)).await;
    assert!(matches!(unavailable, Err(Error::Unavailable { .. })), "{unavailable:?}");
    let persistent = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    drop(raw.create("/late/theirs", b"", &persistent));
    for proxy in [&ours, &theirs] {
        proxy.set(Mode::Pass).await.unwrap();
    }
    assert_eq!(settled(&raw).await, zk::SessionState::SyncConnected);
    connected(&mut changes).await;
    raw.sync("/").await.unwrap();
    center.sync().await.unwrap();
    let found = center.children(&NodePath::root()).await.unwrap().unwrap();
    assert_eq!(found, ["theirs"], "what the bare client's caller has dropped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_the_leader_of_its_ensemble() {
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
        // A put without expectation may be repeated until it is certain.
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
    let mine = owner.read(&path("/job/mine")).await.unwrap().expect("the session lives");
    assert_eq!(mine.stat.owner, Some(session));
}

/// A client that hears nothing concludes that its session has expired. An ensemble without a quorum ends no session,
/// though: it goes on with all of them afterwards, and with their ephemeral nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_session_begins_when_the_old_one_is_really_over() {
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
    within("the session is taken as lost", async {
        while changes.next().await.unwrap() != (SessionChange::Lost { session: old }) {}
    })
    .await;
    // Two of three are a quorum again.
    let restart = move || {
        ensemble.server_mut(leader).restart().unwrap();
        ensemble
    };
    let ensemble = tokio::task::spawn_blocking(restart).await.unwrap();
    let new = connected(&mut changes).await;
    assert_ne!(new, old);
    // Were the old session alive, so would be its node, and this would conflict.
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;
    let node = center.read(&path("/mine")).await.unwrap().unwrap();
    assert_eq!(node.stat.owner, Some(new));
    drop(ensemble);
}
