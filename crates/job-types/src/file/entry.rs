//! A configuration as an entry of a job file.

use std::fmt::Write as _;

use lite::JobConfig;

/// Returns a configuration as the entry of a TOML job file that declares it, with the keys that
/// differ from their defaults.
///
/// The work of the job is not part of its configuration: the entry has `stored = true`, which a
/// worker needs to replace by `script` or `http` if the work is not in the registry. Settings that
/// only Java instances use have no keys.
///
/// # Examples
/// ```
/// use job_types::{JobFile, entry_of};
/// use lite::JobBuilder;
///
/// let config = JobBuilder::new("report", 4).cron("0 0/5 * * * ?").failover(true).build()?;
/// let text = entry_of(&config);
/// assert!(text.starts_with("[[jobs]]\nname = \"report\"\nsharding_total_count = 4\n"));
/// assert_eq!(JobFile::from_toml(&text)?.jobs()[0].config(), &config);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn entry_of(config: &JobConfig) -> String {
    let default = JobConfig::new(config.job_name.clone(), config.sharding_total_count);
    let mut entry = Entry(String::from("[[jobs]]\n"));
    entry.text("name", Some(config.job_name.as_str()));
    entry.value("sharding_total_count", config.sharding_total_count);
    for (key, value) in [
        ("cron", &config.cron),
        ("time_zone", &config.time_zone),
        ("excluded_days", &config.excluded_days),
        ("excluded_times", &config.excluded_times),
        ("not_before", &config.not_before),
        ("not_after", &config.not_after),
        ("repeated_hour", &config.repeated_hour),
    ] {
        entry.text(key, value.as_deref());
    }
    if let Some(max) = config.cluster_concurrency {
        entry.value("cluster_concurrency", max);
    }
    let rate = config.start_rate.map(|rate| rate.to_string());
    entry.text("start_rate", rate.as_deref());
    entry.text("group", config.group.as_ref().map(|group| group.as_str()));
    let overlap = config.overlap.map(|overlap| overlap.to_string());
    entry.text("overlap", overlap.as_deref());
    let jitter = config.jitter_ms.map(|bound| format!("{bound}ms"));
    entry.text("jitter", jitter.as_deref());
    for (key, value) in [
        ("sharding_item_parameters", config.sharding_item_parameters.as_str()),
        ("job_parameter", config.job_parameter.as_str()),
        ("strategy", config.strategy.as_str()),
        ("placement", config.placement.as_str()),
        ("description", config.description.as_str()),
    ] {
        entry.text(key, Some(value).filter(|value| !value.is_empty()));
    }
    for (key, value, default) in [
        ("failover", config.failover, default.failover),
        ("misfire", config.misfire, default.misfire),
        ("monitor_execution", config.monitor_execution, default.monitor_execution),
        ("static_sharding", config.static_sharding, default.static_sharding),
        ("disabled", config.disabled, default.disabled),
        ("overwrite", config.overwrite, default.overwrite),
    ] {
        if value != default {
            entry.value(key, value);
        }
    }
    if config.max_time_diff != default.max_time_diff {
        entry.text("max_time_diff", Some(&config.max_time_diff.to_string()));
    }
    if config.reconcile_interval_minutes != default.reconcile_interval_minutes {
        // A time of zero minutes is written in seconds, as the reference has it.
        let interval = match config.reconcile_interval_minutes {
            0 => "0s".to_owned(),
            minutes => format!("{minutes}m"),
        };
        entry.text("reconcile_interval", Some(&interval));
    }
    if config.server_ttl != default.server_ttl {
        entry.text("server_ttl", Some(&config.server_ttl.to_string()));
    }
    if let Some(policy) = &config.catch_up {
        let (window, max) = (policy.window_seconds, policy.max);
        entry.value("catch_up", format!("{{ window = \"{window}s\", max = {max} }}"));
    }
    entry.value("stored", true);
    entry.0
}

struct Entry(String);

impl Entry {
    fn value(&mut self, key: &str, value: impl std::fmt::Display) {
        writeln!(self.0, "{key} = {value}").expect("a text takes each write");
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(key, quoted(value));
        }
    }
}

/// Returns a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("a text takes each write");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lite::{JobBuilder, Overlap, ServerTtl, StartRate};

    use super::*;
    use crate::JobFile;

    fn read_again(config: &JobConfig) -> JobConfig {
        let text = entry_of(config);
        let file = JobFile::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        file.jobs()[0].config().clone()
    }

    #[test]
    fn entry_declares_the_same_configuration() {
        let plain = JobBuilder::new("report \"1\" 作业", 1).build().unwrap();
        assert_eq!(read_again(&plain), plain);
        let full = JobBuilder::new("full", 3)
            .cron("0 0/5 * * * ?; @every 90s")
            .time_zone("Asia/Shanghai")
            .excluded_days("SAT..SUN,12-25")
            .excluded_times("22:00..06:00 # backup \"night\"\n2026-01-01 # new\\year\n")
            .not_before("2026-12-24T09:00:00")
            .not_after("2027-12-24T09:00:00")
            .repeated_hour("both")
            .jitter(Duration::from_millis(1_500))
            .cluster_concurrency(2)
            .start_rate(StartRate { max: 10, period_seconds: 60 })
            .group("database")
            .sharding_item_parameters("0=Beijing,1=Shanghai")
            .job_parameter("a\tb\u{7f}")
            .failover(true)
            .catch_up(Duration::from_secs(90), 3)
            .static_sharding(true)
            .strategy("ODEVITY")
            .description("nightly")
            .disabled(true)
            .overwrite(true)
            .max_time_diff(Duration::from_secs(5))
            .reconcile_interval(Duration::from_secs(300))
            .server_ttl(ServerTtl::parse("7d all").unwrap())
            .build()
            .unwrap();
        assert_eq!(read_again(&full), full);
        let off = JobBuilder::new("off", 1)
            .placement("require disk=ssd")
            .misfire(false)
            .monitor_execution(false)
            .compare_clocks(false)
            .reconcile_interval(Duration::ZERO)
            .build()
            .unwrap();
        assert_eq!(read_again(&off), off);
        let overlaps = JobBuilder::new("overlaps", 1).overlap(Overlap::Cancel).build().unwrap();
        assert_eq!(read_again(&overlaps), overlaps);
        let queues = JobBuilder::new("queues", 1).overlap(Overlap::Queue(9)).build().unwrap();
        assert_eq!(read_again(&queues), queues);
        let parallel = JobBuilder::new("parallel", 1).overlap(Overlap::Parallel(3)).build();
        let parallel = parallel.unwrap();
        assert_eq!(read_again(&parallel), parallel);
        // Each field that users set is a key of one of the entries.
        let texts = [entry_of(&full), entry_of(&off), entry_of(&overlaps)].concat();
        for (field, _) in full.fields() {
            assert!(texts.contains(&format!("\n{field} = ")), "{field}");
        }
    }
}
