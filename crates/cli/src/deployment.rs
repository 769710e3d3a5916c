//! Tests of the files in `docs/deploy`: their command lines, their job files, their deadlines.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::CommandFactory as _;
use job_types::JobFile;
use serde_json::Value;

use crate::arguments::CommandLine;
use crate::commands::worker::outlets::HISTORY_DEADLINE;

/// Seconds between the end of `--drain` and the end of the process: the deadline of the history,
/// and twice the default `shutdown_grace` of a job.
const EXIT_SECONDS: u64 = HISTORY_DEADLINE.as_secs() + 2;

fn files_in(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy")).join(folder);
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Parses a command line. Returns its subcommand and the time that it gives runs to end.
fn parse(words: &[String]) -> (String, Option<Duration>) {
    let parsed = CommandLine::command().try_get_matches_from(words);
    let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", words.join(" ")));
    let (name, matches) = parsed.subcommand().unwrap();
    let drain = matches.try_get_one::<Duration>("drain").ok().flatten();
    (name.to_owned(), drain.copied())
}

fn assert_asks_for_health(command: &[String]) {
    assert_eq!(parse(command).0, "health", "{command:?}");
}

/// Returns the words of a list in a YAML file, with the values of a pod's variables.
fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().unwrap_or_else(|| panic!("no list of words: {list}"));
    let word = |word: &Value| word.as_str().unwrap().replace("$(POD_IP)", "10.0.0.1");
    words.iter().map(word).collect()
}

/// Returns the command line of a container's program, and checks those of its probes.
fn program_of(container: &Value) -> Vec<String> {
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert!(container[probe].is_object(), "no {probe}: {container}");
        let command = &container[probe]["exec"]["command"];
        if !command.is_null() {
            assert_asks_for_health(&words(command));
        }
    }
    [vec!["ejob".to_owned()], words(&container["args"])].concat()
}

#[test]
fn programs_of_the_units_start() {
    let mut n_commands = 0;
    for unit in files_in("systemd") {
        let unit = fs::read_to_string(unit).unwrap();
        for start in unit.lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
            parse(&start.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
            n_commands += 1;
        }
    }
    assert_eq!(n_commands, 3);
}

#[test]
fn programs_of_the_manifests_start_and_end_within_the_grace_of_their_pods() {
    let (mut n_workers, mut n_consoles) = (0, 0);
    for path in files_in("kubernetes/manifests") {
        let text = fs::read_to_string(&path).unwrap();
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        for object in objects {
            if let Some(jobs) = object["data"]["jobs.toml"].as_str() {
                assert!(!JobFile::from_toml(jobs).unwrap().jobs().is_empty());
            }
            let pod = &object["spec"]["template"]["spec"];
            for container in pod["containers"].as_array().into_iter().flatten() {
                match parse(&program_of(container)) {
                    (name, None) if name == "console" => n_consoles += 1,
                    (_, drain) => {
                        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
                        let needed = drain.unwrap().as_secs() + EXIT_SECONDS;
                        assert!(grace >= needed, "{}: {grace} s", path.display());
                        n_workers += 1;
                    }
                }
            }
        }
    }
    assert_eq!((n_workers, n_consoles), (2, 1));
}

#[test]
fn programs_of_the_compose_file_start_and_end_within_its_grace() {
    let path = files_in("container").into_iter().find(|path| path.ends_with("compose.yaml"));
    let file: Value = serde_saphyr::from_str(&fs::read_to_string(path.unwrap()).unwrap()).unwrap();
    let worker = &file["services"]["worker"];
    let arguments = [vec!["ejob".to_owned()], words(&worker["command"])].concat();
    let drain = parse(&arguments).1.unwrap().as_secs();
    let grace = worker["stop_grace_period"].as_str().unwrap().strip_suffix('s').unwrap();
    assert!(grace.parse::<u64>().unwrap() >= drain + EXIT_SECONDS, "{grace}");
    let health = words(&worker["healthcheck"]["test"]);
    assert_eq!(health[0], "CMD");
    assert_asks_for_health(&health[1..]);
}

#[test]
fn chart_installs_the_image_of_this_version() {
    let path = files_in("kubernetes/ejob").into_iter().find(|path| path.ends_with("Chart.yaml"));
    let chart: Value = serde_saphyr::from_str(&fs::read_to_string(path.unwrap()).unwrap()).unwrap();
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}
