//! A worker as the first process of a container, from its start to its end by SIGTERM.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use server_fixture::ServerProcess;

use super::image::Image;
use crate::Error;
use crate::steps::{line, run as run_command};

/// Time for each step, longer than any needs.
const LIMIT: Duration = Duration::from_secs(60);
const DNS_PORT: u16 = 53;
/// Host that only the name server of this check knows.
const HOST: &str = "jobs.test";

/// The image has no files of time zones, and no libraries that resolve names.
const JOBS: &str = r#"
[[jobs]]
name = "tick"
sharding_total_count = 1
cron = "* * * * * ?"
time_zone = "Asia/Shanghai"
http = { url = "http://jobs.test:PORT/run" }
"#;

/// Lets a run of a worker in the image end after SIGTERM, and cuts another one short.
pub(super) fn check(image: &Image) -> Result<(), Error> {
    let jobs = TcpListener::bind("127.0.0.1:0").map_err(network("listen on a port"))?;
    let port = jobs.local_addr().map_err(network("read the address of a port"))?.port();
    let names = name_server()?;
    prepare(&image.root, port, &names)?;
    let requests = accepted(jobs);

    let mut pod = Pod::start(image, "60s")?;
    let ready = pod.line_that("ready: ")?;
    let metrics = pod.metrics_port.clone().unwrap_or_default();
    println!("{ready}");
    pod.expect_health(image, &metrics, true)?;
    let run = request(&requests)?;
    pod.terminate()?;
    pod.line_that("leaving: ")?;
    pod.expect_health(image, &metrics, false)?;
    answer(run)?;
    pod.line_that("tick: left; 1 run under way: 1 finished")?;
    pod.expect_exit(0)?;

    let mut pod = Pod::start(image, "1s")?;
    pod.line_that("ready: ")?;
    let _unanswered = request(&requests)?;
    pod.terminate()?;
    pod.line_that("tick: left; 1 run under way: 0 finished, 1 cut short")?;
    pod.expect_exit(1)
}

fn network(action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::Deploy(format!("cannot {action}: {error}"))
}

/// Starts a name server that knows one host.
fn name_server() -> Result<ServerProcess, Error> {
    let mut server = ServerProcess::reserve(DNS_PORT)?;
    let mut command = Command::new("/usr/sbin/dnsmasq");
    command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"]);
    command.args(["--bind-interfaces", "--pid-file=", "--log-facility=-", "--user=root"]);
    command.arg(format!("--listen-address={}", server.ip()));
    command.arg(format!("--address=/{HOST}/127.0.0.1"));
    server.launch(command)?;
    server.wait_until("serving", LIMIT, |server| TcpStream::connect(server.address()).is_ok())?;
    Ok(server)
}

/// Devices that the runtime of a container provides, with their minor numbers. The major one is 1.
/// A static program reads random bytes from them: it cannot look up the function `getrandom`.
const DEVICES: [(&str, &str); 3] = [("dev/null", "3"), ("dev/random", "8"), ("dev/urandom", "9")];

/// Adds what the runtime of a container adds: `/proc`, devices, name servers, volumes.
fn prepare(root: &Path, port: u16, names: &ServerProcess) -> Result<(), Error> {
    for folder in ["proc", "dev", "data", "etc/ejob"] {
        let folder = root.join(folder);
        fs::create_dir(&folder).map_err(Error::file("create", &folder))?;
    }
    for (device, minor) in DEVICES {
        let mut mknod = Command::new("mknod");
        run_command(mknod.args(["--mode=666"]).arg(root.join(device)).args(["c", "1", minor]))?;
    }
    let data = root.join("data");
    chown(&data, Some(65532), Some(65532)).map_err(Error::file("change the owner of", &data))?;
    let files = [
        ("etc/resolv.conf", format!("nameserver {}\n", names.ip())),
        ("etc/ejob/jobs.toml", JOBS.replace("PORT", &port.to_string())),
    ];
    for (file, text) in files {
        let file = root.join(file);
        fs::write(&file, text).map_err(Error::file("write", &file))?;
    }
    Ok(())
}

