//! One PostgreSQL server in a process of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::{POLL_INTERVAL, ServerProcess, hand_over, write_private};

use crate::{Error, Installation, ServerOptions};

/// The port of each server, on an address of its own.
pub(crate) const PORT: u16 = 5432;
/// The user that owns the server's databases.
pub(crate) const SUPERUSER: &str = "postgres";
/// The database that each server has from the start.
const DATABASE: &str = "postgres";
/// Longest wait after SIGINT, which is the fast shutdown.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Settings of all servers. They are small, because several servers run on a test machine.
const SETTINGS: [&str; 8] = [
    "unix_socket_directories=",
    "shared_buffers=32MB",
    "max_connections=200",
    "wal_level=replica",
    "hot_standby=on",
    "max_wal_senders=4",
    "log_line_prefix=%m [%p] ",
    "lc_messages=C",
];

/// A PostgreSQL server in its own process, with its own loopback address and its own data.
///
/// The address stays the same for the life of the value, through any number of
/// [restarts](Server::restart), and so do the data. Dropping the value kills the server and removes
/// the data. If this process is killed, the kernel kills the server too. A server may be kept in a
/// `static` and shared by all tests of a program.
///
/// All methods block the calling thread.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), postgres_fixture::Error> {
/// let mut server = postgres_fixture::Server::start()?;
/// println!("{}", server.url());
/// assert_eq!(server.query("SELECT 1 + 1")?, "2");
/// server.kill()?;
/// server.restart()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    pub(crate) process: ServerProcess,
    pub(crate) installation: Installation,
    pub(crate) options: ServerOptions,
}

impl Server {
    /// Starts a server with the default options, and waits until it serves: about two seconds.
    ///
    /// # Errors
    /// Those of [`Installation::ensure`]; [`Error::NotReady`] and [`Error::Exited`],
    /// both with the end of the server's log; and those of the operating system.
    pub fn start() -> Result<Server, Error> {
        Server::start_with(&ServerOptions::default())
    }

