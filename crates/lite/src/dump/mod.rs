//! The dump port: the nodes of a job as text, for operators and for the Java client.

mod listener;
mod mask;
mod request;
mod text;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use coordination::{InvalidConfig, JobName};

pub use listener::DumpListener;

use crate::Result;

/// Options of [`Scheduler::listen_for_dumps`](crate::Scheduler::listen_for_dumps).
///
/// | option | default |
/// |---|---|
/// | [`on_port`](Self::on_port), [`at`](Self::at) | the loopback address 127.0.0.1 |
/// | [`job`](Self::job) | none: a request has to name its job |
/// | [`job`](Self::job) | none: each request must name its job |
/// | [`deadline`](Self::deadline) | 10 s |
/// | [`max_bytes`](Self::max_bytes) | 16 MiB |
///
/// # Examples
/// ```
/// use lite::DumpOptions;
///
/// // Java 3.x calls the port of all jobs a snapshot port. 2.1.5 has a monitor port for one job.
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
    /// Listens on this port of 127.0.0.1, so that only processes on this host can connect. With 0
    /// the operating system chooses a free port.
    #[must_use]
    pub fn on_port(port: u16) -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Listens on this address. There is no authentication: every client that can connect can read
    /// all nodes of any job, including passwords in its configuration.
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

    /// Sets the job for requests that name none. Requests to Java 2.1.5 are such: `dump` in any
    /// letter case.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Sets the maximum number of open connections, at least 1. If all are in use, the next
    /// connection closes the oldest one that has not sent its request. If all are being answered,
    /// the next connection waits.
    #[must_use]
    pub fn max_connections(mut self, max: usize) -> Self {
        self.max_connections = max;
        self
    }

    /// Sets the limit of one exchange, from the connection to the last byte of the answer. After it
    /// the connection is closed. The request may take at most 5 s of it. If the registry takes more
    /// than three quarters of it, the answer is an error.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the maximum length of an answer in bytes. A longer dump is answered with an error.
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

/// Options that were validated.
#[derive(Clone, Debug)]
struct Checked {
    options: DumpOptions,
    job: Option<JobName>,
}
