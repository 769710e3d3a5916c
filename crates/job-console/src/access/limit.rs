//! Limits of failed sign-ins, by user name and by address.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::secret::digest;

/// Most names, and most addresses, that are remembered.
const MAX_KEYS: usize = 10_000;

/// Time after which failures are forgotten. Longer than [`LONGEST`].
const FORGET: Duration = Duration::from_secs(3600);

const LONGEST: Duration = Duration::from_secs(300);

/// Failures of one user name before the delay begins.
const FREE_BY_NAME: u32 = 5;

/// Failures from one address before the delay begins. Many users may share an address.
const FREE_BY_ADDRESS: u32 = 20;

/// Failed sign-ins. The delay doubles with each failure, from one second to five minutes.
#[derive(Debug, Default)]
pub(super) struct SignInLimit(Mutex<Tables>);

#[derive(Debug)]
struct Tables {
    /// By the hash of the name, which has a bounded size.
    names: Failures<[u8; 32]>,
    addresses: Failures<Option<IpAddr>>,
}

#[derive(Debug)]
struct Failures<K> {
    free: u32,
    by_key: HashMap<K, Count>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    failures: u32,
    last: Instant,
}

impl Default for Tables {
    fn default() -> Self {
        let (names, addresses) = (Failures::new(FREE_BY_NAME), Failures::new(FREE_BY_ADDRESS));
        Self { names, addresses }
    }
}

impl SignInLimit {
    /// Begins an attempt, which counts as a failure at once, so that simultaneous attempts count.
    /// Returns the time to wait if there were too many.
    ///
    /// A sign-in at an identity provider has no user name before its end.
    pub(super) fn begin(
        &self,
        name: Option<&str>,
        address: Option<IpAddr>,
    ) -> Result<(), Duration> {
        let now = Instant::now();
        let (name, address) = (name.map(digest), network(address));
        let Tables { names, addresses } = &mut *self.0.lock();
        let of_name = name.as_ref().map_or(Duration::ZERO, |name| names.wait(name, now));
        let wait = of_name.max(addresses.wait(&address, now));
        if !wait.is_zero() {
            return Err(wait);
        }
        if let Some(name) = name {
            names.add(name, now);
        }
        addresses.add(address, now);
        Ok(())
    }

    /// Takes back the failure that [`Self::begin`] counted, because no password was checked.
    pub(super) fn withdraw(&self, name: Option<&str>, address: Option<IpAddr>) {
        let Tables { names, addresses } = &mut *self.0.lock();
        if let Some(name) = name {
            names.take_back(&digest(name));
        }
        addresses.take_back(&network(address));
    }

    /// Forgets the failures of a user name, and this one of the address. Other failures of the
    /// address still count, so that one own account is no help to try passwords of others.
    pub(super) fn succeed(&self, name: Option<&str>, address: Option<IpAddr>) {
        let Tables { names, addresses } = &mut *self.0.lock();
        if let Some(name) = name {
            names.by_key.remove(&digest(name));
        }
        addresses.take_back(&network(address));
    }
}

impl<K: Copy + Eq + Hash> Failures<K> {
    fn new(free: u32) -> Self {
        Self { free, by_key: HashMap::new() }
    }

    fn wait(&self, key: &K, now: Instant) -> Duration {
        let Some(count) = self.by_key.get(key) else { return Duration::ZERO };
        delay(count.failures, self.free).saturating_sub(now.duration_since(count.last))
    }

    fn add(&mut self, key: K, now: Instant) {
        if self.by_key.len() >= MAX_KEYS && !self.by_key.contains_key(&key) {
            self.make_room(now);
        }
        let count = self.by_key.entry(key).or_insert(Count { failures: 0, last: now });
        if now.duration_since(count.last) >= FORGET {
            count.failures = 0;
        }
        *count = Count { failures: count.failures.saturating_add(1), last: now };
    }

