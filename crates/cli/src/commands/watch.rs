//! `jobs --watch`: the list of jobs, shown again after each change.

use std::time::Duration;

use operations::{Freshness, LiveNamespace};
use serde_json::json;

use super::list::job_table;
use super::signals::Signals;
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::output::{Page, Text};

/// Shortest time between two lists.
const INTERVAL: Duration = Duration::from_millis(250);
/// Time after which the age of the list is shown again while the registry does not answer.
const TICK: Duration = Duration::from_secs(1);
/// Moves the cursor to the first column of the first line, and clears the screen below.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

pub(super) async fn jobs(cx: &Context<'_>) -> Result<Page, Fault> {
    if !cx.look().is_text() {
        return Err(Fault::usage(
            "--watch is for people; for programs, repeat `ejob jobs --json` without it",
        ));
    }
    let registry = cx.registry(cx.connect().target()?, false, None).await?;
    let live = LiveNamespace::follow(registry);
    live.loaded(cx.connect().read_deadline()).await?;
    // A listener that is created for each wait would lose a signal that comes between two waits.
    let mut signals = Signals::listen()?;
    let mut updates = live.updates(INTERVAL);
    let before = if cx.look().columns.is_some() { CLEAR } else { "" };
    loop {
        // A closed output, such as that of `head`, ends the command like ctrl-c.
        if cx.write(&format!("{before}{}", list(&live).draw(cx.look()))).is_err() {
            return Ok(Page::new("", &json!(null)));
        }
        tokio::select! {
            biased;
            () = signals.next() => return Ok(Page::new("", &json!(null))),
            update = updates.next() => if update.is_none() {
                return Err(Fault::new(Exit::Unreachable, "the connection to the registry ended"));
            },
            () = tokio::time::sleep(TICK), if live.freshness() != Freshness::Current => {}
        }
    }
}

fn list(live: &LiveNamespace) -> Text {
    let list = live.list();
    let age = match live.freshness() {
        Freshness::Current => String::new(),
        Freshness::Loading => "; the registry does not answer".to_owned(),
        Freshness::Stale { since } => {
            let age = since.elapsed().as_secs();
            format!("; {age} s old, because the registry does not answer")
        }
    };
    let jobs = list.jobs();
    let mut text = Text::from(format!("jobs: {}{age}\n", jobs.len()));
    text.push(job_table(jobs.iter().map(|job| &**job)));
    text
}
