//! The file of contexts, which only its owner can read and write.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use outbound::parse_toml;
use serde::{Deserialize, Serialize};

use super::ContextEntry;
use crate::fault::Fault;
use crate::text::did_you_mean;

/// Maximum size of the file, in KiB.
const MAX_KIB: u64 = 256;
/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;
const HEADER: &str = "# Contexts of ejob, written by `ejob context`. Secrets are references: \
                      ${env:NAME} or ${file:/absolute/path}.\n";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    contexts: BTreeMap<String, ContextEntry>,
}

/// The contexts of a user, and the path of their file.
#[derive(Debug)]
pub(crate) struct ContextsFile {
    path: PathBuf,
    all: Contexts,
}

impl ContextsFile {
    /// Reads the file of the user. A missing file has no contexts.
    pub(crate) fn read() -> Result<Self, Fault> {
        let Some(path) = default_path(|name| std::env::var_os(name)) else {
            return Ok(Self { path: PathBuf::new(), all: Contexts::default() });
        };
        Self::read_from(path)
    }

    fn read_from(path: PathBuf) -> Result<Self, Fault> {
        let all = match File::open(&path).and_then(|file| outbound::read_text(file, MAX_KIB)) {
            Ok(text) => parse(&text)
                .map_err(|reason| Fault::usage(format!("{}: {reason}", path.display())))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Contexts::default(),
            Err(error) => {
                return Err(Fault::usage(format!("{} cannot be read: {error}", path.display())));
            }
        };
        Ok(Self { path, all })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the current context.
    pub(crate) fn current(&self) -> Option<&str> {
        self.all.current.as_deref()
    }

    /// Returns the contexts by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &ContextEntry)> {
        self.all.contexts.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the context of a name, or an error that names the existing ones.
    pub(crate) fn get(&self, name: &str) -> Result<&ContextEntry, Fault> {
        self.all.contexts.get(name).ok_or_else(|| {
            let names: Vec<_> = self.all().map(|(name, _)| name).collect();
            let existing = match names.is_empty() {
                true => {
                    "it has none; `ejob context add NAME --registry ADDRESS` adds one".to_owned()
                }
                false => {
                    let question = did_you_mean(name, names.iter().copied());
                    question.unwrap_or_else(|| format!("valid is {}", names.join(", ")))
                }
            };
            Fault::not_found(format!(
                "there is no context {name:?} in {}; {existing}",
                self.path.display()
            ))
        })
    }

    /// Returns the fault of a context.
    pub(super) fn invalid(&self, name: &str, reason: String) -> Fault {
        Fault::usage(format!("{}: context {name:?}: {reason}", self.path.display()))
    }

    /// Adds a context. An existing one is an error unless it may be replaced.
    pub(crate) fn add(
        &mut self,
        name: &str,
        entry: ContextEntry,
        replace: bool,
    ) -> Result<(), Fault> {
        check_name(name)?;
        entry.target().map_err(|reason| Fault::usage(format!("context {name:?}: {reason}")))?;
        if self.all.contexts.contains_key(name) && !replace {
            return Err(Fault::refused(format!(
                "there is a context {name:?} already; to replace it, add --replace"
            )));
        }
        self.all.contexts.insert(name.to_owned(), entry);
        self.write()
    }

    /// Makes a context the current one, or none.
    pub(crate) fn set_current(&mut self, name: Option<&str>) -> Result<(), Fault> {
        if let Some(name) = name {
            self.get(name)?;
        }
        self.all.current = name.map(str::to_owned);
        self.write()
    }

    /// Removes a context. If it is the current one, no context is current any more.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Fault> {
        self.get(name)?;
        self.all.contexts.remove(name);
        self.all.current.take_if(|current| current == name);
        self.write()
    }

