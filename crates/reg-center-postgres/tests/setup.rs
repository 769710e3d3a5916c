//! Preparation of the schema, rights, passwords and TLS.
#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use postgres_fixture::proxy::Proxy;
use postgres_fixture::{Authority, Server, ServerOptions};
use reg_center::{Error, Lifetime, NodePath, RegistryCenter as _, SessionChange, Txn};
use reg_center_postgres::{OpenError, PostgresCenter, PostgresOptions, Tls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::behind_proxies::{
    connect, namespace, options_for, path, runtime, server, session_of, soon,
};

/// Limit of the wait for a server that is away.
const SHORT: Duration = Duration::from_millis(300);
/// Variable with the address of the server for a child process.
const ADDRESS: &str = "EJOB_TEST_POSTGRES";

pub(crate) async fn error_of(options: PostgresOptions) -> OpenError {
    let connected = soon("an answer", PostgresCenter::connect(options)).await;
    connected.expect_err("the options are wrong")
}

pub(crate) async fn use_registry(options: PostgresOptions) {
    let center = connect(options).await;
    let create = Txn::new().create(path("/job/mine"), "x", Lifetime::Ephemeral);
    assert!(center.commit(create).await.unwrap().is_committed());
    assert_eq!(center.children(&NodePath::root()).await.unwrap().unwrap(), ["job"]);
    center.close().await.unwrap();
}

#[test]
fn processes_that_start_together_create_the_schema_once() {
    runtime().block_on(async {
        let options = options_for(server().address()).schema("together");
        let centers: Vec<_> =
            (0..8).map(|_| tokio::spawn(PostgresCenter::connect(options.clone()))).collect();
        for center in centers {
            let center = soon("the center connects", center).await.unwrap().unwrap();
            center.close().await.unwrap();
        }
    });
}

#[test]
fn registries_of_other_namespaces_and_schemas_are_separate() {
    runtime().block_on(async {
        let options = || options_for(server().address()).schema("separate");
        let one = PostgresCenter::connect(options().namespace("one")).await.unwrap();
        let create = Txn::new().create(path("/job"), "", Lifetime::Persistent);
        assert!(one.commit(create).await.unwrap().is_committed());
        for other in [options().namespace("two"), options().namespace("one").schema("separate_2")] {
            let other = PostgresCenter::connect(other).await.unwrap();
            assert_eq!(other.read(&path("/job")).await.unwrap(), None, "{other:?}");
        }
        let same = PostgresCenter::connect(options().namespace("one")).await.unwrap();
        assert!(same.read(&path("/job")).await.unwrap().is_some());
    });
}

#[test]
fn a_missing_schema_is_not_created_against_the_options() {
    runtime().block_on(async {
        let options = options_for(server().address()).schema("absent").create_if_missing(false);
        let error = error_of(options.clone()).await;
        assert!(matches!(error, OpenError::NoSchema { .. }), "{error}");
        let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'absent'";
        assert_eq!(server().query(schemas).unwrap().trim(), "0");
        use_registry(options.clone().create_if_missing(true)).await;
        use_registry(options).await;
    });
}

/// The sessions of the dropped schema must not be taken for sessions of the new one.
#[test]
fn a_dropped_schema_is_created_again_and_its_sessions_are_lost() {
    runtime().block_on(async {
        let options = options_for(server().address()).schema("dropped");
        let center = connect(options.clone()).await;
        let mut changes = center.session_feed();
        let old = session_of(&center);
        server().query("DROP SCHEMA dropped CASCADE").unwrap();
        // Another center creates it again, and takes the first session in it.
        let other = connect(options).await;
        let lost = async {
            while changes.next().await.unwrap() != (SessionChange::Lost { session: old }) {}
        };
        soon("the session is lost", lost).await;
        assert_ne!(session_of(&other), old);
    });
}

#[test]
fn a_later_format_is_refused() {
    runtime().block_on(async {
        let options = options_for(server().address()).schema("later");
        PostgresCenter::create_schema(options.clone()).await.unwrap();
        server().query("UPDATE later.format SET version = 9").unwrap();
        let error = error_of(options).await;
        assert!(matches!(error, OpenError::LaterFormat { found: 9, known: 1, .. }), "{error}");
    });
}

#[test]
fn a_wrong_address_is_named() {
    runtime().block_on(async {
        let address = server().address();
        let rows = [
            (
                PostgresOptions::new("127.0.0.1", 1, "postgres").connect_timeout(SHORT),
                "postgres://127.0.0.1:1/postgres: ",
            ),
            (
                PostgresOptions::new(address.ip().to_string(), address.port(), "none")
                    .user("postgres"),
                "database \"none\" does not exist; create the database first",
            ),
        ];
        for (options, expected) in rows {
            let is_away = expected.starts_with("postgres://127.0.0.1:1/");
            let error = error_of(options).await;
            assert_eq!(is_away, matches!(error, OpenError::Unreachable { .. }), "{error:?}");
            assert_eq!(!is_away, matches!(error, OpenError::NoDatabase { .. }), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
        let file = options_for(address).password_file("/no/such/file");
        let error = error_of(file).await.to_string();
        assert!(error.starts_with("password_file: cannot read /no/such/file: "), "{error}");
    });
}

/// In a new environment programs and their database start together.
#[test]
fn connect_retries_while_the_server_starts() {
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = options_for(listener.local_addr().unwrap()).namespace(namespace());
        let opened = tokio::spawn(PostgresCenter::connect(options));
        // The first connection ends without an answer. Later ones are those to the server.
        let (first, _) = soon("the first attempt", listener.accept()).await.unwrap();
        drop(first);
        let center = tokio::select! {
            () = forward_all(&listener) => unreachable!("the listener is open"),
            center = soon("the center connects", opened) => center.unwrap().unwrap(),
        };
        assert_eq!(center.children(&NodePath::root()).await.unwrap().unwrap_or_default(), [""; 0]);
    });
}

/// A server that was killed recovers when it starts, and refuses connections meanwhile.
#[test]
fn connect_waits_for_a_server_that_recovers() {
    let mut server = Server::start().unwrap();
    server.kill().unwrap();
    runtime().block_on(async {
        let options = options_for(server.address()).connect_timeout(Duration::from_secs(60));
        let opened = tokio::spawn(PostgresCenter::connect(options));
        let _running = tokio::task::spawn_blocking(move || server.restart().map(|()| server));
        soon("the center connects", opened).await.unwrap().unwrap();
    });
}

/// The server may stop between the requests that open a center.
#[test]
fn connect_retries_when_the_session_was_not_opened() {
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = options_for(listener.local_addr().unwrap()).namespace(namespace());
        let opened = tokio::spawn(PostgresCenter::connect(options));
        let (mut program, _) = soon("the first attempt", listener.accept()).await.unwrap();
        let mut first = TcpStream::connect(server().address()).await.unwrap();
        soon("the request", forward_until("open_session(", &mut program, &mut first)).await;
        drop((program, first));
        let center = tokio::select! {
            () = forward_all(&listener) => unreachable!("the listener is open"),
            center = soon("the center connects", opened) => center.unwrap().unwrap(),
        };
        assert!(matches!(center.session(), Some(SessionChange::Connected { .. })));
    });
}

