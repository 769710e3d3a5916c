//! Tables: columns of a kind, fitted to the width of a terminal.

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::screen::{Form, Look};
use super::style::{HEADING, REMARK, of_state, painted};
use crate::text::{age, clean, joined};

/// Turn of the columns that are cut last.
const LAST_TURN: usize = 2;
/// Space between two columns.
const GAP: usize = 2;
/// Space before a sentence below its row.
const INDENT: &str = "    ";

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
    /// Times that identify rows: on a narrow terminal only their age is left out.
    Fire,
    /// Sentences, which are shown below their row if they do not fit beside it.
    Text,
}

impl Kind {
    /// Returns the width to which cells may be cut, and the turn of this kind.
    fn cut(self) -> Option<(usize, usize)> {
        match self {
            Self::Plain => Some((0, 10)),
            Self::State => Some((1, 12)),
            Self::Name => Some((LAST_TURN, 20)),
            Self::Time | Self::Fire | Self::Text => None,
        }
    }
}

/// A column: its heading and what its cells contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    kind: Kind,
    is_extra: bool,
    /// The value with which the column is left out, if all cells have it.
    usual: Option<&'static str>,
}

impl Column {
    const fn new(heading: &'static str, kind: Kind) -> Self {
        Self { heading, kind, is_extra: false, usual: None }
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

    /// A column of scheduled fire times, with their ages where the terminal is wide enough.
    pub(crate) const fn fire(heading: &'static str) -> Self {
        Self::new(heading, Kind::Fire)
    }

    /// A column of sentences, which are never cut.
    pub(crate) const fn text(heading: &'static str) -> Self {
        Self::new(heading, Kind::Text)
    }

    /// A column that is left out where a terminal is too narrow.
    pub(crate) const fn extra(self) -> Self {
        Self { is_extra: true, ..self }
    }

    /// A column that only `-o wide` shows while all cells have the usual value.
    pub(crate) const fn unless_all(self, usual: &'static str) -> Self {
        Self { usual: Some(usual), ..self }
    }

    pub(super) fn heading(&self) -> &'static str {
        self.heading
    }

