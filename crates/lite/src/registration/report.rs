//! Log lines about the configuration of a job at its registration.

use coordination::JobConfig;

use crate::config_store::{Settled, Settlement};
use crate::driver::job_span;
use crate::{ConfigDifference, config_check};

/// Logs warnings about the configuration, and returns the differences from the stored one.
pub(super) fn differences(config: &JobConfig, settlement: Settlement) -> Vec<ConfigDifference> {
    let _entered = job_span(&config.job_name, "").entered();
    warn_about_cron(config);
    warn_about_items(config);
    warn_about_java(config, &settlement.local);
    match settlement.settled {
        Settled::Local => Vec::new(),
        Settled::Stored(differences) => {
            for ConfigDifference { field, stored, local } in &differences {
                tracing::warn!(
                    field,
                    stored,
                    local,
                    "stored configuration differs and is in force"
                );
            }
            differences
        }
        Settled::Unreadable(reason) => {
            tracing::error!(
                reason,
                "stored configuration is unreadable; the job waits until an operator repairs it"
            );
            Vec::new()
        }
    }
}

fn warn_about_cron(config: &JobConfig) {
    for caveat in config_check::caveats(config) {
        tracing::warn!(
            cron = config.cron,
            %caveat,
            "cron expression may not do what its author expects"
        );
    }
}

fn warn_about_items(config: &JobConfig) {
    let items = config.sharding_total_count;
    let surplus = config.parameters_without_item();
    if !surplus.is_empty() {
        tracing::warn!(
            parameters_of = ?surplus,
            items,
            "sharding_item_parameters name items that the job does not have"
        );
    }
    let pinned = config.pins_without_item();
    if !pinned.is_empty() {
        tracing::warn!(pins_from = ?pinned, items, "placement pins items that the job does not have");
    }
}

/// `in_dialect` is the configuration in the dialect of the job's nodes, which Java instances read.
fn warn_about_java(config: &JobConfig, in_dialect: &JobConfig) {
    let Some(caveat) = in_dialect.java_caveat() else { return };
    tracing::warn!(
        time_zone = config.time_zone,
        caveat,
        "Java instances may interpret the time zone differently"
    );
}
