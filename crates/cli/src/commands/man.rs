//! `man`: manual pages, one for each command.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use serde_json::json;

use crate::examples::program;
use crate::fault::Fault;
use crate::output::{Page, counted};

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Directory in which a page for each command is written [default: the page of `ejob` is
    /// printed]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArguments {
    pub(crate) fn run(self) -> Result<Page, Fault> {
        match self.dir {
            Some(dir) => write(&dir),
            None => {
                let (_, page) = pages(&program()).remove(0);
                Ok(Page::new(page.clone(), &json!({ "page": page })))
            }
        }
    }
}

fn write(dir: &Path) -> Result<Page, Fault> {
    let failed = |error| Fault::refused(format!("--dir {}: {error}", dir.display()));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let pages = pages(&program());
    for (name, page) in &pages {
        std::fs::write(dir.join(name), page).map_err(failed)?;
    }
    let text = format!("{} written to {}\n", counted(pages.len(), "page"), dir.display());
    let names: Vec<_> = pages.iter().map(|(name, _)| name).collect();
    Ok(Page::new(text, &json!({ "pages": names })))
}

/// Returns the pages of all commands with the names of their files, that of the program first.
fn pages(program: &Command) -> Vec<(String, String)> {
    let mut program = program.clone().disable_help_subcommand(true);
    program.build();
    let mut all = Vec::new();
    let mut open = vec![program];
    while let Some(command) = open.pop() {
        let man = Man::new(command.clone());
        let mut page = Vec::new();
        man.render(&mut page).expect("writing to memory cannot fail");
        all.push((man.get_filename(), String::from_utf8_lossy(&page).into_owned()));
        open.extend(command.get_subcommands().cloned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_with_its_parts() {
        let pages = pages(&program());
        assert_eq!(pages[0].0, "ejob.1");
        let names: Vec<&str> = pages.iter().map(|(name, _)| &**name).collect();
        for name in ["ejob-jobs.1", "ejob-config-get.1", "ejob-watch-silence.1"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for (name, page) in &pages {
            for part in [".TH ejob", "\n.SH NAME\n", "\n.SH SYNOPSIS\n", "\n.SH DESCRIPTION\n"] {
                assert!(page.contains(part), "{name} without {part:?}: {page}");
            }
        }
        let (_, drain) = pages.iter().find(|(name, _)| name == "ejob-drain.1").unwrap();
        assert!(drain.contains("ejob drain report"), "no example: {drain}");
    }
}
