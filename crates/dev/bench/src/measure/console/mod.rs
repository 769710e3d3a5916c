//! The read model of the console at size: memory, loading, changes, and the list of jobs.
//!
//! In reading order: this file (settings, targets) · `feed` (the generated namespace) · `model`
//! (the figures of one size, in a process of its own) · `views` (pages and answers of the console)
//! · `site` (a console for measurements in a browser).

pub(crate) mod feed;
pub(crate) mod model;
pub(crate) mod site;
pub(crate) mod views;

use std::env;
use std::process::Command;

use serde::de::DeserializeOwned;

use crate::report::{Bound, Cell, Table};
use crate::{Effort, Outcome};
use feed::Size;
use model::Figures;

const COLUMNS: [&str; 12] = [
    "jobs",
    "items per job",
    "MiB resident",
    "MiB peak",
    "bytes per item",
    "s to load",
    "s to load the same again",
    "ms from a change to the model",
    "ms, a reader holds the job",
    "ms of the list after a change, p99",
    "ms of the oldest runs, p99",
    "changes a second",
];

const MIB: f64 = 1_048_576.0;

/// Measures each size in a process of its own, so that no measurement inherits the memory of
/// another.
pub(crate) fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "console",
        "the read model of the console, fed by a generated namespace without a registry: memory \
         beyond that before loading, afterwards and at most while it is loaded twice; time until all \
         jobs are shown; time from one change of an item until the model shows it; time of the list \
         of all jobs, and of the 200 oldest runs of all jobs, after a change; changes of random \
         items that the model applies in a second while the list is read ten times a second",
        2,
        &COLUMNS,
    );
    let sizes: &[Size] = match effort {
        Effort::Quick => &[Size { jobs: 100, items: 100 }],
        Effort::Full => &[
            Size { jobs: 1_000, items: 1_000 },
            Size { jobs: 10_000, items: 10 },
            Size { jobs: 10, items: 10_000 },
        ],
    };
    for size in sizes {
        note(&mut table, *size, &in_a_process("console-process", *size)?);
    }
    Ok(table)
}

/// Returns the figures that a process of this program prints about one size.
fn in_a_process<T: DeserializeOwned>(command: &str, size: Size) -> Outcome<T> {
    let mut process = Command::new(env::current_exe()?);
    process.args([command, &size.jobs.to_string(), &size.items.to_string()]);
    let output = process.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("the process with {} jobs: {error}", size.jobs).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn note(table: &mut Table, size: Size, figures: &Figures) {
    let items = f64::from(size.jobs) * f64::from(size.items);
    let resident = figures.resident_kib * 1_024.0;
    table.push(vec![
        size.jobs.into(),
        size.items.into(),
        Cell::Number(resident / MIB),
        Cell::Number(figures.peak_kib * 1_024.0 / MIB),
        Cell::Number(resident / items),
        Cell::Number(figures.load_s),
        Cell::Number(figures.reload_s),
        figures.change_ms.into(),
        figures.held_ms.into(),
        Cell::Number(figures.list_p99_ms),
        Cell::Number(figures.running_p99_ms),
        Cell::Number(figures.changes_per_s),
    ]);
    let of_size = format!("{} jobs of {} items", size.jobs, size.items);
    if items >= 1e6 {
        let bound = Bound::AtMost(1_000_000_000.0);
        table.target(format!("bytes resident, {of_size}"), bound, Some(resident));
    }
    if size.jobs >= 10_000 {
        let figure = format!("ms of the list, p99, {of_size}");
        table.target(figure, Bound::AtMost(60.0), Some(figures.list_p99_ms));
    }
}
