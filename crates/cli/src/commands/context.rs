//! `context`: the registries of the user, by name.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::context::Context;
use crate::contexts::{ContextEntry, ContextsFile};
use crate::fault::Fault;
use crate::output::{Column, Page, Table, Text, pairs};
use crate::text::or_dash;

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// List the contexts
    List,
    /// Add the registry and the credentials that the options name, as a context
    ///
    /// A password is never stored: --digest-file and --sasl-password-file are stored as references
    /// to these files, and EJOB_DIGEST and EJOB_SASL_PASSWORD as references to the variables.
    Add(AddArguments),
    /// Use a context for all commands that name no registry and no other context
    Use(UseArguments),
    /// Show a context
    Show(ShowArguments),
    /// Remove a context
    Remove(RemoveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Name of the context: letters, digits, hyphens, underscores and dots
    name: String,
    /// Replace an existing context
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UseArguments {
    /// Name of the context
    #[arg(required_unless_present = "none")]
    name: Option<String>,
    /// Use no context any more
    #[arg(long, conflicts_with = "name")]
    none: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Name of the context [default: the current one]
    name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Name of the context
    name: String,
}

impl ContextCommand {
    pub(crate) fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let mut contexts = ContextsFile::read()?;
        match self {
            Self::List => Ok(list(&contexts)),
            Self::Add(AddArguments { name, replace }) => {
                contexts.add(&name, cx.connect().entry()?, replace)?;
                Ok(changed(&contexts, &format!("context {name} added")))
            }
            Self::Use(UseArguments { name, .. }) => {
                contexts.set_current(name.as_deref())?;
                let done = name.map(|name| format!("context {name} is used"));
                Ok(changed(&contexts, &done.unwrap_or_else(|| "no context is used".to_owned())))
            }
            Self::Show(ShowArguments { name }) => {
                let name = name.as_deref().or(contexts.current()).ok_or_else(|| {
                    Fault::not_found(format!(
                        "no context of {} is current; name one, or choose one with `ejob context use NAME`",
                        contexts.path().display()
                    ))
                })?;
                Ok(show(name, contexts.get(name)?, contexts.current() == Some(name)))
            }
            Self::Remove(RemoveArguments { name }) => {
                contexts.remove(&name)?;
                Ok(changed(&contexts, &format!("context {name} removed")))
            }
        }
    }
}

fn changed(contexts: &ContextsFile, done: &str) -> Page {
    let path = contexts.path().display().to_string();
    let document = json!({ "current": contexts.current(), "file": path });
    Page::new(format!("{done}: {path}\n"), &document)
}

fn list(contexts: &ContextsFile) -> Page {
    let is_current = |name: &str| contexts.current() == Some(name);
    let row = |(name, entry): (&str, &ContextEntry)| {
        let current = if is_current(name) { "yes" } else { "-" };
        vec![name.to_owned(), current.to_owned(), entry.registry.clone()]
    };
    let columns = [Column::name("NAME"), Column::state("CURRENT"), Column::text("REGISTRY")];
    let rows: Vec<_> = contexts.all().map(row).collect();
    let text = match rows.is_empty() {
        true => Text::from(format!("no contexts in {}\n", contexts.path().display())),
        false => Table::new(&columns, rows).into(),
    };
    let all = contexts.all().map(|(name, entry)| document(name, entry, is_current(name)));
    Page::new(text, &json!({ "contexts": all.collect::<Vec<_>>() }))
}

fn show(name: &str, entry: &ContextEntry, is_current: bool) -> Page {
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    };
    let secret = |secret: &Option<crate::reference::Reference>| {
        secret.as_ref().map(ToString::to_string).unwrap_or_default()
    };
    let text = pairs([
        ("name", name.to_owned()),
        ("current", or_dash(is_current.then_some("yes"))),
        ("registry", entry.registry.clone()),
        ("digest", secret(&entry.digest)),
        ("tls_ca", path(&entry.tls_ca)),
        ("tls_cert", path(&entry.tls_cert)),
        ("tls_key", path(&entry.tls_key)),
        ("sasl_user", entry.sasl_user.clone().unwrap_or_default()),
        ("sasl_password", secret(&entry.sasl_password)),
    ]);
    Page::new(text, &document(name, entry, is_current))
}

fn document(name: &str, entry: &ContextEntry, is_current: bool) -> Value {
    let mut document = json!(entry);
    document["name"] = json!(name);
    document["current"] = json!(is_current);
    document
}
