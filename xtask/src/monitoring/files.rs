//! The dashboard and the alert rules of the documentation, and their expressions.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Error, workspace};

/// Name of the file with the alert rules.
pub(super) const RULES: &str = "alerts.yaml";
/// Name of the file with their tests.
pub(super) const TESTS: &str = "alerts_test.yaml";

/// Name of the file with the settings of Prometheus.
pub(super) const SETTINGS: &str = "prometheus.yaml";
/// The watcher in the settings.
const TARGET: &str = "127.0.0.1:9185";

/// The files for Prometheus and Grafana.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    settings: String,
    rules: String,
    dashboard: String,
}

impl Files {
    pub(super) fn read() -> Result<Self, Error> {
        let folder = workspace().join("docs/observability");
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(Error::file("read", &path))
        };
        let (settings, rules) = (read(SETTINGS)?, read(RULES)?);
        Ok(Self { settings, rules, dashboard: read("dashboard.json")?, folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the settings for a watcher at this address, with short intervals.
    pub(super) fn settings(&self, watcher: SocketAddr) -> Result<String, Error> {
        if self.settings.matches(TARGET).count() != 1 {
            return Err(Error::Monitoring(format!("{SETTINGS} does not name {TARGET} once")));
        }
        let intervals = "global: { scrape_interval: 1s, evaluation_interval: 1s }\n";
        Ok(format!("{intervals}{}", self.settings.replace(TARGET, &watcher.to_string())))
    }

    /// Returns the text of the alert rules.
    pub(super) fn rules(&self) -> &str {
        &self.rules
    }

    /// Returns the expressions of all rules and of all panels of the dashboard.
    pub(super) fn expressions(&self) -> Result<Vec<String>, Error> {
        let mut all = of_rules(&self.rules)?;
        all.extend(of_dashboard(&self.dashboard)?);
        Ok(all)
    }
}

fn of_rules(rules: &str) -> Result<Vec<String>, Error> {
    let values = |key| rules.lines().filter_map(move |line| line.trim_start().strip_prefix(key));
    let (names, all) = (values("- alert: ").count(), values("expr: ").map(str::to_owned));
    let all: Vec<String> = all.collect();
    if all.is_empty() || all.len() != names {
        let found = all.len();
        return Err(Error::Monitoring(format!(
            "{names} rules have {found} expressions of one line"
        )));
    }
    Ok(all)
}

fn of_dashboard(dashboard: &str) -> Result<Vec<String>, Error> {
    let refused = |why: &str| Error::Monitoring(format!("the dashboard {why}"));
    let dashboard: Value = serde_json::from_str(dashboard).map_err(|_| refused("is not JSON"))?;
    let panels = dashboard["panels"].as_array().filter(|panels| !panels.is_empty());
    let panels = panels.ok_or_else(|| refused("has no panel"))?;
    let mut all = Vec::new();
    for panel in panels {
        let targets = panel["targets"].as_array().filter(|targets| !targets.is_empty());
        let targets = targets.ok_or_else(|| refused("has a panel without a target"))?;
        for target in targets {
            let text = target["expr"].as_str();
            all.push(text.ok_or_else(|| refused("has a target without an expression"))?.to_owned());
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::with_causes;

    #[test]
    fn all_expressions_are_found() {
        let files = Files::read().unwrap();
        let all = files.expressions().unwrap();
        assert!(all.contains(&"absent(ejob_watch_sender)".to_owned()), "{all:?}");
        assert!(all.contains(&"sum(ejob_watch_sender)".to_owned()), "{all:?}");
    }

    #[test]
    fn expressions_that_would_be_missed_are_errors() {
        let shown = |error: Error| with_causes(&error);
        let folded = "- alert: A\n  expr: >-\n    a == 1\n- alert: B\n  expr: |\n    b == 1";
        assert_eq!(of_rules(folded).unwrap(), [">-", "|"], "promtool refuses them");
        let error = of_rules("- alert: A\n  expr: a == 1\n- alert: B").unwrap_err();
        assert_eq!(shown(error), "2 rules have 1 expressions of one line");
        assert_eq!(shown(of_rules("").unwrap_err()), "0 rules have 0 expressions of one line");
        for (dashboard, why) in [
            ("", "is not JSON"),
            (r#"{"panels": []}"#, "has no panel"),
            (r#"{"panels": [{"targets": []}]}"#, "has a panel without a target"),
            (r#"{"panels": [{"targets": [{}]}]}"#, "has a target without an expression"),
        ] {
            assert_eq!(shown(of_dashboard(dashboard).unwrap_err()), format!("the dashboard {why}"));
        }
    }
}
