//! Hosts: network namespaces with an address that Java accepts as a host's address.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use rustix::process::geteuid;

use super::Failure;

/// Environment variable that marks the suite inside its network namespace.
const INSIDE: &str = "EJOB_INTEROP_INSIDE";

/// Moves the suite into a network namespace of its own.
///
/// Outside of it, this function replaces the process by the suite inside.
///
/// # Errors
/// Returns an error if the namespace could not be created.
pub(crate) fn enter() -> Result<(), Failure> {
    if env::var_os(INSIDE).is_some() {
        run(Command::new("ip").args(["link", "set", "lo", "up"]))?;
        // The hosts reach each other through this namespace.
        let failed = Failure::system("let hosts reach each other");
        return fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(failed);
    }
    let program = env::current_exe().map_err(Failure::system("find the suite's own program"))?;
    let mut command = Command::new("unshare");
    if !geteuid().is_root() {
        command.args(["--map-current-user", "--keep-caps"]);
    }
    let error = command
        .args(["--net", "--"])
        .arg(program)
        .args(env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    Err(Failure::system("enter a network namespace; `unshare` of util-linux is needed")(error))
}

/// A network namespace, joined to the suite's by a veth pair. The kernel removes it with its last
/// process.
#[derive(Debug)]
pub(crate) struct Host {
    holder: Child,
    /// The device on the suite's side of the pair.
    device: String,
    /// The address on the suite's side.
    outer: Ipv4Addr,
    /// The host's own address.
    ip: Ipv4Addr,
}

impl Host {
    /// Creates the host with this number, from 1.
    pub(crate) fn make(number: u8) -> Result<Self, Failure> {
        let outer = Ipv4Addr::new(10, 77, number, 1);
        let ip = Ipv4Addr::new(10, 77, number, 2);
        let host = Self { holder: hold_namespace()?, device: format!("host{number}"), outer, ip };
        let (device, pid) = (&*host.device, host.holder.id().to_string());
        run(Command::new("ip")
            .args(["link", "add", device, "type", "veth"])
            .args(["peer", "name", "eth0", "netns", &pid]))?;
        run(Command::new("ip").args(["address", "add", &format!("{outer}/24"), "dev", device]))?;
        run(Command::new("ip").args(["link", "set", device, "up"]))?;
        run(host.inside("ip").args(["link", "set", "lo", "up"]))?;
        run(host.inside("ip").args(["address", "add", &format!("{ip}/24"), "dev", "eth0"]))?;
        run(host.inside("ip").args(["link", "set", "eth0", "up"]))?;
        run(host.inside("ip").args(["route", "add", "10.77.0.0/16", "via", &outer.to_string()]))?;
        Ok(host)
    }

    pub(crate) fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// Returns the address at which processes of this host reach the suite's namespace.
    pub(crate) fn outer(&self) -> Ipv4Addr {
        self.outer
    }

    /// Returns a command that runs a program in this host. The process id stays that of the
    /// command.
    pub(crate) fn inside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--net", "--", program]);
        command
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Without this, the kernel removes all of it with the suite. Deleting one device of the
        // pair deletes both.
        let _ = run(Command::new("ip").args(["link", "delete", &self.device]));
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Starts a process that keeps a new namespace. It ends with its input, so with the suite.
fn hold_namespace() -> Result<Child, Failure> {
    let mut holder = Command::new("unshare")
        .args(["--net", "--", "sh", "-c", "echo held; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::system("run `unshare`"))?;
    let output = holder.stdout.take().expect("the output is piped");
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    match read.map_err(Failure::system("read from the process of a new namespace"))? {
        0 => Err(Failure::unreadable("`unshare --net` ended without a namespace")),
        _ => Ok(holder),
    }
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let line = format!("{command:?}");
    let output = command.output().map_err(Failure::system(format!("run {line}")))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Failure::Command { line, status: output.status, output: text })
        }
    }
}
