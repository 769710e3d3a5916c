//! Tests of each mode of the proxy between a client and a small echo server.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use server_fixture::Error;
use server_fixture::proxy::{Cut, Mode, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

const LIMIT: Duration = Duration::from_secs(30);

/// Echoes every byte, and records received bytes and the ends of streams.
struct EchoServer {
    address: SocketAddr,
    seen: watch::Receiver<Seen>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    received: Vec<u8>,
    ends: Vec<Result<(), io::ErrorKind>>,
}

impl EchoServer {
    async fn start() -> EchoServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (records, seen) = watch::channel(Seen::default());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(echo(stream, records.clone()));
            }
        });
        EchoServer { address, seen }
    }

    async fn wait_for(&self, awaited: &str, reached: impl Fn(&Seen) -> bool) {
        let mut seen = self.seen.clone();
        let waited = timeout(LIMIT, seen.wait_for(|seen| reached(seen))).await.is_ok();
        assert!(waited, "the server did not see {awaited}: {:?}", *self.seen.borrow());
    }

    fn received(&self) -> Vec<u8> {
        self.seen.borrow().received.clone()
    }
}

async fn echo(mut stream: TcpStream, records: watch::Sender<Seen>) {
    stream.set_nodelay(true).unwrap();
    let mut bytes = [0; 1024];
    let end = loop {
        match stream.read(&mut bytes).await {
            Ok(0) => break Ok(()),
            Ok(n) => {
                records.send_modify(|seen| seen.received.extend(&bytes[..n]));
                if let Err(error) = stream.write_all(&bytes[..n]).await {
                    break Err(error.kind());
                }
            }
            Err(error) => break Err(error.kind()),
        }
    };
    records.send_modify(|seen| seen.ends.push(end));
}

async fn start() -> (EchoServer, Proxy) {
    let server = EchoServer::start().await;
    let proxy = Proxy::start(server.address).await.unwrap();
    (server, proxy)
}

/// Returns a client whose first round trip shows that the proxy has connected it to the server.
async fn connect(proxy: &Proxy) -> TcpStream {
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.set_nodelay(true).unwrap();
    assert_eq!(round_trip(&mut client, b"hello").await.unwrap(), b"hello");
    client
}

async fn round_trip(client: &mut TcpStream, request: &[u8]) -> io::Result<Vec<u8>> {
    client.write_all(request).await?;
    receive(client, request.len()).await
}

async fn receive(client: &mut TcpStream, n_bytes: usize) -> io::Result<Vec<u8>> {
    let mut reply = vec![0; n_bytes];
    timeout(LIMIT, client.read_exact(&mut reply)).await??;
    Ok(reply)
}

/// Waits for the end of the client's stream.
async fn end_of(client: &mut TcpStream) -> Result<usize, io::ErrorKind> {
    let mut byte = [0];
    let read = timeout(LIMIT, client.read(&mut byte)).await.expect("the stream does not end");
    read.map_err(|error| error.kind())
}

