//! What the network between a client and its server can be made to do.

use std::time::Duration;

/// The behaviour of a proxy.
///
/// | mode | new connections | existing connections | requests | replies |
/// |---|---|---|---|---|
/// | `Pass` | accepted | stay | pass | pass |
/// | `Delay` | accepted | stay | pass later | pass later |
/// | `BlackHole` | accepted | stay | held | held |
/// | `HoldReplies` | accepted | stay | pass | held |
/// | `HoldRequests` | accepted | stay | held | pass |
/// | `Close` | accepted, closed | closed (FIN) | – | – |
/// | `Reset` | accepted, reset | reset (RST) | – | – |
/// | `Refuse` | refused | closed (FIN) | – | – |
///
/// Held bytes, and a held end of a stream, flow again in order when a later mode lets them pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Everything passes at once.
    Pass,
    /// Everything passes this much later, in each direction: a round trip takes twice as long.
    ///
    /// The delay does not limit the throughput. Bytes that arrived before or after this mode are
    /// not delayed, except behind delayed ones.
    Delay(Duration),
    /// Nothing passes, and nobody is told: a cable pulled out.
    BlackHole,
    /// Requests are executed, and their replies do not arrive: the outcome of a write is unknown.
    HoldReplies,
    /// Requests do not arrive, while notifications and earlier replies do.
    HoldRequests,
    /// Every connection ends in an orderly way: a server that shuts down.
    Close,
    /// Every connection is reset: a firewall that lost its state.
    Reset,
    /// Nobody listens, and connections end in an orderly way: a server that is not there.
    Refuse,
}

/// How a connection is ended from the proxy's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// In an orderly way (FIN): each side reads the end of the stream.
    Close,
    /// By a reset (RST): each side gets an error.
    Reset,
}

/// A direction through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Replies,
}

impl Mode {
    /// Returns whether bytes may leave the proxy in `direction`.
    pub(super) fn passes(self, direction: Direction) -> bool {
        match self {
            Mode::Pass | Mode::Delay(_) => true,
            Mode::HoldReplies => direction == Direction::Requests,
            Mode::HoldRequests => direction == Direction::Replies,
            Mode::BlackHole | Mode::Close | Mode::Reset | Mode::Refuse => false,
        }
    }

    /// Returns how much later bytes that arrive now may leave.
    pub(super) fn delay(self) -> Duration {
        match self {
            Mode::Delay(delay) => delay,
            Mode::Pass
            | Mode::BlackHole
            | Mode::HoldReplies
            | Mode::HoldRequests
            | Mode::Close
            | Mode::Reset
            | Mode::Refuse => Duration::ZERO,
        }
    }

    /// Returns how every connection must end, if this mode allows none.
    pub(super) fn cut(self) -> Option<Cut> {
        match self {
            Mode::Close | Mode::Refuse => Some(Cut::Close),
            Mode::Reset => Some(Cut::Reset),
            Mode::Pass
            | Mode::Delay(_)
            | Mode::BlackHole
            | Mode::HoldReplies
            | Mode::HoldRequests => None,
        }
    }

    /// Returns whether there is somebody to connect to.
    pub(super) fn listens(self) -> bool {
        self != Mode::Refuse
    }
}
