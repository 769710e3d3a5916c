//! Names of processes, so that one can see that another one on the same host has ended.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;

/// A process, by its host's boot, its process namespace, its number and its start time. No other
/// process ever has the same name.
///
/// Process numbers are valid in one namespace only: processes in two containers can have the same
/// number, and one cannot see if the other lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessName {
    /// Boot of the host, process namespace and user: processes that agree on it can see each other.
    /// A system may hide the processes of other users.
    place: String,
    id: u32,
    started: String,
}

impl ProcessName {
    /// Returns the name of this process; `None` if the system does not report it.
    pub(crate) fn own() -> Option<Self> {
        let id = std::process::id();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
        let user = fs::metadata("/proc/self").ok()?.uid();
        let place = format!("{}/{}/{user}", boot.trim(), namespace.display());
        Some(Self { place, id, started: start_time(id).ok()?? })
    }

    /// Parses the stored form; `None` if it is not the name of a process.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (place, id, started) = (words.next()?, words.next()?, words.next()?);
        let name =
            Self { place: place.to_owned(), id: id.parse().ok()?, started: started.to_owned() };
        words.next().is_none().then_some(name)
    }

    /// Returns true if `self` can see that the other process has ended. False says nothing: the
    /// other one may be on another host, or the system did not answer.
    pub(crate) fn sees_end_of(&self, other: &Self) -> bool {
        let runs_still = |started: Option<String>| started.as_ref() == Some(&other.started);
        self.place == other.place && start_time(other.id).is_ok_and(|started| !runs_still(started))
    }
}

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.place, self.id, self.started)
    }
}

/// Returns the start time of a process, in clock ticks since the boot; `None` if there is no such
/// process, or it has ended and its parent has not noticed yet.
fn start_time(id: u32) -> io::Result<Option<String>> {
    let stat = match fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // The second field is the program's name in parentheses, which may contain anything. The state
    // and the start time are fields 3 and 22.
    let fields: Vec<_> = match stat.rsplit_once(") ") {
        Some((_, fields)) => fields.split(' ').collect(),
        None => return Err(ErrorKind::InvalidData.into()),
    };
    match (fields.first(), fields.get(19)) {
        (Some(&("Z" | "X")), _) => Ok(None),
        (Some(_), Some(started)) => Ok(Some((*started).to_owned())),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_the_end_of_another_one_but_not_of_one_elsewhere() {
        let own = ProcessName::own().unwrap();
        assert_eq!(ProcessName::parse(&own.to_string()), Some(own.clone()));
        assert!(!own.sees_end_of(&own));

        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let started = start_time(child.id()).unwrap().unwrap();
        let other = ProcessName { id: child.id(), started, ..own.clone() };
        assert!(!own.sees_end_of(&other), "it lives");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(own.sees_end_of(&other));
        let elsewhere = ProcessName { place: "other".to_owned(), ..other };
        assert!(!own.sees_end_of(&elsewhere), "its processes cannot be seen");
        let reused = ProcessName { started: "1".to_owned(), ..own.clone() };
        assert!(own.sees_end_of(&reused), "its number belongs to this process now");
    }

    #[test]
    fn other_texts_are_no_names() {
        for text in ["", "a", "a b c", "a 1", "a 1 2 3"] {
            assert_eq!(ProcessName::parse(text), None, "{text}");
        }
    }
}
