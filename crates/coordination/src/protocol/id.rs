//! Names and identities: jobs, servers, instances, runs.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reg_center::NodePath;
use sharding::{InstanceId, ShardingItem};

use crate::shortened;

/// Delimiter of the two parts of an instance id on the wire.
pub const ID_DELIMITER: &str = "@-@";

/// Maximum length of a job name, in bytes.
pub const MAX_JOB_NAME_BYTES: usize = 128;

/// The name of a job, usable as a node name and in task ids.
///
/// At most 128 bytes, without `@-@`, and valid as one name of a [`NodePath`]: not empty, not `.` or
/// `..`, and without `/`, control, private and special characters and characters beyond U+FFFF
/// (such as emoji).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobName(Arc<str>);

impl JobName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidName`] names the value and the rule that it breaks.
    ///
    /// # Examples
    /// ```
    /// use coordination::JobName;
    ///
    /// assert_eq!(JobName::new("月报")?.as_str(), "月报");
    /// assert!(JobName::new("a/b").is_err());
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        match node_name_fault(name) {
            Some(reason) => Err(InvalidName::new("job name", name, reason)),
            None => Ok(Self(Arc::from(name))),
        }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the rule that a name of a job or a group breaks.
pub(super) fn node_name_fault(name: &str) -> Option<&'static str> {
    if name.len() > MAX_JOB_NAME_BYTES {
        Some("it is longer than 128 bytes")
    } else if name.contains(ID_DELIMITER) {
        Some("it contains \"@-@\", which separates the parts of a task id")
    } else {
        NodePath::root().join(name).err().map(|error| error.reason())
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// A host, by its IP literal.
///
/// Java instances react to IPv4 addresses only. Rust instances accept IPv6, too.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerIp(Arc<str>);

impl ServerIp {
    /// Checks an IP literal.
    ///
    /// # Errors
    /// [`InvalidName`] if the text is not an IPv4 or IPv6 address.
    pub fn new(ip: &str) -> Result<Self, InvalidName> {
        match ip.parse::<std::net::IpAddr>() {
            Ok(_) => Ok(Self(Arc::from(ip))),
            Err(_) => {
                Err(InvalidName::new("server ip", ip, "it is not an IP address such as 10.0.0.7"))
            }
        }
    }

    /// Returns the literal as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// Returns the id of one incarnation of a process: `{ip}@-@{incarnation}`.
///
/// `incarnation` must be unique for each session, for example the process id and a random suffix,
/// `4123-k3f9`. A process id alone repeats: it is often 1 in a container, and pod addresses are
/// reused.
///
/// # Errors
/// [`InvalidName`] if `incarnation` is empty, contains `@-@`, or is not valid in a node name.
pub fn instance_id(server: &ServerIp, incarnation: &str) -> Result<InstanceId, InvalidName> {
    let id = format!("{server}{ID_DELIMITER}{incarnation}");
    let fault = if incarnation.is_empty() {
        Some("it is empty")
    } else if incarnation.contains(ID_DELIMITER) {
        Some("it contains \"@-@\"")
    } else {
        NodePath::root().join(&id).err().map(|error| error.reason())
    };
    match fault {
        Some(reason) => {
            Err(InvalidName { kind: "instance id", value: incarnation.to_owned(), reason })
        }
        None => Ok(InstanceId::new(id)),
    }
}

/// Returns the server part of an instance id. `None` if the id does not have the form
/// `{ip}@-@{incarnation}`.
#[must_use]
pub fn server_of(instance: &InstanceId) -> Option<ServerIp> {
    let (ip, incarnation) = instance.as_str().split_once(ID_DELIMITER)?;
    // `instance_id` makes no such ids: they come from damaged or unrelated nodes.
    if incarnation.is_empty() || incarnation.contains(ID_DELIMITER) {
        return None;
    }
    ServerIp::new(ip).ok()
}

/// Scheduled fire time, in milliseconds since 1970 UTC. It identifies the fire and is not the time
/// at which a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FireTime(pub i64);

impl FireTime {
    /// Returns the identity of a manual request of this time: the first odd number from `ms` on, in
    /// milliseconds since 1970 UTC.
    ///
    /// Scheduled fires come on whole seconds, so that no request has the identity of a fire.
    #[must_use]
    pub fn of_request(ms: i64) -> Self {
        Self(ms | 1)
    }

    /// Returns the whole second that contains this time.
    pub(crate) fn whole_second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000))
    }

    /// Converts a time to whole milliseconds, rounded towards 1970.
    pub(crate) fn of(time: SystemTime) -> Self {
        let ms = |since: Duration| i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Self(match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => ms(since),
            Err(before) => -ms(before.duration()),
        })
    }
}

