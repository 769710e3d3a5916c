//! `--watch`: the answer of a command, shown again after each change, until ctrl-c.

use std::time::Duration;

use clap::Args;
use operations::{Freshness, LiveNamespace};
use serde_json::json;

use super::signals::Signals;
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::output::{Page, Text};

/// Shortest time between two answers.
const INTERVAL: Duration = Duration::from_millis(250);
/// Time after which an answer that changes by time alone is drawn again: its ages, a late fire, or
/// the age of what is shown while the registry does not answer.
const TICK: Duration = Duration::from_secs(1);
/// Moves the cursor to the first column of the first line, and clears the screen below.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// The option of the commands that can follow their answer.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WatchOption {
    /// Show the answer again after each change, until ctrl-c
    #[arg(long)]
    pub(crate) watch: bool,
}

/// A line above an answer, and the answer.
pub(super) type Answer = (String, Text);

/// Shows what `draw` makes of the namespace, again after each change. The first line has the age of
/// the answer while the registry does not answer.
pub(super) async fn follow(
    cx: &Context<'_>,
    command: &str,
    draw: impl Fn(&LiveNamespace) -> Answer + Send,
) -> Result<Page, Fault> {
    if !cx.look().is_text() {
        return Err(Fault::usage(format!(
            "--watch is for people; for programs, repeat `ejob {command} --json` without it"
        )));
    }
    let registry = match cx.opened() {
        Some(registry) => registry,
        None => cx.registry(cx.connect().target()?, false, None).await?,
    };
    let live = LiveNamespace::follow(registry);
    live.loaded(cx.connect().read_deadline()).await?;
    // A listener that is created for each wait would lose a signal that comes between two waits.
    let mut signals = Signals::listen()?;
    let mut updates = live.updates(INTERVAL);
    let before = if cx.look().columns.is_some() { CLEAR } else { "" };
    let mut shown = String::new();
    loop {
        let (title, answer) = draw(&live);
        let text = format!("{title}{}\n{}", age(live.freshness()), answer.draw(cx.look()));
        if text != shown {
            // A closed output, such as that of `head`, ends the command like ctrl-c.
            if cx.write(&format!("{before}{text}")).is_err() {
                return Ok(Page::new("", &json!(null)));
            }
            shown = text;
        }
        tokio::select! {
            biased;
            () = signals.next() => return Ok(Page::new("", &json!(null))),
            update = updates.next() => if update.is_none() {
                return Err(Fault::new(Exit::Unreachable, "the connection to the registry ended"));
            },
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

fn age(freshness: Freshness) -> String {
    match freshness {
        Freshness::Current => String::new(),
        Freshness::Loading => "; the registry does not answer".to_owned(),
        Freshness::Stale { since } => {
            let age = since.elapsed().as_secs();
            format!("; {age} s old, because the registry does not answer")
        }
    }
}
