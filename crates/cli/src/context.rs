//! State shared by all commands: the registry, the author of changes, and the output.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use coordination::JobName;
use futures_util::future::join_all;
use indicatif::{ProgressBar, ProgressStyle};
use operations::{By, Namespace, Operations, ReadBounds};
use parking_lot::Mutex;
use reg_center::RegistryCenter;

use crate::connect::{ConnectArguments, Place, Registries};
use crate::fault::{Exit, Fault};
use crate::output::Look;
use crate::target::Target;

/// Maximum time for closing a session at the end of a command.
const CLOSE_DEADLINE: Duration = Duration::from_secs(3);

/// Author and reason of a change; the reason is optional.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Record")]
pub(crate) struct Signed {
    /// Author of the change [default: user@host]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason of the change; recorded with the job
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

/// Author and reason of a change that requires a reason.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Record")]
pub(crate) struct Reasoned {
    /// Author of the change [default: user@host]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason of the change; recorded with the job, and shown by `ejob why`
    #[arg(long, value_name = "TEXT")]
    why: String,
}

impl Signed {
    /// Returns author and reason; without a reason, `act` is recorded.
    pub(crate) fn by(&self, act: &str) -> Result<By, Fault> {
        let why = self.why.clone().unwrap_or_else(|| format!("ejob {act}"));
        signed(self.by.as_ref(), why)
    }

    /// Returns author and reason; a missing reason is an error.
    pub(crate) fn by_with_reason(&self, act: &str) -> Result<By, Fault> {
        let why = self.why.clone().ok_or_else(|| {
            Fault::usage(format!(
                "--why is missing; give a reason, such as {act} --why \"release 12\""
            ))
        })?;
        signed(self.by.as_ref(), why)
    }
}

impl Reasoned {
    pub(crate) fn by(&self) -> Result<By, Fault> {
        signed(self.by.as_ref(), self.why.clone())
    }
}

fn signed(who: Option<&String>, why: String) -> Result<By, Fault> {
    Ok(By::new(who.cloned().unwrap_or_else(user_and_host), why)?)
}

fn user_and_host() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let user = named.filter(|user| !user.is_empty()).unwrap_or_else(|| "unknown".to_owned());
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    format!("{user}@{host}")
}

