//! Keys of a file of jobs, with the descriptions of their valid values for error messages.

use super::tree::Step;

/// A time with its unit.
pub(super) const A_TIME: &str = "a time with its unit, such as 500ms, 5s or 1m 30s";
/// An address of a registry.
pub(super) const AN_ADDRESS: &str =
    "an address in quotes, such as \"sqlite:registry.db\" or \"zk://10.0.0.1:2181/jobs\"";
const A_DATE: &str = "a time in quotes, such as \"2026-12-24T09:00:00\"";
const FLAG: &str = "true or false";
const TEXT: &str = "a text in quotes";
const FROM_1: &str = "a whole number from 1 to 4294967295";
const ADDRESSES: &str = "addresses in quotes, such as \"ops@example.com\"";

/// Keys by their paths, without the indices of list elements, with the valid values of each.
pub(super) const KEYS: [(&str, &str); 99] = [
    ("allow", "a table with commands, hosts, alert_hosts and secrets"),
    ("allow.alert_hosts", "a list such as [\"https://hooks.slack.com\"]"),
    ("allow.commands", "a list of lists of words, such as [[\"/opt/report.sh\", \"--daily\"]]"),
    ("allow.hosts", "a list such as [\"https://api.example.com\"]"),
    ("allow.secrets", "a list such as [\"${env:WEBHOOK} for https://hooks.slack.com\"]"),
    ("groups", "a list of groups of jobs: a line [[groups]] before each"),
    ("groups.cluster_concurrency", "1 to 4294967295, or no such key: no limit"),
    ("groups.name", "a text of 1 to 128 bytes in quotes, such as \"database\""),
    ("groups.start_rate", "starts in a period in quotes, such as \"10 in 1m\""),
    ("jobs", "a list of jobs: a line [[jobs]] before each"),
    ("jobs.catch_up", "a table such as { window = \"1h\", max = 3 }"),
    ("jobs.catch_up.max", FROM_1),
    ("jobs.catch_up.window", A_TIME),
    ("jobs.cluster_concurrency", "1 to 4294967295, or no such key: no limit"),
    ("jobs.cron", "rules in quotes, such as \"0 0/5 * * * ?\" or \"@every 90s\""),
    ("jobs.description", TEXT),
    ("jobs.disabled", FLAG),
    ("jobs.error_handler_timeout", A_TIME),
    ("jobs.error_handlers", "a list of tables such as kind = \"log\""),
    ("jobs.error_handlers.authorization", "a reference such as \"${env:NAME}\""),
    ("jobs.error_handlers.bcc", ADDRESSES),
    ("jobs.error_handlers.cc", ADDRESSES),
    ("jobs.error_handlers.connect_timeout", A_TIME),
    ("jobs.error_handlers.from", ADDRESSES),
    ("jobs.error_handlers.host", "the name of a mail server in quotes"),
    ("jobs.error_handlers.keyword", TEXT),
    (
        "jobs.error_handlers.kind",
        "log, ignore, throw, email, dingtalk, wecom, slack or webhook, in quotes",
    ),
    ("jobs.error_handlers.merge_window", A_TIME),
    ("jobs.error_handlers.password", "a reference such as \"${env:NAME}\""),
    ("jobs.error_handlers.port", "a whole number from 1 to 65535"),
    ("jobs.error_handlers.read_timeout", A_TIME),
    ("jobs.error_handlers.secret", "a reference such as \"${env:NAME}\""),
    ("jobs.error_handlers.subject", TEXT),
    ("jobs.error_handlers.timeout", A_TIME),
    ("jobs.error_handlers.tls", "wrapper, starttls or none, in quotes"),
    ("jobs.error_handlers.to", ADDRESSES),
    ("jobs.error_handlers.url", "a reference such as \"${env:NAME}\""),
    ("jobs.error_handlers.username", TEXT),
    ("jobs.excluded_days", "days in quotes, such as \"SAT..SUN,12-25\""),
    ("jobs.excluded_times", "times in quotes, such as \"22:00..06:00 # backup\""),
    ("jobs.excluded_times_file", "a path in quotes, such as \"holidays.ics\""),
    ("jobs.failover", FLAG),
    ("jobs.group", "the name of a group in quotes, such as \"database\""),
    ("jobs.http", "a table such as { url = \"https://api.example.com/run\", method = \"POST\" }"),
    ("jobs.http.body", TEXT),
    ("jobs.http.connect_timeout", A_TIME),
    ("jobs.http.content_type", "a media type in quotes, such as \"application/json\""),
    ("jobs.http.headers", "a table such as { authorization = \"Bearer ${env:TOKEN}\" }"),
    ("jobs.http.max_redirects", "a whole number from 0 to 20"),
    ("jobs.http.method", "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, in quotes"),
    ("jobs.http.read_timeout", A_TIME),
    ("jobs.http.url", "a URL in quotes, such as \"https://api.example.com/run\""),
    ("jobs.jitter", A_TIME),
    ("jobs.job_parameter", TEXT),
    ("jobs.max_concurrency", "1 or more, or no such key: no limit"),
    ("jobs.max_time_diff", "a time of whole seconds from 1s in quotes, such as \"5s\", or \"off\""),
    ("jobs.misfire", FLAG),
    ("jobs.monitor_execution", FLAG),
    ("jobs.name", "a text of 1 to 128 bytes in quotes, such as \"report\""),
    ("jobs.not_after", A_DATE),
    ("jobs.not_before", A_DATE),
    ("jobs.output", "keep or none, in quotes"),
    ("jobs.output_kib", "a whole number from 1 to 16384"),
    ("jobs.overlap", "cancel, or a text such as \"queue 10\" or \"parallel 3\", in quotes"),
    ("jobs.overwrite", FLAG),
    ("jobs.placement", "rules in quotes, such as \"require disk=ssd; pin 0 server=10.0.0.7\""),
    ("jobs.reconcile_interval", A_TIME),
    ("jobs.repeated_hour", "later or both, in quotes"),
    ("jobs.retry", "a table such as { max_attempts = 3, first_delay = \"1m\" }"),
    ("jobs.retry.after_panics", FLAG),
    ("jobs.retry.first_delay", A_TIME),
    ("jobs.retry.max_attempts", "a whole number from 2 to 4294967295"),
    ("jobs.retry.max_delay", A_TIME),
    ("jobs.script", "a table such as { command = \"/opt/report.sh --daily\" }"),
    ("jobs.script.argv", "a list of words such as [\"/opt/report.sh\", \"--daily\"]"),
    ("jobs.script.command", "a command line in quotes, such as \"/opt/report.sh --daily\""),
    ("jobs.script.context", "environment, argument or none, in quotes"),
    ("jobs.script.directory", "a path in quotes, such as \"/var/lib/report\""),
    ("jobs.script.env", "a table such as { PASSWORD = \"${env:BACKUP_PASSWORD}\" }"),
    ("jobs.script.grace", A_TIME),
    ("jobs.script.inherit_environment", FLAG),
    ("jobs.script.max_logged_lines", "a whole number from 0 on"),
    ("jobs.script.outlives_worker", FLAG),
    ("jobs.script.shell", "a command of the shell in quotes, such as \"sort in > out\""),
    ("jobs.server_ttl", "a time from 1m in quotes, such as \"7d\" or \"7d all\", or \"off\""),
    ("jobs.sharding_item_parameters", "pairs in quotes, such as \"0=Beijing,1=Shanghai\""),
    ("jobs.sharding_total_count", "a whole number from 1 to 100000"),
    ("jobs.shutdown_grace", A_TIME),
    ("jobs.start_rate", "starts in a period in quotes, such as \"10 in 1m\""),
    ("jobs.static_sharding", FLAG),
    ("jobs.stored", "true, for what the registry defines"),
    ("jobs.strategy", "the name of a strategy in quotes, such as \"ODEVITY\""),
    ("jobs.time_zone", "an IANA name in quotes, such as \"Asia/Shanghai\""),
    ("jobs.timeout", A_TIME),
    ("labels", "a table of texts such as { disk = \"ssd\" }"),
    ("max_concurrency", "1 or more, or no such key: no limit"),
    ("registry", AN_ADDRESS),
    ("weight", "a whole number from 1 to 100"),
    ("zone", "a text in quotes, such as \"eu-1\""),
];

