//! Liveness of the processes of a run. A zombie is not alive: it only waits for its parent to reap
//! it.

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
    // A process that ended in the meantime cannot be read, and is skipped.
    let stats = all_processes().ok()?.filter_map(|process| process.ok()?.stat().ok());
    let alive = stats.filter(|stat| !matches!(stat.state, 'Z' | 'X'));
    let listed = alive.filter_map(|stat| {
        let (parent, group, session) = (stat.ppid, stat.pgrp, stat.session);
        Some(Listed { id: Pid::from_raw(stat.pid)?, parent, group, session })
    });
    Some(listed.collect())
}

/// Returns true if a process of the group is alive. If `/proc` cannot be read, zombies count as
/// alive.
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
