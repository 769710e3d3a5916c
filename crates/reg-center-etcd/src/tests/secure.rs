//! Users with passwords, and TLS.

use etcd_fixture::{Grant, Server, User};
use reg_center::{Error, Lifetime, RegistryCenter as _, Txn};

use super::{path, runtime};
use crate::{ConnectError, EtcdCenter, EtcdOptions, TextSource};

fn server_with_users() -> Server {
    let server = Server::start().unwrap();
    let user = |name: &str, grant| User { name: name.into(), password: "s3cret".into(), grant };
    let users = [
        user("worker", Grant::Prefix("/jobs".into())),
        user("stranger", Grant::Prefix("/other".into())),
        user("operator", Grant::Everything),
    ];
    server.enable_users(&users).unwrap();
    server
}

fn options(server: &Server, user: &str, password: &str) -> EtcdOptions {
    EtcdOptions::new(server.address().to_string(), "/jobs")
        .user(user, TextSource::Text(password.into()))
}

#[test]
fn a_user_with_the_permission_for_the_namespace_can_do_everything() {
    let server = server_with_users();
    runtime().block_on(async {
        for user in ["worker", "operator"] {
            let center = EtcdCenter::connect(options(&server, user, "s3cret")).await.unwrap();
            let mut feed = center.watch(&path("/"));
            let at = path(&format!("/{user}/e"));
            let create = Txn::new().create(at.clone(), "x", Lifetime::Ephemeral);
            assert!(center.commit(create).await.unwrap().is_committed(), "{user}");
            assert!(center.commit(Txn::new().delete(at.clone())).await.is_ok(), "{user}");
            let create = Txn::new().create(at.clone(), "y", Lifetime::Ephemeral);
            assert!(center.commit(create).await.unwrap().is_committed(), "{user}");
            let found = async {
                loop {
                    if let Some(reg_center::Change::Put(node) | reg_center::Change::Entry(node)) =
                        feed.next().await
                        && (&node.path, &node.data[..]) == (&at, b"y")
                    {
                        return;
                    }
                }
            };
            super::soon("the feed delivers the node", found).await;
            center.close().await.unwrap();
        }
    });
}

#[test]
fn a_wrong_or_missing_user_is_refused_at_once_and_named() {
    let server = server_with_users();
    runtime().block_on(async {
        let without = EtcdOptions::new(server.address().to_string(), "/jobs");
        let rows = [
            ("wrong password", options(&server, "worker", "wrong")),
            ("unknown user", options(&server, "unknown", "s3cret")),
            ("no user", without),
        ];
        for (case, options) in rows {
            let error = EtcdCenter::connect(options).await.expect_err(case);
            assert!(matches!(error, ConnectError::Credentials { .. }), "{case}: {error:?}");
            assert!(!format!("{error:?} {error}").contains("s3cret"), "{case}: {error:?}");
        }
        let stranger = EtcdCenter::connect(options(&server, "stranger", "s3cret")).await;
        let refused = ConnectError::Registry(Error::NotAuthorized { path: path("/") });
        assert_eq!(stranger.err(), Some(refused), "another namespace");
        let plain = Server::start().unwrap();
        let error = EtcdCenter::connect(options(&plain, "worker", "s3cret")).await.err();
        assert!(matches!(error, Some(ConnectError::Credentials { .. })), "no users: {error:?}");
    });
}

/// Tokens are forgotten by a restarted server. The center authenticates again, without a restart.
#[test]
fn a_center_authenticates_again_after_a_restart_of_the_server() {
    let mut server = server_with_users();
    runtime().block_on(async {
        let options = options(&server, "worker", "s3cret")
            .session_timeout(std::time::Duration::from_secs(20));
        let center = EtcdCenter::connect(options).await.unwrap();
        let mut changes = center.session_feed();
        let session = super::await_connected(&mut changes).await;
        server.kill().unwrap();
        server.restart().unwrap();
        assert_eq!(super::await_connected(&mut changes).await, session);
        let create = Txn::new().create(path("/n"), "", Lifetime::Persistent);
        assert!(center.commit(create).await.unwrap().is_committed());
    });
}

