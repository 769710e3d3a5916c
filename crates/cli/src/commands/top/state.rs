//! The state of the view, and the effects of keys. Pure.

use std::cmp::Reverse;

use coordination::JobName;
use operations::JobLine;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::Shot;
use super::screen::rows_of;
use crate::commands::list::state_text;

/// Maximum length of the filter, in characters.
const MAX_FILTER: usize = 64;
/// Lines that a page key moves.
const PAGE: isize = 10;

/// Effect of a key on the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Stay,
    Quit,
}

/// Order of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// The most urgent first; see [`JobLine::attention`].
    Attention,
    Name,
    /// The most running items first.
    Running,
}

impl Sort {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Name => "name",
            Self::Running => "running",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Attention => Self::Name,
            Self::Name => Self::Running,
            Self::Running => Self::Attention,
        }
    }
}

/// The opened job and the position in its items.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Opened {
    job: JobName,
    item: usize,
}

/// The state of the view.
#[derive(Debug)]
pub(super) struct State {
    sort: Sort,
    filter: String,
    is_typing: bool,
    is_paused: bool,
    shows_help: bool,
    has_colors: bool,
    /// Name of the selected job, which stays selected if the order changes.
    selected: Option<String>,
    opened: Option<Opened>,
}

impl State {
    pub(super) fn new(has_colors: bool) -> Self {
        Self {
            sort: Sort::Attention,
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            shows_help: false,
            has_colors,
            selected: None,
            opened: None,
        }
    }

    pub(super) fn sort(&self) -> Sort {
        self.sort
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    pub(super) fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Returns true if the shown state does not follow the registry.
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(super) fn shows_help(&self) -> bool {
        self.shows_help
    }

    pub(super) fn has_colors(&self) -> bool {
        self.has_colors
    }

    /// Returns the job whose items are shown.
    pub(super) fn opened(&self) -> Option<&JobName> {
        self.opened.as_ref().map(|opened| &opened.job)
    }

    /// Returns the position of the selected item of the opened job.
    pub(super) fn item(&self) -> usize {
        self.opened.as_ref().map_or(0, |opened| opened.item)
    }

    /// Returns the jobs that match the filter, in the chosen order.
    pub(super) fn jobs<'a>(&self, shot: &'a Shot) -> Vec<&'a JobLine> {
        let filter = self.filter.to_lowercase();
        let matches = |job: &&JobLine| {
            job.job_name.to_lowercase().contains(&filter)
                || state_text(job).to_lowercase().contains(&filter)
        };
        let all = shot.list.jobs().iter();
        let mut jobs: Vec<_> = all.filter(|job| filter.is_empty() || matches(job)).collect();
        // The list is sorted by name, and a stable sort keeps that order among equals.
        match self.sort {
            Sort::Name => {}
            Sort::Attention => jobs.sort_by_cached_key(|job| {
                let reason = job.attention(shot.now_ms);
                (reason.is_none(), reason, Reverse(job.running_items))
            }),
            Sort::Running => jobs.sort_by_key(|job| Reverse(job.running_items)),
        }
        jobs
    }

    /// Returns the position of the selected job; 0 if it is not among these jobs.
    pub(super) fn selected(&self, jobs: &[&JobLine]) -> usize {
        let name = self.selected.as_ref();
        jobs.iter().position(|job| Some(&job.job_name) == name).unwrap_or(0)
    }

    /// Applies a key to the state that `shot` shows.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys have no effect")]
    pub(super) fn press(&mut self, key: KeyEvent, shot: &Shot) -> Reaction {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return Reaction::Quit;
        }
        if self.shows_help {
            self.shows_help = false;
            return Reaction::Stay;
        }
        if self.is_typing {
            self.edit_filter(key.code);
            return Reaction::Stay;
        }
        match key.code {
            KeyCode::Char('q') => return Reaction::Quit,
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') if self.opened.is_none() => self.sort = self.sort.next(),
            KeyCode::Char('/') if self.opened.is_none() => self.is_typing = true,
            KeyCode::Enter if self.opened.is_none() => self.open(shot),
            KeyCode::Esc | KeyCode::Backspace if self.opened.is_some() => self.opened = None,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1, shot),
            KeyCode::Down | KeyCode::Char('j') => self.step(1, shot),
            KeyCode::PageUp => self.step(-PAGE, shot),
            KeyCode::PageDown => self.step(PAGE, shot),
            KeyCode::Home => self.step(isize::MIN, shot),
            KeyCode::End => self.step(isize::MAX, shot),
            _ => {}
        }
        Reaction::Stay
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys have no effect")]
    fn edit_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(c) if self.filter.chars().count() < MAX_FILTER => self.filter.push(c),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => (self.is_typing, self.filter) = (false, String::new()),
            _ => {}
        }
    }

    fn open(&mut self, shot: &Shot) {
        let jobs = self.jobs(shot);
        let name = jobs.get(self.selected(&jobs)).map(|job| &job.job_name);
        let job = name.and_then(|name| JobName::new(name).ok());
        self.opened = job.map(|job| Opened { job, item: 0 });
    }

    /// Moves the selection by some lines, up to the first or the last one.
    fn step(&mut self, lines: isize, shot: &Shot) {
        let within = |position: usize, n: usize| {
            position.saturating_add_signed(lines).min(n.saturating_sub(1))
        };
        if let Some(opened) = &mut self.opened {
            let n = shot.job.as_ref().map_or(0, |job| rows_of(job).len());
            opened.item = within(opened.item, n);
            return;
        }
        let jobs = self.jobs(shot);
        let position = within(self.selected(&jobs), jobs.len());
        self.selected = jobs.get(position).map(|job| job.job_name.clone());
    }
}
