//! Looking for a seed, or trying a script, that fails with a mutant and not without.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use coordination::Mutant;
use simulation::sim::{self, Act, Change, Judge, Keep, Script};

/// Which property breaks, and where.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) property: String,
    pub(crate) place: String,
}

/// What is left out: a guard or rule, and perhaps its spare.
pub(crate) type LeftOut = (Mutant, Option<Mutant>);

/// Looks for the first seed at which one of these properties breaks that does not break it with everything in place; any
/// property if there are none. The checks after every write come first, then the checker.
pub(crate) fn hunt(left_out: LeftOut, properties: &[&str], seeds: u64) -> Option<Finding> {
    let judges = [Judge::Online, Judge::Full];
    judges.into_iter().find_map(|judge| {
        let breaks = |seed| {
            let script = Script::draw(seed);
            if judge == Judge::Full && !is_judged(&script) {
                return None;
            }
            let property = breach_of(Some(left_out), &script, judge)?;
            let meant = properties.is_empty() || properties.contains(&property.as_str());
            (meant && breach_of(None, &script, judge).is_none()).then_some(property)
        };
        let (seed, property) = first_of(seeds, breaks)?;
        Some(Finding { property, place: format!("seed {seed}") })
    })
}

/// Runs a script of the corpus, which must hold with everything in place.
///
/// # Panics
/// If the script is not there or cannot be read.
pub(crate) fn in_corpus(mutant: Mutant, file: &str) -> Option<Finding> {
    let path = format!("{}/corpus/{file}", env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(&path).ok().and_then(|text| Script::from_json(&text).ok());
    let script = script.unwrap_or_else(|| panic!("{path} is no script"));
    let property = breach_of(Some((mutant, None)), &script, Judge::Full)?;
    breach_of(None, &script, Judge::Full)
        .is_none()
        .then(|| Finding { property, place: format!("script {file}") })
}

/// Returns false for scripts that the checker does not judge as it should: it takes those who are away with static
/// sharding for strangers, and cannot know which configuration is in force while the stored one is unreadable.
fn is_judged(script: &Script) -> bool {
    let spoils = |act: &Act| {
        matches!(act, Act::Poison { .. } | Act::Configure { change: Change::Static(true) })
    };
    !script.profile.job.static_sharding && !script.acts.iter().any(|timed| spoils(&timed.act))
}

/// Tries seeds in ascending order on two threads and returns the first hit.
fn first_of<T: Send>(seeds: u64, hit: impl Fn(u64) -> Option<T> + Sync) -> Option<(u64, T)> {
    let (next, first) = (AtomicU64::new(0), AtomicU64::new(seeds));
    let hits = Mutex::new(BTreeMap::new());
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first.load(Ordering::Relaxed) {
            break;
        }
        if let Some(found) = hit(seed) {
            first.fetch_min(seed, Ordering::Relaxed);
            hits.lock().expect("no thread panics while it notes").insert(seed, found);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    hits.into_inner().expect("all threads have ended").into_iter().next()
}

fn breach_of(left_out: Option<LeftOut>, script: &Script, judge: Judge) -> Option<String> {
    let _active = left_out.map(|(mutant, spare)| match spare {
        Some(spare) => mutant.activate_with(spare),
        None => mutant.activate(),
    });
    let violation = sim::run(script, judge, Keep::default()).violation?;
    if env::var_os("VERBOSE").is_some() {
        eprintln!("{left_out:?} {} {:.200}", violation.property, violation.text);
    }
    Some(violation.property.to_string())
}
