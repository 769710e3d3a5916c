//! The time in which the body of a request has to arrive.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Slowest rate of a body, in bytes per second.
const MIN_RATE: u64 = 64 * 1024;

/// The body of a request did not arrive in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is too slow: valid are {limit:?}, and 1 s more for each {MIN_RATE} bytes")]
struct SlowBody {
    limit: Duration,
}

/// A body that ends with an error if it arrives too slowly.
///
/// It has a time, and more time for each byte that has arrived. So an upload has the time that it
/// needs, and a client that sends nothing, or single bytes, does not hold its connection.
pub(super) struct Timely {
    body: Body,
    limit: Duration,
    /// Begins when the body is read first.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Timely {
    pub(super) fn new(body: Body, limit: Duration) -> Self {
        Self { body, limit, deadline: None }
    }
}

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Self { body, limit, deadline } = &mut *self;
        let deadline = deadline.get_or_insert_with(|| Box::pin(sleep(*limit)));
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            if let Some(Ok(frame)) = &frame
                && let Some(data) = frame.data_ref()
            {
                let earned = Duration::from_nanos(data.len() as u64 * 1_000_000_000 / MIN_RATE);
                let later = deadline.deadline() + earned;
                deadline.as_mut().reset(later);
            }
            return Poll::Ready(frame);
        }
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Some(Err(Error::new(SlowBody { limit: *limit }))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::Instant;

    use super::*;

    /// Reads a body of equal pieces with a pause before each one, and returns its size and the time
    /// that it took, or the error.
    async fn read(n: usize, size: usize, pause: Duration) -> Result<(usize, Duration), String> {
        let began = Instant::now();
        let pieces = stream::unfold(0, move |sent| async move {
            tokio::time::sleep(pause).await;
            (sent < n).then(|| (Ok::<_, Infallible>(vec![b'x'; size]), sent + 1))
        });
        let body = Timely::new(Body::from_stream(Box::pin(pieces)), Duration::from_secs(30));
        let read = axum::body::to_bytes(Body::new(body), usize::MAX).await;
        let read = read.map_err(|error| format!("{:?}: {error}", began.elapsed()))?;
        Ok((read.len(), began.elapsed()))
    }

    #[tokio::test(start_paused = true)]
    async fn body_in_single_bytes_ends_at_its_limit_and_an_upload_does_not() {
        let late = read(1_000, 1, Duration::from_secs(10)).await.unwrap_err();
        let expected = "the body is too slow: valid are 30s, and 1 s more for each 65536 bytes";
        assert!(late.starts_with("30.") && late.ends_with(expected), "{late}");
        let silent = read(1, 1, Duration::from_secs(31)).await.unwrap_err();
        assert!(silent.starts_with("30"), "{silent}");
        let upload = read(256, 64 * 1024, Duration::from_secs(1)).await;
        assert_eq!(upload, Ok((16 << 20, Duration::from_secs(257))));
    }
}
