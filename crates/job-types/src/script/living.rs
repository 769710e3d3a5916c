//! Which processes of a run are alive. A zombie is not: it only waits for its parent to read its
//! status.

use rustix::process::Pid;
#[cfg(not(target_os = "linux"))]
use rustix::process::test_kill_process_group;
#[cfg(target_os = "linux")]
use rustix::process::{getpid, test_kill_process_group};

/// A process as `/proc` lists it.
#[cfg(target_os = "linux")]
pub(super) struct Listed {
    pub(super) id: Pid,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
}

/// Returns all processes except zombies; `None` if `/proc` cannot be read or lists the ids of
/// another namespace.
#[cfg(target_os = "linux")]
pub(super) fn processes() -> Option<Vec<Listed>> {
    use procfs::process::{Process, all_processes};

    if Process::myself().ok()?.pid() != getpid().as_raw_nonzero().get() {
        return None;
    }
    // A process that ends meanwhile cannot be read, and is gone.
    let stats = all_processes().ok()?.filter_map(|process| process.ok()?.stat().ok());
    let alive = stats.filter(|stat| !matches!(stat.state, 'Z' | 'X'));
    let listed = alive.filter_map(|stat| {
        let (parent, group, session) = (stat.ppid, stat.pgrp, stat.session);
        Some(Listed { id: Pid::from_raw(stat.pid)?, parent, group, session })
    });
    Some(listed.collect())
}

/// Returns true if a process of the group is alive. Where `/proc` cannot be read, zombies count.
pub(super) fn is_group_alive(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    #[cfg(target_os = "linux")]
    if let Some(processes) = processes() {
        let group = group.as_raw_nonzero().get();
        return processes.iter().any(|process| process.group == group);
    }
    true
}
