//! Who this process is: its server and the name of each of its lives.

use std::collections::VecDeque;

use coordination::{InvalidName, ServerIp, instance_id};
use parking_lot::Mutex;
use reg_center::SessionId;
use sharding::InstanceId;

use crate::seams::Randomness;

/// How many characters make two lives with the same process id different.
const SUFFIX_LENGTH: usize = 5;

/// How many lives are remembered. Jobs hear of a new session one after the other, but none is this many behind.
const MAX_REMEMBERED: usize = 16;

/// The lives of one process: another one per session, so that what an earlier one left is never taken for its own.
#[derive(Debug)]
pub(crate) struct Lives {
    server: ServerIp,
    /// What the name of every life begins with.
    stem: String,
    /// Whether the first life has a suffix too.
    suffix_first: bool,
    /// The latest lives by session, the newest last.
    known: Mutex<VecDeque<(SessionId, InstanceId)>>,
}

impl Lives {
    /// Names each life by the process id and a random suffix: `4123-k3f9a`.
    pub(crate) fn of_process(server: ServerIp) -> Self {
        let stem = std::process::id().to_string();
        Self { server, stem, suffix_first: true, known: Mutex::default() }
    }

    /// Names the first life as given and adds a suffix to every later one.
    pub(crate) fn named(server: ServerIp, stem: String) -> Result<Self, InvalidName> {
        instance_id(&server, &stem)?;
        Ok(Self { server, stem, suffix_first: false, known: Mutex::default() })
    }

    pub(crate) fn server(&self) -> &ServerIp {
        &self.server
    }

    /// Returns the id in this session: the same for all jobs of the process, in whatever order they hear of sessions,
    /// and another one in every session.
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
        let life = if plain {
            self.stem.clone()
        } else {
            format!("{}-{}", self.stem, suffix(randomness.next_u64()))
        };
        instance_id(&self.server, &life).expect("the stem was checked and the suffix is plain")
    }
}

/// Writes the low end of a number in base 36.
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
    fn a_life_lasts_as_long_as_its_session() {
        let pid = std::process::id();
        let rows = [
            (
                "of the process",
                Lives::of_process(server()),
                [format!("10.0.0.7@-@{pid}-00000"), format!("10.0.0.7@-@{pid}-10000")],
            ),
            (
                "named",
                Lives::named(server(), "blue".into()).unwrap(),
                ["10.0.0.7@-@blue".to_owned(), "10.0.0.7@-@blue-00000".to_owned()],
            ),
        ];
        for (case, lives, [first, second]) in rows {
            let random = Counter::default();
            let in_session = |n| lives.in_session(SessionId(n), &random).to_string();
            let seen = [in_session(1), in_session(1), in_session(2)];
            assert_eq!(seen, [first.clone(), first, second], "{case}");
        }
    }

    #[test]
    fn all_jobs_have_the_same_id_in_a_session_in_whatever_order_they_hear_of_it() {
        let rows = [
            ("one after the other", vec![1, 1, 2, 2], 2),
            ("one job is a session behind", vec![1, 2, 1, 2, 1], 2),
            ("one job is two sessions behind", vec![1, 2, 3, 1, 3, 2, 1], 3),
        ];
        for (case, heard, n_sessions) in rows {
            let (lives, random) =
                (Lives::named(server(), "blue".into()).unwrap(), Counter::default());
            let mut seen: Vec<_> =
                heard.iter().map(|n| (*n, lives.in_session(SessionId(*n), &random))).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), n_sessions, "{case}: {seen:?}");
        }
    }

    #[test]
    fn only_the_latest_lives_are_remembered_and_no_id_is_ever_used_again() {
        let (lives, random) = (Lives::named(server(), "blue".into()).unwrap(), Counter::default());
        let rounds = 0..2 * i64::try_from(MAX_REMEMBERED).unwrap();
        let mut ids: Vec<_> = rounds.map(|n| lives.in_session(SessionId(n), &random)).collect();
        // Forgotten long ago: a new life.
        ids.push(lives.in_session(SessionId(0), &random));
        assert_eq!(lives.known.lock().len(), MAX_REMEMBERED);
        let n_ids = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), n_ids);
    }

    #[test]
    fn a_name_that_would_not_survive_the_wire_is_refused() {
        for (case, stem) in [("empty", ""), ("slash", "a/b"), ("delimiter", "1@-@2")] {
            assert!(Lives::named(server(), stem.into()).is_err(), "{case}");
        }
    }
}
