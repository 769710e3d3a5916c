//! One MariaDB server in a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use server_fixture::{ServerProcess, hand_over, write_private};

use crate::{Error, Installation, ServerOptions};

/// The port of each server, on an address of its own.
const PORT: u16 = 3306;
/// The only user, with all rights.
const USER: &str = "root";
/// Longest wait after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Size of the redo log, which is also the size of its file. The default of 96 MiB is written at
/// each start of a test.
const LOG_SIZE: &str = "--innodb-log-file-size=8M";
/// Settings of all servers. They are small, because several servers run on a test machine.
const SETTINGS: [&str; 4] = [
    // No socket in the file system.
    "--socket=",
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=32M",
    "--max-connections=200",
];

/// A MariaDB server in its own process, with its own loopback address and its own data.
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
/// # fn main() -> Result<(), mariadb_fixture::Error> {
/// let mut server = mariadb_fixture::Server::start()?;
/// println!("{}", server.url());
/// assert_eq!(server.query("SELECT 1 + 1")?, "2");
/// server.kill()?;
/// server.restart()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    process: ServerProcess,
    installation: Installation,
    options: ServerOptions,
}

impl Server {
    /// Starts a server with the default options, and waits until it serves: about a second.
    ///
    /// # Errors
    /// Those of [`Installation::ensure`]; [`Error::NotReady`] and [`Error::Exited`], both with the
    /// end of the server's log; and those of the operating system.
    pub fn start() -> Result<Server, Error> {
        Server::start_with(&ServerOptions::default())
    }

    /// Starts a server with `options`, and waits until it serves.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(options: &ServerOptions) -> Result<Server, Error> {
        let mut server = Server {
            process: ServerProcess::reserve(PORT)?,
            installation: Installation::ensure()?,
            options: options.clone(),
        };
        server.initialize()?;
        server.restart()?;
        Ok(server)
    }

    /// Creates the data folder and the files for TLS.
    fn initialize(&self) -> Result<(), Error> {
        hand_over(self.process.folder())?;
        let users_file = self.process.folder().join("users.sql");
        write_private(&users_file, &users(self.options.password.as_deref()))?;
        let mut installer = self.installation.installer(self.process.folder())?;
        installer.arg(LOG_SIZE).arg(format!("--extra-file={}", users_file.display()));
        // No database `test`, and no users of the name of this machine.
        installer.args(["--skip-test-db", "--cross-bootstrap"]);
        self.process.run("mariadb-install-db", installer)?;
        if let Some(authority) = &self.options.authority {
            self.process.write_certificate(authority, "mariadb")?;
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
        self.launch()?;
        let Self { process, installation, options } = self;
        let is_serving =
            |process: &ServerProcess| query(process, installation, options, "SELECT 1").is_ok();
        process.wait_until("serving", options.ready_within, is_serving)
    }

    fn launch(&mut self) -> Result<(), Error> {
        let folder = self.process.folder().display();
        let mut command = self.installation.server(self.process.folder())?;
        command.args(SETTINGS).arg(LOG_SIZE);
        command.arg(format!("--bind-address={}", self.process.ip()));
        command.arg(format!("--port={PORT}"));
        // With 2 a commit is in the cache of the operating system, and survives SIGKILL.
        let flush = if self.options.is_durable { 1 } else { 2 };
        command.arg(format!("--innodb-flush-log-at-trx-commit={flush}"));
        if self.options.authority.is_some() {
            command.arg("--require-secure-transport=ON");
            command.arg(format!("--ssl-cert={folder}/server.crt"));
            command.arg(format!("--ssl-key={folder}/server.key"));
        }
        for (name, value) in &self.options.settings {
            command.arg(format!("--{name}={value}"));
        }
        self.process.launch(command)
    }

    /// Returns the server's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Returns the URL of the database `mysql` for the user `root`, without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("mysql://{USER}@{}/mysql", self.address())
    }

    /// Returns the path of the server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.process.log_path()
    }

    /// Executes SQL commands as the user `root`, and returns their result without headers: one row
    /// a line, with tabs between columns.
    ///
    /// # Errors
    /// [`Error::Program`] with the server's message.
    pub fn query(&self, sql: &str) -> Result<String, Error> {
        query(&self.process, &self.installation, &self.options, sql)
    }

    /// Sends SIGTERM to the server and waits up to 30 s for its end.
    ///
    /// # Errors
    /// [`Error::NotRunning`], and [`Error::NotStopped`] for a server that was killed after 30 s.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.process.terminate(STOP_LIMIT)
    }

    /// Kills the server (SIGKILL) and waits for its end. Its connections end at the same time.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn kill(&mut self) -> Result<(), Error> {
        self.process.kill()
    }
}

fn query(
    process: &ServerProcess,
    installation: &Installation,
    options: &ServerOptions,
    sql: &str,
) -> Result<String, Error> {
    let mut client = installation.client()?;
    client.args(["--protocol=TCP", "--connect-timeout=5", "--batch", "--skip-column-names"]);
    client.arg(format!("--host={}", process.ip())).arg(format!("--port={PORT}"));
    client.arg(format!("--user={USER}")).arg(format!("--execute={sql}"));
    if options.authority.is_some() {
        client.arg("--ssl");
    }
    if let Some(password) = &options.password {
        client.env("MYSQL_PWD", password);
    }
    process.run("mariadb", client)
}

/// Returns the SQL commands that replace all users by one, who may come from any address: the
/// server listens on its loopback address only.
fn users(password: Option<&str>) -> String {
    let password = password.unwrap_or_default().replace('\\', r"\\").replace('\'', "''");
    format!(
        "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';\n\
         FLUSH PRIVILEGES;\n\
         CREATE USER '{USER}'@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n"
    )
}
