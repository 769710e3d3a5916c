//! Scripts: runs as data. The faults and operator actions of each step are drawn beforehand, so
//! that a script can be stored, repeated and shrunk.

use serde::{Deserialize, Serialize};

use super::act::{Act, Who};
use super::change::Change;
use super::dice::{Dice, Stream};
use super::profile::{PROFILE_VERSION, Profile, STRATEGIES};

/// A run as data; the same script gives the same run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Version of the profile that the seed belongs to; [`PROFILE_VERSION`].
    pub version: u32,
    /// Seed of all other decisions: the order of activities, the network, the durations of runs.
    pub seed: u64,
    /// Settings of the run.
    pub profile: Profile,
    /// Acts in the order of their steps.
    pub acts: Vec<Timed>,
}

/// An act and its step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Step before which the act happens, from 1.
    pub step: u32,
    /// The act.
    #[serde(flatten)]
    pub act: Act,
}

/// Error of a script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text is not a script.
    #[error("the text is not a script")]
    Syntax(#[from] serde_json::Error),
    /// The script is of another version.
    #[error("the version of the script is {found}; valid is {PROFILE_VERSION}")]
    Version {
        /// Version of the script.
        found: u32,
    },
}

impl Script {
    /// Draws the script of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        Self::with(seed, Profile::draw(seed))
    }

    /// Draws the script of a seed whose job combines features, and whose operators change them.
    #[must_use]
    pub fn draw_with_features(seed: u64) -> Self {
        Self::with(seed, Profile::with_features(seed))
    }

    /// Draws the acts of a seed for a profile.
    #[must_use]
    pub fn with(seed: u64, profile: Profile) -> Self {
        let mut acts = Vec::new();
        for step in 1..=profile.steps {
            let moment = u64::from(step);
            let mut dice = Dice::at(seed, Stream::Faults, moment);
            if dice.one_in(profile.fault_every.into()) {
                let (_, draw) = FAULTS[dice.weighted(&profile.fault_mix)];
                acts.push(Timed { step, act: draw(&mut dice, &profile) });
            }
            let mut dice = Dice::at(seed, Stream::Operators, moment);
            if dice.one_in(profile.operator_every.into()) {
                let (_, draw) = OPERATORS[dice.weighted(&profile.operator_mix)];
                let act = draw(&mut dice, &profile);
                acts.push(Timed { step, act: with_extras(act, seed, step, &profile) });
            }
            let mut dice = Dice::at(seed, Stream::Extras, moment);
            if profile.has_odd_changes() && dice.one_in(ODD_TIMES_EVERY) {
                let change = profile.draw_odd_change(&mut dice);
                acts.push(Timed { step, act: Act::Configure { change } });
            }
            let mut dice = Dice::at(seed, Stream::Extras, moment | CANCEL_MOMENT);
            if dice.one_in(profile.cancels_every().into()) {
                acts.push(Timed { step, act: cancel(&mut dice, &profile) });
            }
            let mut dice = Dice::at(seed, Stream::Extras, moment | MISS_MOMENT);
            if dice.one_in(profile.misses_every().into()) {
                acts.push(Timed { step, act: Act::MissChange { who: who(&mut dice, &profile) } });
            }
            let mut dice = Dice::at(seed, Stream::Extras, moment | BACKFILL_MOMENT);
            if dice.one_in(profile.backfills_every().into()) {
                acts.push(Timed { step, act: backfill(&mut dice, &profile) });
            }
            let mut dice = Dice::at(seed, Stream::Features, moment);
            if dice.one_in(profile.feature_change_every.into()) {
                let change = Profile::draw_feature_change(&mut dice);
                acts.push(Timed { step, act: Act::Configure { change } });
            }
        }
        Self { version: PROFILE_VERSION, seed, profile, acts }
    }

    /// Returns the script as JSON, one act per line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let line = |act: &Timed| serde_json::to_string(act).unwrap_or_default();
        let acts: Vec<_> = self.acts.iter().map(|act| format!("  {}", line(act))).collect();
        let profile = serde_json::to_string(&self.profile).unwrap_or_default();
        format!(
            "{{\"version\":{},\"seed\":{},\n \"profile\":{profile},\n \"acts\":[\n{}\n ]}}\n",
            self.version,
            self.seed,
            acts.join(",\n")
        )
    }

    /// Parses the output of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// [`ScriptError`] if the text is not a script of this version.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text)?;
        if script.version != PROFILE_VERSION {
            return Err(ScriptError::Version { found: script.version });
        }
        Ok(script)
    }
}

/// Average number of steps between two changes of jitter or excluded days.
const ODD_TIMES_EVERY: u64 = 800;

