//! Pure simulation: coordinators on the registry's model, one seed, virtual time, no async.
//!
//! Each step lets one thing happen to one node: a change arrives, a request is executed, a reply comes back, a fire
//! comes, a run ends, time passes. What goes wrong is a [`Script`], drawn from a seed beforehand, so that a failure can
//! be kept, repeated and shortened. After every write the properties of the project's guarantees are checked; in the end
//! everything heals, and everything must be where it belongs.
//!
//! In reading order: `dice`, `profile`, `act`, `script` (what will happen) · `world` (the scheduler) · `node`, `inbox`,
//! `sessions`, `registry`, `rhythm`, `clockwork`, `work` (the parts) · `faults`, `operators` (acts) · `truth`, `telling`, `callbacks`, `decisions`, `heal` (the checks) ·
//! `record`, `coverage`, `judge` (what is left, and what the checker says) · `run`, `fleet`, `shrink`, `points`, `corpus`
//! (what to do with it).

mod act;
mod callbacks;
mod change;
mod clockwork;
mod corpus;
mod coverage;
mod decisions;
mod dice;
mod faults;
mod fleet;
mod heal;
mod inbox;
mod inject;
mod judge;
mod node;
mod notes;
mod operators;
mod points;
mod product;
mod profile;
mod record;
mod registry;
mod rhythm;
mod run;
mod script;
mod sessions;
mod shrink;
mod telling;
mod time;
mod truth;
mod work;
mod world;

pub use act::{Act, Who};
pub use change::Change;
pub use corpus::{CorpusError, Entry, Source, parse_corpus};
pub use coverage::Coverage;
pub use dice::{Dice, Stream};
pub use fleet::{Totals, run_seeds};
pub use inject::{Mode, Point};
pub use points::{points, run_point, run_points};
pub use profile::{
    FIRST_DAY, JobSettings, PROFILE_VERSION, Pace, Profile, SECOND_DAY, STRATEGIES, WorkSettings,
};
pub use record::Keep;
pub use run::{Judge, Report, run, run_calm};
pub use script::{Draw, FAULTS, OPERATORS, Script, ScriptError, Timed};
pub use shrink::shrink;
pub use world::{ACTIVITIES, Violation};
