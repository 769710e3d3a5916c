//! Signals between the processes that use the same file: a process sends one after each commit.
//!
//! SQLite does not notify a process of the commits of another one. Without a signal, a center sees
//! them at its next poll, so that a lost signal delays a change by one interval at most.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The file that a process writes to after each commit. It holds no data.
#[derive(Debug)]
pub(crate) struct ChangeSignal(Option<File>);

/// Returns the path of the signal's file, beside the registry file as SQLite's own files are.
fn path_for(registry: &Path) -> PathBuf {
    let mut path = registry.as_os_str().to_owned();
    path.push("-changed");
    path.into()
}

impl ChangeSignal {
    /// Opens the signal of a registry file. Without its file, no signals are sent.
    pub(crate) fn open(registry: &Path) -> Self {
        let path = path_for(registry);
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        if let Err(error) = &opened {
            let path = path.display();
            tracing::debug!(%path, %error, "cannot signal changes; other processes see them at their next poll");
        }
        Self(opened.ok())
    }

    pub(crate) fn send(&self) {
        if let Some(file) = &self.0 {
            // A full disk refuses only the first byte of an empty file.
            let _ = file.write_all_at(&[0], 0);
        }
    }
}

/// Calls a function after each signal, until the listener is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Closing it ends the thread.
    #[cfg(target_os = "linux")]
    _end: io::PipeWriter,
}

#[cfg(target_os = "linux")]
impl Listener {
    /// Starts the thread that waits for signals.
    ///
    /// # Errors
    /// The system has no room for another thread, or watch.
    pub(crate) fn start(registry: &Path, received: impl Fn() + Send + 'static) -> io::Result<Self> {
        use rustix::fs::inotify;

        // The file has to exist.
        drop(ChangeSignal::open(registry));
        let signals =
            inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&signals, path_for(registry), inotify::WatchFlags::MODIFY)?;
        let (ended, end) = io::pipe()?;
        let thread = std::thread::Builder::new().name("ejob-sqlite-signals".to_owned());
        thread.spawn(move || {
            while linux::wait(&signals, &ended) {
                received();
            }
        })?;
        Ok(Self { _end: end })
    }
}

#[cfg(not(target_os = "linux"))]
impl Listener {
    /// Signals are implemented for Linux only.
    pub(crate) fn start(_: &Path, _: impl Fn() + Send + 'static) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::inotify;
    use rustix::io::Errno;

    /// Waits for signals. Returns false after the listener was dropped.
    pub(super) fn wait(signals: &OwnedFd, ended: &io::PipeReader) -> bool {
        let mut watched = [PollFd::new(signals, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        loop {
            match poll(&mut watched, None) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        if !watched[1].revents().is_empty() {
            return false;
        }
        // All pending signals count as one.
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut events = inotify::Reader::new(signals, &mut buffer);
        while events.next().is_ok() {}
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn signals_are_received_until_the_listener_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let registry = folder.path().join("registry.db");
        let (sender, signals) = mpsc::channel();
        let listener = Listener::start(&registry, move || sender.send(()).unwrap()).unwrap();
        let signal = ChangeSignal::open(&registry);
        for _ in 0..3 {
            signal.send();
            signals.recv_timeout(PATIENCE).unwrap();
        }
        drop(listener);
        let ended = signals.recv_timeout(PATIENCE);
        assert_eq!(ended, Err(mpsc::RecvTimeoutError::Disconnected), "its thread has ended");
    }
}
