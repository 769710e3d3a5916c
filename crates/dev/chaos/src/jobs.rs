//! The jobs: the file that all workers run, and the script that all items run.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, process, thread};

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
    pub(crate) failover: bool,
    /// Further fields of the job's table.
    fields: &'static str,
    /// Minimum and maximum duration of a script, in milliseconds.
    duration_ms: (u64, u64),
}

/// One job for each policy for fires that did not run in time.
pub(crate) const JOBS: [Declared; 4] = [
    Declared {
        name: "a",
        cron: "* * * * * ?",
        total: 8,
        monitored: true,
        failover: true,
        fields: "",
        duration_ms: (20, 300),
    },
    Declared {
        name: "b",
        cron: "0/5 * * * * ?",
        total: 6,
        monitored: true,
        failover: true,
        fields: "misfire = true",
        duration_ms: (1_000, 8_000),
    },
    Declared {
        name: "c",
        cron: "0/2 * * * * ?",
        total: 3,
        monitored: true,
        failover: true,
        fields: "catch_up = { window = \"5m\", max = 100 }",
        duration_ms: (20, 200),
    },
    Declared {
        name: "d",
        cron: "0/2 * * * * ?",
        total: 4,
        monitored: false,
        failover: false,
        fields: "monitor_execution = false",
        duration_ms: (20, 500),
    },
];

/// Returns the text of the jobs file. Each script is `program item …` and appends to `lines`.
pub(crate) fn file(program: &Path, lines: &Path, seed: u64) -> String {
    let table = |job: &Declared| {
        let Declared { name, cron, total, failover, fields, duration_ms: (least, most), .. } = job;
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
             failover = {failover}\n{fields}\nscript = {{ argv = {arguments:?} }}\n\n"
        )
    };
    JOBS.iter().map(table).collect()
}

/// The script of an item: writes a line, waits, and writes another line.
#[derive(Clone, Debug, Args)]
pub struct ItemArguments {
    /// The file to which the lines are appended
    lines: PathBuf,
    /// The minimum duration, in milliseconds
    least_ms: u64,
    /// The maximum duration, in milliseconds
    most_ms: u64,
    /// The seed of the duration, together with the item and its fire
    seed: u64,
    /// The context, if the worker passes it as an argument; the script reads its environment
    /// instead
    context: Option<String>,
}

impl ItemArguments {
    /// Runs the script.
    ///
    /// # Errors
    /// A variable of the environment is missing or invalid, or the file cannot be written.
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
        let duration_ms = fastrand::Rng::with_seed(draw).u64(self.least_ms..=self.most_ms);
        thread::sleep(Duration::from_millis(duration_ms));
        line.phase = Phase::End;
        self.append(&mut line)
    }

    /// Appends a line by one write, so that lines of several scripts never mix.
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

/// Reads the lines of all scripts, each once, and keeps them.
#[derive(Debug)]
pub(crate) struct LineReader {
    path: PathBuf,
    lines: Vec<Line>,
    /// Number of bytes that were read as complete lines.
    read: u64,
}

impl LineReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, lines: Vec::new(), read: 0 }
    }

    /// Returns the lines written since the last call. A missing file has none.
    pub(crate) fn read_on(&mut self) -> Result<&[Line], Error> {
        let known = self.lines.len();
        if !self.path.exists() {
            return Ok(&[]);
        }
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_string(&mut text)
        });
        read.map_err(Error::file("read", &self.path))?;
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        self.read += complete as u64;
        let parse = |line: &str| {
            let path = self.path.clone();
            serde_json::from_str(line).map_err(|source| Error::Json { path, source })
        };
        for line in text[..complete].lines().map(parse) {
            self.lines.push(line?);
        }
        Ok(&self.lines[known..])
    }

    /// Returns all lines.
    pub(crate) fn into_lines(mut self) -> Result<Vec<Line>, Error> {
        self.read_on()?;
        Ok(self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_read_once_and_only_when_complete() {
        let folder = env::temp_dir().join(format!("chaos-lines-{}", process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("lines.jsonl");
        let mut reader = LineReader::new(path.clone());
        assert_eq!(reader.read_on().unwrap(), []);
        let line = Line {
            phase: Phase::Begin,
            at_ms: 5,
            pid: 7,
            job: "a".to_owned(),
            item: 1,
            fire_ms: 4,
            token: 3,
            source: "NORMAL".to_owned(),
            instance: "10.0.0.1@-@7-x".to_owned(),
        };
        let text = serde_json::to_string(&line).unwrap() + "\n";
        std::fs::write(&path, format!("{text}{}", &text[..10])).unwrap();
        assert_eq!(reader.read_on().unwrap(), std::slice::from_ref(&line));
        assert_eq!(reader.read_on().unwrap(), []);
        std::fs::write(&path, format!("{text}{text}")).unwrap();
        assert_eq!(reader.read_on().unwrap(), [line]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
