//! `ejob top` on a pseudo-terminal.

use std::process::Stdio;
use std::time::Duration;

use reg_center::RegistryCenter as _;
use reg_center_sqlite::{SqliteCenter, SqliteOptions};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;

use super::support::terminal;
use super::worker::within;

/// Sequences that enter and leave the full screen.
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

#[tokio::test]
async fn each_signal_of_the_end_restores_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(folder.path().join("r.db"));
    SqliteCenter::connect(options).await.unwrap().close().await.unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (terminal, for_child) = terminal::open(80);
        let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
        command.current_dir(folder.path()).args(["top", "--registry", "sqlite:r.db"]);
        command.stdin(for_child.try_clone().unwrap()).stdout(for_child).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        // It has the terminal, which must close with the child.
        drop(command);
        let parts = terminal::output_of(terminal);
        let mut text = String::new();
        let patience = Duration::from_secs(30);
        while !text.contains(ENTER) {
            let part = parts.recv_timeout(patience);
            let part = part.unwrap_or_else(|error| panic!("{error}: {text}"));
            text += &String::from_utf8_lossy(&part);
        }
        let id = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        kill_process(id, signal).unwrap();
        let status = within("the end", child.wait()).await.unwrap();
        assert!(status.success(), "{signal:?}: {status}");
        while let Ok(part) = parts.recv_timeout(patience) {
            text += &String::from_utf8_lossy(&part);
        }
        assert!(text.contains(LEAVE), "{signal:?}: {text}");
    }
}
