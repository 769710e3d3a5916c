//! `ejob top` on a pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use reg_center::RegistryCenter as _;
use reg_center_sqlite::{SqliteCenter, SqliteOptions};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::process::Command;

use super::worker::within;

/// Sequences that enter and leave the full screen.
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// Returns the output of a terminal in parts, until no process has it open.
fn output_of(mut terminal: File) -> mpsc::Receiver<String> {
    let (sender, parts) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // The read fails once no process has the terminal open.
        while let Ok(n) = terminal.read(&mut buffer) {
            let part = String::from_utf8_lossy(&buffer[..n]).into_owned();
            if sender.send(part).is_err() {
                return;
            }
        }
    });
    parts
}

#[tokio::test]
async fn each_signal_of_the_end_restores_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(folder.path().join("r.db"));
    SqliteCenter::connect(options).await.unwrap().close().await.unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let for_child = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&for_child, size).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
        command.current_dir(folder.path()).args(["top", "--registry", "sqlite:r.db"]);
        command.stdin(for_child.try_clone().unwrap()).stdout(for_child).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        // It has the terminal, which must close with the child.
        drop(command);
        let parts = output_of(File::from(terminal));
        let mut text = String::new();
        let patience = Duration::from_secs(30);
        while !text.contains(ENTER) {
            text += &parts.recv_timeout(patience).unwrap_or_else(|error| panic!("{error}: {text}"));
        }
        let id = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        kill_process(id, signal).unwrap();
        let status = within("the end", child.wait()).await.unwrap();
        assert!(status.success(), "{signal:?}: {status}");
        while let Ok(part) = parts.recv_timeout(patience) {
            text += &part;
        }
        assert!(text.contains(LEAVE), "{signal:?}: {text}");
    }
}
