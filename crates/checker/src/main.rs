//! `ejob-check`: judges the history of a run.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use checker::{History, Options, Report, check, svg};
use clap::Parser;

/// Exit code for invalid arguments and unreadable files.
const USAGE: u8 = 3;

/// Judges the history of a run: reports which promises held.
///
/// Exit codes: 0 valid, 1 invalid, 2 unknown (the harness failed, or too little happened), 3 wrong
/// usage.
#[derive(Debug, Parser)]
#[command(name = "ejob-check", version)]
struct Arguments {
    /// Files of JSON lines, or directories of `.jsonl` files.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write the report as JSON to this file; `-` prints it instead of the text report.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a timeline as SVG to this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Factor on all judged durations, more than 0; use 3 on a loaded machine.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    scale: f64,
    /// Maximum lateness of a fire, in milliseconds.
    #[arg(long, default_value_t = 1_000)]
    epsilon_ms: u64,
    /// Maximum difference between the times of the registry's log and of processes, in
    /// milliseconds.
    #[arg(long, default_value_t = 5)]
    clock_error_ms: u64,
    /// The resource accepts at most one effect per job, item and fire: judge S1c.
    #[arg(long)]
    deduplicated: bool,
    /// Also match runs to fires by time alone.
    #[arg(long)]
    blind: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|error| format!("{error}"))?;
    let valid = scale.is_finite() && scale > 0.0;
    valid.then_some(scale).ok_or_else(|| "valid is a number above 0".to_owned())
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // If stderr is gone, the error cannot be reported at all.
            error.print().ok();
            return ExitCode::from(code);
        }
    };
    match run(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            writeln!(io::stderr(), "ejob-check: {error}").ok();
            ExitCode::from(USAGE)
        }
    }
}

fn run(arguments: &Arguments) -> Result<u8, Box<dyn std::error::Error>> {
    let history =
        History::read(&arguments.paths).map_err(|error| format!("{error}: {}", error.source))?;
    let options = Options {
        scale: arguments.scale,
        epsilon: Duration::from_millis(arguments.epsilon_ms),
        clock_error: Duration::from_millis(arguments.clock_error_ms),
        deduplicated: arguments.deduplicated,
        blind: arguments.blind,
        ..Options::default()
    };
    let report = check(&history, &options);
    if let Some(path) = &arguments.svg {
        fs::write(path, svg::timeline(&history, &report))
            .map_err(|error| format!("writing {} failed: {error}", path.display()))?;
    }
    print(arguments, &report)?;
    Ok(report.verdict.exit_code())
}

fn print(arguments: &Arguments, report: &Report) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    let Some(path) = &arguments.json else {
        write!(out, "{report}")?;
        return Ok(());
    };
    let json = serde_json::to_string_pretty(report)?;
    if path.as_os_str() == "-" {
        writeln!(out, "{json}")?;
        return Ok(());
    }
    fs::write(path, json + "\n")
        .map_err(|error| format!("writing {} failed: {error}", path.display()))?;
    write!(out, "{report}")?;
    Ok(())
}
