//! The drawing of the view. Pure: from a state and what the read model shows to cells.

use coordination::Slot;
use operations::{
    Attention, ItemBrief, JobLine, JobSnapshot, RunningItem, item_brief, lateness_ms, slots_shown,
};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table, TableState};

use super::Shot;
use super::state::State;
use crate::commands::list::state_text;
use crate::text::or_dash;

const HELP: [(&str, &str); 9] = [
    ("up, down, k, j", "select a job or an item"),
    ("page up, page down", "ten lines up or down"),
    ("home, end", "the first or the last line"),
    ("enter", "the items of the selected job"),
    ("esc", "back to the jobs; delete the filter"),
    ("/", "only jobs whose name or state has a text"),
    ("s", "next order: attention, name, running"),
    ("p", "stop and continue to follow the registry"),
    ("q, ctrl-c", "quit"),
];

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, shot: &Shot) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(head_lines(state, shot)), head);
    match state.opened() {
        Some(job) => draw_items(frame, body, state, job.as_str(), shot.job.as_deref()),
        None => draw_jobs_and_runs(frame, body, state, shot),
    }
    frame.render_widget(Paragraph::new(foot_line(state)), foot);
    if state.shows_help() {
        draw_help(frame);
    }
}

fn head_lines(state: &State, shot: &Shot) -> Vec<Line<'static>> {
    let totals = shot.list.totals();
    let states = totals.jobs.iter().map(|(state, n)| format!("{n} {}", state.as_str()));
    let states = states.collect::<Vec<_>>().join(", ");
    let age = match shot.age {
        _ if state.is_paused() => "  PAUSED".to_owned(),
        Some(age) => format!("  {} old, the registry does not answer", span(age.as_millis())),
        None => String::new(),
    };
    let jobs = format!("jobs {}{age}  {states}", shot.list.jobs().len());
    let items = format!(
        "items {}: {} running, {} failing, {} unowned, {} disabled",
        totals.items,
        totals.running_items,
        totals.failing_items,
        totals.unowned_items,
        totals.disabled_items,
    );
    let is_old = state.is_paused() || shot.age.is_some();
    let style = if is_old { Modifier::REVERSED } else { Modifier::BOLD };
    vec![Line::styled(jobs, style), Line::raw(items)]
}

fn foot_line(state: &State) -> Line<'static> {
    let keys = match (state.opened(), state.is_typing()) {
        (_, true) => format!("filter: {}_  (enter keeps it, esc deletes it)", state.filter()),
        (Some(_), false) => "q quit  esc jobs  p pause  ? help".to_owned(),
        (None, false) => {
            let filter = match state.filter() {
                "" => String::new(),
                filter => format!(": {filter}"),
            };
            let sort = state.sort().name();
            format!("q quit  / filter{filter}  s sort: {sort}  enter items  p pause  ? help")
        }
    };
    Line::styled(keys, Modifier::DIM)
}

fn draw_jobs_and_runs(frame: &mut Frame<'_>, area: Rect, state: &State, shot: &Shot) {
    let jobs = state.jobs(shot);
    // A third of the screen is enough for the oldest runs.
    let [upper, lower] = Layout::vertical([Constraint::Fill(2), Constraint::Fill(1)]).areas(area);
    let selected = state.selected(&jobs);
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(24),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(9),
    ];
    let row = |job: &&JobLine| job_row(job, state, shot.now_ms);
    let headings = ["JOB", "STATE", "ITEMS", "RUNNING", "INST", "NEXT"];
    draw_table(frame, upper, &headings, &widths, &jobs, Some(selected), row);
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(7),
        Constraint::Length(26),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    let row = |run: &RunningItem| run_row(run, shot.now_ms);
    let headings = ["OLDEST RUNS", "ITEM", "ON", "FOR", "SOURCE"];
    draw_table(frame, lower, &headings, &widths, &shot.running, None, row);
}

fn job_row(job: &JobLine, state: &State, now_ms: i64) -> Row<'static> {
    let reason = job.attention(now_ms);
    let next = match (lateness_ms(job, now_ms), job.late_after_ms) {
        (Some(late), _) => format!("late {}", span(late.unsigned_abs().into())),
        (None, Some(next)) => span(next.saturating_sub(now_ms).max(0).unsigned_abs().into()),
        (None, None) => "-".to_owned(),
    };
    let cells = [
        job.job_name.clone(),
        state_text(job),
        or_dash(job.sharding_total_count),
        job.running_items.to_string(),
        job.instance_count.to_string(),
        next,
    ];
    Row::new(cells.map(Cell::from)).style(style_of(reason, state.has_colors()))
}

