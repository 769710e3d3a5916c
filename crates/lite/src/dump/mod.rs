//! The dump port: what the registry holds of a job, as text, for people and for the Java client.

mod listener;
mod mask;
mod request;
mod text;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use coordination::{InvalidConfig, JobName};

pub use listener::DumpListener;

use crate::Result;

/// How [`Scheduler::listen_for_dumps`](crate::Scheduler::listen_for_dumps) answers.
///
/// | option | default |
/// |---|---|
/// | [`on_port`](Self::on_port), [`at`](Self::at) | the loopback address 127.0.0.1 |
/// | [`job`](Self::job) | none: a request has to name its job |
/// | [`max_connections`](Self::max_connections) | 4 |
/// | [`deadline`](Self::deadline) | 10 s |
/// | [`max_bytes`](Self::max_bytes) | 16 MiB |
///
/// # Examples
/// ```
/// use lite::DumpOptions;
///
/// // What Java 3.x calls a snapshot port, for all jobs, and what Java 2.1.5 calls a monitor port, for one.
/// let all_jobs = DumpOptions::on_port(9888);
/// let one_job = DumpOptions::at("10.0.0.7:9889".parse()?).job("report");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DumpOptions {
    address: SocketAddr,
    job: Option<String>,
    max_connections: usize,
    deadline: Duration,
    max_bytes: usize,
}

impl DumpOptions {
    /// Listens on this port of 127.0.0.1, so that only processes of this host can ask. 0 is any free port.
    #[must_use]
    pub fn on_port(port: u16) -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Listens at this address. Whoever can connect to it can read everything that the registry holds of any job,
    /// passwords in its configuration included: nobody is asked who they are.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            job: None,
            max_connections: 4,
            deadline: Duration::from_secs(10),
            max_bytes: 16 << 20,
        }
    }

    /// Says which job a request means that names none, as requests to Java 2.1.5 do: `dump`, in any case.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Sets the number of open connections, at least 1. If all are taken, the oldest one that has not sent its request is
    /// closed for the next; if all are being answered, the next waits.
    #[must_use]
    pub fn max_connections(mut self, max: usize) -> Self {
        self.max_connections = max;
        self
    }

    /// Sets how long one exchange may take, from the connection to the last byte of the answer; then the connection is
    /// closed. The request has at most 5 s of it. If the registry takes more than three quarters of it, the answer is an
    /// error.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets how long an answer may be, in bytes. A job that has more is answered with an error that says so.
    #[must_use]
    pub fn max_bytes(mut self, max: usize) -> Self {
        self.max_bytes = max;
        self
    }

    fn checked(self) -> Result<Checked> {
        if self.max_connections == 0 {
            return Err(InvalidConfig::new("max_connections", 0, "1 or more").into());
        }
        let job = self.job.as_deref().map(JobName::new).transpose()?;
        Ok(Checked { job, options: self })
    }
}

/// Options whose values can be used.
#[derive(Clone, Debug)]
struct Checked {
    options: DumpOptions,
    job: Option<JobName>,
}
