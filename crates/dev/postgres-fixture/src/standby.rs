//! A synchronous standby of a server, and its promotion.

use std::thread;
use std::time::{Duration, Instant};

use server_fixture::POLL_INTERVAL;

use crate::server::SUPERUSER;
use crate::{Error, Server};

/// Name of the standby on its primary.
const NAME: &str = "standby";
/// Longest wait for a standby to follow, or to be promoted.
const LIMIT: Duration = Duration::from_secs(60);

impl Server {
    /// Starts a standby that copies this server, and returns when commits wait for it.
    ///
    /// From then on each commit of this server is acknowledged only if the standby has it on disk.
    /// If the standby does not run, commits wait.
    ///
    /// # Errors
    /// As [`Server::start`], and [`Error::NotReady`] if the standby does not
    /// follow within 60 s.
    pub fn start_synchronous_standby(&self) -> Result<Server, Error> {
        let mut standby = Server::prepare(&self.installation, &self.options)?;
        let primary = self.address();
        let mut copy = self.installation.command("pg_basebackup")?;
        copy.arg("--dbname").arg(format!(
            "host={} port={} user={SUPERUSER} application_name={NAME}",
            primary.ip(),
            primary.port()
        ));
        copy.args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"]);
        copy.arg("--no-sync").arg("--pgdata").arg(standby.data());
        if let Some(password) = &self.options.password {
            copy.env("PGPASSWORD", password);
        }
        standby.process.run("pg_basebackup", copy)?;
        standby.restart()?;
        self.query(&format!("ALTER SYSTEM SET synchronous_standby_names = '{NAME}'"))?;
        self.query("SELECT pg_reload_conf()")?;
        let state =
            format!("SELECT sync_state FROM pg_stat_replication WHERE application_name = '{NAME}'");
        self.wait_for(&state, "sync", "synchronous")?;
        Ok(standby)
    }

    /// Makes this standby the primary, on the next timeline, and returns when it takes writes.
    ///
    /// # Errors
    /// [`Error::Program`] if this server is no standby, and
    /// [`Error::NotReady`] after 60 s.
    pub fn promote(&self) -> Result<(), Error> {
        self.query("SELECT pg_promote(true, 60)")?;
        self.wait_for("SELECT pg_is_in_recovery()", "f", "promoted")
    }

    /// Repeats a query until it has the wanted result.
    fn wait_for(&self, sql: &str, wanted: &str, awaited: &'static str) -> Result<(), Error> {
        let deadline = Instant::now() + LIMIT;
        while self.query(sql)? != wanted {
            if Instant::now() >= deadline {
                return Err(self.process.not_ready(awaited, LIMIT));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}
