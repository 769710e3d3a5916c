//! The listener over loopback TCP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use inbound::{Bounds, Exchange, Listener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(3600);

async fn with_deadline<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(DEADLINE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {DEADLINE:?}: {what}"))
}

/// Echoes one byte when `gate` has a permit.
async fn start(bounds: Bounds, gate: &Arc<Semaphore>) -> (SocketAddr, JoinHandle<()>) {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "echo port", bounds).await;
    let listener = listener.unwrap();
    let address = listener.local_addr();
    let gate = Arc::clone(gate);
    let serving = listener.serve(move |stream, exchange| echo(stream, exchange, gate.clone()));
    (address, tokio::spawn(serving))
}

async fn echo(mut stream: TcpStream, exchange: Exchange, gate: Arc<Semaphore>) -> io::Result<()> {
    let byte = stream.read_u8().await?;
    exchange.begin_answer();
    gate.acquire().await.unwrap().forget();
    stream.write_u8(byte).await
}

async fn request(address: SocketAddr) -> u8 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_u8(7).await.unwrap();
    with_deadline("an answer", stream.read_u8()).await.unwrap()
}

async fn is_closed(mut stream: TcpStream) -> bool {
    // A closed or reset connection fails the read; an answer does not.
    with_deadline("the end of a connection", stream.read_u8()).await.is_err()
}

fn bounds(max_connections: usize) -> Bounds {
    Bounds { max_connections, request_deadline: LONG, exchange_deadline: LONG }
}

#[tokio::test]
async fn silent_connections_are_evicted_for_a_request() {
    let gate = Arc::new(Semaphore::new(1));
    let (address, _serving) = start(bounds(4), &gate).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    assert_eq!(request(address).await, 7);
    for stream in silent.drain(..97) {
        assert!(is_closed(stream).await, "the oldest connections are closed");
    }
}

#[tokio::test]
async fn request_being_answered_is_not_interrupted() {
    let gate = Arc::new(Semaphore::new(0));
    let (address, _serving) = start(bounds(1), &gate).await;
    let mut answered = TcpStream::connect(address).await.unwrap();
    answered.write_u8(1).await.unwrap();
    let mut waiting = TcpStream::connect(address).await.unwrap();
    waiting.write_u8(2).await.unwrap();
    gate.add_permits(2);
    assert_eq!(with_deadline("the first answer", answered.read_u8()).await.unwrap(), 1);
    assert_eq!(with_deadline("the second answer", waiting.read_u8()).await.unwrap(), 2);
}

#[tokio::test]
async fn slow_request_and_slow_answer_end_at_their_deadlines() {
    let gate = Arc::new(Semaphore::new(0));
    let short = Duration::from_millis(50);
    let (address, _serving) = start(Bounds { request_deadline: short, ..bounds(4) }, &gate).await;
    assert!(is_closed(TcpStream::connect(address).await.unwrap()).await);
    let slow = Bounds { exchange_deadline: short, ..bounds(4) };
    let (address, _serving) = start(slow, &gate).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_u8(1).await.unwrap();
    assert!(is_closed(stream).await);
}

#[tokio::test]
async fn dropping_the_future_closes_port_and_connections() {
    let gate = Arc::new(Semaphore::new(0));
    let (address, serving) = start(bounds(4), &gate).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_u8(1).await.unwrap();
    serving.abort();
    assert!(is_closed(stream).await);
    let again = Listener::bind(address, "echo port", bounds(1)).await.unwrap();
    assert_eq!(again.local_addr(), address);
}