    /// Starts a server with `options`, and waits until it serves.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(options: &ServerOptions) -> Result<Server, Error> {
        let mut server = Server::prepare(&Installation::ensure()?, options)?;
        server.initialize()?;
        server.restart()?;
        Ok(server)
    }

    /// Reserves the address and the folder, without starting a process.
    pub(crate) fn prepare(
        installation: &Installation,
        options: &ServerOptions,
    ) -> Result<Server, Error> {
        let server = Server {
            process: ServerProcess::reserve(PORT)?,
            installation: installation.clone(),
            options: options.clone(),
        };
        hand_over(server.process.folder())?;
        Ok(server)
    }

    /// Creates the data folder.
    fn initialize(&self) -> Result<(), Error> {
        let mut initdb = self.installation.command("initdb")?;
        initdb.arg("--pgdata").arg(self.data()).args(["--username", SUPERUSER]);
        initdb.args(["--encoding=UTF8", "--no-locale", "--no-sync", "--auth=trust"]);
        if let Some(password) = &self.options.password {
            let file = self.process.folder().join("password");
            write_private(&file, password)?;
            initdb.arg("--pwfile").arg(file);
        }
        self.process.run("initdb", initdb)?;
        let connections = if self.options.authority.is_some() { "hostssl" } else { "host" };
        let method = if self.options.password.is_some() { "scram-sha-256" } else { "trust" };
        let rules: String = ["all", "replication"]
            .map(|database| format!("{connections} {database} all 127.0.0.0/8 {method}\n"))
            .concat();
        let hba = self.data().join("pg_hba.conf");
        fs::write(&hba, rules).map_err(Error::file("write", &hba))?;
        if let Some(authority) = &self.options.authority {
            self.process.write_certificate(authority, "postgres")?;
        }
        Ok(())
    }

    /// Starts the process and waits until it serves; stops it before if it runs.
    ///
    /// # Errors
    /// As [`Server::start`] and [`Server::stop`].
    pub fn restart(&mut self) -> Result<(), Error> {
        if self.process.is_launched() {
            self.stop()?;
        }
        let deadline = Instant::now() + self.options.ready_within;
        loop {
            self.launch()?;
            match self.wait_until_serving(deadline) {
                // The processes of a killed server take a moment to notice its end.
                Err(Error::Exited { log_tail, .. })
                    if log_tail.contains("shared memory block") && Instant::now() < deadline =>
                {
                    thread::sleep(POLL_INTERVAL * 10);
                }
                served => return served,
            }
        }
    }

    fn launch(&mut self) -> Result<(), Error> {
        let mut command = self.installation.command("postgres")?;
        command.arg("-D").arg(self.data()).args(["-p", &PORT.to_string()]);
        command.args(["-c", &format!("listen_addresses={}", self.process.ip())]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if !self.options.is_durable {
            command.args(["-c", "fsync=off"]);
        }
        if self.options.authority.is_some() {
            let path = |name| self.process.folder().join(name).display().to_string();
            command.args(["-c", "ssl=on"]);
            command.args(["-c", &format!("ssl_cert_file={}", path("server.crt"))]);
            command.args(["-c", &format!("ssl_key_file={}", path("server.key"))]);
        }
        for (name, value) in &self.options.settings {
            command.args(["-c", &format!("{name}={value}")]);
        }
        self.process.launch(command)
    }

    fn wait_until_serving(&mut self, deadline: Instant) -> Result<(), Error> {
        let Self { process, installation, options } = self;
        let limit = deadline.saturating_duration_since(Instant::now());
        let is_serving = |process: &ServerProcess| {
            query(process, installation, options, DATABASE, "SELECT 1").is_ok()
        };
        let served = process.wait_until("serving", limit, is_serving);
        if matches!(served, Err(Error::Exited { .. })) {
            // Reaps it, so that another restart does not stop it first.
            process.kill()?;
        }
        served
    }

    /// Returns the server's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Returns the URL of the database `postgres` for the superuser, without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{SUPERUSER}@{}/postgres", self.address())
    }

    /// Returns the path of the server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.process.log_path()
    }

    /// Executes SQL commands as the superuser in the database `postgres`, and returns their result
    /// without headers: one row a line, with `|` between columns. The commands are one transaction
    /// if they do not say otherwise.
    ///
    /// # Errors
    /// [`Error::Program`] with the server's message.
    pub fn query(&self, sql: &str) -> Result<String, Error> {
        self.query_in(DATABASE, sql)
    }

    /// Executes SQL commands as [`query`](Self::query) does, in another database of the server.
    ///
    /// # Errors
    /// As [`query`](Self::query), also for a missing database.
    pub fn query_in(&self, database: &str, sql: &str) -> Result<String, Error> {
        query(&self.process, &self.installation, &self.options, database, sql)
    }

    /// Stops the server as `pg_ctl stop -m fast` does, and waits up to 30 s for its end.
    ///
    /// # Errors
    /// [`Error::NotRunning`], and [`Error::NotStopped`] for a server that was killed
    /// after 30 s.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.process.interrupt(STOP_LIMIT)
    }

    /// Kills the server (SIGKILL) and waits for its end. Its connections end at the same time.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn kill(&mut self) -> Result<(), Error> {
        self.process.kill()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.process.folder().join("data")
    }
}

fn query(
    process: &ServerProcess,
    installation: &Installation,
    options: &ServerOptions,
    database: &str,
    sql: &str,
) -> Result<String, Error> {
    let mut psql = installation.command("psql")?;
    psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"]);
    psql.args(["--set", "ON_ERROR_STOP=1", "--username", SUPERUSER, "--dbname", database]);
    psql.args(["--host", &process.ip().to_string(), "--port", &PORT.to_string()]);
    psql.args(["--command", sql]).env("PGCONNECT_TIMEOUT", "5");
    if let Some(password) = &options.password {
        psql.env("PGPASSWORD", password);
    }
    process.run("psql", psql)
}
