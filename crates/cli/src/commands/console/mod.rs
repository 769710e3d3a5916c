//! `console`: serves the web console and the HTTP API of namespaces until a signal.

mod access;
mod demo;
mod file;
mod oidc;
mod secrets;
mod watching;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use futures_util::future::try_join_all;
use jiff::tz::TimeZone;
use job_console::{Access, Console, Limits, Prefix, Server};
use job_history::{History, HistoryOptions};
use job_watch::WatchFile;
use reg_center::RegistryCenter;
use serde_json::json;

use super::history::{StoreArguments, check_exists};
use super::java_history::{JavaHistory, zone};
use super::metrics_port::MetricsPort;
use super::service::ServiceManager;
use super::signals::Signals;
use crate::connect::{ConnectArguments, Place};
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::output::Page;
use crate::program::SERVICE_FILTER;
use crate::target::Target;
use access::AccessArguments;
use demo::Demo;
use file::ConsoleFile;
use watching::{Watched, Watching};

/// Default address: loopback, because there is no sign-in by default.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConsoleArguments {
    #[command(subcommand)]
    command: Option<ConsoleCommand>,
    /// Address and port to serve; port 0 chooses a free port [default: 127.0.0.1:8080]
    #[arg(long, value_name = "IP:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// File that names namespaces, each with its registry and history: TOML. It replaces the
    /// options of the registry and of the history, and their variables
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    file: Option<PathBuf>,
    /// Name and registry of a namespace to show; repeat it for several. It replaces the options of
    /// the registry and of the history, and their variables: a --file names several with histories
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = named_registry, conflicts_with_all = ["file", "demo", "watch"])]
    registries: Vec<(String, Target)>,
    /// Serve metrics of all namespaces on this port of the loopback address; 0 chooses a free port
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<u16>,
    /// Path below which everything is served, such as /ejob, for a reverse proxy
    #[arg(long, value_name = "PATH")]
    prefix: Option<Prefix>,
    /// Show a cluster in memory with jobs that run, fail, hang and fail over, without any server
    #[arg(long)]
    demo: bool,
    /// Run a watcher with the expectations of this file, as `ejob watch` does, and show the state
    /// of each of them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "demo"])]
    watch: Option<PathBuf>,
    /// Judge the successes of Java instances by the history, as `ejob watch` does; its times are in
    /// this zone, that of the Java instances, such as Asia/Shanghai
    #[arg(long, value_name = "ZONE", value_parser = zone, requires = "watch")]
    java_zone: Option<TimeZone>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Debug, Subcommand)]
enum ConsoleCommand {
    /// Print the argon2id hash of a password, for a file of users: from the terminal, or from the
    /// standard input
    Hash,
    /// Print a new bearer token and its hash, for a file of tokens
    Token,
}

fn named_registry(text: &str) -> Result<(String, Target), String> {
    let valid = "valid is a name and an address, such as orders=zk://10.0.0.1:2181/orders";
    let (name, address) = text.split_once('=').ok_or(valid)?;
    let target = Target::parse_of_console(address)?;
    if target == Target::Memory {
        return Err("memory: ends with its process; name a registry of workers".to_owned());
    }
    Ok((name.to_owned(), target))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "valid is an IP address with a port, such as 127.0.0.1:8080".to_owned())
}

/// A namespace to serve.
struct Source {
    name: String,
    connect: ConnectArguments,
    target: Target,
    history: Option<HistoryOptions>,
    watch: Option<WatchFile>,
    /// Zone of the Java instances by whose successes in the history the watcher judges.
    java_zone: Option<TimeZone>,
}

/// A namespace that is served.
struct Opened {
    name: String,
    /// Describes the registry without secrets.
    registry: String,
    center: Arc<dyn RegistryCenter>,
    history: Option<History>,
    watched: Option<Watched>,
}

