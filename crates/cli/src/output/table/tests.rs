//! Tests of tables and of their fitting to a terminal.

use super::*;

const NOW: &str = "2024-02-29T12:10:00Z";

fn terminal(columns: usize) -> Look {
    Look { columns: Some(columns), now: NOW.parse().ok(), ..Look::default() }
}

fn fires(reasons: &[&str]) -> Table {
    let row = |reason: &&str| vec!["2024-02-29T12:00:00.5Z".to_owned(), (*reason).to_owned()];
    Table::new(&[Column::time("FIRE"), Column::text("REASON")], reasons.iter().map(row))
}

#[test]
fn sentences_are_never_cut_and_no_line_is_wider_than_a_terminal() {
    let (long, longer) = ("ä".repeat(99), "x".repeat(300));
    let table = fires(&[&long, "a\nb\u{1b}[2J", &longer]);
    let file = table.draw(Look::default());
    let expected = format!(
        "FIRE                    REASON\n2024-02-29T12:00:00.5Z  {long}\n\
         2024-02-29T12:00:00.5Z  a; b\\u{{1b}}[2J\n2024-02-29T12:00:00.5Z  {longer}\n"
    );
    assert_eq!(file, expected);
    let wide = table.draw(Look { form: Form::Wide, ..Look::default() });
    assert!(wide.ends_with(&format!("  {longer}\n")), "{wide}");
    for width in [30, 50, 80, 120] {
        let shown = table.draw(terminal(width));
        assert!(shown.lines().all(|line| line.width() <= width), "{width}: {shown}");
        let joined: String = shown.split_whitespace().collect();
        assert!(joined.contains(&long) && joined.contains(&longer), "{width}: {shown}");
    }
}

#[test]
fn sentences_are_below_their_rows_before_columns_are_left_out() {
    let columns = [
        Column::time("FIRE"),
        Column::plain("SOURCE").extra(),
        Column::plain("INSTANCE").extra(),
        Column::time("ENDED").extra(),
        Column::text("REASON"),
    ];
    let row = |reason: &str| {
        let cells = ["2024-02-29T12:00:00Z", "NORMAL", "10.0.0.1@-@1", "2024-02-29T12:00:01Z"];
        cells.into_iter().chain([reason]).map(str::to_owned).collect::<Vec<_>>()
    };
    let shown = Table::new(&columns, [row("the disk is full, says the kernel"), row("")]);
    let expected = "FIRE     SOURCE  INSTANCE      ENDED\n\
                    10m ago  NORMAL  10.0.0.1@-@1  9m ago\n    REASON: the disk is full, says the\n    \
                    kernel\n10m ago  NORMAL  10.0.0.1@-@1  9m ago\n";
    assert_eq!(shown.draw(terminal(38)), expected);
    let expected = "FIRE     SOURCE  INSTANCE\n10m ago  NORMAL  10.0.0.1@-@1\n";
    let shown = Table::new(&columns, [row("-")]).draw(terminal(30));
    assert_eq!(shown, format!("{expected}not shown: ENDED; -o wide shows all\n"));
}

#[test]
fn columns_without_values_are_left_out_first() {
    let columns = [Column::name("JOB"), Column::plain("CRON").extra(), Column::text("REASON")];
    let row = |reason: &str| ["report", "0 0 3 * * ?", reason].map(str::to_owned).to_vec();
    let table = Table::new(&columns, [row(""), row("-")]);
    assert_eq!(
        table.draw(terminal(19)),
        "JOB     CRON\nreport  0 0 3 * * ?\nreport  0 0 3 * * ?\n"
    );
    let whole = table.draw(terminal(80));
    assert!(whole.starts_with("JOB     CRON         REASON\n"), "{whole}");
}

