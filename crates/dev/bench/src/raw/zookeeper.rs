//! Writes of one node on ZooKeeper.

use zookeeper_client::{Acls, CreateMode, Error};

use super::RECORD;
use crate::Outcome;
use crate::stage::within;

/// A client that shares its connection with the other ones: ZooKeeper answers in order.
pub(crate) struct Client {
    inner: zookeeper_client::Client,
    path: String,
}

pub(super) async fn open(server: &str, n: usize) -> Outcome<Vec<Client>> {
    let inner = within("a connection", zookeeper_client::Client::connect(server)).await??;
    let mut clients = Vec::new();
    for number in 0..n {
        let path = format!("/raw-{number}");
        let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
        match inner.create(&path, RECORD.as_bytes(), &options).await {
            Ok(_) | Err(Error::NodeExists) => {}
            Err(error) => return Err(error.into()),
        }
        clients.push(Client { inner: inner.clone(), path });
    }
    Ok(clients)
}

impl Client {
    pub(super) async fn write(&self) -> Outcome<()> {
        self.inner.set_data(&self.path, RECORD.as_bytes(), None).await?;
        Ok(())
    }
}