impl ConsoleArguments {
    /// Returns the default filter of the log.
    pub(crate) fn log_filter(&self) -> &'static str {
        match self.command {
            Some(ConsoleCommand::Hash | ConsoleCommand::Token) => "off",
            // The console shows what the jobs of the demonstration do.
            None if self.demo => "info,lite=off",
            None => SERVICE_FILTER,
        }
    }

    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        match self.command {
            Some(ConsoleCommand::Hash) => secrets::hash().await,
            Some(ConsoleCommand::Token) => Ok(secrets::token()),
            None => self.serve(cx).await,
        }
    }

    async fn serve(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let file = self.file.as_deref().map(ConsoleFile::read).transpose()?;
        let in_file = file.as_ref().and_then(|file| file.listen);
        let listen = self.listen.or(in_file).unwrap_or(LISTEN);
        let folder = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let section = file.as_ref().and_then(|file| file.access.as_ref());
        let access = self.access.access(section.map(|section| (section, folder)))?;
        access.check_bind(listen).map_err(Fault::usage)?;
        let in_file = file.as_ref().and_then(|file| file.prefix.clone());
        let prefix = self.prefix.clone().or(in_file).unwrap_or_default();
        let mut signals = Signals::listen()?;
        let server = Server::bind(listen, Limits::default()).await.map_err(|error| {
            let in_use = error.kind() == std::io::ErrorKind::AddrInUse;
            let question = in_use.then(|| "--listen 127.0.0.1:0 chooses a free port".to_owned());
            Fault::usage(format!("--listen {listen}: cannot listen on this address: {error}"))
                .with_question(question)
        })?;
        let demo = if self.demo { Some(Demo::start().await?) } else { None };
        let opening = async {
            match &demo {
                Some(demo) => demo.opened().await.map(|opened| vec![opened]),
                None => open_all(self.sources(file.as_ref(), cx)?, cx).await,
            }
        };
        let Some(opened) = signals.unless(opening).await else {
            return Ok(Page::new("stopped before the namespaces were connected\n", &json!({})));
        };
        let metrics_port = self.metrics_port;
        let site = Site { access, prefix, metrics_port, opened: opened? };
        let ended = site.serve(cx, server, &mut signals).await;
        if let Some(demo) = demo
            && let Some(Err(fault)) = signals.unless(demo.end()).await
        {
            tracing::warn!(%fault, "the demonstration ended with a fault");
        }
        ended
    }

    /// Returns the namespaces of the file, or else that of the command line.
    fn sources(&self, file: Option<&ConsoleFile>, cx: &Context<'_>) -> Result<Vec<Source>, Fault> {
        if let (Some(file), Some(path)) = (file, &self.file) {
            return file.sources(path, cx);
        }
        if !self.registries.is_empty() {
            let mut names = BTreeSet::new();
            if let Some((twice, _)) = self.registries.iter().find(|(name, _)| !names.insert(name)) {
                return Err(Fault::usage(format!(
                    "--registries: name {twice:?} is given twice; give each namespace its own name"
                )));
            }
            let source = |(name, target): &(String, Target)| Source {
                name: name.clone(),
                connect: cx.connect().clone(),
                target: target.clone(),
                history: None,
                watch: None,
                java_zone: None,
            };
            return Ok(self.registries.iter().map(source).collect());
        }
        let target = cx.connect().target()?;
        let history = self.store.options()?;
        if let (Some(_), Some(url)) = (&history, &self.store.history) {
            check_exists("--history", url)?;
        }
        let (name, connect) = (name_of(target.namespace()), cx.connect().clone());
        let watch = self.watch.as_deref().map(watching::read).transpose()?;
        let java_zone = self.java_zone.clone();
        if java_zone.is_some() && history.is_none() {
            return Err(Fault::usage(
                "--java-zone needs --history: the database in which Java instances trace",
            ));
        }
        Ok(vec![Source { name, connect, target, history, watch, java_zone }])
    }
}

/// Returns the name in addresses of a namespace: the last segment of its path.
fn name_of(namespace: &str) -> String {
    let last = namespace.rsplit('/').find(|segment| !segment.is_empty()).unwrap_or("default");
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    last.chars().map(|c| if is_valid(c) { c } else { '-' }).take(64).collect()
}

