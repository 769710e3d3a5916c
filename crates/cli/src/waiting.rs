//! The note that a command waits: for what, and since when.

use std::io::Write;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use tokio::time::{Instant, interval_at};

/// Time between two steps of the spinner on a terminal.
const TICK: Duration = Duration::from_millis(200);
/// Time between two lines if the standard error is no terminal, so that logs stay short.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Waits for a future. The standard error shows for what, and since when: on a terminal at once, in
/// a line that disappears at the end; elsewhere in a line every 30 s.
pub(crate) async fn shown<T>(what: &str, future: impl Future<Output = T>) -> T {
    if !Term::stderr().is_term() {
        return with_lines(what, &mut std::io::stderr(), future).await;
    }
    let bar = ProgressBar::new_spinner().with_message(since(what));
    let bar = match ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.enable_steady_tick(TICK);
    let result = future.await;
    bar.finish_and_clear();
    result
}

fn since(what: &str) -> String {
    format!("{what}, since {}", Timestamp::now().strftime("%H:%M:%SZ"))
}

async fn with_lines<T>(
    what: &str,
    out: &mut (dyn Write + Send),
    future: impl Future<Output = T>,
) -> T {
    let (what, began) = (since(what), Instant::now());
    let mut ticks = interval_at(began + LINE_EVERY, LINE_EVERY);
    tokio::pin!(future);
    loop {
        tokio::select! {
            biased;
            result = &mut future => return result,
            _ = ticks.tick() => {
                // The wait goes on if the standard error is closed.
                let _ = writeln!(out, "{what} ({}s)", began.elapsed().as_secs());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_are_written_at_a_low_rate() {
        let rows = [(29, vec![]), (61, vec!["(30s)", "(60s)"])];
        for (seconds, expected) in rows {
            let mut out = Vec::new();
            let wait = tokio::time::sleep(Duration::from_secs(seconds));
            with_lines("waiting for the runs of report", &mut out, wait).await;
            let text = String::from_utf8(out).unwrap();
            let ends: Vec<_> = text.lines().filter_map(|line| line.rsplit(' ').next()).collect();
            assert_eq!(ends, expected, "{text}");
            let begin = "waiting for the runs of report, since ";
            assert!(text.lines().all(|line| line.starts_with(begin)), "{text}");
        }
    }
}
