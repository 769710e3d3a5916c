//! Keys and screens, without a terminal.

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, JobName, encode_config};
use operations::{
    ItemBrief, JobBrief, JobLine, JobList, JobSnapshot, JobState, RunningItem, item_briefs,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};

use super::Shot;
use super::screen::draw;
use super::state::{Reaction, State};

const NOW_MS: i64 = 1_000_000;

fn name(text: &str) -> JobName {
    JobName::new(text).unwrap()
}

fn node(path: &str, data: String) -> Node {
    let stat = Stat {
        version: Version(0),
        created: Revision(1),
        modified: Revision(1),
        modified_at: None,
        owner: path.contains("/instances/").then_some(SessionId(1)),
    };
    Node { path: NodePath::parse(path).unwrap(), data: data.into(), stat }
}

/// Returns a job of which item 1 runs and item 2 has failed.
fn snapshot(items: u32) -> JobSnapshot {
    let run = r#""holder":"10.0.0.1@-@7","fire":2,"source":"NORMAL","token":1,"began":940000"#;
    let nodes = vec![
        node("/orders", String::new()),
        node("/orders/config", encode_config(&JobConfig::new(name("orders"), items))),
        node("/orders/instances/10.0.0.1@-@7", "RUST".to_owned()),
        node("/orders/sharding/1/instance", "10.0.0.1@-@7".to_owned()),
        node("/orders/ledger/1", format!(r#"{{"v":1,"state":"running",{run}}}"#)),
        node(
            "/orders/ledger/2",
            r#"{"v":1,"state":"idle","token":1,"outcome":"failed","failure":"disk full"}"#
                .to_owned(),
        ),
    ];
    JobSnapshot::of_nodes(&name("orders"), nodes)
}

fn brief(job: &str, status: JobState) -> JobBrief {
    let mut brief = operations::job_brief(&snapshot(3));
    brief.job_name = job.to_owned();
    brief.status = status;
    brief.failing_items = usize::from(status == JobState::Failing);
    brief.running_items = 0;
    brief
}

fn line(brief: JobBrief) -> JobLine {
    JobLine::new(Arc::new(brief), 0, 0)
}

/// Returns what the read model shows of four jobs, one of them late.
fn shot() -> Shot {
    let mut late = brief("late", JobState::Ok);
    late.late_after_ms = Some(NOW_MS - 75_000);
    let mut orders = brief("orders", JobState::Ok);
    orders.running_items = 1;
    let jobs =
        [brief("failing", JobState::Failing), late, orders, brief("paused", JobState::Paused)];
    let snapshot = Arc::new(snapshot(3));
    let item: ItemBrief = item_briefs(&snapshot).remove(1);
    Shot {
        list: Arc::new(JobList::new(1, jobs.map(line).to_vec())),
        running: vec![RunningItem { job: name("orders"), item, since_ms: Some(940_000) }],
        opened: None,
        job: None,
        age: None,
        now_ms: NOW_MS,
    }
}

fn press(state: &mut State, shot: &Shot, key: KeyCode) -> Reaction {
    state.press(KeyEvent::new(key, KeyModifiers::NONE), shot)
}

fn type_text(state: &mut State, shot: &Shot, text: &str) {
    for c in text.chars() {
        assert_eq!(press(state, shot, KeyCode::Char(c)), Reaction::Stay);
    }
}

fn names(state: &State, shot: &Shot) -> Vec<String> {
    state.jobs(shot).iter().map(|job| job.job_name.clone()).collect()
}

fn selected(state: &State, shot: &Shot) -> String {
    let jobs = state.jobs(shot);
    jobs[state.selected(&jobs)].job_name.clone()
}

/// Returns the lines of a screen of this size.
fn screen(state: &State, shot: &Shot, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, shot)).unwrap();
    let cells = terminal.backend().buffer().content();
    let lines = cells.chunks(width.into());
    lines.map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect()).collect()
}

