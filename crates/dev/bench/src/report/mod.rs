//! What was measured: tables for people, JSON for programs, a plot, and whether the targets were reached.

mod plot;

use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use serde::Serialize;

pub(crate) use plot::plot;

use crate::spread::Spread;

/// One measurement: a row for each setting.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    /// A word for the command line and programs.
    pub(crate) name: &'static str,
    /// What was measured, and how, in a sentence.
    pub(crate) title: String,
    /// How many of the columns, from the first on, say what was measured; the others are figures.
    pub(crate) settings: usize,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) targets: Vec<Target>,
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Text(String),
    Count(u64),
    Number(f64),
    /// Times in milliseconds, ratios without a unit: the column says which.
    Spread(Spread),
    /// There is no such value in this row.
    None,
}

/// What a figure is to reach, and what it came to.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    /// Which figure, in which row.
    pub(crate) figure: String,
    /// What it shall not exceed.
    pub(crate) at_most: f64,
    pub(crate) measured: f64,
}

/// All of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) tables: Vec<Table>,
}

/// Where it was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// The processor's name as the operating system has it.
    pub(crate) processor: String,
    /// Processors that this process may use.
    pub(crate) processors: usize,
    /// Processes that were ready to run, over the last minute, when the measurement began.
    pub(crate) load: String,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let named = |line: &str| {
            Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned())
        };
        let processor = read("/proc/cpuinfo").lines().find_map(named);
        let load = read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
        Self {
            processor: processor.unwrap_or_else(|| "unknown".to_owned()),
            processors: std::thread::available_parallelism().map_or(1, Into::into),
            load,
        }
    }
}

impl Table {
    /// Returns a table that has no rows yet.
    pub(crate) fn new(
        name: &'static str,
        title: impl Into<String>,
        settings: usize,
        columns: &[&'static str],
    ) -> Self {
        let (rows, targets) = (Vec::new(), Vec::new());
        Self { name, title: title.into(), settings, columns: columns.to_vec(), rows, targets }
    }

    /// Adds a row, and tells of it at once: a run takes long, and may be ended before the table is complete.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        let cells = self.columns.iter().zip(&row).map(|(column, cell)| format!("{column} {cell}"));
        eprintln!("{}: {}", self.name, cells.collect::<Vec<_>>().join(" · "));
        self.rows.push(row);
    }

    /// Notes what a figure has to reach, if it could be measured.
    pub(crate) fn target(&mut self, figure: String, at_most: f64, measured: Option<f64>) {
        self.targets.extend(measured.map(|measured| Target { figure, at_most, measured }));
    }
}

impl Target {
    pub(crate) fn is_reached(&self) -> bool {
        self.measured <= self.at_most
    }
}

/// Words a flag.
pub(crate) fn on_or_off(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}

impl From<Option<Spread>> for Cell {
    fn from(spread: Option<Spread>) -> Self {
        spread.map_or(Self::None, Self::Spread)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::None, Self::Number)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number:.1}"),
            Self::Spread(spread) => write!(f, "{spread}"),
            Self::None => f.write_str("-"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, at_most, measured } = self;
        let verdict = if self.is_reached() { "reached" } else { "MISSED" };
        write!(f, "{verdict}: {figure}: {measured:.2}, wanted at most {at_most}")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(&self.columns);
        table.add_rows(self.rows.iter().map(|row| row.iter().map(ToString::to_string)));
        writeln!(f, "{}: {}\n{table}", self.name, self.title)?;
        self.targets.iter().try_for_each(|target| writeln!(f, "{target}"))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, processors, load } = self;
        write!(f, "{processors} processors ({processor}), load {load}")
    }
}
