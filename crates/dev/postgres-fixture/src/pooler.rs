//! PgBouncer in front of a server.

use std::env;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::{POLL_INTERVAL, ServerProcess};

use crate::server::{PORT, SUPERUSER};
use crate::{Error, Server};

/// The port of each pooler, on an address of its own.
const POOLER_PORT: u16 = 6432;
/// Debian's place of the program.
const DEBIAN: &str = "/usr/sbin/pgbouncer";
/// Longest wait for the pooler to accept connections.
const READY_LIMIT: Duration = Duration::from_secs(60);

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
    /// Finds the program: the file in the environment variable `PGBOUNCER`, else Debian's.
    ///
    /// # Errors
    /// [`Error::NoPooler`] with the searched place and the command that installs it.
    pub fn locate() -> Result<PathBuf, Error> {
        let program = env::var_os("PGBOUNCER").map_or_else(|| DEBIAN.into(), PathBuf::from);
        if program.is_file() { Ok(program) } else { Err(Error::NoPooler { searched: program }) }
    }

    /// Starts a pooler in front of a server, and waits until it accepts connections.
    ///
    /// The server must trust its users, as it does without
    /// [`password`](crate::ServerOptions::password) and [`tls`](crate::ServerOptions::tls).
    ///
    /// # Errors
    /// Those of [`locate`](Self::locate); [`NotReady`](crate::SharedError::NotReady) and
    /// [`Exited`](crate::SharedError::Exited), both with the end of the pooler's log; and those of
    /// the operating system.
    pub fn start(server: &Server) -> Result<Self, Error> {
        let program = Self::locate()?;
        let mut pooler = Self { process: ServerProcess::reserve(POOLER_PORT)? };
        let folder = pooler.process.folder().to_owned();
        server.installation.hand_over(&folder)?;
        let users = folder.join("users.txt");
        server.installation.write_file(&users, &format!("\"{SUPERUSER}\" \"\"\n"))?;
        let settings = folder.join("pgbouncer.ini");
        server.installation.write_file(&settings, &pooler.settings(server, &users))?;
        let mut command = server.installation.command(&program);
        command.arg(&settings);
        pooler.process.launch(command)?;
        pooler.wait_until_listening()?;
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

    fn wait_until_listening(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + READY_LIMIT;
        while TcpStream::connect(self.address()).is_err() {
            self.process.fail_if_exited()?;
            if Instant::now() >= deadline {
                return Err(self.process.not_ready("listening", READY_LIMIT).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Returns the pooler's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }
}