    /// Replaces the file, so that a reader finds the old or the new one.
    fn write(&self) -> Result<(), Fault> {
        let failed = |error: io::Error| {
            Fault::refused(format!("{} cannot be written: {error}", self.path.display()))
        };
        let Some(folder) = self.path.parent() else {
            return Err(Fault::usage(
                "neither XDG_CONFIG_HOME nor HOME names a directory for contexts; set one of them \
                 to an absolute path",
            ));
        };
        let text = toml::to_string(&self.all).map_err(|error| failed(io::Error::other(error)))?;
        fs::create_dir_all(folder).map_err(failed)?;
        let new = self.path.with_extension(format!("toml.{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| {
                file.write_all(format!("{HEADER}{text}").as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&new, &self.path));
        written.map_err(|error| {
            // The old file stays. A new one that is left has no secrets.
            let _ = fs::remove_file(&new);
            failed(error)
        })
    }
}

fn parse(text: &str) -> Result<Contexts, String> {
    let all: Contexts = parse_toml(text).map_err(|fault| fault.to_string())?;
    match &all.current {
        // Without this check a command would use the file of the host, a cluster of its own.
        Some(name) if !all.contexts.contains_key(name) => {
            Err(format!("current is {name:?}; valid is the name of one of its contexts"))
        }
        _ => Ok(all),
    }
}

fn check_name(name: &str) -> Result<(), Fault> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_valid) {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "the name of the context is {name:?}; valid is 1 to {MAX_NAME} letters, digits, hyphens, \
         underscores and dots"
    )))
}

/// Returns the path of the file. Relative paths in `XDG_CONFIG_HOME` are invalid by its definition,
/// and are ignored.
fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("ejob/contexts.toml"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const ENTRY: &str = "[contexts.prod]\nregistry = \"zk://zk-1:2181/jobs\"\n";

    #[test]
    fn fault_names_line_and_valid_values_but_no_secret() {
        let rows = [
            ("current = \"prod\"".to_owned(), "current is \"prod\"; valid is the name of one"),
            ("[contexts.prod]".to_owned(), "line 1: registry is missing"),
            (
                format!("{ENTRY}digest = \"anna:s3cret\""),
                "line 3: digest: a secret must not be in the file",
            ),
            (
                format!("{ENTRY}sasl_password = \"s3cret\""),
                "line 3: sasl_password: a secret must not be in",
            ),
            (format!("{ENTRY}digest = s3cret"), "line 3: not valid TOML at column "),
            (
                format!("{ENTRY}passwort = \"s3cret\""),
                "line 3: passwort is an unknown key of the table contexts.prod",
            ),
        ];
        for (text, beginning) in rows {
            let fault = parse(&text).unwrap_err();
            assert!(fault.starts_with(beginning), "{text:?}: {fault}");
            assert!(!fault.contains("s3cret"), "{fault}");
        }
        assert!(parse(ENTRY).is_ok() && parse("").is_ok());
    }

    #[test]
    fn file_is_written_for_its_owner_only_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ejob/contexts.toml");
        let read = || ContextsFile::read_from(path.clone()).unwrap();
        let text = format!("{ENTRY}digest = \"${{env:DIGEST}}\"\ntls_ca = \"/ca.pem\"\n");
        let entry = parse(&text).unwrap().contexts["prod"].clone();
        read().add("prod", entry.clone(), false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read().get("prod").unwrap(), &entry);
        assert!(read().add("prod", entry.clone(), false).is_err());
        read().add("prod", entry.clone(), true).unwrap();
        read().set_current(Some("prod")).unwrap();
        assert_eq!(read().current(), Some("prod"));
        let fault = read().get("dev").unwrap_err().to_string();
        assert!(fault.ends_with("contexts.toml; valid is prod"), "{fault}");
        for name in ["", "a b", "ä", &"x".repeat(65)] {
            assert!(read().add(name, entry.clone(), false).is_err(), "{name:?}");
        }
        read().remove("prod").unwrap();
        assert_eq!((read().current(), read().all().count()), (None, 0));
        assert_eq!(fs::read_dir(folder.path().join("ejob")).unwrap().count(), 1);
    }

    #[test]
    fn file_is_in_the_directory_of_configurations() {
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        let rows: [Row<'_>; 4] = [
            (&[], None),
            (&[("HOME", "/home/a")], Some("/home/a/.config/ejob/contexts.toml")),
            (&[("HOME", "/a"), ("XDG_CONFIG_HOME", "/etc/b")], Some("/etc/b/ejob/contexts.toml")),
            (&[("HOME", ""), ("XDG_CONFIG_HOME", "relative")], None),
        ];
        for (variables, expected) in rows {
            let value = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name)?;
                Some(OsString::from(found.1))
            };
            assert_eq!(default_path(value), expected.map(PathBuf::from), "{variables:?}");
        }
    }
}