/// Returns the description of the valid values at a path. Below `env` and `headers` any name is
/// valid.
pub(super) fn valid(path: &[Step]) -> &'static str {
    let keys = path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let path_of_keys = keys.collect::<Vec<_>>().join(".");
    let found = KEYS.iter().find(|(path, _)| *path == path_of_keys);
    found.map_or(TEXT, |(_, valid)| valid)
}

/// Returns the most similar known key, if it is similar enough for a suggestion.
pub(super) fn closest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let similar = known.iter().map(|known| (strsim::jaro_winkler(key, known), *known));
    let close = similar.filter(|(similarity, _)| *similarity > 0.8);
    close.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, known)| known)
}

/// Returns where a key is valid that is unknown in its table: in a table around it, such as the
/// job, or in one within it. In TOML, a key belongs to the last table before it.
pub(super) fn other_place(table: &str, key: &str) -> Option<String> {
    let is_key = |path: &str| KEYS.iter().any(|(known, _)| *known == path);
    let in_table =
        |table: &str| if table.is_empty() { key.into() } else { format!("{table}.{key}") };
    let last = |table: &str| table.rsplit('.').next().unwrap_or_default().to_owned();
    let mut inner = table;
    while !inner.is_empty() {
        let outer = inner.rsplit_once('.').map_or("", |(outer, _)| outer);
        if is_key(&in_table(outer)) {
            return Some(match outer {
                "" => format!("{key} is a key of the file: write it above the first job"),
                _ => format!("{key} is a key of the job: write it above its table {}", last(inner)),
            });
        }
        inner = outer;
    }
    let within = KEYS.iter().filter_map(|(path, _)| {
        let (parent, last) = path.rsplit_once('.')?;
        let is_within = table.is_empty() || parent.starts_with(&format!("{table}."));
        (last == key && is_within).then_some(parent)
    });
    let parent = within.min_by_key(|parent| parent.len())?;
    let is_table = KEYS.iter().any(|(path, _)| path.starts_with(&format!("{parent}.{key}.")));
    Some(match parent {
        "jobs" if is_table => format!("{key} is a table of a job: in TOML, [jobs.{key}]"),
        "jobs" => format!("{key} is a key of a job"),
        _ => format!("{key} is a key of the table {}", last(parent)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JobFile, JobFileError};

    /// Returns the keys of the table at a path, according to the model of the file.
    fn modelled(path: &str) -> Vec<String> {
        let job = "[[jobs]]\nname = 'j'\nsharding_total_count = 1\n";
        let text = match path {
            "" => "no_such_key = 1".to_owned(),
            "allow" => "[allow]\nno_such_key = 1".to_owned(),
            "groups" => "[[groups]]\nname = 'g'\nno_such_key = 1".to_owned(),
            "jobs" => format!("{job}no_such_key = 1"),
            "jobs.error_handlers" => {
                format!("{job}[[jobs.error_handlers]]\nkind = 'log'\nno_such_key = 1")
            }
            _ => format!("{job}[{path}]\nno_such_key = 1"),
        };
        let error = JobFile::from_toml(&text).unwrap_err();
        let known = error.each().find_map(|error| {
            let JobFileError::UnknownKey { known, .. } = error else { return None };
            Some(known)
        });
        let known = known.unwrap_or_else(|| panic!("{path}: {error:?}"));
        let dot = if path.is_empty() { "" } else { "." };
        known.iter().map(|key| format!("{path}{dot}{key}")).collect()
    }

    #[test]
    fn table_has_the_keys_of_the_model() {
        let tables = [
            "",
            "allow",
            "groups",
            "jobs",
            "jobs.catch_up",
            "jobs.error_handlers",
            "jobs.http",
            "jobs.retry",
        ];
        let tables = tables.into_iter().chain(["jobs.script"]);
        let mut modelled: Vec<String> = tables.flat_map(modelled).collect();
        modelled.sort();
        assert_eq!(KEYS.map(|(path, _)| path.to_owned()).to_vec(), modelled);
    }

    #[test]
    fn reference_page_describes_each_key() {
        let page = include_str!("../../../../docs/job-file.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let is_described = |path: &str| {
            let key = path.rsplit('.').next().unwrap_or(path);
            let cells = rows.iter().filter_map(|row| row.split('|').nth(1));
            cells.into_iter().any(|cell| cell.contains(&format!("`{key}`")))
        };
        let missing = KEYS.iter().map(|(path, _)| *path).filter(|path| !is_described(path));
        let missing: Vec<&str> = missing.filter(|path| path.contains('.')).collect();
        assert!(missing.is_empty(), "docs/job-file.md does not describe {missing:?}");
    }

    #[test]
    fn other_place_of_a_key_is_around_or_within_its_table() {
        let rows = [
            (
                "jobs.retry",
                "cron",
                Some("cron is a key of the job: write it above its table retry"),
            ),
            (
                "jobs",
                "registry",
                Some("registry is a key of the file: write it above the first job"),
            ),
            (
                "jobs.script",
                "registry",
                Some("registry is a key of the file: write it above the first job"),
            ),
            ("jobs", "zone", Some("zone is a key of the file: write it above the first job")),
            ("jobs", "shell", Some("shell is a key of the table script")),
            ("", "name", Some("name is a key of a job")),
            ("", "retry", Some("retry is a table of a job: in TOML, [jobs.retry]")),
            ("jobs.retry", "shell", None),
            ("jobs", "crom", None),
        ];
        for (table, key, expected) in rows {
            assert_eq!(other_place(table, key).as_deref(), expected, "{table}.{key}");
        }
    }

    #[test]
    fn key_is_suggested_only_if_it_is_similar() {
        let known = ["failover", "cron", "retry"];
        let rows = [("failver", Some("failover")), ("crom", Some("cron")), ("priority", None)];
        for (key, expected) in rows {
            assert_eq!(closest(key, &known), expected, "{key}");
        }
    }
}