#[test]
fn column_of_usual_values_is_shown_on_request() {
    let columns = [Column::name("JOB"), Column::plain("DIALECT").unless_all("2.1.5")];
    let row = |job: &str, dialect: &str| vec![job.to_owned(), dialect.to_owned()];
    let usual = Table::new(&columns, [row("a", "2.1.5"), row("b", "2.1.5")]);
    assert_eq!(usual.draw(Look::default()), "JOB\na\nb\n");
    let wide = usual.draw(Look { form: Form::Wide, ..Look::default() });
    assert_eq!(wide, "JOB  DIALECT\na    2.1.5\nb    2.1.5\n");
    let mixed = Table::new(&columns, [row("a", "2.1.5"), row("b", "3.x")]);
    assert_eq!(mixed.draw(Look::default()), "JOB  DIALECT\na    2.1.5\nb    3.x\n");
}

#[test]
fn cut_cells_are_named() {
    let columns = [Column::name("JOB"), Column::plain("OWNER")];
    let table =
        Table::new(&columns, [vec!["report".to_owned(), "10.0.0.1@-@4123-k3f9a".to_owned()]]);
    let shown = table.draw(terminal(20));
    let expected = "JOB     OWNER\nreport  10.0.0…k3f9a\n\
                    cut to the width of the terminal; -o wide shows all\n";
    assert_eq!(shown, expected);
}

#[test]
fn times_have_ages_on_terminals() {
    let table = fires(&["late"]);
    let shown = table.draw(terminal(80));
    assert_eq!(shown.lines().last(), Some("2024-02-29T12:00:00Z (10m ago)  late"), "{shown}");
    let narrow = table.draw(terminal(30));
    assert_eq!(narrow, "FIRE     REASON\n10m ago  late\n");
    let wide = table.draw(Look { form: Form::Wide, ..terminal(30) });
    assert_eq!(wide, shown);
}

/// Fires of one minute have the same age, so that only their times identify the rows.
#[test]
fn fires_keep_their_time_on_narrow_terminals() {
    let row = vec!["2024-02-29T12:00:00.5Z".to_owned(), "late".to_owned()];
    let table = Table::new(&[Column::fire("FIRE"), Column::text("REASON")], [row]);
    let wide = "FIRE                            REASON\n2024-02-29T12:00:00Z (10m ago)  late\n";
    assert_eq!(table.draw(terminal(80)), wide);
    let narrow = "FIRE                  REASON\n2024-02-29T12:00:00Z  late\n";
    assert_eq!(table.draw(terminal(30)), narrow);
}

#[test]
fn extra_columns_are_left_out_of_narrow_terminals() {
    let columns = [Column::name("JOB"), Column::plain("CRON"), Column::plain("DIALECT").extra()];
    let row = vec!["report".to_owned(), "0 0 3 * * ?".to_owned(), "2.1.5".to_owned()];
    let table = Table::new(&columns, [row]);
    let whole = "JOB     CRON         DIALECT\nreport  0 0 3 * * ?  2.1.5\n";
    assert_eq!(table.draw(terminal(28)), whole);
    let cut = "JOB     CRON\nreport  0 0 3 * * ?\nnot shown: DIALECT; -o wide shows all\n";
    assert_eq!(table.draw(terminal(27)), cut);
    assert_eq!(table.draw(Look { form: Form::Wide, ..terminal(27) }), whole);
    assert_eq!(table.draw(Look::default()), whole);
}

#[test]
fn states_and_headings_have_colors_and_columns_stay_aligned() {
    let columns = [Column::state("STATE"), Column::plain("ITEMS")];
    let rows = [["OK", "3"], ["CRASHED", "报表"]];
    let rows = rows.map(|row| row.map(str::to_owned).to_vec());
    let table = Table::new(&columns, rows);
    let shown = table.draw(Look { has_colors: true, ..terminal(80) });
    let expected = "\u{1b}[1mSTATE\u{1b}[0m    \u{1b}[1mITEMS\u{1b}[0m\n\
                    \u{1b}[32mOK\u{1b}[0m       3\n\u{1b}[31mCRASHED\u{1b}[0m  报表\n";
    assert_eq!(shown, expected);
}

#[test]
fn name_is_listed_once() {
    let rows = [["a", "1"], ["b", "2"], ["a", "3"]];
    let rows = rows.map(|row| row.map(str::to_owned).to_vec());
    let table = Table::new(&[Column::name("JOB"), Column::plain("N")], rows);
    assert_eq!(table.names(), ["a", "b"]);
}
