//! A worker and a console in the image, from their start to their end by SIGTERM.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::ServerProcess;

use super::container::{Container, LIMIT, in_image};
use super::image::Image;
use crate::Error;
use crate::steps::{line, run as run_command};

const DNS_PORT: u16 = 53;
/// Host that only the name server of this check knows.
const HOST: &str = "jobs.test";

/// The arguments of a worker, but for its drain.
const WORKER: [&str; 4] =
    ["worker", "/etc/ejob/jobs.toml", "--server-ip=10.0.0.1", "--metrics-port=0"];
/// Time between SIGTERM and the end of a worker whose drain takes 1 s: the least grace of a pod in
/// the chart, `worker.exitSeconds`, is as long after the drain.
const GRACE: Duration = Duration::from_secs(1 + 12);
/// Path of the console's users in the image.
const USERS: &str = "run/secrets/console/users.toml";

/// The image has no files of time zones, and no libraries that resolve names.
const JOBS: &str = r#"
[[jobs]]
name = "tick"
sharding_total_count = 1
cron = "* * * * * ?"
time_zone = "Asia/Shanghai"
http = { url = "http://HOST:PORT/run" }
"#;

/// Runs a worker and then a console in the image.
pub(super) fn check(image: &Image) -> Result<(), Error> {
    let jobs = TcpListener::bind("127.0.0.1:0").map_err(network("listen on a port"))?;
    let port = jobs.local_addr().map_err(network("read the address of a port"))?.port();
    let names = name_server()?;
    prepare(&image.root, port, &names)?;
    check_worker(image, &accepted(jobs))?;
    check_console(image)
}

/// Lets a run of a worker end after SIGTERM, and cuts another one short.
fn check_worker(image: &Image, requests: &Receiver<TcpStream>) -> Result<(), Error> {
    let worker = Container::start(image, &[&WORKER[..], &["--drain=60s"]].concat())?;
    let metrics = worker.line_that("metrics: http://127.0.0.1:")?;
    let port = metrics.strip_suffix("/metrics").unwrap_or(&metrics);
    worker.line_that("ready: ")?;
    expect_health(image, port, 0)?;
    let run = request(requests)?;
    worker.terminate()?;
    worker.line_that("leaving: ")?;
    expect_health(image, port, 3)?;
    answer(run)?;
    worker.line_that("tick: left; 1 run under way: 1 finished")?;
    worker.expect_exit(0)?;

    let worker = Container::start(image, &[&WORKER[..], &["--drain=1s"]].concat())?;
    worker.line_that("ready: ")?;
    let _unanswered = request(requests)?;
    let terminated = Instant::now();
    worker.terminate()?;
    worker.line_that("tick: left; 1 run under way: 0 finished, 1 cut short")?;
    worker.expect_exit(1)?;
    let exit_after = terminated.elapsed();
    match exit_after < GRACE {
        true => Ok(()),
        false => Err(Error::Deploy(format!("the worker ended {exit_after:?} after SIGTERM"))),
    }
}

/// Starts a console with a secret that only its user and group can read.
fn check_console(image: &Image) -> Result<(), Error> {
    let users = image.root.join(USERS);
    let hash = hash_of_password(image)?;
    let text = format!("[[users]]\nname = \"anna\"\npassword = \"{hash}\"\nrole = \"viewer\"\n");
    fs::write(&users, text).map_err(Error::file("write", &users))?;
    let mode = fs::Permissions::from_mode(0o440);
    fs::set_permissions(&users, mode).map_err(Error::file("change the mode of", &users))?;
    chown(&users, Some(0), Some(65532)).map_err(Error::file("change the owner of", &users))?;
    let users = format!("--users=/{USERS}");
    let console = Container::start(image, &["console", "--listen=127.0.0.1:0", &users])?;
    let address = console.line_that("console: http://")?;
    let begun = Instant::now();
    loop {
        let status = health_of_console(address.trim_end_matches('/'))?;
        if status.split(' ').nth(1) == Some("200") {
            break;
        }
        // It is 503 until the registry was read, as a startup probe of a pod finds it.
        if begun.elapsed() > LIMIT {
            return Err(Error::Deploy(format!("the console answers {status:?} for {LIMIT:?}")));
        }
        thread::sleep(Duration::from_millis(100));
    }
    console.terminate()?;
    console.line_that("left")?;
    console.expect_exit(0)
}

/// Returns the first line of the answer to a probe.
fn health_of_console(address: &str) -> Result<String, Error> {
    let mut stream = TcpStream::connect(address).map_err(network("connect to the console"))?;
    stream.set_read_timeout(Some(LIMIT)).map_err(network("limit an answer"))?;
    stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").map_err(network("ask the console"))?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status).map_err(network("read an answer"))?;
    Ok(status)
}

fn hash_of_password(image: &Image) -> Result<String, Error> {
    let mut command = in_image(image, &[]);
    command.args(["console", "hash"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let line = line(&command);
    let start = |source| Error::Start { line: line.clone(), source };
    let mut child = command.spawn().map_err(start)?;
    let mut input = child.stdin.take().expect("the input is a pipe");
    input.write_all(b"a password of this check\n").map_err(start)?;
    drop(input);
    let output = child.wait_with_output().map_err(start)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(Error::Command { line, status: output.status }),
    }
}

/// Asks for the health as a probe does: by another process of the container.
fn expect_health(image: &Image, port: &str, code: i32) -> Result<(), Error> {
    let mut probe = in_image(image, &[]);
    probe.args(["health", port]);
    let line = line(&probe);
    let status = probe.status().map_err(|source| Error::Start { line: line.clone(), source })?;
    if status.code() == Some(code) { Ok(()) } else { Err(Error::Command { line, status }) }
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
    for folder in ["proc", "dev", "data", "etc/ejob", "run/secrets/console"] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    }
    for (device, minor) in DEVICES {
        let mut mknod = Command::new("mknod");
        run_command(mknod.args(["--mode=666"]).arg(root.join(device)).args(["c", "1", minor]))?;
    }
    let data = root.join("data");
    chown(&data, Some(65532), Some(65532)).map_err(Error::file("change the owner of", &data))?;
    let files = [
        ("etc/resolv.conf", format!("nameserver {}\n", names.ip())),
        ("etc/ejob/jobs.toml", JOBS.replace("HOST", HOST).replace("PORT", &port.to_string())),
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
