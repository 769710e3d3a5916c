//! Pure simulation: coordinators on the registry's model, from one seed, in virtual time, without
//! async code.
//!
//! Each step lets one node perform one activity: a change arrives, a request is executed, a reply
//! arrives, a fire comes, a run ends, or time passes. Faults and operator actions are in a
//! [`Script`], drawn from a seed beforehand, so that a failure can be stored, repeated and shrunk.
//!
//! The properties of the project's guarantees are checked after every write. At the end all faults
//! heal, and the final state is checked.
//!
//! In reading order: `dice`, `profile`, `act`, `script` (the input) · `world` (the step loop) ·
//! `node`, `release`, `inbox`, `sessions`, `registry`, `schedule`, `clocks`, `work`, `progress`
//! (the parts of the cluster) · `faults`, `operators`, `cancels`, `backfills` (acts) ·
//! `invariants`, `request_parameters`, `callbacks`, `decisions`, `heal` (the checks) · `record`,
//! `coverage`, `judge` (the output) · `run`, `seeds`, `shrink`, `points`, `corpus` (the uses).

mod act;
mod backfills;
mod callbacks;
mod cancels;
mod change;
mod clocks;
mod corpus;
mod coverage;
mod decisions;
mod dice;
mod faults;
mod heal;
mod inbox;
mod inject;
mod invariants;
mod judge;
mod node;
mod notes;
mod operators;
mod points;
mod product;
mod profile;
mod progress;
mod record;
mod registry;
mod release;
mod request_parameters;
mod run;
mod schedule;
mod script;
mod seeds;
mod sessions;
mod shrink;
mod time;
mod work;
mod world;

pub use act::{Act, Who};
pub use change::Change;
pub use corpus::{CorpusError, Entry, Source, parse_corpus};
pub use coverage::Coverage;
pub use dice::{Dice, Stream};
pub use inject::{Mode, Point};
pub use points::{points, run_point, run_points};
pub use profile::{
    FIRST_DAY, JobSettings, PROFILE_VERSION, Pace, Profile, SECOND_DAY, STRATEGIES, WorkSettings,
};
pub use record::Keep;
pub use run::{Judge, Report, run, run_calm, run_ended};
pub use script::{Draw, FAULTS, OPERATORS, Script, ScriptError, Timed};
pub use seeds::{Totals, run_seeds};
pub use shrink::shrink;
pub use world::{ACTIVITIES, Violation};
