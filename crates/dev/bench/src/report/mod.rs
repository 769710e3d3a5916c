//! Report of a run: tables as text, all figures as JSON, a plot, and the reached or missed targets.

mod plot;

use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use serde::Serialize;

pub(crate) use plot::plot;

use crate::spread::Spread;

/// One measurement: a row for each setting.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    /// Name on the command line and in the JSON.
    pub(crate) name: &'static str,
    /// Description of the measurement and of its method.
    pub(crate) title: String,
    /// Number of leading columns that hold settings; the other columns hold figures.
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
    /// Times in milliseconds or ratios without a unit, as the column's name says.
    Spread(Spread),
    /// The row has no value in this column.
    None,
}

/// The bound that a figure is to keep, and its measured value.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    /// Name of the figure, with the settings of its row.
    pub(crate) figure: String,
    #[serde(flatten)]
    pub(crate) bound: Bound,
    pub(crate) measured: f64,
}

/// An inclusive bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// All tables of a run, with its registry and its machine.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Name of the registry on the command line.
    pub(crate) backend: &'static str,
    pub(crate) machine: Machine,
    pub(crate) tables: Vec<Table>,
}

/// The machine of the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// The processor's name according to the operating system.
    pub(crate) processor: String,
    /// Processors that this process may use.
    pub(crate) processors: usize,
    /// Load average of the last minute when the measurement began.
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

    /// Adds a row, and prints it at once, because a run takes long and can be ended before the
    /// table is complete.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        let cells = self.columns.iter().zip(&row).map(|(column, cell)| format!("{column} {cell}"));
        eprintln!("{}: {}", self.name, cells.collect::<Vec<_>>().join(" · "));
        self.rows.push(row);
    }

    /// Notes the bound of a figure. Without a measured value there is no target.
    pub(crate) fn target(&mut self, figure: String, bound: Bound, measured: Option<f64>) {
        self.targets.extend(measured.map(|measured| Target { figure, bound, measured }));
    }
}

impl Target {
    pub(crate) fn is_reached(&self) -> bool {
        match self.bound {
            Bound::AtMost(bound) => self.measured <= bound,
            Bound::AtLeast(bound) => self.measured >= bound,
        }
    }
}

/// Returns the text of a flag.
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
        let Self { figure, bound, measured } = self;
        let verdict = if self.is_reached() { "reached" } else { "MISSED" };
        write!(f, "{verdict}: {figure}: {measured:.2}, wanted {bound}")
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(bound) => write!(f, "at most {bound}"),
            Self::AtLeast(bound) => write!(f, "at least {bound}"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive_and_have_a_direction() {
        let rows = [
            (Bound::AtMost(2.0), 2.0, "reached: x: 2.00, wanted at most 2"),
            (Bound::AtMost(2.0), 2.1, "MISSED: x: 2.10, wanted at most 2"),
            (Bound::AtLeast(2.0), 2.0, "reached: x: 2.00, wanted at least 2"),
            (Bound::AtLeast(2.0), 1.9, "MISSED: x: 1.90, wanted at least 2"),
        ];
        for (bound, measured, expected) in rows {
            let target = Target { figure: "x".to_owned(), bound, measured };
            assert_eq!(target.to_string(), expected);
        }
    }

    #[test]
    fn json_names_the_direction_of_a_bound() -> Result<(), serde_json::Error> {
        let target = Target { figure: "x".to_owned(), bound: Bound::AtLeast(2.0), measured: 3.0 };
        let expected = r#"{"figure":"x","at_least":2.0,"measured":3.0}"#;
        assert_eq!(serde_json::to_string(&target)?, expected);
        Ok(())
    }
}
