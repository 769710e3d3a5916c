//! Real faults of a registry file and of the processes that share it.

mod damaged_files;
mod full_disk;
mod killed_processes;
mod shared_file;
mod torn_log;
