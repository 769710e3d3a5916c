//! The jobs: the file that all workers run, and the script of all items.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process, thread};

use clap::Args;
use jiff::Timestamp;

use crate::Error;
use crate::evidence::{Line, Phase};

/// A job of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) name: &'static str,
    pub(crate) cron: &'static str,
    pub(crate) total: u32,
    pub(crate) monitored: bool,
    /// Further fields of the job's table.
    fields: &'static str,
    /// How long a script takes, in milliseconds: the least and the most.
    takes_ms: (u64, u64),
}

/// One job for each way of treating a fire that did not run in time.
pub(crate) const JOBS: [Declared; 4] = [
    Declared {
        name: "a",
        cron: "* * * * * ?",
        total: 8,
        monitored: true,
        fields: "failover = true",
        takes_ms: (20, 300),
    },
    Declared {
        name: "b",
        cron: "0/5 * * * * ?",
        total: 6,
        monitored: true,
        fields: "misfire = true\nfailover = true",
        takes_ms: (1_000, 8_000),
    },
    Declared {
        name: "c",
        cron: "0/2 * * * * ?",
        total: 3,
        monitored: true,
        fields: "failover = true\ncatch_up = { window = \"5m\", max = 100 }",
        takes_ms: (20, 200),
    },
    Declared {
        name: "d",
        cron: "0/2 * * * * ?",
        total: 4,
        monitored: false,
        fields: "monitor_execution = false",
        takes_ms: (20, 500),
    },
];

/// Returns the file of jobs. Each script is `program item …`, which appends to `lines`.
pub(crate) fn file(program: &Path, lines: &Path, seed: u64) -> String {
    let table = |job: &Declared| {
        let Declared { name, cron, total, fields, takes_ms: (least, most), .. } = job;
        let arguments = [
            program.display().to_string(),
            "item".to_owned(),
            lines.display().to_string(),
            least.to_string(),
            most.to_string(),
            seed.to_string(),
        ];
        format!(
            "[[jobs]]\nname = \"{name}\"\ncron = \"{cron}\"\nsharding_total_count = {total}\n\
             {fields}\nscript = {{ argv = {arguments:?} }}\n\n"
        )
    };
    JOBS.iter().map(table).collect()
}

/// The script of an item: writes a line, takes its time, writes another line.
#[derive(Clone, Debug, Args)]
pub struct ItemArguments {
    /// The file that the lines are appended to
    lines: PathBuf,
    /// The least time that it takes, in milliseconds
    least_ms: u64,
    /// The most time that it takes, in milliseconds
    most_ms: u64,
    /// The seed that the time is drawn from, together with the item and its fire
    seed: u64,
    /// The context, if the worker passes it as an argument; the script reads its environment
    context: Option<String>,
}

impl ItemArguments {
    /// Runs the script.
    ///
    /// # Errors
    /// A variable of the environment is missing or unreadable, or the file cannot be written.
    pub fn run(&self) -> Result<(), Error> {
        let mut line = Line {
            phase: Phase::Begin,
            at_ms: 0,
            pid: process::id(),
            job: text("EJOB_JOB_NAME")?,
            item: number("EJOB_SHARDING_ITEM")?,
            fire_ms: number::<Timestamp>("EJOB_FIRE_TIME")?.as_millisecond(),
            token: number("EJOB_FENCING_TOKEN")?,
            source: text("EJOB_SOURCE")?,
            instance: text("EJOB_INSTANCE")?,
        };
        self.append(&mut line)?;
        let draw = self.seed ^ line.fire_ms.unsigned_abs() ^ (u64::from(line.item) << 48);
        let takes_ms = fastrand::Rng::with_seed(draw).u64(self.least_ms..=self.most_ms);
        thread::sleep(Duration::from_millis(takes_ms));
        line.phase = Phase::End;
        self.append(&mut line)
    }

    /// Appends a line by one write, so that lines of several scripts do not mix.
    fn append(&self, line: &mut Line) -> Result<(), Error> {
        line.at_ms = Timestamp::now().as_millisecond();
        let text = serde_json::to_string(line);
        let path = self.lines.clone();
        let text = text.map_err(|source| Error::Json { path, source })? + "\n";
        let file = OpenOptions::new().create(true).append(true).open(&self.lines);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(Error::file("append to", &self.lines))
    }
}

fn text(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|error| Error::Variable { name, reason: error.to_string() })
}

fn number<T: std::str::FromStr<Err: std::fmt::Display>>(name: &'static str) -> Result<T, Error> {
    text(name)?.parse().map_err(|error: T::Err| Error::Variable { name, reason: error.to_string() })
}

/// Reads the lines of all scripts.
pub(crate) fn read_lines(path: &Path) -> Result<Vec<Line>, Error> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let read = |line: &str| {
        serde_json::from_str(line).map_err(|source| Error::Json { path: path.to_owned(), source })
    };
    text.lines().map(read).collect()
}