    /// Returns a cell as it is shown; `is_short` shows only the age of a time.
    pub(super) fn shown(&self, cell: &str, is_short: bool, look: Look) -> String {
        let is_time = matches!(self.kind, Kind::Time | Kind::Fire) && look.columns.is_some();
        let time: Option<Timestamp> = is_time.then(|| cell.parse().ok()).flatten();
        let in_seconds = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SZ");
        match time {
            Some(time) if is_short && self.kind == Kind::Fire => in_seconds(time).to_string(),
            Some(time) if is_short => age(time, look.now()),
            Some(time) => format!("{} ({})", in_seconds(time), age(time, look.now())),
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
    ///
    /// On a terminal that is too narrow, times are shown by their age. Then columns without values
    /// are left out, and sentences are shown below their rows. Then extra columns are left out,
    /// and at last cells are cut; the last line names both.
    pub(super) fn draw(&self, look: Look) -> String {
        let mut fitted = Fitted::new(self, false, look);
        let mut remark = String::new();
        if look.form == Form::Table {
            fitted.remove_usual();
        }
        if let (Some(width), Form::Table) = (look.columns, look.form) {
            remark = fitted.fit(self, width, look);
        }
        let mut drawn = fitted.draw(look);
        if !remark.is_empty() {
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
    /// The sentences below each row, as lines.
    below: Vec<Vec<String>>,
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
        Self { columns, rows, widths, below: Vec::new() }
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP * self.widths.len().saturating_sub(1)
    }

    /// Fits the columns of a table to a width. Returns the remark about what is not shown.
    fn fit(&mut self, table: &Table, width: usize, look: Look) -> String {
        let (mut left_out, mut is_cut) = (Vec::new(), false);
        if self.width() > width {
            *self = Self::new(table, true, look);
            self.remove_usual();
        }
        if self.width() > width {
            self.remove_where(|_, cells| cells.iter().all(|cell| matches!(*cell, "" | "-")));
        }
        if self.width() > width {
            self.move_sentences_below(width);
        }
        // A time is less needed than the instance of a failed run.
        let is_extra_time = |column: &Column| column.is_extra && column.kind == Kind::Time;
        while self.width() > width {
            let columns = || self.columns.iter();
            let time = columns().position(is_extra_time);
            let Some(at) = time.or_else(|| columns().position(|column| column.is_extra)) else {
                is_cut = self.cut_to(width);
                break;
            };
            left_out.push(self.remove(at).heading);
        }
        match (left_out.is_empty(), is_cut) {
            (true, false) => String::new(),
            (true, true) => "cut to the width of the terminal; -o wide shows all".to_owned(),
            (false, _) => format!("not shown: {}; -o wide shows all", left_out.join(", ")),
        }
    }

    /// Removes the columns of which all cells have the usual value.
    fn remove_usual(&mut self) {
        self.remove_where(|column, cells| {
            column.usual.is_some_and(|usual| cells.iter().all(|cell| *cell == usual))
        });
    }

    fn remove_where(&mut self, is_removed: impl Fn(&Column, &[&str]) -> bool) {
        for at in (0..self.columns.len()).rev() {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let cells: Vec<&str> = cells.map(String::as_str).collect();
            if is_removed(&self.columns[at], &cells) {
                self.remove(at);
            }
        }
    }

    /// Takes the sentences out of the rows, as lines below them.
    fn move_sentences_below(&mut self, width: usize) {
        let is_moved = |column: &Column| column.kind == Kind::Text && !column.is_extra;
        let moved: Vec<usize> =
            (0..self.columns.len()).filter(|at| is_moved(&self.columns[*at])).collect();
        // A table of sentences alone has no row to stand below.
        if moved.len() == self.columns.len() {
            return;
        }
        let lines = |row: &Vec<String>| {
            let cells =
                moved.iter().filter_map(|at| Some((self.columns[*at].heading, row.get(*at)?)));
            let cells = cells.filter(|(_, cell)| !cell.is_empty() && *cell != "-");
            cells
                .flat_map(|(heading, cell)| wrapped(&format!("{heading}: {cell}"), width))
                .collect()
        };
        self.below = self.rows.iter().map(lines).collect();
        for at in moved.into_iter().rev() {
            self.remove(at);
        }
    }

    fn remove(&mut self, at: usize) -> Column {
        self.widths.remove(at);
        for row in self.rows.iter_mut().filter(|row| at < row.len()) {
            row.remove(at);
        }
        self.columns.remove(at)
    }

    /// Narrows the columns until the table fits, the widest of those first whose turn it is.
    /// Returns true if a column became narrower.
    fn cut_to(&mut self, width: usize) -> bool {
        let before = self.width();
        for turn in 0..=LAST_TURN {
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
        self.width() < before
    }

    fn draw(&self, look: Look) -> String {
        let mut drawn = String::new();
        let headings: Vec<&str> = self.columns.iter().map(Column::heading).collect();
        let bold = |_: usize, text: &str| {
            if look.has_colors { painted(text, HEADING) } else { text.to_owned() }
        };
        self.draw_row(&mut drawn, &headings, bold);
        for (n, row) in self.rows.iter().enumerate() {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            self.draw_row(&mut drawn, &cells, |at, text| self.columns[at].painted(text, look));
            for line in self.below.get(n).into_iter().flatten() {
                drawn.extend([line, "\n"]);
            }
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

/// Wraps a text at blanks, or within words that are too long, into indented lines of a width.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(INDENT.len()).max(1);
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let fits = |line: &str, word: &str| line.width() + word.trim_end().width() <= room;
        if !lines.last().is_some_and(|line| fits(line, word)) && word.trim_end().width() <= room {
            lines.push(String::new());
        }
        for c in word.chars() {
            if !lines.last().is_some_and(|line| fits(line, c.encode_utf8(&mut [0; 4]))) {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    lines.iter().map(|line| format!("{INDENT}{}", line.trim_end())).collect()
}

/// Cuts a text to a width, with an ellipsis in its middle: instance ids of one host, and names of
/// one kind, differ at their ends.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let end = taken(text.chars().rev(), room / 2);
    let beginning = taken(text.chars(), room - room / 2);
    beginning.into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
}

/// Returns the first characters that fit into a width.
fn taken(text: impl Iterator<Item = char>, width: usize) -> Vec<char> {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or_default();
        used <= width
    };
    text.take_while(fits).collect()
}

#[cfg(test)]
mod tests;