#[test]
fn usual_terminal_shows_jobs_by_attention_and_the_oldest_runs() {
    let lines = screen(&State::new(true), &shot(), (80, 24));
    let text = lines.join("\n");
    assert!(lines[0].starts_with("jobs 4  2 OK, 1 FAILING, 1 PAUSED"), "{text}");
    assert!(lines[1].starts_with("items 12: 1 running, 1 failing"), "{text}");
    assert!(lines[2].starts_with("JOB"), "{text}");
    let row = |text: &str| lines.iter().position(|line| line.starts_with(text));
    let order = ["failing", "late", "paused", "orders"].map(|job| row(job).expect(job));
    assert!(order.is_sorted(), "{text}");
    assert!(lines[order[0]].contains("FAILING (1 of 3 items)"), "{text}");
    assert!(lines[order[1]].contains("late 1m 1"), "{text}");
    let run = lines.iter().rposition(|line| line.starts_with("orders")).unwrap();
    assert!(run > row("OLDEST RUNS").unwrap(), "{text}");
    assert!(lines[run].contains("10.0.0.1@-@7") && lines[run].contains("1m 0s"), "{text}");
    assert!(lines[23].contains("s sort: attention"), "{text}");
}

#[test]
fn every_size_is_drawn() {
    let shot = Shot { job: Some(Arc::new(snapshot(3))), ..shot() };
    let mut state = State::new(false);
    for is_opened in [false, true] {
        for shows_help in [false, true] {
            if shows_help {
                press(&mut state, &shot, KeyCode::Char('?'));
            }
            for size in [(1, 1), (7, 3), (20, 5), (80, 24), (300, 100)] {
                let lines = screen(&state, &shot, size);
                assert_eq!(lines.len(), usize::from(size.1), "{size:?} {is_opened} {shows_help}");
            }
        }
        press(&mut state, &shot, KeyCode::Esc);
        press(&mut state, &shot, KeyCode::Enter);
        assert!(state.opened().is_some());
    }
}

#[test]
fn keys_select_sort_and_filter() {
    let shot = shot();
    let mut state = State::new(false);
    assert_eq!(names(&state, &shot), ["failing", "late", "paused", "orders"]);
    press(&mut state, &shot, KeyCode::Down);
    assert_eq!(selected(&state, &shot), "late");
    press(&mut state, &shot, KeyCode::Char('s'));
    assert_eq!(names(&state, &shot), ["failing", "late", "orders", "paused"]);
    assert_eq!(selected(&state, &shot), "late", "the job stays selected in another order");
    press(&mut state, &shot, KeyCode::Char('s'));
    assert_eq!(names(&state, &shot)[0], "orders", "the job with running items is the first");
    for (key, expected) in [(KeyCode::End, 3), (KeyCode::PageUp, 0), (KeyCode::Up, 0)] {
        press(&mut state, &shot, key);
        assert_eq!(state.selected(&state.jobs(&shot)), expected, "{key:?}");
    }
    press(&mut state, &shot, KeyCode::Char('/'));
    type_text(&mut state, &shot, "FAILq");
    assert!(names(&state, &shot).is_empty(), "while a filter is typed, q is a letter");
    press(&mut state, &shot, KeyCode::Backspace);
    assert!(screen(&state, &shot, (80, 24))[23].starts_with("filter: FAIL_"));
    press(&mut state, &shot, KeyCode::Enter);
    assert_eq!(names(&state, &shot), ["failing"], "name and state are searched, in any case");
    press(&mut state, &shot, KeyCode::Esc);
    assert_eq!(names(&state, &shot).len(), 4);
    press(&mut state, &shot, KeyCode::Char('/'));
    type_text(&mut state, &shot, &"x".repeat(500));
    assert_eq!(state.filter().len(), 64, "the filter is bounded");
}

#[test]
fn enter_shows_the_items_and_escape_leads_back() {
    let mut shot = shot();
    let mut state = State::new(false);
    press(&mut state, &shot, KeyCode::End);
    press(&mut state, &shot, KeyCode::Enter);
    assert_eq!(state.opened(), Some(&name("orders")));
    let gone = screen(&state, &shot, (80, 24)).join("\n");
    assert!(gone.contains("the job orders does not exist"), "{gone}");
    shot.job = Some(Arc::new(snapshot(1_000)));
    let lines = screen(&state, &shot, (80, 24));
    assert!(lines[2].starts_with("orders: 1000 items"), "{lines:#?}");
    assert!(lines[5].starts_with("1") && lines[5].contains("RUNNING"), "{lines:#?}");
    assert!(lines[6].contains("failed") && lines[6].contains("disk full"), "{lines:#?}");
    press(&mut state, &shot, KeyCode::End);
    assert_eq!(state.item(), 999);
    assert!(screen(&state, &shot, (80, 24))[22].starts_with("999"), "the last item is visible");
    press(&mut state, &shot, KeyCode::Esc);
    assert_eq!((state.opened(), selected(&state, &shot)), (None, "orders".to_owned()));
}

