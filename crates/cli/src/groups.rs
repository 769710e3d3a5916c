//! The commands by their purpose, as `ejob --help` lists them.

use clap::Command;
use clap::builder::StyledStr;

/// Purposes with their commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Jobs",
        &[
            "jobs", "job", "top", "next", "trigger", "rerun", "backfill", "cancel", "create",
            "remove",
        ],
    ),
    (
        "Instances and servers",
        &[
            "instances",
            "servers",
            "pause",
            "resume",
            "disable",
            "enable",
            "drain",
            "shutdown",
            "remove-server",
            "plan",
        ],
    ),
    ("Diagnosis", &["why", "doctor", "history", "logs", "verify", "audit", "dump"]),
    ("Configuration", &["config", "groups", "group", "apply", "export", "import", "explain"]),
    ("Registry", &["context", "bench"]),
    ("Services", &["worker", "console", "watch", "health"]),
    ("This program", &["init", "man", "completions", "help"]),
];

/// Makes the help of the program list its commands by their purpose.
///
/// clap lists subcommands under one heading only. So they are hidden from its list, which the
/// template replaces. The result is for parsing and its help alone: completions and manual pages
/// leave hidden commands out.
pub(crate) fn with_groups(mut program: Command) -> Command {
    // The command `help` does not exist before.
    program.build();
    let template = template(&program);
    program
        .mut_subcommands(|command| command.hide(true))
        .help_template(template)
        .override_usage("ejob [OPTIONS] <COMMAND>")
}

fn template(program: &Command) -> StyledStr {
    let (header, literal) = (program.get_styles().get_header(), program.get_styles().get_literal());
    let width = program.get_subcommands().map(|command| command.get_name().len()).max();
    let width = width.unwrap_or_default();
    let line = |command: &Command| {
        let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
        format!("\n  {literal}{name:width$}{literal:#}  {about}")
    };
    let group = |(purpose, names): (&str, &[&str])| {
        // A program without the console has no such command.
        let commands = names.iter().filter_map(|name| program.find_subcommand(name));
        format!("{header}{purpose}:{header:#}{}\n\n", commands.map(line).collect::<String>())
    };
    let groups: String = GROUPS.into_iter().map(group).collect();
    let head = "{about-with-newline}\n{usage-heading} {usage}\n\n";
    format!("{head}{groups}{{all-args}}{{after-help}}").into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::examples::program;

    #[test]
    fn each_command_is_in_one_group() {
        let mut program = program();
        program.build();
        let commands: BTreeSet<&str> = program.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut expected = commands.clone();
        expected.insert("console");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), expected);
        assert_eq!(listed.len(), expected.len(), "no command is listed twice");
    }

    #[test]
    fn help_lists_each_command_in_one_line_of_80_columns() {
        for flag in ["--help", "-h"] {
            let result = with_groups(program()).try_get_matches_from(["ejob", flag]);
            let help = result.unwrap_err().to_string();
            let (_, groups) = help.split_once("\n\nJobs:\n").unwrap();
            let (groups, options) = groups.split_once("\n\nOptions:\n").unwrap();
            for line in groups.lines() {
                assert!(line.len() <= 80, "{line}");
            }
            let about =
                "  remove-server  Shut down the instances of a server, and remove the server";
            assert!(groups.lines().any(|line| line == about), "{groups}");
            assert!(options.contains("--registry") && !help.contains("Commands:"), "{help}");
            assert!(help.contains("\nUsage: ejob [OPTIONS] <COMMAND>\n"), "{help}");
        }
    }
}
