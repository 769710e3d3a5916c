//! One PostgreSQL server in a process of its own.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::{Folder, LoopbackAddress, POLL_INTERVAL, Process};

use crate::{Error, Installation, ServerOptions};

/// The port of each server, on an address of its own.
const PORT: u16 = 5432;
/// The user that owns the server's databases.
pub(crate) const SUPERUSER: &str = "postgres";
/// Longest wait after SIGINT, which is the fast shutdown.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Number of lines of the log that an error quotes.
const LOG_TAIL_LINES: usize = 30;
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
    // Fields are dropped in this order: the process before its folder and its address.
    process: Option<Process>,
    pub(crate) folder: Folder,
    address: LoopbackAddress,
    pub(crate) installation: Installation,
    pub(crate) options: ServerOptions,
}

impl Server {
    /// Starts a server with the default options, and waits until it serves: about two seconds.
    ///
    /// # Errors
    /// Those of [`Installation::locate`]; [`Error::NotReady`] and [`Error::Exited`], both with the
    /// end of the server's log; and those of the operating system.
    pub fn start() -> Result<Server, Error> {
        Server::start_with(&ServerOptions::default())
    }

    /// Starts a server with `options`, and waits until it serves.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(options: &ServerOptions) -> Result<Server, Error> {
        let mut server = Server::prepare(&Installation::locate()?, options)?;
        server.initialize()?;
        server.restart()?;
        Ok(server)
    }

    /// Reserves the address and the folder, without starting a process.
    pub(crate) fn prepare(
        installation: &Installation,
        options: &ServerOptions,
    ) -> Result<Server, Error> {
        let address = LoopbackAddress::reserve()?;
        let folder = Folder::create(&address)?;
        let server = Server {
            process: None,
            folder,
            address,
            installation: installation.clone(),
            options: options.clone(),
        };
        server.hand_over(server.folder.path())?;
        Ok(server)
    }

    /// Creates the data folder.
    fn initialize(&self) -> Result<(), Error> {
        let mut initdb = self.installation.command("initdb");
        initdb.arg("--pgdata").arg(self.data()).args(["--username", SUPERUSER]);
        initdb.args(["--encoding=UTF8", "--no-locale", "--no-sync", "--auth=trust"]);
        if let Some(password) = &self.options.password {
            let file = self.write_file("password", password)?;
            initdb.arg("--pwfile").arg(file);
        }
        self.run(initdb)?;
        let connections = if self.options.authority.is_some() { "hostssl" } else { "host" };
        let method = if self.options.password.is_some() { "scram-sha-256" } else { "trust" };
        let rules: String = ["all", "replication"]
            .map(|database| format!("{connections} {database} all 127.0.0.0/8 {method}\n"))
            .concat();
        let file = self.data().join("pg_hba.conf");
        fs::write(&file, rules).map_err(Error::file("write", &file))?;
        if let Some(authority) = &self.options.authority {
            let identity = authority.issue("postgres", [self.address.ip().to_string()]);
            self.write_file("server.crt", identity.certificate_pem())?;
            self.write_file("server.key", identity.key_pem())?;
        }
        Ok(())
    }

    /// Writes a file that only the server's user can read.
    fn write_file(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.path().join(name);
        fs::write(&path, text).map_err(Error::file("write", &path))?;
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&path, private).map_err(Error::file("protect", &path))?;
        self.hand_over(&path)?;
        Ok(path)
    }

    /// Makes the server's user the owner of a file.
    fn hand_over(&self, path: &Path) -> Result<(), Error> {
        match self.installation.owner() {
            Some((user, group)) => {
                chown(path, Some(user), Some(group)).map_err(Error::file("change owner of", path))
            }
            None => Ok(()),
        }
    }

    /// Starts the process and waits until it serves; stops it before if it runs.
    ///
    /// # Errors
    /// As [`Server::start`] and [`Server::stop`].
    pub fn restart(&mut self) -> Result<(), Error> {
        if self.process.is_some() {
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
        let log = self.log_path();
        let open = || fs::OpenOptions::new().create(true).append(true).open(&log);
        let mut command = self.installation.command("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &PORT.to_string()]);
        command.args(["-c", &format!("listen_addresses={}", self.address.ip())]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if !self.options.is_durable {
            command.args(["-c", "fsync=off"]);
        }
        if self.options.authority.is_some() {
            let path = |name| self.folder.path().join(name).display().to_string();
            command.args(["-c", "ssl=on"]);
            command.args(["-c", &format!("ssl_cert_file={}", path("server.crt"))]);
            command.args(["-c", &format!("ssl_key_file={}", path("server.key"))]);
        }
        for (name, value) in &self.options.settings {
            command.args(["-c", &format!("{name}={value}")]);
        }
        command.current_dir(self.folder.path());
        command.stdout(open().map_err(Error::file("open", &log))?);
        command.stderr(open().map_err(Error::file("open", &log))?);
        let program = format!("{command:?}");
        let process = Process::spawn(command).map_err(|source| Error::Spawn { program, source })?;
        self.process = Some(process);
        Ok(())
    }

    fn wait_until_serving(&mut self, deadline: Instant) -> Result<(), Error> {
        loop {
            if self.query("SELECT 1").is_ok() {
                return Ok(());
            }
            let address = self.address();
            let process = self.process.as_mut().ok_or(Error::NotRunning { address })?;
            let status = process.exit_status().map_err(signal_error("observe", address))?;
            if let Some(status) = status {
                self.process = None;
                return Err(Error::Exited { address, status, log_tail: self.log_tail() });
            }
            if Instant::now() >= deadline {
                return Err(self.not_ready("serving", self.options.ready_within));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub(crate) fn not_ready(&self, awaited: &'static str, after: Duration) -> Error {
        Error::NotReady { address: self.address(), awaited, after, log_tail: self.log_tail() }
    }

    /// Returns the server's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (self.address.ip(), PORT).into()
    }

    /// Returns the URL of the database `postgres` for the superuser, without a password.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{SUPERUSER}@{}/postgres", self.address())
    }

    /// Returns the path of the server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    /// Executes SQL commands as the superuser, and returns their result without headers: one row a
    /// line, with `|` between columns. The commands are one transaction if they do not say
    /// otherwise.
    ///
    /// # Errors
    /// [`Error::Program`] with the server's message.
    pub fn query(&self, sql: &str) -> Result<String, Error> {
        let address = self.address();
        let mut psql = self.installation.command("psql");
        psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--username", SUPERUSER, "--dbname", "postgres"]);
        psql.args(["--host", &address.ip().to_string(), "--port", &PORT.to_string()]);
        psql.args(["--command", sql]).env("PGCONNECT_TIMEOUT", "5");
        if let Some(password) = &self.options.password {
            psql.env("PGPASSWORD", password);
        }
        self.run(psql)
    }

    /// Stops the server as `pg_ctl stop -m fast` does, and waits up to 30 s for its end.
    ///
    /// # Errors
    /// [`Error::NotRunning`], and [`Error::NotStopped`] for a server that was killed after 30 s.
    pub fn stop(&mut self) -> Result<(), Error> {
        let address = self.address();
        let mut process = self.process.take().ok_or(Error::NotRunning { address })?;
        match process.interrupt(STOP_LIMIT).map_err(signal_error("stop", address))? {
            true => Ok(()),
            false => Err(Error::NotStopped { address, after: STOP_LIMIT }),
        }
    }

    /// Kills the server (SIGKILL) and waits for its end. Its connections end at the same time.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn kill(&mut self) -> Result<(), Error> {
        let address = self.address();
        drop(self.process.take().ok_or(Error::NotRunning { address })?);
        Ok(())
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs a program to its end, and returns its output.
    pub(crate) fn run(&self, mut command: Command) -> Result<String, Error> {
        let program = command.get_program().to_string_lossy().into_owned();
        // The folder of the test may be closed to the server's user.
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|source| Error::Spawn { program: format!("{command:?}"), source })?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            return Ok(text.trim_end().to_owned());
        }
        let arguments = command.get_args().map(|argument| argument.to_string_lossy());
        let name = arguments.map(|argument| argument.into_owned()).find(|a| a.contains("/bin/"));
        let output_tail = format!("{}{text}", String::from_utf8_lossy(&output.stderr));
        Err(Error::Program {
            program: name.unwrap_or(program),
            status: output.status,
            output: output_tail.trim_end().to_owned(),
        })
    }

    fn log_tail(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

fn signal_error(action: &'static str, address: SocketAddr) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Signal { action, address, source }
}
