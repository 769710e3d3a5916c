//! Tables: columns of a kind, fitted to the width of a terminal.

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::screen::{Form, Look};
use super::style::{HEADING, REMARK, of_state, painted};
use crate::text::{age, clean, joined};

/// Maximum width of lines if the output is not a terminal, in columns.
const WIDTH_OF_FILES: usize = 200;
/// Turn of the columns that are cut last.
const LAST_TURN: usize = 3;
/// Space between two columns.
const GAP: usize = 2;

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The names that `-o name` prints.
    Name,
    /// States, which have colors.
    State,
    /// Times, which have ages on a terminal.
    Time,
    /// Sentences, which are cut first.
    Text,
}

impl Kind {
    /// Returns the width to which cells may be cut, and the turn of this kind.
    fn cut(self) -> Option<(usize, usize)> {
        match self {
            Self::Text => Some((0, 20)),
            Self::Plain => Some((1, 10)),
            Self::State => Some((2, 12)),
            Self::Name => Some((LAST_TURN, 20)),
            Self::Time => None,
        }
    }
}

/// A column: its heading and what its cells contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    kind: Kind,
    is_extra: bool,
}

impl Column {
    const fn new(heading: &'static str, kind: Kind) -> Self {
        Self { heading, kind, is_extra: false }
    }

    pub(crate) const fn plain(heading: &'static str) -> Self {
        Self::new(heading, Kind::Plain)
    }

    /// The column of names, which `-o name` prints.
    pub(crate) const fn name(heading: &'static str) -> Self {
        Self::new(heading, Kind::Name)
    }

    /// A column of states, in colors on a terminal.
    pub(crate) const fn state(heading: &'static str) -> Self {
        Self::new(heading, Kind::State)
    }

    /// A column of times, with their ages on a terminal.
    pub(crate) const fn time(heading: &'static str) -> Self {
        Self::new(heading, Kind::Time)
    }

    /// A column of sentences, which are cut before other cells.
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self::new(heading, Kind::Text)
    }

    /// A column that is left out where a terminal is too narrow.
    pub(crate) const fn extra(self) -> Self {
        Self { is_extra: true, ..self }
    }

    pub(super) fn heading(&self) -> &'static str {
        self.heading
    }

    /// Returns a cell as it is shown; `is_short` shows only the age of a time.
    pub(super) fn shown(&self, cell: &str, is_short: bool, look: Look) -> String {
        let time = (self.kind == Kind::Time && look.columns.is_some()).then(|| cell.parse().ok());
        match time.flatten() {
            Some(time) if is_short => age(time, look.now()),
            Some(time) => {
                let seconds: Timestamp = time;
                format!("{} ({})", seconds.strftime("%Y-%m-%dT%H:%M:%SZ"), age(time, look.now()))
            }
            None if cell.contains('\n') => clean(&joined(cell)),
            None => clean(cell),
        }
    }

    /// Returns a shown cell with its color.
    pub(super) fn painted(&self, shown: &str, look: Look) -> String {
        if look.has_colors && self.kind == Kind::State {
            painted(shown, of_state(shown))
        } else {
            shown.to_owned()
        }
    }
}

impl From<&'static str> for Column {
    fn from(heading: &'static str) -> Self {
        Self::plain(heading)
    }
}

/// Rows under their headings.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<C: Copy + Into<Column>>(
        columns: &[C],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let columns = columns.iter().map(|column| (*column).into()).collect();
        Self { columns, rows: rows.into_iter().collect() }
    }

    /// Returns the cells of the column of names, each once.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if let Some(at) = self.columns.iter().position(|column| column.kind == Kind::Name) {
            for name in self.rows.iter().filter_map(|row| row.get(at)) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// Draws the rows, columns two spaces apart, without trailing spaces.
    pub(super) fn draw(&self, look: Look) -> String {
        let mut fitted = Fitted::new(self, false, look);
        let mut left_out = Vec::new();
        if let (Some(width), Form::Table) = (look.columns, look.form) {
            if fitted.width() > width {
                fitted = Fitted::new(self, true, look);
            }
            while !fitted.fits_cut(width)
                && let Some(at) = fitted.columns.iter().position(|column| column.is_extra)
            {
                left_out.push(fitted.remove(at).heading);
            }
            fitted.cut_to(width, LAST_TURN);
        } else if look.form != Form::Wide {
            fitted.cut_to(WIDTH_OF_FILES, 0);
        }
        let mut drawn = fitted.draw(look);
        if !left_out.is_empty() {
            let remark = format!("not shown: {}; -o wide shows all", left_out.join(", "));
            let style = if look.has_colors { REMARK } else { anstyle::Style::new() };
            drawn.push_str(&painted(&remark, style));
            drawn.push('\n');
        }
        drawn
    }
}

