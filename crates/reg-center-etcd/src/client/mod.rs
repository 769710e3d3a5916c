//! A thin client of etcd: one connection, no retries, a deadline for each request.
//!
//! In reading order: `messages` (the interface) · `failure` (what a failed request means) · `dial`
//! (opening a connection) · this file (requests).

mod dial;
mod failure;
pub(crate) mod messages;

use std::time::Duration;

use futures_channel::mpsc;
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use prost::Message;
use tonic::client::Grpc;
use tonic::metadata::Ascii;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

pub(crate) use dial::{DialError, Target};
pub(crate) use failure::{Failure, Refusal};
use messages::{
    AuthenticateRequest, AuthenticateResponse, LeaseGrantRequest, LeaseGrantResponse,
    LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest, LeaseRevokeResponse,
    RangeRequest, RangeResponse, StatusRequest, StatusResponse, TxnRequest, TxnResponse,
    WatchRequest, WatchResponse,
};

/// The requests of a stream. The server answers the begin of a stream together with the first
/// request, which must be there before.
pub(crate) type Requests<Req> = mpsc::UnboundedReceiver<Req>;

/// Name and password of a user.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: String,
}

/// One connection to one server. It never reconnects: once it is broken, every request fails.
pub(crate) struct Client {
    channel: Channel,
    deadline: Duration,
    credentials: Option<Credentials>,
    token: Mutex<Option<MetadataValue<Ascii>>>,
}

impl Client {
    /// Wraps an open connection, and authenticates if there are credentials.
    pub(crate) async fn start(
        channel: Channel,
        deadline: Duration,
        credentials: Option<Credentials>,
    ) -> Result<Self, Failure> {
        let client = Self { channel, deadline, credentials, token: Mutex::new(None) };
        client.authenticate().await?;
        Ok(client)
    }

    /// Replaces the token by an invalid one, as if it were over.
    #[cfg(test)]
    pub(crate) fn spoil_token(&self) {
        *self.token.lock() = Some(MetadataValue::from_static("spoiled.1"));
    }

    async fn authenticate(&self) -> Result<(), Failure> {
        let Some(Credentials { user, password }) = self.credentials.clone() else { return Ok(()) };
        let request = AuthenticateRequest { name: user, password };
        // Without the former token, which would be refused.
        let request = with_metadata(request, None);
        let answer: AuthenticateResponse =
            self.send("/etcdserverpb.Auth/Authenticate", request).await?;
        let no_token = |_| Failure::Unknown("the server's token is no text".to_owned());
        let mut token = MetadataValue::try_from(answer.token).map_err(no_token)?;
        token.set_sensitive(true);
        *self.token.lock() = Some(token);
        Ok(())
    }

    pub(crate) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Failure> {
        self.call("/etcdserverpb.KV/Range", request).await
    }

    pub(crate) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, Failure> {
        self.call("/etcdserverpb.KV/Txn", request).await
    }

    pub(crate) async fn lease_grant(&self, ttl: i64) -> Result<LeaseGrantResponse, Failure> {
        self.call("/etcdserverpb.Lease/LeaseGrant", LeaseGrantRequest { ttl }).await
    }

    /// Ends a lease and deletes its keys.
    pub(crate) async fn lease_revoke(&self, id: i64) -> Result<(), Failure> {
        let request = LeaseRevokeRequest { id };
        let answer: Result<LeaseRevokeResponse, Failure> =
            self.call("/etcdserverpb.Lease/LeaseRevoke", request).await;
        answer.map(drop)
    }

    pub(crate) async fn status(&self) -> Result<StatusResponse, Failure> {
        self.call("/etcdserverpb.Maintenance/Status", StatusRequest {}).await
    }

    #[cfg(test)]
    pub(crate) async fn compact(&self, revision: i64) -> Result<(), Failure> {
        let request = messages::CompactionRequest { revision };
        let answer: Result<messages::CompactionResponse, Failure> =
            self.call("/etcdserverpb.KV/Compact", request).await;
        answer.map(drop)
    }

    pub(crate) async fn keep_alive(
        &self,
        requests: Requests<LeaseKeepAliveRequest>,
    ) -> Result<Streaming<LeaseKeepAliveResponse>, Failure> {
        self.stream("/etcdserverpb.Lease/LeaseKeepAlive", requests).await
    }

    pub(crate) async fn watch(
        &self,
        requests: Requests<WatchRequest>,
    ) -> Result<Streaming<WatchResponse>, Failure> {
        self.stream("/etcdserverpb.Watch/Watch", requests).await
    }

    /// Sends a request. If the server says that the token is old, it authenticates and sends the
    /// request again, which was not executed.
    async fn call<Req, Res>(&self, path: &'static str, request: Req) -> Result<Res, Failure>
    where
        Req: Message + Clone + 'static,
        Res: Message + Default + 'static,
    {
        match self.send(path, self.with_token(request.clone())).await {
            Err(Failure::Refused(Refusal::Token, _)) if self.credentials.is_some() => {
                self.authenticate().await?;
                self.send(path, self.with_token(request)).await
            }
            answer => answer,
        }
    }

    async fn send<Req, Res>(
        &self,
        path: &'static str,
        request: Request<Req>,
    ) -> Result<Res, Failure>
    where
        Req: Message + 'static,
        Res: Message + Default + 'static,
    {
        let mut grpc = self.grpc();
        let exchange = async {
            ready(&mut grpc).await?;
            let codec = ProstCodec::<Req, Res>::default();
            let answer = grpc.unary(request, PathAndQuery::from_static(path), codec).await;
            answer.map(tonic::Response::into_inner).map_err(|status| Failure::of(&status))
        };
        self.within_deadline(exchange).await
    }

    async fn stream<Req, Res>(
        &self,
        path: &'static str,
        requests: Requests<Req>,
    ) -> Result<Streaming<Res>, Failure>
    where
        Req: Message + 'static,
        Res: Message + Default + 'static,
    {
        let mut grpc = self.grpc();
        let request = self.with_token(requests);
        let exchange = async {
            ready(&mut grpc).await?;
            let codec = ProstCodec::<Req, Res>::default();
            let answer = grpc.streaming(request, PathAndQuery::from_static(path), codec).await;
            answer.map(tonic::Response::into_inner).map_err(|status| Failure::of(&status))
        };
        self.within_deadline(exchange).await
    }

    fn grpc(&self) -> Grpc<Channel> {
        // A snapshot page may have large values; the server limits each of them.
        Grpc::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    fn with_token<T>(&self, message: T) -> Request<T> {
        with_metadata(message, self.token.lock().clone())
    }

    async fn within_deadline<T>(
        &self,
        exchange: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let late = |_| Failure::Unknown(format!("no answer within {:?}", self.deadline));
        tokio::time::timeout(self.deadline, exchange).await.map_err(late)?
    }
}

fn with_metadata<T>(message: T, token: Option<MetadataValue<Ascii>>) -> Request<T> {
    let mut request = Request::new(message);
    // A server without a leader must refuse, instead of answering from an old state for ever.
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    if let Some(token) = token {
        request.metadata_mut().insert("token", token);
    }
    request
}

/// Waits until the connection takes a request. Nothing was sent if that fails.
async fn ready(grpc: &mut Grpc<Channel>) -> Result<(), Failure> {
    grpc.ready().await.map_err(|error| {
        let status = Status::from_error(Box::new(error));
        Failure::NotSent(Failure::of(&status).cause().to_owned())
    })
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