    fn take_back(&mut self, key: &K) {
        let Some(count) = self.by_key.get_mut(key) else { return };
        count.failures = count.failures.saturating_sub(1);
        if count.failures == 0 {
            self.by_key.remove(key);
        }
    }

    fn make_room(&mut self, now: Instant) {
        self.by_key.retain(|_, count| now.duration_since(count.last) < FORGET);
        if self.by_key.len() < MAX_KEYS {
            return;
        }
        // A name or an address with many failures stays: others can be made up at will.
        let least = self.by_key.iter().min_by_key(|(_, count)| (count.failures, count.last));
        if let Some(key) = least.map(|(key, _)| *key) {
            self.by_key.remove(&key);
        }
    }
}

fn delay(failures: u32, free: u32) -> Duration {
    match failures.checked_sub(free) {
        None => Duration::ZERO,
        Some(n) => Duration::from_secs(1 << n.min(9)).min(LONGEST),
    }
}

/// Returns an address, or the network of an IPv6 address: one client can use all addresses of it.
pub(super) fn network(address: Option<IpAddr>) -> Option<IpAddr> {
    Some(match address? {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn delay_of_a_name_doubles_up_to_five_minutes_and_ends_with_a_success() {
        let limit = SignInLimit::default();
        for n in 0..FREE_BY_NAME {
            assert_eq!(limit.begin(Some("anna"), address(&format!("10.0.0.{n}"))), Ok(()));
        }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(limit.begin(Some("anna"), address("10.0.1.1")), Err(wait));
            assert_eq!(limit.begin(Some("bob"), address("10.0.1.2")), Ok(()));
            limit.succeed(Some("bob"), address("10.0.1.2"));
            tokio::time::advance(wait).await;
            assert_eq!(limit.begin(Some("anna"), address("10.0.1.1")), Ok(()));
        }
        limit.succeed(Some("anna"), address("10.0.1.1"));
        assert_eq!(limit.begin(Some("anna"), address("10.0.1.1")), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_an_address_count_across_names_and_successes() {
        let limit = SignInLimit::default();
        for n in 0..FREE_BY_ADDRESS {
            assert_eq!(limit.begin(Some("own"), address("2001:db8::1")), Ok(()));
            limit.succeed(Some("own"), address("2001:db8::1"));
            assert_eq!(limit.begin(Some(&n.to_string()), address("2001:db8::1")), Ok(()));
        }
        let wait = Duration::from_secs(1);
        assert_eq!(limit.begin(Some("another"), address("2001:db8::2")), Err(wait));
        assert_eq!(limit.begin(Some("another"), address("2001:db8:0:1::2")), Ok(()));
        tokio::time::advance(FORGET).await;
        for n in 0..FREE_BY_ADDRESS {
            assert_eq!(limit.begin(Some(&n.to_string()), address("2001:db8::1")), Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_keeps_the_most_failures() {
        let limit = SignInLimit::default();
        for _ in 0..FREE_BY_NAME {
            assert_eq!(limit.begin(Some("anna"), address("10.0.0.1")), Ok(()));
        }
        for n in 0..MAX_KEYS + 100 {
            let from = Ipv6Addr::from(u128::try_from(n).unwrap() << 64);
            assert_eq!(limit.begin(Some(&n.to_string()), Some(from.into())), Ok(()));
        }
        assert!(limit.begin(Some("anna"), address("10.0.0.2")).is_err());
        let Tables { names, addresses } = &*limit.0.lock();
        assert_eq!((names.by_key.len(), addresses.by_key.len()), (MAX_KEYS, MAX_KEYS));
    }

    #[tokio::test]
    async fn withdrawn_attempt_does_not_count() {
        let limit = SignInLimit::default();
        for _ in 0..100 {
            assert_eq!(limit.begin(Some("anna"), None), Ok(()));
            limit.withdraw(Some("anna"), None);
        }
    }
}