/// The columns that are drawn, with their cells and widths.
struct Fitted {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Fitted {
    fn new(table: &Table, is_short: bool, look: Look) -> Self {
        let columns = table.columns.clone();
        let cells = |row: &Vec<String>| {
            let pairs = columns.iter().zip(row);
            pairs.map(|(column, cell)| column.shown(cell, is_short, look)).collect()
        };
        let rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
        let width_of = |(at, column): (usize, &Column)| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
            cells.max().unwrap_or_default().max(column.heading.width())
        };
        let widths = columns.iter().enumerate().map(width_of).collect();
        Self { columns, rows, widths }
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP * self.widths.len().saturating_sub(1)
    }

    /// Returns true if the columns fit once the sentences are cut.
    fn fits_cut(&self, width: usize) -> bool {
        let spare = self.columns.iter().zip(&self.widths).map(|(column, width)| {
            let least = column.kind.cut().filter(|(turn, _)| *turn == 0);
            least.map_or(0, |(_, least)| width.saturating_sub(least.max(column.heading.width())))
        });
        self.width() - spare.sum::<usize>() <= width
    }

    fn remove(&mut self, at: usize) -> Column {
        self.widths.remove(at);
        for row in self.rows.iter_mut().filter(|row| at < row.len()) {
            row.remove(at);
        }
        self.columns.remove(at)
    }

    /// Narrows the columns until the table fits, the widest of those first whose turn it is.
    fn cut_to(&mut self, width: usize, last_turn: usize) {
        for turn in 0..=last_turn {
            while let over @ 1.. = self.width().saturating_sub(width) {
                let room = |at: usize| {
                    let column = &self.columns[at];
                    let (_, least) = column.kind.cut().filter(|(kind, _)| *kind == turn)?;
                    let spare = self.widths[at].checked_sub(least.max(column.heading.width()))?;
                    (spare > 0).then_some((self.widths[at], spare, at))
                };
                let Some((_, spare, at)) = (0..self.columns.len()).filter_map(room).max() else {
                    break;
                };
                // Small steps share the loss among columns of equal width.
                self.widths[at] -= spare.min(over).min(4);
            }
        }
    }

    fn draw(&self, look: Look) -> String {
        let mut drawn = String::new();
        let headings: Vec<&str> = self.columns.iter().map(Column::heading).collect();
        let bold = |_: usize, text: &str| {
            if look.has_colors { painted(text, HEADING) } else { text.to_owned() }
        };
        self.draw_row(&mut drawn, &headings, bold);
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            self.draw_row(&mut drawn, &cells, |at, text| self.columns[at].painted(text, look));
        }
        drawn
    }

    fn draw_row(&self, drawn: &mut String, cells: &[&str], paint: impl Fn(usize, &str) -> String) {
        let mut pending = 0;
        for (at, cell) in cells.iter().enumerate() {
            let shown = cut(cell, self.widths[at]);
            if !shown.is_empty() {
                drawn.extend(std::iter::repeat_n(' ', pending));
                drawn.push_str(&paint(at, &shown));
                pending = 0;
            }
            pending += self.widths[at] - shown.width() + GAP;
        }
        drawn.push('\n');
    }
}

/// Cuts a text to a width; a cut text ends with an ellipsis.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = 1;
    let fits = |c: &char| {
        taken += c.width().unwrap_or_default();
        taken <= width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
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
    fn only_sentences_are_cut_in_files_and_all_lines_on_terminals() {
        let (long, longer) = ("ä".repeat(99), "x".repeat(300));
        let table = fires(&[&long, "a\nb\u{1b}[2J", &longer]);
        let file = table.draw(Look::default());
        let expected = format!(
            "FIRE                    REASON\n2024-02-29T12:00:00.5Z  {long}\n\
             2024-02-29T12:00:00.5Z  a; b\\u{{1b}}[2J\n2024-02-29T12:00:00.5Z  {}…\n",
            "x".repeat(200 - 24 - 1)
        );
        assert_eq!(file, expected);
        let wide = table.draw(Look { form: Form::Wide, ..Look::default() });
        assert!(wide.ends_with(&format!("  {longer}\n")), "{wide}");
        for width in [30, 50, 80, 120] {
            let shown = table.draw(terminal(width));
            assert!(shown.lines().all(|line| line.width() <= width), "{width}: {shown}");
        }
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

    #[test]
    fn extra_columns_are_left_out_of_narrow_terminals() {
        let columns =
            [Column::name("JOB"), Column::plain("CRON"), Column::plain("DIALECT").extra()];
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
}