fn style_of(reason: Option<Attention>, has_colors: bool) -> Style {
    match reason {
        _ if !has_colors => Style::new(),
        None => Style::new(),
        Some(
            Attention::Crashed | Attention::InvalidConfig | Attention::Failing | Attention::Late,
        ) => Style::new().fg(Color::Red),
        Some(_) => Style::new().fg(Color::Yellow),
    }
}

fn run_row(run: &RunningItem, now_ms: i64) -> Row<'static> {
    let age =
        run.since_ms.map(|since| span(now_ms.saturating_sub(since).max(0).unsigned_abs().into()));
    let cells = [
        run.job.to_string(),
        run.item.name(),
        or_dash(run.item.runs_on.as_ref()),
        or_dash(age),
        or_dash(run.item.source),
    ];
    Row::new(cells.map(Cell::from))
}

fn draw_items(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &State,
    name: &str,
    job: Option<&JobSnapshot>,
) {
    let Some(job) = job else {
        frame.render_widget(Paragraph::new(format!("the job {name} does not exist")), area);
        return;
    };
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let slots = rows_of(job);
    let text = format!("{name}: {} items", job.items().len());
    frame.render_widget(Line::styled(text, Modifier::BOLD), title);
    let widths = [
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Length(22),
        Constraint::Length(12),
        Constraint::Fill(1),
    ];
    let headings = ["ITEM", "STATE", "OWNER", "LAST RUN", "PROGRESS OR FAILURE"];
    let row = |slot: &Slot| item_row(&item_brief(job, slot.key()));
    let selected = state.item().min(slots.len().saturating_sub(1));
    draw_table(frame, body, &headings, &widths, &slots, Some(selected), row);
}

/// Returns the rows of the items of a job: each item, and its further slots that have a run.
pub(super) fn rows_of(job: &JobSnapshot) -> Vec<Slot> {
    job.items().into_iter().flat_map(|item| slots_shown(job, item)).collect()
}

fn item_row(item: &ItemBrief) -> Row<'static> {
    let state = serde_json::to_value(item.status).ok();
    let state = state.and_then(|state| state.as_str().map(str::to_owned));
    let progress = item.progress.as_ref().filter(|_| item.running).map(ToString::to_string);
    let cells = [
        item.name(),
        or_dash(state),
        or_dash(item.instance_id.as_ref()),
        or_dash(item.outcome),
        progress.or_else(|| item.failure.clone()).unwrap_or_default(),
    ];
    Row::new(cells.map(Cell::from))
}

/// Draws the rows around the selected one. Only visible rows are made.
fn draw_table<T>(
    frame: &mut Frame<'_>,
    area: Rect,
    headings: &[&'static str],
    widths: &[Constraint],
    values: &[T],
    selected: Option<usize>,
    row: impl Fn(&T) -> Row<'static>,
) {
    let height = usize::from(area.height.saturating_sub(1));
    let last_first = values.len().saturating_sub(height);
    let first = selected.map_or(0, |selected| selected.saturating_sub(height / 2)).min(last_first);
    let rows = values.iter().skip(first).take(height).map(row);
    let header = Row::new(headings.iter().copied().map(Cell::from)).style(Modifier::UNDERLINED);
    let table = Table::new(rows, widths.iter().copied())
        .header(header)
        .row_highlight_style(Modifier::REVERSED);
    let selected = selected.filter(|_| !values.is_empty()).map(|selected| selected - first);
    let mut position = TableState::new().with_selected(selected);
    frame.render_stateful_widget(table, area, &mut position);
}

fn draw_help(frame: &mut Frame<'_>) {
    let lines: Vec<_> =
        HELP.iter().map(|(key, effect)| Line::raw(format!("{key:20}{effect}"))).collect();
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = frame.area().centered(Constraint::Length(66), Constraint::Length(height));
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Formats a time in milliseconds with at most two units.
fn span(ms: u128) -> String {
    let s = ms / 1_000;
    match s {
        0..60 => format!("{s}s"),
        60..3_600 => format!("{}m {}s", s / 60, s % 60),
        3_600..86_400 => format!("{}h {}m", s / 3_600, s / 60 % 60),
        _ => format!("{}d {}h", s / 86_400, s / 3_600 % 24),
    }
}