/// Forwards a connection until the program sends this text, which is not forwarded.
async fn forward_until(text: &str, program: &mut TcpStream, server: &mut TcpStream) {
    let (mut requests, mut answers) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            n = program.read(&mut requests) => {
                let request = &requests[..n.unwrap()];
                if String::from_utf8_lossy(request).contains(text) {
                    return;
                }
                server.write_all(request).await.unwrap();
            }
            n = server.read(&mut answers) => program.write_all(&answers[..n.unwrap()]).await.unwrap(),
        }
    }
}

/// Forwards all connections to the server.
async fn forward_all(listener: &TcpListener) {
    loop {
        let (mut program, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(server().address()).await.unwrap();
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut program, &mut server).await });
    }
}

#[test]
fn a_path_that_no_index_takes_is_rejected_with_its_length() {
    runtime().block_on(async {
        let options = options_for(server().address()).namespace(namespace());
        let center = PostgresCenter::connect(options).await.unwrap();
        // Text that does not compress.
        let name: String =
            (0..300_u32).map(|n| format!("{:08x}", n.wrapping_mul(0x9E37_79B9))).collect();
        let longest = path(&format!("/{}", &name[..1_999]));
        let create = |at: NodePath| Txn::new().create(at, "", Lifetime::Persistent);
        assert!(center.commit(create(longest.clone())).await.unwrap().is_committed());
        assert!(center.read(&longest).await.unwrap().is_some());
        let longer = path(&format!("/{}", &name[..2_000]));
        assert_eq!(center.read(&longer).await.unwrap(), None);
        let rejected = center.commit(create(longer)).await.unwrap_err();
        let Error::Rejected { cause, .. } = rejected else { panic!("{rejected}") };
        assert_eq!(cause, "a path has 2001 bytes, PostgreSQL takes at most 2000");
    });
}

