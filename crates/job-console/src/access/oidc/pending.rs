//! Sign-ins that have begun, until the provider sends the browser back.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use openidconnect::{Nonce, PkceCodeVerifier};
use parking_lot::Mutex;
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::access::limit::network;
use crate::access::secret::digest;

/// Time that a user has for the sign-in at the provider.
pub(in crate::access) const EXPIRY: Duration = Duration::from_secs(600);
/// Most sign-ins at the same time.
const MAX: usize = 10_000;
/// Most sign-ins from one address, so that one client cannot end those of the others.
const MAX_PER_ADDRESS: usize = 100;

/// A sign-in that has begun.
pub(super) struct SignIn {
    /// Hash of the cookie of the browser that has begun it.
    browser: [u8; 32],
    address: Option<IpAddr>,
    began: Instant,
    pub(super) nonce: Nonce,
    pub(super) verifier: PkceCodeVerifier,
    /// Address of the page that follows.
    pub(super) next: String,
}

/// All sign-ins that have begun, by the hash of their state.
#[derive(Default)]
pub(super) struct SignIns(Mutex<HashMap<[u8; 32], SignIn>>);

impl SignIns {
    /// Adds a sign-in. If there are too many, the oldest one is forgotten.
    pub(super) fn add(
        &self,
        state: &str,
        browser: &str,
        client: Option<IpAddr>,
        (nonce, verifier, next): (Nonce, PkceCodeVerifier, String),
    ) {
        let (browser, address, began) = (digest(browser), network(client), Instant::now());
        let sign_in = SignIn { browser, address, began, nonce, verifier, next };
        let mut all = self.0.lock();
        all.retain(|_, one| one.is_valid(began));
        if all.values().filter(|one| one.address == address).count() >= MAX_PER_ADDRESS {
            forget_oldest(&mut all, |one| one.address == address);
        } else if all.len() >= MAX {
            forget_oldest(&mut all, |_| true);
        }
        all.insert(digest(state), sign_in);
    }

    /// Removes and returns a sign-in, if it was begun by the browser with this cookie.
    ///
    /// A state counts once, and a request without the cookie is from another browser.
    pub(super) fn take(&self, state: &str, browser: Option<&str>) -> Option<SignIn> {
        let sign_in = self.0.lock().remove(&digest(state))?;
        let is_browser = bool::from(sign_in.browser.ct_eq(&digest(browser?)));
        (is_browser && sign_in.is_valid(Instant::now())).then_some(sign_in)
    }
}

impl SignIn {
    fn is_valid(&self, now: Instant) -> bool {
        now.duration_since(self.began) < EXPIRY
    }
}

/// Shows no secret.
impl fmt::Debug for SignIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIns").finish_non_exhaustive()
    }
}

fn forget_oldest(all: &mut HashMap<[u8; 32], SignIn>, is_candidate: impl Fn(&SignIn) -> bool) {
    let candidates = all.iter().filter(|(_, one)| is_candidate(one));
    let oldest = candidates.min_by_key(|(_, one)| one.began).map(|(state, _)| *state);
    if let Some(state) = oldest {
        all.remove(&state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(all: &SignIns, state: &str, client: [u8; 4]) {
        let secrets =
            (Nonce::new("n".to_owned()), PkceCodeVerifier::new("v".repeat(43)), "/".to_owned());
        all.add(state, "browser", Some(client.into()), secrets);
    }

    #[tokio::test(start_paused = true)]
    async fn state_counts_once_for_its_browser_and_within_ten_minutes() {
        let all = SignIns::default();
        for state in ["used", "stolen", "late"] {
            add(&all, state, [10, 0, 0, 1]);
        }
        assert!(all.take("used", Some("browser")).is_some());
        assert!(all.take("used", Some("browser")).is_none());
        assert!(all.take("stolen", Some("other")).is_none());
        assert!(all.take("stolen", Some("browser")).is_none(), "a stolen state is gone");
        tokio::time::advance(EXPIRY).await;
        assert!(all.take("late", Some("browser")).is_none());
        add(&all, "next", [10, 0, 0, 1]);
        assert_eq!(all.0.lock().len(), 1, "expired sign-ins are forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn number_is_bounded_for_each_address_and_in_total() {
        let all = SignIns::default();
        add(&all, "of another", [10, 0, 0, 2]);
        for n in 0..=MAX_PER_ADDRESS {
            tokio::time::advance(Duration::from_millis(1)).await;
            add(&all, &format!("{n}"), [10, 0, 0, 1]);
        }
        assert_eq!(all.0.lock().len(), MAX_PER_ADDRESS + 1);
        assert!(
            all.take("0", Some("browser")).is_none(),
            "the oldest one of the address is forgotten"
        );
        assert!(all.take("1", Some("browser")).is_some());
        for n in 0..MAX {
            let [.., a, b] = u32::try_from(n).unwrap().to_be_bytes();
            add(&all, &format!("of {n}"), [10, 1, a, b]);
        }
        assert_eq!(all.0.lock().len(), MAX);
        assert!(all.take("of another", Some("browser")).is_none());
    }
}