/// RFC 3339 time in UTC: `2024-02-29T12:00:00Z`, or `2024-02-29T12:00:00.001Z` for a request.
///
/// Damaged records can hold times beyond the calendar. They are shown as milliseconds since 1970
/// UTC.
impl fmt::Display for FireTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{} ms since 1970", self.0),
        }
    }
}

/// The fencing token of a run: greater than that of every earlier run of the same item.
///
/// [`UNFENCED`](Self::UNFENCED) means that the job is not monitored and its runs are not fenced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub u64);

impl FencingToken {
    /// Stands in commands, events and logs for the missing token of a run of an unmonitored job.
    /// A claim writes at least token 1.
    pub const UNFENCED: Self = Self(0);

    /// Greatest token in a record: the greatest signed 64-bit integer, which every store can hold.
    pub const MAX: Self = Self(i64::MAX.unsigned_abs());

    /// Returns the token of the next run. At one run per nanosecond [`MAX`](Self::MAX) is reached
    /// after 292 years.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Returns the task id of a run in ElasticJob's form:
/// `{job}@-@{item}@-@READY@-@{ip}@-@{incarnation}`.
#[must_use]
pub fn task_id(job: &JobName, item: ShardingItem, instance: &InstanceId) -> String {
    format!("{job}{ID_DELIMITER}{item}{ID_DELIMITER}READY{ID_DELIMITER}{instance}")
}

/// A name, id or label that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {value:?} is not valid: {reason}")]
pub struct InvalidName {
    kind: &'static str,
    value: String,
    reason: &'static str,
}

impl InvalidName {
    pub(crate) fn new(kind: &'static str, value: &str, reason: &'static str) -> Self {
        Self { kind, value: shortened(value), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_names_that_are_no_node_names_are_rejected() {
        let rows = [
            ("plain", "report", true),
            ("Unicode", "作业", true),
            ("beyond the basic plane", "作业🚀", false),
            ("regex characters", "a+b[1]", true),
            ("empty", "", false),
            ("slash", "a/b", false),
            ("delimiter", "a@-@b", false),
            ("dots", "..", false),
            ("replacement character", "report\u{FFFD}", false),
            ("private character", "report\u{E000}", false),
            ("line break", "a\nb", false),
        ];
        for (case, name, valid) in rows {
            assert_eq!(JobName::new(name).is_ok(), valid, "{case}");
        }
        assert!(JobName::new(&"x".repeat(MAX_JOB_NAME_BYTES)).is_ok());
        assert!(JobName::new(&"x".repeat(MAX_JOB_NAME_BYTES + 1)).is_err());
    }

    #[test]
    fn fire_times_are_shown_as_utc_times() {
        let rows = [
            (1_709_208_000_000, "2024-02-29T12:00:00Z"),
            (1_709_208_000_001, "2024-02-29T12:00:00.001Z"),
            (-1_000, "1969-12-31T23:59:59Z"),
            (i64::MAX, "9223372036854775807 ms since 1970"),
        ];
        for (ms, shown) in rows {
            assert_eq!(FireTime(ms).to_string(), shown);
        }
    }

    #[test]
    fn incarnations_that_are_not_valid_in_node_names_are_rejected() {
        let server = ServerIp::new("10.0.0.1").unwrap();
        let rows = [
            ("process and suffix", "4123-k3f9", true),
            ("empty", "", false),
            ("slash", "7/8", false),
            ("delimiter", "7@-@8", false),
            ("line break", "7\n", false),
            ("private character", "7-\u{E000}", false),
        ];
        for (case, incarnation, valid) in rows {
            assert_eq!(instance_id(&server, incarnation).is_ok(), valid, "{case}");
        }
    }

    #[test]
    fn the_server_part_of_an_instance_id_is_parsed_as_a_whole() {
        let server = |id: &str| server_of(&InstanceId::new(id)).map(|s| s.to_string());
        let rows = [
            ("Java form", "10.0.0.1@-@4123", Some("10.0.0.1")),
            ("form of this project", "10.0.0.10@-@4123-k3f9", Some("10.0.0.10")),
            ("no delimiter", "10.0.0.1", None),
            ("two delimiters", "10.0.0.1@-@1@-@2", None),
            ("no ip", "host@-@1", None),
            ("no incarnation", "10.0.0.1@-@", None),
        ];
        for (case, id, expected) in rows {
            assert_eq!(server(id).as_deref(), expected, "{case}");
        }
    }
}