/// State shared by all commands.
pub(crate) struct Context<'a> {
    connect: ConnectArguments,
    look: Look,
    registries: &'a dyn Registries,
    out: Mutex<&'a mut (dyn Write + Send)>,
    opened: Mutex<Vec<Arc<dyn RegistryCenter>>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        connect: ConnectArguments,
        look: Look,
        registries: &'a dyn Registries,
        out: &'a mut (dyn Write + Send),
    ) -> Self {
        Self { connect, look, registries, out: Mutex::new(out), opened: Mutex::default() }
    }

    pub(crate) fn connect(&self) -> &ConnectArguments {
        &self.connect
    }

    /// Returns how answers are shown.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Opens the registry that the command line names. Its namespace must exist.
    pub(crate) async fn operations(&self) -> Result<Operations, Fault> {
        Ok(self.operating(self.registry(self.connect.target()?, false, None).await?))
    }

    /// Opens the registry that the command line names, and reads its namespace. A dry run gets no
    /// operations for a namespace that does not exist, because it must not create it.
    pub(crate) async fn to_change(
        &self,
        dry_run: bool,
    ) -> Result<(Option<Operations>, Namespace), Fault> {
        let operations = match self.registry(self.connect.target()?, !dry_run, None).await {
            Err(fault) if fault.exit() == Exit::NotFound && dry_run => {
                return Ok((None, Namespace::default()));
            }
            opened => self.operating(opened?),
        };
        let namespace = operations.namespace().await?;
        Ok((Some(operations), namespace))
    }

    /// Returns the operations of a registry, with the limits of the command line.
    pub(crate) fn operating(&self, registry: Arc<dyn RegistryCenter>) -> Operations {
        let bounds = ReadBounds::default().with(|it| it.deadline = self.connect.read_deadline());
        Operations::new(registry).bounds(bounds)
    }

    /// Opens a registry.
    pub(crate) async fn registry(
        &self,
        target: Target,
        may_create: bool,
        session_timeout: Option<Duration>,
    ) -> Result<Arc<dyn RegistryCenter>, Fault> {
        self.open(Place { connect: self.connect.clone(), target, may_create, session_timeout })
            .await
    }

    /// Opens a registry with other options than those of the command line.
    pub(crate) async fn open(&self, place: Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
        let registry = self.registries.open(&place).await?;
        self.opened.lock().push(Arc::clone(&registry));
        Ok(registry)
    }

    /// Describes the nodes that clients without credentials may change: those of the namespace, or
    /// of one job in it. If the nodes could not be examined, the text says why.
    ///
    /// Returns `None` if there are none, or no credentials are configured: all nodes are open then.
    pub(crate) async fn open_nodes(
        &self,
        connect: &ConnectArguments,
        target: Result<Target, Fault>,
        job: Option<&JobName>,
    ) -> Option<String> {
        if !connect.has_user() {
            return None;
        }
        let connect = connect.clone();
        let open = match self.find_open_nodes(connect, target, job).await {
            Ok(open) => open,
            Err(fault) => {
                return Some(format!(
                    "the access control lists of the nodes could not be examined: {fault}"
                ));
            }
        };
        let (path, acl) = open.first()?;
        let others = match open.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        Some(format!(
            "{path}{others} can be changed without credentials: its access control list is {acl}"
        ))
    }

    async fn find_open_nodes(
        &self,
        connect: ConnectArguments,
        target: Result<Target, Fault>,
        job: Option<&JobName>,
    ) -> Result<Vec<(String, String)>, Fault> {
        let place = Place { connect, target: target?, may_create: false, session_timeout: None };
        self.registries.open_nodes(&place, job).await
    }

    /// Returns the registry that was opened first.
    pub(crate) fn opened(&self) -> Option<Arc<dyn RegistryCenter>> {
        self.opened.lock().first().map(Arc::clone)
    }

    /// Ends all sessions.
    pub(crate) async fn close(&self) {
        let opened = std::mem::take(&mut *self.opened.lock());
        close_all(opened).await;
    }

    /// Prints a line at once if the answer is a text. A closed output is ignored.
    pub(crate) fn print_line(&self, line: &str) {
        if self.look.is_text() {
            let _ = self.write(&format!("{line}\n"));
        }
    }

    /// Prints a text as it is.
    pub(crate) fn write(&self, text: &str) -> std::io::Result<()> {
        let mut out = self.out.lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    }

    /// Shows a progress bar, on a terminal only.
    pub(crate) fn progress(&self, n: usize, what: impl Into<String>) -> ProgressBar {
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len}");
        let bar = ProgressBar::new(n as u64).with_message(what.into());
        style.map_or(bar.clone(), |style| bar.with_style(style))
    }
}

/// Ends sessions at the same time. A session that cannot be closed ends by its timeout.
async fn close_all(registries: Vec<Arc<dyn RegistryCenter>>) {
    let closing = join_all(registries.iter().map(|registry| registry.close()));
    let _ = tokio::time::timeout(CLOSE_DEADLINE, closing).await;
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use reg_center::{Delegate, MemoryCenter, MemoryRegistry};

    use super::*;

    /// A client whose registry does not answer at its end.
    #[derive(Debug)]
    struct Hanging(MemoryCenter);

    #[async_trait]
    impl Delegate for Hanging {
        fn inner(&self) -> &dyn RegistryCenter {
            &self.0
        }

        async fn close(&self) -> reg_center::Result<()> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_deadline_is_that_of_all_sessions() {
        let registry = MemoryRegistry::new();
        let last = Arc::new(registry.connect());
        let hanging = || -> Arc<dyn RegistryCenter> { Arc::new(Hanging(registry.connect())) };
        let began = tokio::time::Instant::now();
        close_all(vec![hanging(), hanging(), last.clone()]).await;
        assert_eq!(began.elapsed(), CLOSE_DEADLINE);
        assert!(last.sync().await.is_err(), "the sessions after it are closed too");
    }
}