/// Opens all registries and histories at the same time.
async fn open_all(sources: Vec<Source>, cx: &Context<'_>) -> Result<Vec<Opened>, Fault> {
    try_join_all(sources.into_iter().map(|source| async {
        let Source { name, connect, target, history, watch, java_zone } = source;
        let named = |fault: Fault| Fault::new(fault.exit(), format!("namespace {name:?}: {fault}"));
        let registry = target.to_string();
        let open = async |session_timeout: Option<Duration>| {
            let (connect, target) = (connect.clone(), target.clone());
            let place = Place { connect, target, may_create: false, session_timeout };
            cx.open(place).await.map_err(named)
        };
        let watched = async {
            let Some(file) = watch else { return Ok(None) };
            let center = open(Some(watching::SESSION_TIMEOUT)).await?;
            let java = match java_zone.zip(history.clone()) {
                Some((zone, options)) => {
                    let history = History::open(options).await;
                    let history = history.map_err(|error| named(error.into()))?;
                    let facts = JavaHistory::new(history, zone).facts().await;
                    Some(facts.map_err(|error| named(error.into()))?)
                }
                None => None,
            };
            Ok(Some(Watched { file, center, java }))
        };
        let opened = async {
            let Some(options) = history.clone() else { return Ok(None) };
            History::open(options).await.map(Some).map_err(|error| named(error.into()))
        };
        let (watched, center, history) = tokio::try_join!(watched, open(None), opened)?;
        Ok(Opened { name, registry, center, history, watched })
    }))
    .await
}

/// Everything that is served.
struct Site {
    access: Access,
    prefix: Prefix,
    metrics_port: Option<u16>,
    opened: Vec<Opened>,
}

impl Site {
    /// Serves the namespaces until a signal; a second signal stops at once.
    async fn serve(
        self,
        cx: &Context<'_>,
        server: Server,
        signals: &mut Signals,
    ) -> Result<Page, Fault> {
        let Self { access, prefix, metrics_port, opened } = self;
        let address = format!("http://{}{prefix}/", server.local_addr());
        cx.print_line(&format!("console: {address}"));
        let sign_in = access.to_string();
        let mut console = Console::new().access(access).prefix(prefix.clone());
        let mut watching = Watching::default();
        for Opened { name, registry, center, history, watched } in opened {
            let beside = match (history.is_some(), watched.is_some()) {
                (true, true) => ", with a history and a watcher",
                (true, false) => ", with a history",
                (false, true) => ", with a watcher",
                (false, false) => "",
            };
            cx.print_line(&format!("namespace {name}: {registry}{beside}"));
            console = console.namespace(&name, center, history).map_err(Fault::usage)?;
            if let Some(watched) = watched {
                let view = watching.start(&name, watched);
                console = console.watcher(&name, view).map_err(Fault::usage)?;
            }
        }
        let _metrics = match metrics_port {
            None => None,
            Some(port) => {
                let metrics = console.metrics();
                let port = MetricsPort::open_for(port, move || metrics.prometheus()).await?;
                cx.print_line(&format!("metrics: http://{}/metrics", port.local_addr()));
                Some(port)
            }
        };
        cx.print_line(&format!("sign-in: {sign_in}"));
        let manager = ServiceManager::begin();
        manager.ready(&format!("console: {address}"));
        tracing::info!(%address, "the console serves");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = server.serve(prefix.mount(console.router()), async {
            // The sender is dropped at the signal.
            let _ = stopped.await;
        });
        let serving = async {
            let served = serving.await;
            watching.end().await;
            served
        };
        let second_signal = async {
            signals.next().await;
            manager.leaving();
            cx.print_line("leaving: requests are completed; a second signal stops at once");
            drop(stop);
            signals.next().await;
        };
        let (text, exit) = tokio::select! {
            served = serving => match served {
                Ok(()) => ("left\n".to_owned(), Exit::Done),
                Err(unfinished) => (format!("left; {unfinished}\n"), Exit::Partly),
            },
            () = second_signal => {
                ("stopped at once: requests were cut off\n".to_owned(), Exit::Partly)
            }
        };
        Ok(Page::new(text, &json!({ "address": address })).ending(exit))
    }
}