fn nothing_arrives(client: &TcpStream) -> bool {
    let read = client.try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

#[tokio::test(flavor = "multi_thread")]
async fn pass_relays_and_counts_bytes_and_forwards_the_end() {
    let (server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    let large = vec![7; 1 << 20];
    let (mut from_proxy, mut to_proxy) = client.split();
    let mut reply = vec![0; large.len()];
    let both =
        async { tokio::try_join!(to_proxy.write_all(&large), from_proxy.read_exact(&mut reply)) };
    timeout(LIMIT, both).await.unwrap().unwrap();
    assert_eq!(reply, large, "a megabyte comes back unchanged");
    let counters = proxy.counters();
    assert_eq!(counters.request_bytes(), 5 + (1 << 20));
    assert_eq!(counters.reply_bytes(), 5 + (1 << 20));
    assert_eq!((counters.accepted(), counters.open_connections()), (1, 1));

    client.shutdown().await.unwrap();
    assert_eq!(end_of(&mut client).await, Ok(0));
    proxy.wait_until_closed(LIMIT).await.unwrap();
    assert_eq!(server.seen.borrow().ends, [Ok(())]);
    assert_eq!(proxy.counters().accepted(), 1, "ended connections stay counted");
}

#[tokio::test]
async fn delayed_round_trip_takes_at_least_both_delays() {
    let (_server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    let delay = Duration::from_millis(60);
    proxy.set(Mode::Delay(delay)).await.unwrap();
    let before = Instant::now();
    assert_eq!(round_trip(&mut client, b"later").await.unwrap(), b"later");
    let took = before.elapsed();
    assert!(took >= 2 * delay, "{took:?}");
}

#[tokio::test]
async fn delays_of_consecutive_requests_do_not_add_up() {
    let (_server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    let delay = Duration::from_secs(1);
    let n_requests = 40_u8;
    proxy.set(Mode::Delay(delay)).await.unwrap();
    let before = Instant::now();
    for n in 0..n_requests {
        client.write_all(&[n]).await.unwrap();
        let sent = proxy.counters().request_bytes();
        assert!(sent <= 5 + u64::from(n) + 1);
        proxy.wait_for_request_bytes(5 + u64::from(n) + 1, LIMIT).await.unwrap();
    }
    let replies = receive(&mut client, n_requests.into()).await.unwrap();
    assert_eq!(replies, (0..n_requests).collect::<Vec<_>>(), "in order");
    let took = before.elapsed();
    assert!(took < delay * u32::from(n_requests) / 2, "{took:?} is not {n_requests} delays");
}

#[tokio::test]
async fn black_hole_holds_all_bytes_until_another_mode() {
    let (server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::BlackHole).await.unwrap();
    client.write_all(b"held").await.unwrap();
    proxy.wait_for_request_bytes(9, LIMIT).await.unwrap();
    assert_eq!(server.received(), b"hello", "the request has not left the proxy");
    assert!(nothing_arrives(&client));

    proxy.set(Mode::Pass).await.unwrap();
    assert_eq!(receive(&mut client, 4).await.unwrap(), b"held");
}

/// Sends a burst in many small pieces, and returns its stream.
async fn send_burst(mut to_proxy: OwnedWriteHalf) -> OwnedWriteHalf {
    for _ in 0..100 {
        to_proxy.write_all(&[0; 50]).await.unwrap();
    }
    to_proxy
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_passes_after_a_black_hole_is_set() {
    let (_server, proxy) = start().await;
    let (mut from_proxy, mut to_proxy) = connect(&proxy).await.into_split();
    let mut bytes = [0; 5000];
    for round in 0..100 {
        let sent = proxy.counters().request_bytes();
        let burst = tokio::spawn(send_burst(to_proxy));
        proxy.wait_for_request_bytes(sent + 1, LIMIT).await.unwrap();
        proxy.set(Mode::BlackHole).await.unwrap();
        // Bytes from before the switch have arrived, because a loopback connection delivers at
        // once.
        let n_before = from_proxy.try_read(&mut bytes).unwrap_or(0);
        to_proxy = burst.await.unwrap();
        proxy.wait_for_request_bytes(sent + 5000, LIMIT).await.unwrap();
        let slipped = from_proxy.try_read(&mut bytes);
        assert!(slipped.is_err(), "round {round}: {slipped:?} bytes after the switch");

        proxy.set(Mode::Pass).await.unwrap();
        let rest = from_proxy.read_exact(&mut bytes[n_before..]);
        timeout(LIMIT, rest).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn black_hole_accepts_connections_and_hides_their_end() {
    let (server, proxy) = start().await;
    proxy.set(Mode::BlackHole).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.write_all(b"last words").await.unwrap();
    drop(client);
    proxy.wait_for_request_bytes(10, LIMIT).await.unwrap();
    assert_eq!(*server.seen.borrow(), Seen::default(), "neither bytes nor the end passed");

    proxy.set(Mode::Pass).await.unwrap();
    server.wait_for("the end", |seen| seen.ends.len() == 1).await;
    assert_eq!(server.received(), b"last words");
}

#[tokio::test]
async fn requests_are_executed_while_their_replies_are_held() {
    let (server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::HoldReplies).await.unwrap();
    client.write_all(b"executed").await.unwrap();
    proxy.wait_for_reply_bytes(13, LIMIT).await.unwrap();
    assert_eq!(server.received(), b"helloexecuted");
    assert!(nothing_arrives(&client), "the reply is in the proxy");

    proxy.set(Mode::Pass).await.unwrap();
    assert_eq!(receive(&mut client, 8).await.unwrap(), b"executed");
}

#[tokio::test]
async fn held_requests_let_earlier_replies_through() {
    let (server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::HoldReplies).await.unwrap();
    client.write_all(b"early").await.unwrap();
    proxy.wait_for_reply_bytes(10, LIMIT).await.unwrap();
    proxy.set(Mode::HoldRequests).await.unwrap();
    client.write_all(b"late").await.unwrap();
    assert_eq!(receive(&mut client, 5).await.unwrap(), b"early");
    proxy.wait_for_request_bytes(14, LIMIT).await.unwrap();
    assert_eq!(server.received(), b"helloearly", "the later request is held");

    proxy.set(Mode::Pass).await.unwrap();
    assert_eq!(receive(&mut client, 4).await.unwrap(), b"late");
}

#[tokio::test]
async fn cutting_modes_end_old_and_new_connections_by_their_kind() {
    let rows = [
        ("close", Mode::Close, Ok(0), Ok(())),
        (
            "reset",
            Mode::Reset,
            Err(io::ErrorKind::ConnectionReset),
            Err(io::ErrorKind::ConnectionReset),
        ),
    ];
    for (case, mode, at_client, at_server) in rows {
        let (server, proxy) = start().await;
        let mut old = connect(&proxy).await;
        proxy.set(mode).await.unwrap();
        assert_eq!(proxy.counters().open_connections(), 0, "{case}");
        assert_eq!(end_of(&mut old).await, at_client, "{case}: old connection");
        server.wait_for(case, |seen| seen.ends == [at_server]).await;

        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(end_of(&mut new).await, at_client, "{case}: new connection");
        assert_eq!(server.seen.borrow().ends.len(), 1, "{case}: the server never saw the new one");

        proxy.set(Mode::Pass).await.unwrap();
        connect(&proxy).await;
    }
}

#[tokio::test]
async fn close_with_held_bytes_is_orderly() {
    let (_server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::BlackHole).await.unwrap();
    client.write_all(&[1; 1000]).await.unwrap();
    proxy.wait_for_request_bytes(1005, LIMIT).await.unwrap();
    proxy.set(Mode::Close).await.unwrap();
    assert_eq!(end_of(&mut client).await, Ok(0));
}

#[tokio::test]
async fn refuse_ends_connections_and_refuses_new_ones_until_another_mode() {
    let (_server, proxy) = start().await;
    for round in 0..20 {
        let mut old = connect(&proxy).await;
        proxy.set(Mode::Refuse).await.unwrap();
        assert_eq!(end_of(&mut old).await, Ok(0), "round {round}");
        let refusal = TcpStream::connect(proxy.address()).await.unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::ConnectionRefused, "round {round}");
        proxy.set(Mode::Pass).await.unwrap();
        connect(&proxy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kick_cuts_existing_connections_and_lets_new_ones_pass() {
    let rows =
        [("close", Cut::Close, Ok(0)), ("reset", Cut::Reset, Err(io::ErrorKind::ConnectionReset))];
    let (_server, proxy) = start().await;
    for (case, cut, expected) in rows {
        let (mut one, mut two) = (connect(&proxy).await, connect(&proxy).await);
        proxy.kick(cut).await.unwrap();
        assert_eq!(
            proxy.counters().open_connections(),
            0,
            "{case}: no connection is open when kick returns"
        );
        assert_eq!(end_of(&mut one).await, expected, "{case}");
        assert_eq!(end_of(&mut two).await, expected, "{case}");
        connect(&proxy).await;
        assert_eq!(proxy.mode(), Mode::Pass, "{case}: the mode is not changed");
    }
}

#[tokio::test]
async fn kick_while_replies_are_held_drops_them() {
    let (server, proxy) = start().await;
    let mut client = connect(&proxy).await;
    proxy.set(Mode::HoldReplies).await.unwrap();
    client.write_all(b"unknown").await.unwrap();
    proxy.wait_for_reply_bytes(12, LIMIT).await.unwrap();
    proxy.kick(Cut::Reset).await.unwrap();
    proxy.set(Mode::Pass).await.unwrap();
    assert_eq!(end_of(&mut client).await, Err(io::ErrorKind::ConnectionReset));
    assert_eq!(
        server.received(),
        b"hellounknown",
        "the request is executed, and its outcome unknown to the client"
    );
}

#[tokio::test]
async fn end_and_reset_of_a_client_are_forwarded_as_such() {
    for (case, reset, expected) in
        [("end", false, Ok(())), ("reset", true, Err(io::ErrorKind::ConnectionReset))]
    {
        let (server, proxy) = start().await;
        let client = connect(&proxy).await;
        if reset {
            client.set_zero_linger().unwrap();
        }
        drop(client);
        server.wait_for(case, |seen| seen.ends == [expected]).await;
        proxy.wait_until_closed(LIMIT).await.unwrap();
    }
}

#[tokio::test]
async fn client_is_disconnected_while_the_server_does_not_listen() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = closed.local_addr().unwrap();
    drop(closed);
    let proxy = Proxy::start(upstream).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(end_of(&mut client).await, Err(io::ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn missed_deadline_names_the_awaited_and_the_present_state() {
    let (_server, proxy) = start().await;
    let _client = connect(&proxy).await;
    let error = proxy.wait_for_connections(2, Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, Error::ProxyDeadline { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("2 connections accepted"), "{message}");
    assert!(message.contains("1 connections accepted, 1 open, 5 bytes from clients"), "{message}");
}

#[tokio::test]
async fn dropped_proxy_ends_its_connections_and_stops_listening() {
    let (server, proxy) = start().await;
    let address = proxy.address();
    let mut client = connect(&proxy).await;
    drop(proxy);
    assert_eq!(end_of(&mut client).await, Ok(0));
    server.wait_for("the end", |seen| seen.ends.len() == 1).await;
    let refusal = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refusal.kind(), io::ErrorKind::ConnectionRefused);
}