/// Adds a parameter to three in four requests, in runs with parameters.
fn with_extras(act: Act, seed: u64, step: u32, profile: &Profile) -> Act {
    let mut dice = Dice::at(seed, Stream::Extras, u64::from(step) | PARAMETER_MOMENT);
    if !profile.parameters || dice.one_in(4) {
        return act;
    }
    let text = dice.pick(&["february", "march", "\"\\\t", "月报"]).to_owned();
    act.with_parameter(if dice.one_in(4) { "long ".repeat(400) } else { text })
}

/// Distinguishes the moments of parameters from those of steps.
const PARAMETER_MOMENT: u64 = 1 << 40;

/// Distinguishes the moments of cancellations from those of steps.
const CANCEL_MOMENT: u64 = 1 << 41;

/// Distinguishes the moments of missed changes from those of steps.
const MISS_MOMENT: u64 = 1 << 45;

/// Distinguishes the moments of backfills from those of steps.
const BACKFILL_MOMENT: u64 = 1 << 44;

fn backfill(dice: &mut Dice, profile: &Profile) -> Act {
    if dice.one_in(25) {
        return Act::CancelBackfill;
    }
    let some = item(dice, profile) + 1;
    Act::Backfill {
        fires: u8::try_from(dice.between(1, 5)).unwrap_or(1),
        items: dice.one_in(3).then_some(some),
        concurrency: dice.pick(&[1, 1, 2, 4]),
    }
}

fn cancel(dice: &mut Dice, profile: &Profile) -> Act {
    Act::Cancel {
        item: item(dice, profile),
        late_ms: dice.pick(&[0, 0, 20, 300, 1_200]),
        again_ms: dice.pick(&[0, 30, 400, 2_000]),
    }
}

/// Difference of a clock that is far off, in milliseconds.
const YEAR_MS: i64 = 365 * 86_400_000;

/// Draws an act of a kind.
pub type Draw = fn(&mut Dice, &Profile) -> Act;

/// Kinds of faults.
pub const FAULTS: [(&str, Draw); 12] = [
    ("lose_request", |dice, profile| Act::LoseRequest { who: who(dice, profile) }),
    ("lose_reply", |dice, profile| Act::LoseReply { who: who(dice, profile) }),
    ("late_request", |dice, profile| Act::LateRequest { who: who(dice, profile) }),
    ("delay_request", |dice, profile| Act::DelayRequest {
        who: who(dice, profile),
        ms: ms(dice, 20, 1_500),
    }),
    ("partition", |dice, profile| {
        let length = span(dice, profile);
        Act::Cut { who: who(dice, profile), ms: length, notice_ms: ms(dice, 0, length / 2) }
    }),
    ("lag", |dice, profile| Act::Lag { who: who(dice, profile), ms: ms(dice, 50, 2_000) }),
    ("expire", |dice, profile| Act::Expire {
        who: who(dice, profile),
        notice_ms: dice.pick(&[0, 0, 30, 200, 1_000]),
    }),
    ("crash", |dice, profile| Act::Crash {
        who: who(dice, profile),
        restart_ms: ms(dice, 0, 3_000) * profile.slow_motion(),
    }),
    ("pause", |dice, profile| Act::Freeze { who: who(dice, profile), ms: span(dice, profile) }),
    ("registry_down", |dice, profile| Act::RegistryDown {
        ms: span(dice, profile),
        expire: dice.one_in(3),
    }),
    ("skew", |dice, profile| {
        let ms = dice.pick(&[0, 0, -3_000, -900, -200, 150, 700, 2_500, -YEAR_MS, YEAR_MS]);
        Act::Skew { who: who(dice, profile), ms }
    }),
    ("refire", |dice, profile| Act::Refire { who: who(dice, profile) }),
];

