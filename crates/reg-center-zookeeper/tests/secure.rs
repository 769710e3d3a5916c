//! Real servers that require TLS, a client certificate, or a user with a password: accepted
//! clients, rejected clients and their errors.
#![cfg(all(feature = "sasl", feature = "tls"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::join_all;
use reg_center::{
    Change, Error, Lifetime, NodePath, RegistryCenter, SessionChange, SessionFeed, SessionId, Txn,
};
use reg_center_zookeeper::{
    ConnectError, SaslDigest, TextSource, TlsOptions, ZookeeperCenter, ZookeeperOptions,
};
use zookeeper_fixture::{
    Authority, ClientCertificate, SaslUsers, Server, ServerOptions, TlsServer,
};

const PATIENCE: Duration = Duration::from_secs(60);
const PASSWORD: &str = "t0p s3cret:,=;'#";

fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::new("the authority of the tests"))
}

/// The server of most tests: TLS with client certificates, and SASL users.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let users = SaslUsers::new().user("worker", PASSWORD).user("other", "another");
        let options = ServerOptions::default().tls(TlsServer::new(authority())).sasl(users);
        Server::start_with(&options).expect("a ZooKeeper server is needed")
    })
}

fn secure(server: &Server) -> String {
    server.secure_connect_string().unwrap()
}

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions::new(TextSource::text(authority.pem()))
}

/// Returns TLS options with a client certificate of `issuer`.
fn identified(trusted: &Authority, issuer: &Authority) -> TlsOptions {
    identified_as("worker", trusted, issuer)
}

fn identified_as(name: &str, trusted: &Authority, issuer: &Authority) -> TlsOptions {
    let identity = issuer.issue(name, ["worker.example.com"]);
    let certificate = TextSource::text(identity.certificate_pem());
    trusting(trusted).identity(certificate, TextSource::text(identity.key_pem()))
}

