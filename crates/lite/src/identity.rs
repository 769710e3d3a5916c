//! Identity of this process: its server, and its instance id in each session.

use std::collections::VecDeque;

use coordination::{InvalidName, ServerIp, instance_id};
use parking_lot::Mutex;
use reg_center::SessionId;
use sharding::InstanceId;

use crate::seams::Randomness;

/// Number of random characters that distinguish incarnations of the same process id.
const SUFFIX_LENGTH: usize = 5;

/// Number of incarnations kept. Jobs receive a new session one after the other, but no job is this
/// many sessions behind.
const MAX_REMEMBERED: usize = 16;

/// The incarnations of one process. Each session has its own, so that nodes of an earlier session
/// are never taken for nodes of this one.
#[derive(Debug)]
pub(crate) struct Incarnations {
    server: ServerIp,
    /// Common prefix of the incarnations' names.
    stem: String,
    /// The first incarnation has a suffix too.
    suffix_first: bool,
    /// The latest incarnations by session, the newest last.
    known: Mutex<VecDeque<(SessionId, InstanceId)>>,
}

impl Incarnations {
    /// Names each incarnation by the process id and a random suffix: `4123-k3f9a`.
    pub(crate) fn of_process(server: ServerIp) -> Self {
        let stem = std::process::id().to_string();
        Self { server, stem, suffix_first: true, known: Mutex::default() }
    }

    /// Gives the first incarnation the name `stem`, and adds a suffix to every later one.
    pub(crate) fn named(server: ServerIp, stem: String) -> Result<Self, InvalidName> {
        instance_id(&server, &stem)?;
        Ok(Self { server, stem, suffix_first: false, known: Mutex::default() })
    }

    pub(crate) fn server(&self) -> &ServerIp {
        &self.server
    }

    /// Returns the instance id in a session: the same for all jobs of the process, in whatever
    /// order they receive sessions, and another one in every session.
    pub(crate) fn in_session(&self, session: SessionId, randomness: &dyn Randomness) -> InstanceId {
        let mut known = self.known.lock();
        if let Some((_, id)) = known.iter().find(|(other, _)| *other == session) {
            return id.clone();
        }
        let plain = known.is_empty() && !self.suffix_first;
        let id = self.next(plain, randomness);
        if known.len() == MAX_REMEMBERED {
            known.pop_front();
        }
        known.push_back((session, id.clone()));
        id
    }

    fn next(&self, plain: bool, randomness: &dyn Randomness) -> InstanceId {
        let name = if plain {
            self.stem.clone()
        } else {
            format!("{}-{}", self.stem, suffix(randomness.next_u64()))
        };
        instance_id(&self.server, &name)
            .expect("the stem is validated and the suffix is alphanumeric")
    }
}

/// Formats the lowest digits of a number in base 36.
fn suffix(mut number: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digit = || {
        let digit = DIGITS[(number % 36) as usize];
        number /= 36;
        char::from(digit)
    };
    std::iter::repeat_with(digit).take(SUFFIX_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Counter(AtomicU64);

    impl Randomness for Counter {
        fn next_u64(&self) -> u64 {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
    }

    fn server() -> ServerIp {
        ServerIp::new("10.0.0.7").unwrap()
    }

    #[test]
    fn incarnation_lasts_as_long_as_its_session() {
        let pid = std::process::id();
        let rows = [
            (
                "of the process",
                Incarnations::of_process(server()),
                [format!("10.0.0.7@-@{pid}-00000"), format!("10.0.0.7@-@{pid}-10000")],
            ),
            (
                "named",
                Incarnations::named(server(), "blue".into()).unwrap(),
                ["10.0.0.7@-@blue".to_owned(), "10.0.0.7@-@blue-00000".to_owned()],
            ),
        ];
        for (case, incarnations, [first, second]) in rows {
            let random = Counter::default();
            let in_session = |n| incarnations.in_session(SessionId(n), &random).to_string();
            let seen = [in_session(1), in_session(1), in_session(2)];
            assert_eq!(seen, [first.clone(), first, second], "{case}");
        }
    }

    #[test]
    fn all_jobs_have_the_same_id_in_a_session_in_any_order_of_sessions() {
        let rows = [
            ("one after the other", vec![1, 1, 2, 2], 2),
            ("one job is a session behind", vec![1, 2, 1, 2, 1], 2),
            ("one job is two sessions behind", vec![1, 2, 3, 1, 3, 2, 1], 3),
        ];
        for (case, heard, n_sessions) in rows {
            let (incarnations, random) =
                (Incarnations::named(server(), "blue".into()).unwrap(), Counter::default());
            let mut seen: Vec<_> = heard
                .iter()
                .map(|n| (*n, incarnations.in_session(SessionId(*n), &random)))
                .collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), n_sessions, "{case}: {seen:?}");
        }
    }

    #[test]
    fn only_the_latest_incarnations_are_kept_and_no_id_is_reused() {
        let (incarnations, random) =
            (Incarnations::named(server(), "blue".into()).unwrap(), Counter::default());
        let rounds = 0..2 * i64::try_from(MAX_REMEMBERED).unwrap();
        let mut ids: Vec<_> =
            rounds.map(|n| incarnations.in_session(SessionId(n), &random)).collect();
        // This session was removed from the list, so it gets a new incarnation.
        ids.push(incarnations.in_session(SessionId(0), &random));
        assert_eq!(incarnations.known.lock().len(), MAX_REMEMBERED);
        let n_ids = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), n_ids);
    }

    #[test]
    fn invalid_name_in_the_instance_id_is_rejected() {
        for (case, stem) in [("empty", ""), ("slash", "a/b"), ("delimiter", "1@-@2")] {
            assert!(Incarnations::named(server(), stem.into()).is_err(), "{case}");
        }
    }
}