/// Kinds of operator actions.
pub const OPERATORS: [(&str, Draw); 25] = [
    ("disable_server", |dice, profile| server(dice, profile, "DISABLED")),
    ("enable_server", |dice, profile| server(dice, profile, "")),
    ("pause_server", |dice, profile| server(dice, profile, "PAUSED")),
    ("remove_server", |dice, profile| Act::RemoveServer { who: who(dice, profile) }),
    ("disable_item", |dice, profile| Act::Item { item: item(dice, profile), disabled: true }),
    ("enable_item", |dice, profile| Act::Item { item: item(dice, profile), disabled: false }),
    ("config_total", |dice, _| {
        let total = u32::try_from(dice.between(1, 12)).unwrap_or(1);
        Act::Configure { change: Change::Total(total) }
    }),
    ("config_failover", |dice, _| Act::Configure { change: Change::Failover(dice.one_in(2)) }),
    ("config_misfire", |dice, _| Act::Configure { change: Change::Misfire(dice.one_in(2)) }),
    ("config_monitor", |dice, _| Act::Configure { change: Change::Monitor(!dice.one_in(3)) }),
    ("config_strategy", |dice, _| {
        let known = dice.pick(&STRATEGIES).to_owned();
        let name = if dice.one_in(6) { "no.such.Strategy".to_owned() } else { known };
        Act::Configure { change: Change::Strategy(name) }
    }),
    ("config_period", |dice, _| Act::Configure {
        change: Change::Period(dice.pick(&[1, 1, 2, 5])),
    }),
    ("config_disabled", |dice, _| Act::Configure { change: Change::Disabled(dice.one_in(2)) }),
    ("config_catch_up", |dice, _| Act::Configure { change: Change::CatchUp(dice.one_in(2)) }),
    ("config_static", |dice, _| Act::Configure { change: Change::Static(dice.one_in(3)) }),
    ("repair", |_, _| Act::Configure { change: Change::Nothing }),
    ("poison", |dice, _| {
        let text = dice.pick(&["", "{", "[]", r#"{"jobName":"sim","shardingTotalCount":0}"#]);
        Act::Poison { text: text.to_owned() }
    }),
    ("remove_leader", |_, _| Act::RemoveLeader),
    ("remove_instance", |dice, profile| Act::RemoveInstance { who: who(dice, profile) }),
    ("necessary", |_, _| Act::Necessary),
    ("trigger", |dice, profile| Act::Trigger { who: who(dice, profile), parameter: None }),
    ("request_run", |dice, profile| {
        let some = item(dice, profile) + 1;
        Act::RequestRun { items: dice.one_in(2).then_some(some), parameter: None }
    }),
    ("trigger_node", |dice, profile| Act::TriggerNode { who: who(dice, profile) }),
    ("pause_job", |dice, profile| Act::Pause { who: who(dice, profile), ms: ms(dice, 50, 3_000) }),
    ("drain", |dice, profile| Act::Drain {
        who: who(dice, profile),
        deadline_ms: ms(dice, 0, 3_000),
        linger_ms: dice.pick(&[0, 0, 500, 5_000]),
        rejoin_ms: dice.pick(&[0, 100, 1_000]),
    }),
];

fn who(dice: &mut Dice, profile: &Profile) -> Who {
    let node = u8::try_from(dice.below(profile.nodes.into())).unwrap_or(0);
    match dice.below(4) {
        0 => Who::Leader,
        1 => Who::Runner(node),
        _ => Who::Node(node),
    }
}

fn ms(dice: &mut Dice, low: u32, high: u32) -> u32 {
    u32::try_from(dice.between(low.into(), high.into())).unwrap_or(high)
}

/// Draws a duration between 10 ms and half a session timeout, one, one and a half, or three of
/// them.
fn span(dice: &mut Dice, profile: &Profile) -> u32 {
    let session = profile.session_ms;
    let most = dice.pick(&[session / 2, session, session * 3 / 2, session * 3]);
    ms(dice, 10, most)
}

fn server(dice: &mut Dice, profile: &Profile, data: &str) -> Act {
    Act::Server { who: who(dice, profile), data: data.to_owned() }
}

fn item(dice: &mut Dice, profile: &Profile) -> u32 {
    ms(dice, 0, profile.job.items.max(1) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_round_trips_through_json() {
        for seed in 0..20 {
            let script = Script::draw(seed);
            assert_eq!(Script::from_json(&script.to_json()).unwrap(), script, "seed {seed}");
        }
        let other = Script { version: 999, ..Script::draw(1) };
        assert!(matches!(
            Script::from_json(&other.to_json()),
            Err(ScriptError::Version { found: 999 })
        ));
    }

    #[test]
    fn names_in_tables_equal_kinds_of_acts() {
        let mut dice = Dice::at(1, Stream::Faults, 1);
        let profile = Profile::draw(1);
        for (name, draw) in FAULTS {
            let act = draw(&mut dice, &profile);
            assert_eq!((act.kind(), act.is_operator_action()), (name, false));
        }
        for (name, draw) in OPERATORS {
            let act = draw(&mut dice, &profile);
            assert_eq!((act.kind(), act.is_operator_action()), (name, true));
        }
    }

    #[test]
    fn operator_actions_are_independent_of_faults() {
        let operators = |script: Script| {
            let acts = script.acts.into_iter().filter(|timed| timed.act.is_operator_action());
            acts.collect::<Vec<_>>()
        };
        let profile = Profile { operator_every: 50, fault_every: 40, ..Profile::draw(5) };
        let without = Profile { fault_every: 0, ..profile.clone() };
        assert!(!operators(Script::with(5, profile.clone())).is_empty());
        assert_eq!(operators(Script::with(5, profile)), operators(Script::with(5, without)));
    }
}
