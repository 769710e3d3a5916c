//! The documents of the file, as TOML has them. Unknown keys are refused by name.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileDoc {
    pub(super) name: Option<String>,
    pub(super) repeat: Option<String>,
    pub(super) group_interval: Option<String>,
    pub(super) stale_after: Option<String>,
    pub(super) heartbeat: Option<HeartbeatDoc>,
    #[serde(default)]
    pub(super) channels: BTreeMap<String, ChannelDoc>,
    #[serde(default)]
    pub(super) expect: Vec<RuleDoc>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeartbeatDoc {
    pub(super) url: String,
    pub(super) every: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleDoc {
    pub(super) job: String,
    pub(super) late_after: Option<String>,
    pub(super) must_succeed_within: Option<String>,
    pub(super) at_most: Option<String>,
    pub(super) failures: Option<u32>,
    pub(super) instances_at_least: Option<u32>,
    #[serde(rename = "for")]
    pub(super) tolerated: Option<String>,
    pub(super) severity: Option<String>,
    pub(super) channels: Option<Vec<String>>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

/// Settings of a channel. All kinds share one type; each kind refuses what it does not have.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelDoc {
    pub(super) kind: String,
    pub(super) url: Option<String>,
    pub(super) secret: Option<String>,
    pub(super) authorization: Option<String>,
    pub(super) keyword: Option<String>,
    pub(super) connect_timeout: Option<String>,
    pub(super) read_timeout: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) cc: Option<String>,
    pub(super) bcc: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) tls: Option<String>,
    pub(super) timeout: Option<String>,
}

impl ChannelDoc {
    /// Returns the names of the settings that the file has.
    pub(super) fn settings(&self) -> Vec<&'static str> {
        let all = [
            ("url", self.url.is_some()),
            ("secret", self.secret.is_some()),
            ("authorization", self.authorization.is_some()),
            ("keyword", self.keyword.is_some()),
            ("connect_timeout", self.connect_timeout.is_some()),
            ("read_timeout", self.read_timeout.is_some()),
            ("host", self.host.is_some()),
            ("port", self.port.is_some()),
            ("username", self.username.is_some()),
            ("password", self.password.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("cc", self.cc.is_some()),
            ("bcc", self.bcc.is_some()),
            ("subject", self.subject.is_some()),
            ("tls", self.tls.is_some()),
            ("timeout", self.timeout.is_some()),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }
}
