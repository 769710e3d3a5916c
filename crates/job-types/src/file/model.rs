//! Model of a file of jobs: names, defaults and types, before any check.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::SecretText;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileDoc {
    pub(super) registry: Option<String>,
    pub(super) max_concurrency: Option<usize>,
    pub(super) weight: Option<u32>,
    pub(super) zone: Option<String>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) allow: AllowDoc,
    #[serde(default)]
    pub(super) groups: Vec<GroupDoc>,
    #[serde(default)]
    pub(super) jobs: Vec<JobDoc>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupDoc {
    pub(super) name: String,
    pub(super) cluster_concurrency: Option<u32>,
    pub(super) start_rate: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AllowDoc {
    #[serde(default)]
    pub(super) commands: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    #[serde(default)]
    pub(super) alert_hosts: Vec<String>,
    #[serde(default)]
    pub(super) secrets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobDoc {
    pub(super) name: String,
    pub(super) sharding_total_count: u32,
    pub(super) cron: Option<String>,
    pub(super) time_zone: Option<String>,
    pub(super) excluded_days: Option<String>,
    pub(super) excluded_times: Option<String>,
    pub(super) excluded_times_file: Option<String>,
    pub(super) not_before: Option<String>,
    pub(super) not_after: Option<String>,
    pub(super) repeated_hour: Option<String>,
    pub(super) jitter: Option<String>,
    pub(super) sharding_item_parameters: Option<String>,
    pub(super) job_parameter: Option<String>,
    pub(super) failover: Option<bool>,
    pub(super) misfire: Option<bool>,
    pub(super) overlap: Option<String>,
    pub(super) catch_up: Option<CatchUpDoc>,
    pub(super) monitor_execution: Option<bool>,
    pub(super) static_sharding: Option<bool>,
    pub(super) max_time_diff: Option<String>,
    pub(super) reconcile_interval: Option<String>,
    pub(super) server_ttl: Option<String>,
    pub(super) cluster_concurrency: Option<u32>,
    pub(super) start_rate: Option<String>,
    pub(super) group: Option<String>,
    pub(super) strategy: Option<String>,
    pub(super) placement: Option<String>,
    pub(super) description: Option<String>,
    pub(super) disabled: Option<bool>,
    pub(super) overwrite: Option<bool>,
    pub(super) timeout: Option<String>,
    pub(super) shutdown_grace: Option<String>,
    pub(super) max_concurrency: Option<usize>,
    pub(super) output: Option<String>,
    pub(super) output_kib: Option<usize>,
    pub(super) retry: Option<RetryDoc>,
    #[serde(default)]
    pub(super) error_handlers: Vec<HandlerDoc>,
    pub(super) error_handler_timeout: Option<String>,
    pub(super) script: Option<ScriptDoc>,
    pub(super) http: Option<HttpDoc>,
    pub(super) stored: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CatchUpDoc {
    pub(super) window: String,
    pub(super) max: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryDoc {
    pub(super) max_attempts: u32,
    pub(super) first_delay: Option<String>,
    pub(super) max_delay: Option<String>,
    pub(super) after_panics: Option<bool>,
}

/// Settings of an error handler. All kinds share one type, so that errors have their lines; the
/// settings of each kind are checked later.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandlerDoc {
    pub(super) kind: String,
    pub(super) url: Option<TextDoc>,
    pub(super) secret: Option<TextDoc>,
    pub(super) authorization: Option<TextDoc>,
    pub(super) keyword: Option<String>,
    pub(super) connect_timeout: Option<String>,
    pub(super) read_timeout: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) username: Option<String>,
    pub(super) password: Option<TextDoc>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) cc: Option<String>,
    pub(super) bcc: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) tls: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) merge_window: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptDoc {
    pub(super) command: Option<String>,
    pub(super) argv: Option<Vec<String>>,
    pub(super) shell: Option<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, TextDoc>,
    pub(super) inherit_environment: Option<bool>,
    pub(super) context: Option<String>,
    pub(super) outlives_worker: Option<bool>,
    pub(super) directory: Option<String>,
    pub(super) grace: Option<String>,
    pub(super) max_logged_lines: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only parsed"))]
pub(super) struct HttpDoc {
    pub(super) url: TextDoc,
    pub(super) method: Option<String>,
    pub(super) body: Option<TextDoc>,
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, TextDoc>,
    pub(super) connect_timeout: Option<String>,
    pub(super) read_timeout: Option<String>,
    pub(super) max_redirects: Option<usize>,
}

/// A text that may refer to secrets. No error shows the text.
#[derive(Clone)]
pub(super) struct TextDoc(pub(super) SecretText);

impl<'de> Deserialize<'de> for TextDoc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = TextDoc;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextDoc, E> {
        SecretText::parse(text)
            .map(TextDoc)
            .map_err(|error| E::invalid_value(Unexpected::Other(&error.value), &&*error.valid))
    }
}
