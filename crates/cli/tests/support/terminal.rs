//! A pseudo-terminal for a command.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::mpsc;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Opens a terminal with this width. Returns the end that reads its output, and the end for the
/// command.
pub(crate) fn open(columns: u16) -> (File, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let name = OsStr::from_bytes(name.as_bytes());
    let for_child = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&for_child, size).unwrap();
    (File::from(terminal), for_child)
}

/// Returns the output of a terminal in parts, until no process has it open.
pub(crate) fn output_of(mut terminal: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, parts) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // The read fails once no process has the terminal open.
        while let Ok(n) = terminal.read(&mut buffer) {
            if sender.send(buffer[..n].to_vec()).is_err() {
                return;
            }
        }
    });
    parts
}