#[test]
fn an_expired_token_is_renewed_without_another_connection() {
    let server = server_with_users();
    runtime().block_on(async {
        let center = EtcdCenter::connect(options(&server, "worker", "s3cret")).await.unwrap();
        let before = center.link().unwrap();
        before.spoil_token();
        assert_eq!(center.read(&path("/n")).await, Ok(None), "{}", before.cause());
        before.spoil_token();
        let create = Txn::new().create(path("/n"), "", Lifetime::Persistent);
        assert!(center.commit(create).await.unwrap().is_committed());
        let after = center.link().unwrap();
        assert!(std::sync::Arc::ptr_eq(&before, &after), "the connection is the same");
    });
}

#[cfg(feature = "tls")]
mod tls {
    use std::time::Duration;

    use etcd_fixture::{Authority, ClientCertificate, Server, ServerOptions};
    use reg_center::{Lifetime, RegistryCenter as _, Txn};

    use super::super::{path, runtime};
    use crate::{ConnectError, EtcdCenter, EtcdOptions, TextSource, TlsOptions};

    fn text(pem: &str) -> TextSource {
        TextSource::Text(pem.to_owned())
    }

    fn options(server: &Server, tls: TlsOptions) -> EtcdOptions {
        EtcdOptions::new(server.address().to_string(), "/jobs").tls(tls)
    }

    #[test]
    fn both_sides_check_the_certificate_of_the_other() {
        let (authority, other) = (Authority::new("own"), Authority::new("other"));
        let with = |clients| ServerOptions::default().tls(&authority, clients);
        let required = Server::start_with(&with(ClientCertificate::Required)).unwrap();
        let open = Server::start_with(&with(ClientCertificate::NotAsked)).unwrap();
        let plain = Server::start().unwrap();
        let tls = |ca: &Authority| TlsOptions::new(text(ca.pem()));
        let signed_by = |issuer: &Authority| {
            let worker = issuer.issue("worker", ["worker"]);
            tls(&authority).identity(text(worker.certificate_pem()), text(worker.key_pem()))
        };
        runtime().block_on(async {
            for (case, server, tls) in [
                ("no certificate asked", &open, tls(&authority)),
                ("certificate asked", &required, signed_by(&authority)),
            ] {
                let center = EtcdCenter::connect(options(server, tls)).await.expect(case);
                let create = Txn::new().create(path("/n"), "", Lifetime::Ephemeral);
                assert!(center.commit(create).await.unwrap().is_committed(), "{case}");
                center.close().await.expect(case);
            }
            for (case, server, tls) in [
                ("server of another authority", &open, tls(&other)),
                ("no TLS on the port", &plain, tls(&authority)),
            ] {
                let error = EtcdCenter::connect(options(server, tls)).await.expect_err(case);
                assert!(matches!(error, ConnectError::Tls { .. }), "{case}: {error:?}");
            }
            // With TLS 1.3 the server rejects a client after the handshake, by closing.
            for (case, tls) in [
                ("no certificate of the client", tls(&authority)),
                ("client of another authority", signed_by(&other)),
            ] {
                let options = options(&required, tls).connect_timeout(Duration::from_millis(500));
                assert!(EtcdCenter::connect(options).await.is_err(), "{case}");
            }
        });
    }

    /// The address of the connection must be in the certificate.
    #[test]
    fn a_certificate_for_another_host_is_rejected() {
        let authority = Authority::new("own");
        let with = ServerOptions::default().tls(&authority, ClientCertificate::NotAsked);
        let server = Server::start_with(&with).unwrap();
        runtime().block_on(async {
            let proxy = etcd_fixture::proxy::Proxy::start(server.address()).await.unwrap();
            let tls = TlsOptions::new(text(authority.pem()));
            let options = EtcdOptions::new(proxy.address().to_string(), "/jobs").tls(tls);
            let error = EtcdCenter::connect(options).await.expect_err("another address");
            assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
        });
    }
}
