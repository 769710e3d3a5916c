//! The options for the output, and the terminal that shows it.

use std::ffi::OsString;

use clap::{Args, ColorChoice, ValueEnum};
use console::Term;
use jiff::Timestamp;

/// Form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people; on a terminal fitted to its width, with the ages of times
    #[default]
    Table,
    /// As table, with all columns and whole texts
    Wide,
    /// One document, for programs
    Json,
    /// The same document in YAML
    Yaml,
    /// Only the names of what a command lists, one a line
    Name,
}

/// Options of the output.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Form of the answer
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORM",
        default_value = "table",
        hide_possible_values = true,
        help = "Form of the answer: table, wide, json, yaml or name"
    )]
    output: Form,
    /// Print one JSON document, as -o json does
    #[arg(long, global = true, conflicts_with = "output")]
    json: bool,
    /// Use colors: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    color: ColorChoice,
}

impl OutputArguments {
    /// Returns the look of an answer on a screen.
    pub(crate) fn look(&self, screen: &Screen) -> Look {
        let form = if self.json { Form::Json } else { self.output };
        Look { form, columns: screen.columns, has_colors: screen.has_colors(self.color), now: None }
    }

    /// Returns the options of a command line that cannot be parsed, as far as they can be read.
    pub(crate) fn scan(arguments: &[OsString]) -> Self {
        let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
        let value = |names: [&str; 2]| {
            let after = |at: usize| words.get(at + 1).copied();
            words.iter().enumerate().find_map(|(at, word)| {
                let name = names.into_iter().find(|name| word.starts_with(name))?;
                match word.strip_prefix(name)? {
                    "" => after(at),
                    rest => Some(rest.strip_prefix('=').unwrap_or(rest)),
                }
            })
        };
        let output = value(["--output", "-o"]).and_then(|form| Form::from_str(form, true).ok());
        let color = value(["--color", "--color"]);
        let color = color.and_then(|color| ColorChoice::from_str(color, true).ok());
        Self {
            output: output.unwrap_or_default(),
            json: words.contains(&"--json"),
            color: color.unwrap_or(ColorChoice::Auto),
        }
    }
}

/// The standard output as far as it matters for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Width of the terminal; `None` for a file or a pipe.
    pub(crate) columns: Option<usize>,
    /// Colors are wanted unless an option says otherwise.
    pub(crate) colors: bool,
}

impl Screen {
    /// Examines the standard output and the variables `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`.
    pub(crate) fn stdout() -> Self {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        let terminal = Term::stdout();
        // A terminal whose size is not known is taken for one of 80 columns.
        let columns = terminal.is_term().then(|| usize::from(terminal.size().1));
        Self { columns, colors: choice != anstream::ColorChoice::Never }
    }

    fn has_colors(&self, choice: ColorChoice) -> bool {
        match choice {
            ColorChoice::Auto => self.colors,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        }
    }
}

/// How an answer is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) form: Form,
    /// Width of the terminal; `None` for a file or a pipe.
    pub(crate) columns: Option<usize>,
    pub(crate) has_colors: bool,
    /// Time from which ages are counted; `None` for the present.
    pub(crate) now: Option<Timestamp>,
}

impl Look {
    /// Returns true if the answer is a document for programs.
    pub(crate) fn is_document(self) -> bool {
        matches!(self.form, Form::Json | Form::Yaml)
    }

    /// Returns true if the answer is a text for people.
    pub(crate) fn is_text(self) -> bool {
        matches!(self.form, Form::Table | Form::Wide)
    }

    pub(super) fn now(self) -> Timestamp {
        self.now.unwrap_or_else(Timestamp::now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_wrong_command_line_are_found() {
        let rows: [(&[&str], Form, ColorChoice); 8] = [
            (&["jobs"], Form::Table, ColorChoice::Auto),
            (&["jobs", "--json"], Form::Json, ColorChoice::Auto),
            (&["-o", "yaml", "jobs"], Form::Yaml, ColorChoice::Auto),
            (&["jobs", "-ojson"], Form::Json, ColorChoice::Auto),
            (&["jobs", "--output=name"], Form::Name, ColorChoice::Auto),
            (&["jobs", "--output", "wide", "--color=never"], Form::Wide, ColorChoice::Never),
            (&["jobs", "-o", "pdf", "--color", "always"], Form::Table, ColorChoice::Always),
            (&["jobs", "-o"], Form::Table, ColorChoice::Auto),
        ];
        for (words, form, color) in rows {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let found = OutputArguments::scan(&words);
            assert_eq!(found.look(&Screen::default()).form, form, "{words:?}");
            assert_eq!(found.color, color, "{words:?}");
        }
    }
}
