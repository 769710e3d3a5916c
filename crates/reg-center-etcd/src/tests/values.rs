//! Stored keys and values, as other programs see them and write them.

use bytes::Bytes;
use reg_center::{Error, Lifetime, RegistryCenter as _, Txn, Version};

use super::{bare_client, path, runtime, server};
use crate::client::messages::{PutRequest, RangeRequest, Request, TxnRequest};
use crate::{EtcdCenter, EtcdOptions};

#[test]
fn keys_and_values_are_plain_and_damaged_ones_are_errors() {
    runtime().block_on(async {
        let options = EtcdOptions::new(server().address().to_string(), "/values");
        let center = EtcdCenter::connect(options).await.unwrap();
        let create = Txn::new().create(path("/report/config"), "{\"n\":1}", Lifetime::Persistent);
        assert!(center.commit(create).await.unwrap().is_committed());
        assert!(center.commit(Txn::new().put(path("/report/config"), "{}")).await.is_ok());

        let client = bare_client(server().address()).await;
        let key = Bytes::from_static(b"/values/report/config");
        let read = client.range(RangeRequest { key: key.clone(), ..RangeRequest::default() }).await;
        assert_eq!(read.unwrap().kvs[0].value, "{}");

        let put = |value: &'static [u8]| {
            let value = Bytes::from_static(value);
            let put = PutRequest { key: key.clone(), value, lease: 0, ignore_lease: false };
            TxnRequest { success: vec![Request::Put(put).into()], ..TxnRequest::default() }
        };
        // A text that another program writes is a node as any other.
        client.txn(put(b"by hand")).await.unwrap();
        let node = center.read(&path("/report/config")).await.unwrap().unwrap();
        assert_eq!((&node.data[..], node.stat.version), (&b"by hand"[..], Version(2)));
        client.txn(put(b"\x02later")).await.unwrap();
        let read = center.read(&path("/report/config")).await;
        assert!(matches!(read, Err(Error::Rejected { .. })), "{read:?}");
        let commit = center.commit(Txn::new().check_exists(path("/report/config"))).await;
        assert!(matches!(commit, Err(Error::Rejected { .. })), "{commit:?}");
    });
}
