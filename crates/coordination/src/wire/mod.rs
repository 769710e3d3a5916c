//! The node tree of a job: names, paths and bytes. No other module contains them.
//!
//! The nodes and their data are those of ElasticJob 2.1.5 or 3.x. State that ElasticJob has no node
//! for is stored below `ledger` and `coordination`, which Java instances neither watch nor list.
//! In the column *kind*, P stands for persistent and E for ephemeral.
//!
//! | node | kind | holds |
//! |---|---|---|
//! | `config` | P | the configuration: JSON; 3.x: YAML |
//! | `instances/{id}` | E | see [below](#instance-nodes) |
//! | `trigger/{id}` | P | 3.x: empty; an operator requests a run of the instance |
//! | `servers/{ip}` | P | 2.1.5: empty, 3.x: `ENABLED`; `DISABLED`; `PAUSED` (this project) |
//! | `leader/election/instance` | E | id of the leader |
//! | `leader/election/latch/{name}` | E | empty; candidate for leader beside Java instances |
//! | `leader/sharding/necessary` | P | empty; resharding is requested or announced |
//! | `leader/sharding/processing` | E | empty; a Java leader is about to reshard |
//! | `leader/failover` | P | empty; parent of the failover queue and its latch |
//! | `leader/failover/items/{i}` | P | empty; the item waits for a takeover |
//! | `leader/failover/latch/{name}` | E | empty; candidate for a takeover beside Java instances |
//! | `sharding/{i}/instance` | P | id of the owner |
//! | `sharding/{i}/running` | E; 3.x with failover: P | 2.1.5: empty, 3.x: id of the holder |
//! | `sharding/{i}/failovering` | P | 3.x: id of the instance that took the item over |
//! | `sharding/{i}/misfire` | P | empty; a fire met the running item |
//! | `sharding/{i}/failover` | E | id of the instance that took the item over |
//! | `sharding/{i}/disabled` | P | empty; an operator has disabled the item |
//! | `guarantee/{stage}/{i}` | P | empty; count of Java instances for their once listeners |
//! | `systemTime/current` | P | empty; written to read the registry's time |
//! | `ledger/{i}` | P | the item's record, JSON; never deleted while the job exists |
//! | `coordination/term` | P | the leader, JSON; the version of the node is the term |
//! | `coordination/servers` | P | empty; its version counts how often a server was added |
//! | `coordination/request` | P | empty; its version counts the requests to reshard |
//! | `coordination/assignment` | P | the inputs of the assignment, JSON |
//! | `coordination/draining/{id}` | E | empty; the instance is leaving and takes no more items |
//! | `coordination/waiting/{id}` | E | runs that wait for a place in their process, JSON |
//! | `coordination/permits/{n}` | E | item and holder of the run that has the permit |
//! | `coordination/runs/{i}` | E | where `running` is persistent: the holder's session lives |
//! | `coordination/starts` | P | the last starts of a job with a start rate, JSON |
//! | `coordination/names/{id}` | E | the stable name of the instance, if it has one |
//! | `coordination/triggers/{request}` | P | an operator's request to run now, JSON |
//! | `coordination/once` | P | the last calls of once-per-cluster callbacks, JSON |
//! | `coordination/checkpoints/{i}` | P | the item's checkpoint, in the format of the job's code |
//! | `coordination/progress/{i}` | P | the progress of the item's last run that reported it, JSON |
//! | `coordination/former-configs` | P | replaced configurations, JSON; no decision reads it |
//! | `coordination/audit` | P | the last audited changes, JSON; no decision reads it |
//! | `coordination/template` | P | the template of the job and its label, JSON |
//!
//! Jobs that were created from templates are also listed beside the jobs, below [`RUNTIME_INDEX`].
//! Watchers of expectations keep their state below [`WATCH_STATE`].
//!
//! The nodes of a group of jobs are below [`JOB_GROUPS`]`/{group}`:
//!
//! | node | kind | holds |
//! |---|---|---|
//! | `limits` | P | the limits, JSON; never deleted |
//! | `permits/{n}` | E | job, item, holder and token of the run that has the permit, JSON |
//! | `starts` | P | the last starts of runs of the group, JSON |
//! | `waiting/{job}` | E | the instance that waits for the job, JSON; ordered by last write |
//! | `audit` | P | the last audited changes of the limits, JSON; no decision reads it |
//!
//! # Instance nodes
//!
//! In 2.1.5 the node of a Java instance is empty and that of a Rust instance contains `RUST`. An
//! operator's request for a run replaces the data by `TRIGGER`. In 3.x the node contains id and
//! address as YAML. A Rust instance appends the comment `# RUST`.

mod config;
mod config_error;
mod config_json;
mod config_yaml;
pub(crate) mod data;
mod dialect;
mod inspect;
mod json;
pub(crate) mod latch;
mod layout;
mod node;
mod records;
mod run_nodes;
mod runtime;
mod yaml;

pub use config::{decode_config, dialect_of_config, encode_config};
pub use config_error::ConfigError;
pub use config_json::push_java_json;

pub(crate) use data::marked;
pub use data::{ENABLED, RUST_MARK, TRIGGER};
pub use dialect::DialectSign;
pub use inspect::{Removal, StrayNode};
pub use layout::Layout;
pub(crate) use node::item_of;
pub use node::{GroupNode, NodeKind};
pub use records::{
    FORMAT_VERSION, RecordError, decode_assignment, decode_backfills, decode_group_limits,
    decode_ledger, decode_progress, decode_template, encode_assignment, encode_group_limits,
    encode_ledger, encode_progress,
};
pub(crate) use records::{
    decode_audit, decode_once, decode_permit_holder, decode_place, decode_starts, decode_term,
    decode_trigger, decode_waiting, encode_audit, encode_backfills, encode_former_configs,
    encode_once, encode_permit_holder, encode_place, encode_starts, encode_term, encode_trigger,
    encode_waiting,
};
pub use run_nodes::RunWriteError;
pub use runtime::{JOB_GROUPS, RUNTIME_INDEX, WATCH_STATE};
