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

/// Echoes bytes one after the other, each when `gate` has a permit.
async fn echo_all(
    mut stream: TcpStream,
    exchange: Exchange,
    gate: Arc<Semaphore>,
) -> io::Result<()> {
    loop {
        let byte = stream.read_u8().await?;
        exchange.begin_answer();
        gate.acquire().await.unwrap().forget();
        stream.write_u8(byte).await?;
        exchange.end_answer();
    }
}

async fn start_kept(bounds: Bounds, gate: &Arc<Semaphore>) -> (SocketAddr, JoinHandle<()>) {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "echo port", bounds).await;
    let (listener, gate) = (listener.unwrap(), Arc::clone(gate));
    let address = listener.local_addr();
    let serving = listener.serve(move |stream, exchange| echo_all(stream, exchange, gate.clone()));
    (address, tokio::spawn(serving))
}

async fn exchange_on(stream: &mut TcpStream, byte: u8) {
    stream.write_u8(byte).await.unwrap();
    assert_eq!(with_deadline("an answer", stream.read_u8()).await.unwrap(), byte);
}

#[tokio::test]
async fn kept_connection_without_a_request_is_evicted_the_longest_silent_first() {
    let gate = Arc::new(Semaphore::new(4));
    let (address, _serving) = start_kept(bounds(2), &gate).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    exchange_on(&mut first, 1).await;
    exchange_on(&mut second, 2).await;
    // The first connection is older, but the second one has been silent for longer.
    exchange_on(&mut first, 3).await;
    let mut third = TcpStream::connect(address).await.unwrap();
    exchange_on(&mut third, 4).await;
    assert!(is_closed(second).await, "the longest silent connection is closed");
    gate.add_permits(1);
    exchange_on(&mut first, 5).await;
}

/// A request that arrives just before its connection would be evicted keeps its place, so that one
/// connection too many is open. Once both are idle, other clients get a place again.
#[tokio::test]
async fn listener_accepts_again_when_connections_beyond_the_limit_become_idle() {
    let gate = Arc::new(Semaphore::new(0));
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "echo port", bounds(1)).await;
    let (listener, for_handler) = (listener.unwrap(), Arc::clone(&gate));
    let address = listener.local_addr();
    let serving = listener.serve(move |mut stream: TcpStream, exchange| {
        let (gate, begun) = (Arc::clone(&for_handler), begun.clone());
        async move {
            loop {
                let byte = stream.read_u8().await?;
                exchange.begin_answer();
                let _ = begun.send(byte);
                gate.acquire().await.unwrap().forget();
                stream.write_u8(byte).await?;
                exchange.end_answer();
            }
        }
    });
    let _serving = tokio::spawn(serving);
    let mut streams = Vec::new();
    for byte in [1, 2] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_u8(byte).await.unwrap();
        assert_eq!(with_deadline("the begin of an answer", begins.recv()).await, Some(byte));
        streams.push(stream);
    }
    gate.add_permits(8);
    for (stream, byte) in streams.iter_mut().zip([1, 2]) {
        assert_eq!(with_deadline("an answer", stream.read_u8()).await.unwrap(), byte);
    }
    for byte in [3, 4] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        exchange_on(&mut stream, byte).await;
        streams.push(stream);
    }
}

#[tokio::test]
async fn deadlines_of_a_kept_connection_start_again_after_each_answer() {
    let gate = Arc::new(Semaphore::new(1));
    let short = Duration::from_millis(50);
    let (address, _serving) =
        start_kept(Bounds { request_deadline: short, ..bounds(4) }, &gate).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    exchange_on(&mut stream, 1).await;
    assert!(is_closed(stream).await, "the second request missed its deadline");
    let slow = Bounds { exchange_deadline: short, ..bounds(4) };
    let (address, _serving) = start_kept(slow, &gate).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_u8(1).await.unwrap();
    assert!(is_closed(stream).await, "the answer missed its deadline");
}

#[tokio::test]
async fn allowed_limit_replaces_the_deadline_of_one_exchange() {
    let short = Duration::from_millis(50);
    let slow = Bounds { exchange_deadline: short, ..bounds(4) };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "echo port", slow).await.unwrap();
    let address = listener.local_addr();
    let gate = Arc::new(Semaphore::new(0));
    let (begun, mut allowed) = tokio::sync::mpsc::unbounded_channel();
    let serving = {
        let gate = Arc::clone(&gate);
        listener.serve(move |mut stream: TcpStream, exchange: Exchange| {
            let (gate, begun) = (Arc::clone(&gate), begun.clone());
            async move {
                let byte = stream.read_u8().await?;
                exchange.begin_answer();
                exchange.allow(LONG);
                // Longer than the deadline that the limit replaces.
                let wait = tokio::time::timeout(2 * short, gate.acquire()).await;
                begun.send(wait.is_err()).unwrap();
                stream.write_u8(byte).await
            }
        })
    };
    let _serving = tokio::spawn(serving);
    let mut stream = TcpStream::connect(address).await.unwrap();
    exchange_on(&mut stream, 1).await;
    assert_eq!(allowed.recv().await, Some(true));
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
