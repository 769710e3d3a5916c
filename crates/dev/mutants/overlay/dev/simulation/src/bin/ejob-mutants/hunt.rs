//! Searches for a seed, or runs a script, that fails with a mutant and passes without it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use coordination::Mutant;
use simulation::sim::{self, Act, Change, Judge, Keep, Script};

/// A violated property, with the place where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) property: String,
    pub(crate) place: String,
}

/// A mutant, with the mutant of its spare guard if both are active.
pub(crate) type LeftOut = (Mutant, Option<Mutant>);

/// Searches for the first seed that violates one of these properties, or any if the list is empty,
/// and passes without the mutant.
///
/// The checks after every write are quicker than the checker and come first.
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

/// Runs a script of the corpus, which must pass without the mutant.
///
/// # Panics
/// If the script does not exist or is not valid.
pub(crate) fn in_corpus(mutant: Mutant, file: &str) -> Option<Finding> {
    let path = format!("{}/corpus/{file}", env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(&path).ok().and_then(|text| Script::from_json(&text).ok());
    let script = script.unwrap_or_else(|| panic!("{path} is not a valid script"));
    let property = breach_of(Some((mutant, None)), &script, Judge::Full)?;
    breach_of(None, &script, Judge::Full)
        .is_none()
        .then(|| Finding { property, place: format!("script {file}") })
}

/// Returns false for scripts that the checker judges wrongly.
///
/// With static sharding it rejects absent owners. It does not know the configuration in effect
/// while the stored one is invalid.
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
            hits.lock().expect("no thread panics while it holds the lock").insert(seed, found);
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
