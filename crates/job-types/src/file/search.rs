//! The search for all mistakes of a file.
//!
//! A reading of the file ends at its first mistake. The search records it, replaces the value by a
//! valid one, and reads again, until a reading finds nothing more.

use super::error::JobFileError;
use super::tree::{Node, Step};

/// Maximum number of mistakes that are reported for one file.
const MAX_MISTAKES: usize = 100;
/// Maximum number of readings: that of each mistake, and of its consequences.
const MAX_READINGS: usize = 3 * MAX_MISTAKES;
/// Number of sharding items that leaves every item parameter valid.
const ANY_COUNT: u64 = 100_000;
/// Schedule that leaves every other field of a schedule valid.
const ANY_SCHEDULE: &str = "@every 1s";
/// Keys of a job of which exactly one must be given.
const JOB_TYPES: [&str; 3] = ["script", "http", "stored"];

/// A mistake with the path of the value that it concerns.
pub(super) struct Found {
    pub(super) path: Vec<Step>,
    /// Boxed to keep results small.
    pub(super) error: Box<JobFileError>,
}

/// Reads a file until a reading finds no further mistake.
pub(super) fn read_all<T>(
    mut tree: Node,
    read: impl Fn(&Node) -> Result<T, Found>,
) -> Result<T, JobFileError> {
    let labels = labels(&tree);
    let mut found: Vec<Found> = Vec::new();
    for _ in 0..MAX_READINGS {
        let Found { path, error } = match read(&tree) {
            Ok(file) if found.is_empty() => return Ok(file),
            Ok(_) => break,
            Err(mistake) => mistake,
        };
        // Without its value, a reading may miss the value of a mistake that is known.
        let is_without_jobs = path == [Step::Key("jobs".to_owned())] && !tree.has(&path);
        let is_consequence = found.iter().any(|known| {
            is_within(&known.path, &path)
                || is_without_jobs
                    && matches!(*known.error, JobFileError::UnknownKey { job: None, .. })
        });
        let is_repaired = repair(&mut tree, &path, is_consequence);
        if !is_consequence {
            let label = job_of(&path).and_then(|n| labels.get(n));
            found.push(Found { path, error: Box::new(error.of_job(label)) });
        }
        if !is_repaired || found.len() == MAX_MISTAKES {
            break;
        }
    }
    found.sort_by_key(|mistake| mistake.error.line());
    Err(JobFileError::all(found.into_iter().map(|mistake| *mistake.error).collect()))
}

/// Returns the names of the jobs as they are in the file: a repair may replace them.
fn labels(tree: &Node) -> Vec<String> {
    let jobs = tree.get("jobs").map(Node::elements).unwrap_or_default();
    let label = |(n, job): (usize, &Node)| {
        let name = job.get("name").and_then(Node::text);
        name.map_or_else(|| format!("jobs[{n}]"), str::to_owned)
    };
    jobs.iter().enumerate().map(label).collect()
}

fn job_of(path: &[Step]) -> Option<usize> {
    match path {
        [Step::Key(jobs), Step::Index(n), ..] if jobs == "jobs" => Some(*n),
        _ => None,
    }
}

/// Returns true if one path leads to the value of the other, or to a part of it.
fn is_within(one: &[Step], other: &[Step]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Replaces the value at a path, so that it is no mistake any more. Returns false if it cannot be
/// replaced.
///
/// A nested value is taken out first, so that its neighbors are still read. If its table needs it,
/// the next reading finds a consequence, and the whole table goes.
fn repair(tree: &mut Node, path: &[Step], is_consequence: bool) -> bool {
    let (Some(n), [jobs, element, rest @ ..]) = (job_of(path), path) else {
        let has_other_key = path.first().is_some_and(|key| *key != Step::Key("jobs".to_owned()));
        tree.remove(path.get(..1).unwrap_or_default());
        return has_other_key;
    };
    let job = [jobs.clone(), element.clone()];
    let below = |key: &str| [&job[..], &[Step::Key(key.to_owned())]].concat();
    let any_name = || Node::of_text(&format!("job-with-mistakes-{n}"));
    match rest {
        [] | [Step::Index(_), ..] => {
            let count = ("sharding_total_count", Node::of_number(ANY_COUNT));
            let values = [("name", any_name()), count, ("stored", Node::of_flag(true))];
            tree.set(&job, Node::of_table(values));
        }
        [_, .., Step::Key(_)] if !is_consequence && tree.has(path) => tree.remove(path),
        [Step::Key(key), Step::Index(at), ..] if key == "error_handlers" => {
            let handler = [&below(key)[..], &[Step::Index(*at)]].concat();
            tree.set(&handler, Node::of_table([("kind", Node::of_text("log"))]));
        }
        // A script without a command, with several, or with a program that does not exist.
        [Step::Key(key)] if key == "script" && tree.is_table(path) => {
            let command = |key: &str| [path, &[Step::Key(key.to_owned())]].concat();
            ["argv", "shell"].iter().for_each(|key| tree.remove(&command(key)));
            tree.set(&command("command"), Node::of_text("true"));
        }
        [Step::Key(key), ..] => match key.as_str() {
            "name" => tree.set(&below(key), any_name()),
            "sharding_total_count" => tree.set(&below(key), Node::of_number(ANY_COUNT)),
            "cron" => tree.set(&below(key), Node::of_text(ANY_SCHEDULE)),
            // Mistakes of no key are those of the job type.
            key if JOB_TYPES.contains(&key) || !tree.has(&below(key)) => {
                JOB_TYPES.iter().for_each(|key| tree.remove(&below(key)));
                tree.set(&below("stored"), Node::of_flag(true));
            }
            key => tree.remove(&below(key)),
        },
    }
    true
}
