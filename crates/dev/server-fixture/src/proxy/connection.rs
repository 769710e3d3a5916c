//! Relays the bytes of one connection in both directions, as the mode allows.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;

use super::delay_line::{Content, DelayLine, End};
use super::mode::{Cut, Direction};
use super::{Orders, Shared};

/// Maximum number of bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;

/// Serves the connection with this number until it ends or is cut.
pub(super) async fn run(shared: Arc<Shared>, mut client: TcpStream, number: u64) {
    let mut server = None;
    let mut orders = shared.orders.subscribe();
    let cut = tokio::select! {
        biased;
        cut = ordered_cut(&mut orders, number) => cut,
        ended = relay(&shared, &mut client, &mut server, number) => match ended {
            Ok(()) => Cut::Close,
            // One side is broken. The other side must not take that for an orderly end.
            Err(_) => Cut::Reset,
        },
    };
    for stream in [Some(client), server].into_iter().flatten() {
        end(stream, cut).await;
    }
    shared.counters.send_modify(|counters| counters.end(number));
}

/// Waits until the connection must end, and returns the kind of its end.
async fn ordered_cut(orders: &mut watch::Receiver<Orders>, number: u64) -> Cut {
    let cut = |orders: &Orders| {
        orders.mode.cut().or_else(|| (number < orders.cut_below).then_some(orders.cut))
    };
    match orders.wait_for(|orders| cut(orders).is_some()).await {
        Ok(orders) => cut(&orders).unwrap_or(Cut::Close),
        // The proxy was dropped.
        Err(_) => Cut::Close,
    }
}

/// Relays until both directions have ended in an orderly way, or one side is broken.
async fn relay(
    shared: &Shared,
    client: &mut TcpStream,
    server: &mut Option<TcpStream>,
    number: u64,
) -> io::Result<()> {
    let server = server.insert(TcpStream::connect(shared.upstream()).await?);
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(
        pump(shared, from_client, to_server, Direction::Requests, number),
        pump(shared, from_server, to_client, Direction::Replies, number),
    )?;
    Ok(())
}

/// Relays one direction until its end is forwarded.
async fn pump(
    shared: &Shared,
    from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    direction: Direction,
    number: u64,
) -> io::Result<()> {
    let mut orders = shared.orders.subscribe();
    let mut line = DelayLine::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        tokio::select! {
            _ = from.readable(), if line.accepts() => {
                if let Some(content) = read(&from, &mut chunk) {
                    note(shared, direction, &content, number);
                    let delay = orders.borrow().mode.delay();
                    line.arrive(content, delay);
                }
            }
            () = may_leave(&line, &mut orders, &to, direction) => {
                match leave(&mut line, &orders, &to, direction) {
                    Some(End::Finished) => return to.shutdown().await,
                    Some(End::Broken) => return Err(io::ErrorKind::ConnectionReset.into()),
                    None => {}
                }
            }
        }
    }
}

/// Reads arrived content without waiting. An error is content, because a black hole holds it, too.
fn read(from: &ReadHalf<'_>, chunk: &mut [u8]) -> Option<Content> {
    match from.try_read(chunk) {
        Ok(0) => Some(Content::End(End::Finished)),
        Ok(n_bytes) => Some(Content::Bytes(chunk[..n_bytes].to_vec())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(_) => Some(Content::End(End::Broken)),
    }
}

/// Waits until the first parcel is due, is not held, and can be written.
async fn may_leave(
    line: &DelayLine,
    orders: &mut watch::Receiver<Orders>,
    to: &WriteHalf<'_>,
    direction: Direction,
) {
    match line.due() {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
    // Both fail if the proxy was dropped or the receiver has ended. The next write detects it.
    let _ = orders.wait_for(|orders| orders.mode.passes(direction)).await;
    let _ = to.writable().await;
}

/// Writes as much of the first parcel as possible. Returns the end of the stream if it is next.
fn leave(
    line: &mut DelayLine,
    orders: &watch::Receiver<Orders>,
    to: &WriteHalf<'_>,
    direction: Direction,
) -> Option<End> {
    // The orders stay borrowed until the bytes are written, and a change of the mode waits for
    // that. A mode that holds bytes therefore holds all of them from the moment it is set.
    let orders = orders.borrow();
    if !orders.mode.passes(direction) {
        return None;
    }
    let bytes = match line.first()? {
        Content::End(end) => return Some(*end),
        Content::Bytes(bytes) => bytes,
    };
    match to.try_write(bytes) {
        Ok(n_bytes) => line.leave(n_bytes),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        // The receiver has ended, so the bytes are dropped. Its end arrives as content of the other
        // direction, which forwards it to the sender when the mode allows.
        Err(_) => line.leave(bytes.len()),
    }
    None
}

fn note(shared: &Shared, direction: Direction, content: &Content, number: u64) {
    let Content::Bytes(bytes) = content else { return };
    if direction == Direction::Replies {
        shared.greetings.record(number, bytes);
    }
    shared.counters.send_modify(|counters| match direction {
        Direction::Requests => counters.add_request_bytes(bytes.len()),
        Direction::Replies => counters.add_reply_bytes(bytes.len()),
    });
}

/// Ends a stream. Errors are ignored, because they mean that the other side has ended it first.
async fn end(mut stream: TcpStream, cut: Cut) {
    match cut {
        Cut::Close => {
            // After a close alone, the stream would stay open while a starting child process has a
            // copy of the socket.
            let _ = stream.shutdown().await;
            // A socket with unread bytes would send a reset when it is closed.
            let mut unread = [0; 4096];
            while stream.try_read(&mut unread).is_ok_and(|n_bytes| n_bytes > 0) {}
        }
        Cut::Reset => {
            let _ = stream.set_zero_linger();
        }
    }
}
