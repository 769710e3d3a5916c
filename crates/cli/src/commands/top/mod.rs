//! `top`: the jobs and runs of a namespace in a live view of the terminal.
//!
//! In reading order: `state` (keys and their effects) · `screen` (the drawing) · this file (the
//! terminal and the read model). The first two are pure.

mod screen;
mod state;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use console::Term;
use coordination::JobName;
use jiff::Timestamp;
use operations::{Freshness, JobList, JobSnapshot, LiveNamespace, RunningItem};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use serde_json::json;
use tokio::sync::mpsc;

use crate::commands::signals::Signals;
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::output::Page;
use state::{Reaction, State};

/// Shortest time between two drawings because of changes.
const INTERVAL: Duration = Duration::from_millis(250);
/// Time after which the ages are drawn again.
const TICK: Duration = Duration::from_secs(1);
/// Longest wait for a key, after which the reading thread checks that it is still needed.
const KEY_WAIT: Duration = Duration::from_millis(100);
/// Number of keys that wait for the drawing.
const KEYS: usize = 64;
/// Maximum number of shown runs.
const RUNS: usize = 200;

/// All that a screen shows, as of one moment.
#[derive(Debug, Default)]
struct Shot {
    list: Arc<JobList>,
    running: Vec<RunningItem>,
    /// Name of the opened job.
    opened: Option<JobName>,
    /// The opened job, if it exists.
    job: Option<Arc<JobSnapshot>>,
    /// Age of what is shown; `None` if it is current.
    age: Option<Duration>,
    now_ms: i64,
}

impl Shot {
    fn take(live: &LiveNamespace, state: &State) -> Self {
        let age = match live.freshness() {
            Freshness::Current => None,
            Freshness::Loading => Some(Duration::ZERO),
            Freshness::Stale { since } => Some(since.elapsed()),
        };
        Self {
            list: live.list(),
            running: live.running(RUNS),
            opened: state.opened().cloned(),
            job: state.opened().and_then(|job| live.job(job)),
            age,
            now_ms: Timestamp::now().as_millisecond(),
        }
    }

    /// Shows a job that a key has opened. The state of a job that was open before stays as it is,
    /// because the view may be paused.
    fn show_opened(
        &mut self,
        state: &State,
        find: impl FnOnce(&JobName) -> Option<Arc<JobSnapshot>>,
    ) {
        if self.opened.as_ref() != state.opened() {
            self.opened = state.opened().cloned();
            self.job = state.opened().and_then(find);
        }
    }
}

/// Shows the namespace until `q` or a signal.
pub(crate) async fn run(cx: &Context<'_>) -> Result<Page, Fault> {
    if !cx.look().is_text() {
        return Err(Fault::usage("`top` is for people; for programs, repeat `ejob jobs --json`"));
    }
    if !Term::stdout().is_term() || !std::io::stdin().is_terminal() {
        return Err(Fault::usage(
            "`top` needs a terminal as input and output; elsewhere, use `ejob jobs --watch`",
        ));
    }
    let registry = cx.registry(cx.connect().target()?, false, None).await?;
    let live = LiveNamespace::follow(registry);
    live.loaded(cx.connect().read_deadline()).await?;
    // A signal that arrives from now on restores the terminal.
    let mut signals = Signals::listen_on_terminal()?;
    let mut screen = Screen::open()?;
    let state = State::new(cx.look().has_colors);
    follow(&mut screen.terminal, state, &live, &mut signals).await?;
    Ok(Page::new("", &json!(null)))
}

/// The terminal in full screen. Dropping it restores the terminal, and so does a panic.
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> Result<Self, Fault> {
        let terminal = ratatui::try_init().map_err(unusable)?;
        Ok(Self { terminal })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn unusable(error: std::io::Error) -> Fault {
    Fault::refused(format!("the terminal cannot be used: {error}"))
}

async fn follow(
    terminal: &mut DefaultTerminal,
    mut state: State,
    live: &LiveNamespace,
    signals: &mut Signals,
) -> Result<(), Fault> {
    let mut updates = live.updates(INTERVAL);
    let mut keys = read_keys();
    let mut shot = Shot::take(live, &state);
    loop {
        terminal.draw(|frame| screen::draw(frame, &state, &shot)).map_err(unusable)?;
        tokio::select! {
            biased;
            () = signals.next() => return Ok(()),
            event = keys.recv() => match event {
                Some(Event::Key(key)) if key.kind == KeyEventKind::Press => {
                    if state.press(key, &shot) == Reaction::Quit {
                        return Ok(());
                    }
                    shot.show_opened(&state, |job| live.job(job));
                }
                // The next drawing has the new size.
                Some(_) => {}
                None => return Err(Fault::refused("the terminal has no more input")),
            },
            update = updates.next() => if update.is_none() {
                return Err(Fault::new(Exit::Unreachable, "the connection to the registry ended"));
            },
            () = tokio::time::sleep(TICK) => {}
        }
        if !state.is_paused() {
            shot = Shot::take(live, &state);
        }
    }
}

/// Reads keys and changes of the size in a thread, because the terminal is read by blocking calls.
/// The thread ends when the receiver is dropped.
fn read_keys() -> mpsc::Receiver<Event> {
    let (sender, keys) = mpsc::channel(KEYS);
    std::thread::spawn(move || {
        while !sender.is_closed() {
            let event = match event::poll(KEY_WAIT) {
                Ok(true) => event::read(),
                Ok(false) => continue,
                Err(_) => return,
            };
            let Ok(event) = event else { return };
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    keys
}