#[test]
fn keys_quit_pause_and_help() {
    let shot = Shot { age: Some(Duration::from_secs(75)), ..shot() };
    let mut state = State::new(false);
    let age = screen(&state, &shot, (80, 24)).remove(0);
    assert!(age.contains("1m 15s old, the registry does not answer"), "{age}");
    press(&mut state, &shot, KeyCode::Char('p'));
    assert!(state.is_paused() && screen(&state, &shot, (80, 24))[0].contains("PAUSED"));
    press(&mut state, &shot, KeyCode::Char('p'));
    assert!(!state.is_paused());
    press(&mut state, &shot, KeyCode::Char('?'));
    let help = screen(&state, &shot, (80, 24)).join("\n");
    assert!(help.contains("stop and continue to follow the registry"), "{help}");
    assert_eq!(press(&mut state, &shot, KeyCode::Char('q')), Reaction::Stay, "it ends the help");
    assert!(!state.shows_help());
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut state, &shot, KeyCode::Char('/'));
    assert_eq!(state.press(control_c, &shot), Reaction::Quit, "also while a filter is typed");
    press(&mut state, &shot, KeyCode::Esc);
    assert_eq!(press(&mut state, &shot, KeyCode::Char('q')), Reaction::Quit);
}

#[test]
fn text_of_the_registry_cannot_control_the_terminal() {
    let mut shot = shot();
    let evil = brief("a\u{1b}[2Jb", JobState::Ok);
    shot.list = Arc::new(JobList::new(2, vec![line(evil)]));
    let text = screen(&State::new(false), &shot, (80, 24)).join("\n");
    assert!(!text.contains('\u{1b}') && text.contains("[2Jb"), "{text:?}");
}

#[test]
fn key_on_a_paused_view_shows_no_later_state_of_the_opened_job() {
    let (mut state, mut shot) = (State::new(false), shot());
    press(&mut state, &shot, KeyCode::Char('p'));
    press(&mut state, &shot, KeyCode::Enter);
    shot.show_opened(&state, |_| Some(Arc::new(snapshot(3))));
    let items = |shot: &Shot| shot.job.as_ref().map(|job| job.items().len());
    assert_eq!(items(&shot), Some(3), "the job is read when it is opened");
    press(&mut state, &shot, KeyCode::Down);
    shot.show_opened(&state, |_| Some(Arc::new(snapshot(5))));
    assert_eq!(items(&shot), Some(3));
    press(&mut state, &shot, KeyCode::Esc);
    shot.show_opened(&state, |_| Some(Arc::new(snapshot(5))));
    assert_eq!(items(&shot), None);
}

#[test]
fn runs_in_further_slots_have_rows_of_their_own() {
    let run = r#""holder":"10.0.0.1@-@7","fire":2,"source":"NORMAL","token":1,"began":940000"#;
    let record = |slot: &str| {
        node(&format!("/orders/ledger/{slot}"), format!(r#"{{"v":1,"state":"running",{run}}}"#))
    };
    let nodes = snapshot(3).nodes().chain([record("1.1"), record("1.2")]).collect();
    let job = Arc::new(JobSnapshot::of_nodes(&name("orders"), nodes));
    let (mut state, mut shot) = (State::new(false), shot());
    shot.running[0].item = operations::slot_briefs(&job).remove(2);
    let text = screen(&state, &shot, (80, 24)).join("\n");
    assert!(text.contains("1.1"), "the list of runs: {text}");
    press(&mut state, &shot, KeyCode::Enter);
    shot.job = Some(job);
    shot.opened = state.opened().cloned();
    for _ in 0..9 {
        press(&mut state, &shot, KeyCode::Down);
    }
    assert_eq!(state.item(), 4, "the last of three items and two further slots");
    let text = screen(&state, &shot, (80, 24)).join("\n");
    assert!(text.contains("3 items") && text.contains("1.2"), "{text}");
}
