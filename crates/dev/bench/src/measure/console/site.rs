//! A console over a generated namespace, for measurements in a browser.

use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use job_console::{Console, Limits, Server};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::interval;

use super::feed::{Size, Source};
use crate::Outcome;

/// Changes that are sent until the next line of the standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Rest,
    /// Changes of random items, each after this time.
    Random(Duration),
    /// A change of each item of the first job, each time after this time.
    Bursts(Duration),
}

impl Load {
    /// Reads a line: `rest`, `random MS`, or `bursts MS` with the time between two changes.
    fn parse(line: &str) -> Outcome<Self> {
        let (word, ms) = line.split_once(' ').unwrap_or((line, ""));
        let time = || match ms.parse() {
            Ok(ms @ 1..=3_600_000) => Ok(Duration::from_millis(ms)),
            _ => Err(format!("the time of `{line}` is `{ms}`; valid is 1 to 3600000 ms")),
        };
        match word {
            "rest" if ms.is_empty() => Ok(Self::Rest),
            "random" => Ok(Self::Random(time()?)),
            "bursts" => Ok(Self::Bursts(time()?)),
            _ => Err(format!("`{line}` is no load; valid: rest, random MS, bursts MS").into()),
        }
    }

    fn period(self) -> Option<Duration> {
        match self {
            Self::Rest => None,
            Self::Random(time) | Self::Bursts(time) => Some(time),
        }
    }
}

/// Serves a console and prints its address. Each line of the standard input begins another load.
/// The end of the input is the end of the console, so that it never outlives the measurement.
pub(crate) async fn serve(jobs: u32, items: u32) -> Outcome<()> {
    let size = Size { jobs, items };
    let (mut source, registry) = Source::new(size)?;
    let console = Console::new().namespace("bench", Arc::clone(&registry) as _, None)?;
    let server = Server::bind("127.0.0.1:0".parse()?, Limits::default()).await?;
    source.snapshot().await?;
    writeln!(stdout(), "http://{}", server.local_addr())?;
    let mut sent = Ok(());
    server.serve(console.router(), async { sent = send(source, size).await }).await?;
    sent
}

async fn send(mut source: Source, size: Size) -> Outcome<()> {
    let mut lines = BufReader::new(stdin()).lines();
    let mut load = Load::Rest;
    // A rest has no period, and no tick is awaited in it.
    let mut ticks = interval(Duration::from_secs(1));
    let mut round = 0;
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                load = Load::parse(line.trim())?;
                ticks = interval(load.period().unwrap_or(Duration::from_secs(1)));
            }
            _ = ticks.tick(), if load != Load::Rest => {
                round += 1;
                match load {
                    Load::Rest => {}
                    Load::Random(_) => {
                        let (job, item) = (fastrand::u32(..size.jobs), fastrand::u32(..size.items));
                        source.change(job, item, round)?;
                    }
                    Load::Bursts(_) => {
                        for item in 0..size.items {
                            source.change(0, item, round)?;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_names_a_kind_and_a_time() {
        let ms = Duration::from_millis;
        let rows = [
            ("rest", Ok(Load::Rest)),
            ("random 5", Ok(Load::Random(ms(5)))),
            ("bursts 2500", Ok(Load::Bursts(ms(2_500)))),
            ("bursts 0", Err("the time of `bursts 0` is `0`; valid is 1 to 3600000 ms")),
            ("random", Err("the time of `random` is ``; valid is 1 to 3600000 ms")),
            ("rest 5", Err("`rest 5` is no load; valid: rest, random MS, bursts MS")),
        ];
        for (line, expected) in rows {
            let found = Load::parse(line).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{line}");
        }
    }
}
