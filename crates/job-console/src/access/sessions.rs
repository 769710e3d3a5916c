//! Sessions of signed-in users, in the memory of this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

#[cfg(feature = "oidc")]
use super::oidc::Signed;
use super::secret::{digest, random_id};
use super::users::User;

/// Holder of a session.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    /// A user of the users file.
    User(Arc<User>),
    /// A user of an identity provider.
    #[cfg(feature = "oidc")]
    Provider(Arc<Signed>),
}

/// Bounds of the life and the number of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionBounds {
    /// Longest time between two requests.
    pub(super) idle: Duration,
    /// Longest time since the sign-in.
    pub(super) absolute: Duration,
    /// Most sessions of all users.
    pub(super) max: usize,
    /// Most sessions of one user, so that one user cannot end the sessions of the others.
    pub(super) max_per_user: usize,
}

impl Default for SessionBounds {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self { idle: 8 * hour, absolute: 24 * hour, max: 10_000, max_per_user: 32 }
    }
}

/// All sessions. `H` identifies the holder, and lets the sign-in that made it check it again.
pub(super) struct Sessions<H> {
    bounds: SessionBounds,
    /// By the hash of the identifier, so that a copy of the memory opens no session.
    by_hash: Mutex<HashMap<[u8; 32], Session<H>>>,
}

struct Session<H> {
    user: String,
    holder: H,
    /// End of the session, whatever its use.
    ends: Instant,
    used: Instant,
}

impl<H: Clone> Sessions<H> {
    pub(super) fn new(bounds: SessionBounds) -> Self {
        Self { bounds, by_hash: Mutex::default() }
    }

    /// Starts a session, and returns its identifier. If there are too many, the one that has been
    /// idle for longest ends.
    pub(super) fn start(&self, user: &str, holder: H) -> String {
        self.start_for(user, holder, self.bounds.absolute)
    }

    /// Starts a session that ends after a time, and returns its identifier.
    pub(super) fn start_for(&self, user: &str, holder: H, longest: Duration) -> String {
        let id = random_id();
        let now = Instant::now();
        let mut sessions = self.by_hash.lock();
        sessions.retain(|_, session| session.is_valid(self.bounds, now));
        let of_user = sessions.values().filter(|session| session.user == user).count();
        if of_user >= self.bounds.max_per_user {
            end_idlest(&mut sessions, |session| session.user == user);
        } else if sessions.len() >= self.bounds.max {
            end_idlest(&mut sessions, |_| true);
        }
        let ends = now + longest.min(self.bounds.absolute);
        let session = Session { user: user.to_owned(), holder, ends, used: now };
        sessions.insert(digest(&id), session);
        id
    }

    /// Returns the holder of a session, which is in use now.
    pub(super) fn find(&self, id: &str) -> Option<H> {
        let now = Instant::now();
        let hash = digest(id);
        let mut sessions = self.by_hash.lock();
        let session = sessions.get_mut(&hash)?;
        if !session.is_valid(self.bounds, now) {
            sessions.remove(&hash);
            return None;
        }
        session.used = now;
        Some(session.holder.clone())
    }

    /// Ends a session, and returns its user and its holder.
    pub(super) fn end(&self, id: &str) -> Option<(String, H)> {
        let session = self.by_hash.lock().remove(&digest(id))?;
        Some((session.user, session.holder))
    }
}

impl<H> Session<H> {
    fn is_valid(&self, bounds: SessionBounds, now: Instant) -> bool {
        now.duration_since(self.used) < bounds.idle && now < self.ends
    }
}

fn end_idlest<H>(
    sessions: &mut HashMap<[u8; 32], Session<H>>,
    is_candidate: impl Fn(&Session<H>) -> bool,
) {
    let candidates = sessions.iter().filter(|(_, session)| is_candidate(session));
    let idlest = candidates.min_by_key(|(_, session)| session.used).map(|(hash, _)| *hash);
    if let Some(hash) = idlest {
        sessions.remove(&hash);
    }
}

impl<H> fmt::Debug for Sessions<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn session_ends_when_idle_and_after_its_longest_time() {
        let sessions = Sessions::new(SessionBounds::default());
        let idle = sessions.start("anna", 1);
        let used = sessions.start("anna", 2);
        for _ in 0..3 {
            tokio::time::advance(8 * HOUR - Duration::from_secs(1)).await;
            assert_eq!(sessions.find(&used), Some(2));
        }
        assert_eq!(sessions.find(&idle), None);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(sessions.find(&used), None);
    }

    #[tokio::test]
    async fn session_ends_at_sign_out() {
        let sessions = Sessions::new(SessionBounds::default());
        let (first, second) = (sessions.start("anna", 1), sessions.start("anna", 2));
        assert_ne!(first, second);
        assert_eq!(sessions.end(&first), Some(("anna".to_owned(), 1)));
        assert_eq!((sessions.find(&first), sessions.find(&second)), (None, Some(2)));
        assert_eq!(sessions.end(&first), None);
    }

    #[tokio::test(start_paused = true)]
    async fn number_of_sessions_is_bounded_and_the_idlest_one_ends() {
        let sessions = Sessions::new(SessionBounds { max: 50, ..SessionBounds::default() });
        let second = Duration::from_secs(1);
        let other = sessions.start("bob", 0);
        let mut ids = Vec::new();
        for n in 0..32 {
            tokio::time::advance(second).await;
            ids.push(sessions.start("anna", n));
        }
        tokio::time::advance(second).await;
        assert!(sessions.find(&ids[0]).is_some());
        sessions.start("anna", 99);
        assert!(sessions.find(&ids[0]).is_some() && sessions.find(&ids[2]).is_some());
        assert!(sessions.find(&ids[1]).is_none());
        for n in 0..50 {
            sessions.start(&format!("user {n}"), n);
        }
        assert_eq!(sessions.by_hash.lock().len(), 50);
        assert_eq!(sessions.find(&other), None);
    }
}
