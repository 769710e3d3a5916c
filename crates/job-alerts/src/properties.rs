//! Properties of a stored configuration, checked against the permissions of the worker.

use std::collections::BTreeMap;
use std::time::Duration;

use lite::InvalidConfig;
use outbound::{Permissions, SecretText};

/// Prefix of the properties that all channels share.
pub(crate) const ALERT: &str = "alert.";
/// Property of all channels: time that failures are merged, in seconds.
pub(crate) const MERGE_SECONDS: &str = "alert.mergeSeconds";
/// Longest time that failures are merged, in seconds: one day.
const MAX_MERGE_SECONDS: u64 = 86_400;

/// The properties of a job, and the permissions of the worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties<'a> {
    pub(crate) all: &'a BTreeMap<String, String>,
    pub(crate) permissions: &'a Permissions,
}

/// A secret and its reference.
#[derive(Debug)]
pub(crate) struct Referred<'a> {
    pub(crate) reference: &'a str,
    pub(crate) text: SecretText,
}

impl<'a> Properties<'a> {
    /// Rejects unknown properties with the prefix of the channel. A misspelt property would
    /// otherwise have no effect.
    pub(crate) fn check_names(
        &self,
        prefix: &str,
        known: &[&'static str],
    ) -> Result<(), InvalidConfig> {
        let has_prefix = |name: &&String| name.starts_with(prefix) || name.starts_with(ALERT);
        let is_known = |name: &str| name == MERGE_SECONDS || known.contains(&name);
        match self.all.keys().filter(has_prefix).find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => {
                let valid = format!("one of {}, {MERGE_SECONDS}", known.join(", "));
                Err(InvalidConfig::new("props", format!("{name:?}"), valid))
            }
        }
    }

    /// Returns a property that is set and not blank.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.all.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    pub(crate) fn required(&self, name: &'static str) -> Result<&'a str, InvalidConfig> {
        self.text(name).ok_or_else(|| InvalidConfig::new(name, "missing", "set"))
    }

    /// Returns a secret: a single reference that the worker's own list permits for at least one
    /// host. The error does not show any other text, because it may be the secret itself.
    pub(crate) fn secret(&self, name: &'static str) -> Result<Option<Referred<'a>>, InvalidConfig> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if !SecretText::is_reference(text) {
            let found = "a plain text in the registry, which all clients of the registry can read";
            return Err(InvalidConfig::new(name, found, self.valid_secret()));
        }
        if !self.permissions.permits_secret(text) {
            return Err(InvalidConfig::new(name, text, self.valid_secret()));
        }
        let parsed = SecretText::parse(text);
        let parsed = parsed.map(|parsed| Some(Referred { reference: text, text: parsed }));
        parsed.map_err(|error| InvalidConfig::new(name, error.value, error.valid))
    }

    pub(crate) fn required_secret(
        &self,
        name: &'static str,
    ) -> Result<Referred<'a>, InvalidConfig> {
        let missing = || InvalidConfig::new(name, "missing", self.valid_secret());
        self.secret(name)?.ok_or_else(missing)
    }

    fn valid_secret(&self) -> String {
        let permitted: Vec<&str> = self.permissions.secrets().collect();
        let kind = "${env:NAME} or ${file:/absolute/path} that this worker's own list permits";
        if permitted.is_empty() {
            format!("{kind}; the list permits none")
        } else {
            format!("{kind}: {}", permitted.join(", "))
        }
    }

    pub(crate) fn number<T: std::str::FromStr>(
        &self,
        name: &'static str,
        valid: &'static str,
    ) -> Result<Option<T>, InvalidConfig> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let invalid = |_| InvalidConfig::new(name, format!("{text:?}"), valid);
        text.parse().map(Some).map_err(invalid)
    }

    pub(crate) fn millis(&self, name: &'static str) -> Result<Option<Duration>, InvalidConfig> {
        let found = self.number(name, "whole milliseconds, at least 1")?;
        Ok(found.map(Duration::from_millis))
    }

    pub(crate) fn flag(&self, name: &'static str) -> Result<Option<bool>, InvalidConfig> {
        match self.text(name) {
            None => Ok(None),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(text) => Err(InvalidConfig::new(name, format!("{text:?}"), "true or false")),
        }
    }

    /// Returns the time that failures are merged, if the property is set.
    pub(crate) fn merge_window(&self) -> Result<Option<Duration>, InvalidConfig> {
        let valid = "0 for never, or whole seconds up to 86400";
        let found = self.number::<u64>(MERGE_SECONDS, valid)?;
        match found.filter(|seconds| *seconds > MAX_MERGE_SECONDS) {
            Some(seconds) => Err(InvalidConfig::new(MERGE_SECONDS, seconds, valid)),
            None => Ok(found.map(Duration::from_secs)),
        }
    }

    pub(crate) fn permit(&self, name: &'static str, origin: &str) -> Result<(), InvalidConfig> {
        if self.permissions.permits_origin(origin) {
            return Ok(());
        }
        let valid = "a host that this worker's own list permits to definitions from the registry";
        Err(InvalidConfig::new(name, origin, valid))
    }

    /// Rejects a secret that the worker's own list does not permit for this host.
    pub(crate) fn permit_secret(
        &self,
        name: &'static str,
        reference: &str,
        origin: &str,
    ) -> Result<(), InvalidConfig> {
        if !self.permissions.permits_secret_at(reference, origin) {
            return Err(not_permitted_for_host(name, reference, origin));
        }
        Ok(())
    }
}

/// Returns the error for a secret that is permitted for other hosts only.
pub(crate) fn not_permitted_for_host(
    name: &'static str,
    reference: &str,
    origin: &str,
) -> InvalidConfig {
    let valid = format!("a secret that this worker's own list permits for {origin}");
    InvalidConfig::new(name, reference, valid)
}
