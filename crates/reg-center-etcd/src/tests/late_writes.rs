//! A write whose outcome is unknown and that reaches the server after a later write.

use etcd_fixture::proxy::{Cut, Proxy};
use reg_center::{Lifetime, RegistryCenter as _, SessionChange, Txn};

use super::{await_change, await_connected, bare_client, path, runtime, server, soon};
use crate::commit::request_of;
use crate::{EtcdCenter, EtcdOptions};

fn create(at: &str) -> Txn {
    Txn::new().create(path(at), "", Lifetime::Persistent)
}

/// Sends the very request that a center has sent on an earlier connection, after a later write of
/// the same session. The nodes of both have nothing in common: only the session orders them.
#[test]
fn a_late_write_is_refused_after_a_later_write_of_the_same_session() {
    runtime().block_on(async {
        let proxy = Proxy::start(server().address()).await.unwrap();
        let options = EtcdOptions::new(proxy.address().to_string(), "/late");
        let center = EtcdCenter::connect(options).await.unwrap();
        let mut changes = center.session_feed();
        let session = await_connected(&mut changes).await;
        let link = center.link().unwrap();
        let in_time = request_of(&link, &create("/in-time")).await;
        let late = request_of(&link, &create("/late")).await;
        let server = bare_client(server().address()).await;
        let landed = server.txn(in_time).await.unwrap();
        assert!(landed.succeeded, "a write lands before the next connection of the session");
        drop(link);

        proxy.kick(Cut::Reset).await.unwrap();
        let is_suspended = |change| matches!(change, SessionChange::Suspended { .. });
        await_change(&mut changes, "the reset is noticed", is_suspended).await;
        assert_eq!(await_connected(&mut changes).await, session);
        let later = soon("a later write", center.commit(create("/later"))).await;
        assert!(later.unwrap().is_committed());

        let landed = server.txn(late).await.unwrap();
        assert!(!landed.succeeded, "the late write was refused");
        let names = center.children(&path("/")).await.unwrap();
        assert_eq!(names.unwrap(), ["in-time", "later"]);
    });
}

/// A write of a session that is over is refused, too.
#[test]
fn a_late_write_is_refused_after_the_end_of_its_session() {
    runtime().block_on(async {
        let options = EtcdOptions::new(server().address().to_string(), "/late-session");
        let center = EtcdCenter::connect(options.clone()).await.unwrap();
        let late = request_of(&center.link().unwrap(), &create("/late")).await;
        center.close().await.unwrap();
        let server = bare_client(server().address()).await;
        assert!(!server.txn(late).await.unwrap().succeeded);
        let next = EtcdCenter::connect(options).await.unwrap();
        assert_eq!(next.read(&path("/late")).await, Ok(None));
    });
}