/// The child process, which has a password in its environment, or none.
#[test]
#[ignore = "another test runs it in a process of its own"]
fn use_the_password_of_the_environment() {
    let address = std::env::var(ADDRESS).expect("the parent names the address");
    let options = options_for(address.parse().unwrap());
    runtime().block_on(async {
        match PostgresCenter::connect(options.clone()).await {
            Ok(center) => {
                center.close().await.unwrap();
                use_registry(options).await;
                println!("the registry was used");
            }
            Err(error) => {
                assert!(matches!(error, OpenError::Refused { .. }), "{error:?}");
                println!("the connection was refused: {error} {error:?}");
            }
        }
    });
}

#[test]
fn password_of_the_environment_is_used_and_not_shown() {
    let server = Server::start_with(&ServerOptions::default().password("s3cret")).unwrap();
    let (refused, used) = ("the connection was refused", "the registry was used");
    let rows = [(None, refused), (Some("hunter2"), refused), (Some("s3cret"), used)];
    for (password, expected) in rows {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let name = "setup::use_the_password_of_the_environment";
        child.args(["--exact", name, "--ignored", "--nocapture"]);
        child.env(ADDRESS, server.address().to_string()).env_remove("PGPASSWORD");
        child.envs(password.map(|password| ("PGPASSWORD", password)));
        let output = child.output().unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{password:?}: {out}{err}");
        assert!(out.contains(expected), "{password:?}: {out}{err}");
        assert!(!out.contains("hunter2"), "{out}");
    }
}

#[test]
fn passwords_come_from_a_file_and_tls_is_verified() {
    let authority = Authority::new("the test's own");
    let server_options = ServerOptions::default().password("s3cret").tls(&authority);
    let server = Server::start_with(&server_options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let good = file("good", "s3cret\n");
    let trusted = file("trusted.pem", authority.pem());
    let other = file("other.pem", Authority::new("another").pem());
    runtime().block_on(async {
        let options = || options_for(server.address()).password_file(&good);
        let verified = || options().tls(Tls::VerifyFull).tls_root_cert(&trusted);
        use_registry(verified()).await;
        use_registry(options()).await;

        let wrong = options_for(server.address()).password_file(file("wrong", "hunter2"));
        let error = error_of(wrong).await;
        assert!(matches!(error, OpenError::Refused { .. }), "{error:?}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        for (expected, options) in [
            ((true, false), options().tls(Tls::Disable)),
            ((false, true), options().tls(Tls::VerifyCa).tls_root_cert(&other)),
        ] {
            let error = error_of(options).await;
            let is_refused = matches!(error, OpenError::Refused { .. });
            let is_untrusted = matches!(error, OpenError::Tls { .. });
            assert_eq!((is_refused, is_untrusted), expected, "{error:?}");
        }
        // The certificate is for the address of the server, not for that of the proxy.
        let proxy = Proxy::start(server.address()).await.unwrap();
        let through_proxy = |tls| {
            options_for(proxy.address()).password_file(&good).tls(tls).tls_root_cert(&trusted)
        };
        use_registry(through_proxy(Tls::VerifyCa)).await;
        let error = error_of(through_proxy(Tls::VerifyFull)).await;
        assert!(matches!(error, OpenError::Tls { .. }), "{error:?}");
        // The password of a later connection may be another one.
        server.query("ALTER ROLE postgres PASSWORD 'n3w'").unwrap_or_default();
        std::fs::write(&good, "n3w").unwrap();
        use_registry(verified()).await;
    });
}