fn worker(password: &str) -> SaslDigest {
    SaslDigest::new("worker", TextSource::text(password))
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

fn create(at: &str, lifetime: Lifetime) -> Txn {
    Txn::new().create(path(at), "data", lifetime)
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

async fn connect(options: ZookeeperOptions) -> Arc<ZookeeperCenter> {
    ZookeeperCenter::connect(options.connect_timeout(PATIENCE)).await.unwrap()
}

async fn commit(center: &ZookeeperCenter, txn: Txn) {
    let outcome = within("a transaction is answered", center.commit(txn)).await;
    assert!(outcome.as_ref().is_ok_and(|outcome| outcome.is_committed()), "{outcome:?}");
}

/// Waits until the center is connected, in a session that is not `before`.
async fn connected(changes: &mut SessionFeed, before: Option<SessionId>) -> SessionId {
    within("the center is connected", async {
        loop {
            if let SessionChange::Connected { session, .. } = changes.next().await.unwrap()
                && Some(session) != before
            {
                return session;
            }
        }
    })
    .await
}

async fn suspended(changes: &mut SessionFeed) {
    within("the connection is lost", async {
        while !matches!(changes.next().await.unwrap(), SessionChange::Suspended { .. }) {}
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_and_sasl_support_all_registry_functions() {
    let options = ZookeeperOptions::new(secure(server()))
        .namespace("/all")
        .tls(identified(authority(), authority()))
        .sasl(worker(PASSWORD));
    let center = connect(options).await;
    let mut feed = center.watch(&path("/a"));
    commit(&center, create("/a/b", Lifetime::Persistent)).await;
    commit(&center, create("/a/mine", Lifetime::Ephemeral)).await;
    within("the feed delivers both nodes", async {
        let mut wanted = vec![path("/a/b"), path("/a/mine")];
        while !wanted.is_empty() {
            if let Change::Entry(node) | Change::Put(node) = feed.next().await.unwrap() {
                wanted.retain(|path| *path != node.path);
            }
        }
    })
    .await;

    // `expire_through` resumes the session with a second client, which needs the same certificate
    // and password.
    let mut changes = center.session_feed();
    let first = connected(&mut changes, None).await;
    center.expire_through(&secure(server())).await.unwrap();
    connected(&mut changes, Some(first)).await;
    assert_eq!(
        center.read(&path("/a/mine")).await.unwrap(),
        None,
        "the first session owned /a/mine"
    );
    assert_eq!(center.read(&path("/a/b")).await.unwrap().unwrap().data, "data");
    center.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_untrusted_certificate_fails_with_the_reason() {
    let stranger = Authority::new("another authority");
    let elsewhere =
        TlsServer::new(authority()).hosts(["zk.example.com"]).clients(ClientCertificate::NotAsked);
    let elsewhere = Server::start_with(&ServerOptions::default().tls(elsewhere)).unwrap();
    let rows = [
        (
            "a server certificate of an untrusted authority",
            secure(server()),
            identified(&stranger, authority()),
            "UnknownIssuer",
        ),
        ("no client certificate", secure(server()), trusting(authority()), "fatal alert"),
        (
            "a client certificate of an untrusted authority",
            secure(server()),
            identified(authority(), &stranger),
            "fatal alert",
        ),
        (
            "a server certificate for another host",
            secure(&elsewhere),
            trusting(authority()),
            "not valid for name",
        ),
    ];
    for (case, address, tls, expected) in rows {
        let options =
            ZookeeperOptions::new(&address).tls(tls).connect_timeout(Duration::from_secs(600));
        // The error must come at once, not at the connect timeout.
        let refused = within(case, ZookeeperCenter::connect(options)).await;
        let Err(ConnectError::Tls { address: named, cause }) = refused else {
            panic!("{case}: {refused:?}");
        };
        assert_eq!(named, address, "{case}");
        assert!(cause.contains(expected), "{case}: {cause}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_on_a_plain_port_and_plain_on_a_tls_port_fail() {
    let plain = Server::start().unwrap();
    let tls = ZookeeperOptions::new(plain.connect_string()).tls(trusting(authority()));
    let refused = ZookeeperCenter::connect(tls.connect_timeout(Duration::from_secs(8))).await;
    let Err(ConnectError::Tls { cause, .. }) = refused else { panic!("{refused:?}") };
    assert!(cause.contains("may not support TLS"), "{cause}");

    let plain_client =
        ZookeeperOptions::new(secure(server())).connect_timeout(Duration::from_secs(2));
    let refused = ZookeeperCenter::connect(plain_client).await.err();
    let unavailable = Error::Unavailable { call: "connect" };
    assert_eq!(refused, Some(ConnectError::Registry(unavailable)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_known_user_with_the_correct_password_connects() {
    let users = SaslUsers::new().user("worker", PASSWORD).required();
    let server = Server::start_with(&ServerOptions::default().sasl(users)).unwrap();
    let options = || ZookeeperOptions::new(server.connect_string());
    let unknown = SaslDigest::new("unknown", TextSource::text("any"));
    let rows = [
        ("the correct password", options().sasl(worker(PASSWORD)), true),
        ("a wrong password", options().sasl(worker("wrong")), false),
        ("an unknown user", options().sasl(unknown), false),
        ("no user, but the server requires one", options(), false),
        (
            "only a digest, but the server requires a SASL user",
            options().digest("worker:wrong"),
            false,
        ),
    ];
    for (case, options, is_accepted) in rows {
        let options = options.connect_timeout(Duration::from_secs(600)).namespace("/users");
        let found = within(case, ZookeeperCenter::connect(options)).await;
        match found {
            Ok(_) => assert!(is_accepted, "{case}"),
            Err(error) => {
                assert!(!is_accepted, "{case}: {error}");
                assert_eq!(error, ConnectError::Credentials, "{case}");
            }
        }
    }
}

/// The client's handshake contains a random nonce. No nonce may be one that servers reject.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sasl_succeeds_with_every_nonce() {
    let options = || {
        ZookeeperOptions::new(secure(server()))
            .tls(identified(authority(), authority()))
            .sasl(worker(PASSWORD))
    };
    for _ in 0..8 {
        let centers = join_all((0..8).map(|_| connect(options()))).await;
        join_all(centers.iter().map(|center| center.close())).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_are_accessible_only_to_the_user_and_certificate_that_created_them() {
    let base = |subject| {
        let tls = identified_as(subject, authority(), authority());
        ZookeeperOptions::new(secure(server())).namespace("/owned").tls(tls)
    };
    let without_user =
        ZookeeperOptions::new(secure(server())).tls(identified(authority(), authority()));
    commit(&*connect(without_user).await, create("/owned", Lifetime::Persistent)).await;
    let owner = connect(base("worker").sasl(worker(PASSWORD))).await;
    commit(&owner, create("/a", Lifetime::Persistent)).await;
    let other = SaslDigest::new("other", TextSource::text("another"));
    let rows = [
        ("another certificate without a user", base("stranger"), false),
        ("another certificate with another user", base("stranger").sasl(other), false),
        (
            "another certificate with a digest of the same name",
            base("stranger").digest(format!("worker:{PASSWORD}")),
            false,
        ),
        ("the user with another certificate", base("stranger").sasl(worker(PASSWORD)), true),
        ("the subject of the certificate, without the user", base("worker"), true),
    ];
    for (case, options, may_read) in rows {
        let read = connect(options).await.read(&path("/a")).await;
        if may_read {
            assert_eq!(read.unwrap().unwrap().data, "data", "{case}");
        } else {
            assert_eq!(read, Err(Error::NotAuthorized { path: path("/a") }), "{case}");
        }
    }
}

fn write(file: &Path, text: &str) -> TextSource {
    std::fs::write(file, text).unwrap();
    TextSource::file(file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewed_certificate_files_are_used_in_the_same_session() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    let (first, second) =
        (Authority::new("the first authority"), Authority::new("the second authority"));
    let of = |authority: &Authority| {
        let tls = TlsServer::new(authority).clients(ClientCertificate::NotAsked);
        ServerOptions::default().tls(tls)
    };
    let mut server = Server::start_with(&of(&first)).unwrap();
    let options = ZookeeperOptions::new(secure(&server))
        .session_timeout(Duration::from_secs(60))
        .tls(TlsOptions::new(write(&trusted, first.pem())));
    let center = connect(options).await;
    let mut changes = center.session_feed();
    let session = connected(&mut changes, None).await;
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;

    server.reconfigure(&of(&second)).unwrap();
    server.stop().unwrap();
    suspended(&mut changes).await;
    write(&trusted, second.pem());
    server.restart().unwrap();
    assert_eq!(connected(&mut changes, None).await, session);
    assert!(center.read(&path("/mine")).await.unwrap().is_some(), "the session survived");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_password_file_is_used_for_the_next_session() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let of = |password| ServerOptions::default().sasl(SaslUsers::new().user("worker", password));
    let mut server = Server::start_with(&of("old")).unwrap();
    let user = SaslDigest::new("worker", write(&file, "old\n"));
    let center = connect(ZookeeperOptions::new(server.connect_string()).sasl(user)).await;
    let mut changes = center.session_feed();
    let first = connected(&mut changes, None).await;

    write(&file, "new\n");
    server.reconfigure(&of("new")).unwrap();
    server.restart().unwrap();
    connected(&mut changes, Some(first)).await;
    commit(&center, create("/mine", Lifetime::Ephemeral)).await;
}
