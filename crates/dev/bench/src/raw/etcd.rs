//! Writes of one key on etcd.
//!
//! The few messages are declared here. Names and numbers are those of etcd's interface.

use std::net::SocketAddr;

use bytes::Bytes;
use http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use super::RECORD;
use crate::Outcome;
use crate::stage::within;

#[derive(Clone, PartialEq, prost::Message)]
struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RequestOp {
    #[prost(message, optional, tag = "2")]
    put: Option<PutRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TxnRequest {
    #[prost(message, repeated, tag = "2")]
    success: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TxnResponse {
    #[prost(bool, tag = "2")]
    succeeded: bool,
}

/// A client that shares its connection with the other ones, as the commits of a center do.
pub(crate) struct Client {
    grpc: Grpc<Channel>,
    request: TxnRequest,
}

pub(super) async fn open(server: SocketAddr, n: usize) -> Outcome<Vec<Client>> {
    let endpoint = Endpoint::from_shared(format!("http://{server}"))?;
    let channel = within("a connection", endpoint.connect()).await??;
    let client = |number| {
        let key = Bytes::from(format!("/raw/{number}"));
        let put = PutRequest { key, value: Bytes::from_static(RECORD.as_bytes()) };
        let request = TxnRequest { success: vec![RequestOp { put: Some(put) }] };
        Client { grpc: Grpc::new(channel.clone()), request }
    };
    Ok((0..n).map(client).collect())
}

impl Client {
    pub(super) async fn write(&mut self) -> Outcome<()> {
        self.grpc.ready().await?;
        let request = tonic::Request::new(self.request.clone());
        let path = PathAndQuery::from_static("/etcdserverpb.KV/Txn");
        let codec = ProstCodec::<TxnRequest, TxnResponse>::default();
        let answer = self.grpc.unary(request, path, codec).await?.into_inner();
        if answer.succeeded { Ok(()) } else { Err("etcd has refused a raw transaction".into()) }
    }
}