/// Returns the connections of a listener, at most one more than is received.
fn accepted(listener: TcpListener) -> Receiver<TcpStream> {
    let (sender, receiver) = mpsc::sync_channel(0);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if sender.send(stream).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits for a request, and reads its head.
fn request(requests: &Receiver<TcpStream>) -> Result<TcpStream, Error> {
    let missing = |_| Error::Deploy(format!("no request for {HOST} within {LIMIT:?}"));
    let stream = requests.recv_timeout(LIMIT).map_err(missing)?;
    stream.set_read_timeout(Some(LIMIT)).map_err(network("limit a request"))?;
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        if reader.read_line(&mut text).map_err(network("read a request"))? == 0 {
            return Err(Error::Deploy(format!("a request has ended: {text}")));
        }
    }
    Ok(reader.into_inner())
}

fn answer(mut request: TcpStream) -> Result<(), Error> {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    request.write_all(answer).map_err(network("answer a request"))
}

/// A worker with namespaces of its own, except for the network.
struct Pod {
    child: Child,
    lines: Receiver<String>,
    metrics_port: Option<String>,
}

impl Pod {
    fn start(image: &Image, drain: &str) -> Result<Self, Error> {
        let mut command = in_image(image, &["--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["worker", "/etc/ejob/jobs.toml", "--server-ip=10.0.0.1"]);
        command.args([&format!("--drain={drain}"), "--metrics-port=0"]);
        command.env("EJOB_REGISTRY", "sqlite:/data/registry.db");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let line = line(&command);
        println!("$ {line}");
        let mut child = command.spawn().map_err(|source| Error::Start { line, source })?;
        let output = child.stdout.take().expect("the output is a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        });
        Ok(Self { child, lines, metrics_port: None })
    }

    /// Waits for a line of the output, and notes the metrics port.
    fn line_that(&mut self, start: &str) -> Result<String, Error> {
        loop {
            let missing = |error| Error::Deploy(format!("no line `{start}…`: {error}"));
            let line = self.lines.recv_timeout(LIMIT).map_err(missing)?;
            if let Some(port) = line.strip_prefix("metrics: http://127.0.0.1:") {
                self.metrics_port = port.strip_suffix("/metrics").map(str::to_owned);
            }
            if line.starts_with(start) {
                return Ok(line);
            }
        }
    }

    /// Asks for the health as a probe does: by another process of the container.
    fn expect_health(&self, image: &Image, port: &str, ready: bool) -> Result<(), Error> {
        let mut probe = in_image(image, &[]);
        probe.args(["health", port]);
        let line = line(&probe);
        let status =
            probe.status().map_err(|source| Error::Start { line: line.clone(), source })?;
        match (status.code(), ready) {
            (Some(0), true) | (Some(3), false) => Ok(()),
            _ => Err(Error::Command { line, status }),
        }
    }

    /// Sends SIGTERM to the first process of the container, as its runtime does.
    fn terminate(&self) -> Result<(), Error> {
        let outer = self.child.id();
        let path = format!("/proc/{outer}/task/{outer}/children");
        let children = fs::read_to_string(&path).map_err(Error::file("read", Path::new(&path)))?;
        let first = children.trim().parse().ok().and_then(Pid::from_raw);
        let first = first.ok_or_else(|| Error::Deploy(format!("no process: {children}")))?;
        kill_process(first, Signal::TERM)
            .map_err(|error| Error::Deploy(format!("cannot stop process {first:?}: {error}")))
    }

    /// Waits for the end of the output, which only the processes of the container hold open.
    fn expect_exit(mut self, code: i32) -> Result<(), Error> {
        match self.lines.recv_timeout(LIMIT) {
            Err(mpsc::RecvTimeoutError::Disconnected) => {}
            other => return Err(Error::Deploy(format!("the worker has not ended: {other:?}"))),
        }
        let status = self.child.wait().map_err(network("wait for the worker"))?;
        match status.code() == Some(code) {
            true => Ok(()),
            false => Err(Error::Command { line: "ejob worker".to_owned(), status }),
        }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        // Both have no effect after the end of the process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that runs the entry point of an image as its user.
fn in_image(image: &Image, namespaces: &[&str]) -> Command {
    let (user, group) = image.user.split_once(':').unwrap_or((&image.user, &image.user));
    let mut command = Command::new("/usr/bin/unshare");
    command.args(namespaces).arg(format!("--root={}", image.root.display()));
    command.args(["--setuid", user, "--setgid", group]).args(&image.entry_point).env_clear();
    command
}
