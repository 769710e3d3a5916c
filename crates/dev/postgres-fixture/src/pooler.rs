//! PgBouncer in front of a server.

use std::env;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use server_fixture::{Packages, ServerProcess, hand_over, unprivileged, write_private};

use crate::server::{PORT, SUPERUSER};
use crate::{Error, Server};

/// The port of each pooler, on an address of its own.
const POOLER_PORT: u16 = 6432;
/// Debian's place of the program.
const DEBIAN: &str = "/usr/sbin/pgbouncer";
/// Longest wait for the pooler to accept connections.
const READY_LIMIT: Duration = Duration::from_secs(60);

const PACKAGES: Packages = Packages {
    server: "PgBouncer",
    names: &["pgbouncer"],
    files: &[],
    has_service: true,
    variable: "PGBOUNCER",
    alternative: "let PGBOUNCER name the program",
};

/// A PgBouncer in transaction mode, with its own process and its own loopback address.
///
/// Each transaction of a client may have another connection to the server. Only the user `postgres`
/// can connect. Dropping the value kills the process. If this process is killed, the kernel kills
/// the pooler too.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), postgres_fixture::Error> {
/// let server = postgres_fixture::Server::start()?;
/// let pooler = postgres_fixture::Pooler::start(&server)?;
/// println!("postgres://postgres@{}/postgres", pooler.address());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Pooler {
    process: ServerProcess,
}

impl Pooler {
    /// Finds the program, which is the file in the environment variable `PGBOUNCER`, else Debian's,
    /// and installs Debian's `pgbouncer` if there is none.
    ///
    /// An installation needs root or `sudo -n`. It does not start the service.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] with the searched place and the failed attempt to install.
    pub fn ensure() -> Result<PathBuf, Error> {
        PACKAGES.ensure(|| {
            let program = env::var_os("PGBOUNCER").map_or_else(|| DEBIAN.into(), PathBuf::from);
            let missing = || PACKAGES.missing(vec![program.display().to_string()]);
            if program.is_file() { Ok(program) } else { Err(missing()) }
        })
    }

    /// Starts a pooler in front of a server, and waits until it accepts connections.
    ///
    /// The server must trust its users, as it does without
    /// [`password`](crate::ServerOptions::password) and [`tls`](crate::ServerOptions::tls).
    ///
    /// # Errors
    /// Those of [`ensure`](Self::ensure); [`Error::NotReady`] and [`Error::Exited`], both with the
    /// end of the pooler's log; and those of the operating system.
    pub fn start(server: &Server) -> Result<Self, Error> {
        let program = Self::ensure()?;
        let mut pooler = Self { process: ServerProcess::reserve(POOLER_PORT)? };
        let folder = pooler.process.folder().to_owned();
        hand_over(&folder)?;
        let users = folder.join("users.txt");
        write_private(&users, &format!("\"{SUPERUSER}\" \"\"\n"))?;
        let settings = folder.join("pgbouncer.ini");
        write_private(&settings, &pooler.settings(server, &users))?;
        let mut command = unprivileged(&program)?;
        command.arg(&settings);
        pooler.process.launch(command)?;
        let listens = |process: &ServerProcess| TcpStream::connect(process.address()).is_ok();
        pooler.process.wait_until("listening", READY_LIMIT, listens)?;
        Ok(pooler)
    }

    fn settings(&self, server: &Server, users: &Path) -> String {
        format!(
            "[databases]\n\
             * = host={} port={PORT}\n\
             [pgbouncer]\n\
             listen_addr = {}\n\
             listen_port = {POOLER_PORT}\n\
             unix_socket_dir =\n\
             auth_type = trust\n\
             auth_file = {}\n\
             pool_mode = transaction\n\
             max_client_conn = 1000\n",
            server.address().ip(),
            self.process.ip(),
            users.display()
        )
    }

    /// Returns the pooler's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }
}
