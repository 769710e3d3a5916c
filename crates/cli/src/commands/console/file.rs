//! The file of `ejob console`, which names several namespaces.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use job_console::Prefix;
use outbound::parse_toml;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::Source;
use super::access::AccessSection;
use crate::commands::history::{check_exists, has_password, store_options};
use crate::commands::java_history::zone;
use crate::connect::Credentials;
use crate::context::Context;
use crate::fault::Fault;
use crate::reference::Reference;
use crate::target::Target;

/// A file that names namespaces. Its values are valid one by one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConsoleFile {
    pub(super) listen: Option<SocketAddr>,
    #[serde(default, deserialize_with = "prefix")]
    pub(super) prefix: Option<Prefix>,
    pub(super) access: Option<AccessSection>,
    #[serde(default)]
    namespaces: Vec<NamespaceEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamespaceEntry {
    name: String,
    registry: String,
    history: Option<String>,
    history_password: Option<Reference>,
    /// File of expectations, relative to this one.
    watch: Option<PathBuf>,
    /// Zone of the Java instances whose successes the history has.
    java_zone: Option<String>,
    digest: Option<Reference>,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    sasl_user: Option<String>,
    sasl_password: Option<Reference>,
}

fn prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Prefix>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

impl ConsoleFile {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Fault::usage(format!("--file {} cannot be read: {error}", path.display()))
        })?;
        Self::parse(&text).map_err(|reason| Fault::usage(format!("{}: {reason}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: Self = parse_toml(text).map_err(|fault| fault.to_string())?;
        if file.namespaces.is_empty() {
            return Err("namespaces is missing; valid is at least one section [[namespaces]] with name and registry".to_owned());
        }
        let mut names = BTreeSet::new();
        match file.namespaces.iter().find(|entry| !names.insert(&entry.name)) {
            Some(twice) => Err(format!(
                "namespaces: name {:?} is given twice; give each namespace its own name",
                twice.name
            )),
            None => Ok(file),
        }
    }

    /// Returns the namespaces with their registries and histories.
    pub(super) fn sources(&self, path: &Path, cx: &Context<'_>) -> Result<Vec<Source>, Fault> {
        let source = |entry: &NamespaceEntry| {
            entry.source(path.parent().unwrap_or(Path::new("")), cx).map_err(|fault| {
                let (path, name) = (path.display(), &entry.name);
                Fault::new(fault.exit(), format!("{path}: namespace {name:?}: {fault}"))
            })
        };
        self.namespaces.iter().map(source).collect()
    }
}

impl NamespaceEntry {
    fn source(&self, folder: &Path, cx: &Context<'_>) -> Result<Source, Fault> {
        let target = Target::parse_of_console(&self.registry)
            .map_err(|reason| Fault::usage(format!("registry: {reason}")))?;
        if target == Target::Memory {
            return Err(Fault::usage(
                "registry is memory:, which ends with its process; valid is the address of a registry that workers use",
            ));
        }
        let credentials = Credentials {
            digest: self.digest.clone().map(|secret| secret.0),
            tls_ca: self.tls_ca.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            sasl_user: self.sasl_user.clone(),
            sasl_password: self.sasl_password.clone().map(|secret| secret.0),
        };
        if let (false, Some(option)) = (matches!(target, Target::Zookeeper(_)), credentials.first())
        {
            return Err(Fault::usage(format!(
                "{option} is given, which only ZooKeeper has, but the registry is {target}"
            )));
        }
        credentials.check_secrets().map_err(Fault::usage)?;
        let connect = cx.connect().with(credentials);
        let watch = self.watch.as_ref().map(|path| super::watching::read(&folder.join(path)));
        let (name, history, watch) = (self.name.clone(), self.history()?, watch.transpose()?);
        let java_zone = self.java_zone.as_deref().map(zone).transpose().map_err(|valid| {
            let zone = self.java_zone.as_deref().unwrap_or_default();
            Fault::usage(format!("java_zone is {zone:?}; {valid}"))
        })?;
        if java_zone.is_some() && (watch.is_none() || history.is_none()) {
            return Err(Fault::usage("java_zone requires watch and history"));
        }
        Ok(Source { name, connect, target, history, watch, java_zone })
    }

    fn history(&self) -> Result<Option<job_history::HistoryOptions>, Fault> {
        let Some(url) = &self.history else {
            let is_alone = self.history_password.is_some();
            let alone = || Fault::usage("history_password requires history");
            return if is_alone { Err(alone()) } else { Ok(None) };
        };
        if has_password(url) {
            return Err(Fault::usage(
                "history contains a password; name it in history_password, as ${env:NAME} or ${file:/absolute/path}",
            ));
        }
        let options = store_options("history", url)?;
        check_exists("history", url)?;
        let password = self.history_password.as_ref().map(|secret| secret.0.read()).transpose();
        match password.map_err(|reason| Fault::usage(format!("history_password: {reason}")))? {
            Some(password) => Ok(Some(options.password(password))),
            None => Ok(Some(options)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_line_field_and_valid_values_but_no_secret() {
        let entry = "[[namespaces]]\nname = \"a\"\nregistry = \"sqlite:a.db\"\n";
        let rows = [
            ("", "namespaces is missing"),
            ("lisen = 1", "line 1: lisen is an unknown key of the file; valid is listen"),
            ("listen = \"here\"", "line 1: listen: invalid socket address syntax"),
            ("[access]\nuser = 1", "line 2: user is an unknown key of the table access"),
            ("[[namespaces]]\nname = \"a\"", "line 1: registry is missing"),
            (
                &format!("{entry}digest = \"anna:s3cret\""),
                "line 4: digest: a secret must not be in the file",
            ),
            (
                &format!("{entry}passwort = \"s3cret\""),
                "line 4: passwort is an unknown key of the table namespaces",
            ),
            (&format!("{entry}digest = s3cret"), "line 4: not valid TOML at column "),
            (
                &format!("{entry}digest = 534237"),
                "line 4: digest is a whole number; valid is a text in quotes",
            ),
            (&format!("{entry}{entry}"), "namespaces: name \"a\" is given twice"),
        ];
        for (text, beginning) in rows {
            let fault = ConsoleFile::parse(text).unwrap_err();
            assert!(fault.starts_with(beginning), "{text:?}: {fault}");
            assert!(!fault.contains("s3cret") && !fault.contains("534237"), "{fault}");
        }
        assert_eq!(ConsoleFile::parse(entry).unwrap().namespaces.len(), 1);
    }

    #[test]
    fn secret_is_read_from_a_file_or_the_environment() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret\n").unwrap();
        let text = |reference: &str| {
            let line = format!("digest = \"{reference}\"");
            let entry = "[[namespaces]]\nname = \"a\"\nregistry = \"sqlite:a.db\"\n";
            let file = ConsoleFile::parse(&format!("{entry}{line}")).unwrap();
            file.namespaces[0].digest.clone().unwrap().0.read()
        };
        assert_eq!(text(&format!("${{file:{}}}", file.path().display())).unwrap(), "s3cret");
        assert_eq!(text("${env:CARGO_PKG_NAME}").unwrap(), "cli");
        let fault = text("${env:EJOB_NO_SUCH_VARIABLE}").unwrap_err();
        assert!(fault.contains("no variable EJOB_NO_SUCH_VARIABLE"), "{fault}");
        // Cargo sets this variable, and the package has no such file.
        assert_eq!(std::env::var("CARGO_PKG_LICENSE_FILE").as_deref(), Ok(""));
        let fault = text("${env:CARGO_PKG_LICENSE_FILE}").unwrap_err();
        assert!(fault.contains("CARGO_PKG_LICENSE_FILE is empty"), "{fault}");
        for (content, expected) in
            [("\n".to_owned(), "is empty"), ("x".repeat(64 * 1024 + 1), "64 KiB")]
        {
            std::fs::write(file.path(), content).unwrap();
            let fault = text(&format!("${{file:{}}}", file.path().display())).unwrap_err();
            assert!(fault.contains(&file.path().display().to_string()), "{fault}");
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
