//! Services that receive messages, and the names of their settings.

/// Service that receives the messages. It decides their form and which answers are a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    DingTalk,
    WeCom,
    Slack,
    Webhook,
}

/// Names of a kind and of its settings.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) channel: &'static str,
    pub(crate) url: &'static str,
    pub(crate) connect_timeout: &'static str,
    pub(crate) read_timeout: &'static str,
    /// Setting of the secret for the signature or the authorization, if the service has one.
    pub(crate) secret: Option<&'static str>,
    pub(crate) keyword: Option<&'static str>,
}

impl Kind {
    pub(crate) const fn names(self) -> &'static Names {
        match self {
            Self::DingTalk => &Names {
                channel: "DINGTALK",
                url: "dingtalk.webhook",
                connect_timeout: "dingtalk.connectTimeoutMilliseconds",
                read_timeout: "dingtalk.readTimeoutMilliseconds",
                secret: Some("dingtalk.secret"),
                keyword: Some("dingtalk.keyword"),
            },
            Self::WeCom => &Names {
                channel: "WECHAT",
                url: "wechat.webhook",
                connect_timeout: "wechat.connectTimeoutMilliseconds",
                read_timeout: "wechat.readTimeoutMilliseconds",
                secret: None,
                keyword: None,
            },
            Self::Slack => &Names {
                channel: "SLACK",
                url: "slack.webhook",
                connect_timeout: "slack.connectTimeoutMilliseconds",
                read_timeout: "slack.readTimeoutMilliseconds",
                secret: None,
                keyword: None,
            },
            Self::Webhook => &Names {
                channel: "WEBHOOK",
                url: "webhook.url",
                connect_timeout: "webhook.connectTimeoutMilliseconds",
                read_timeout: "webhook.readTimeoutMilliseconds",
                secret: Some("webhook.authorization"),
                keyword: None,
            },
        }
    }

    /// Maximum length of a text, in bytes: the limit of the service, less the rest of the message.
    pub(super) const fn max_text_bytes(self) -> usize {
        match self {
            Self::DingTalk => 16_000,
            Self::WeCom => 2_048,
            Self::Slack => 3_000,
            Self::Webhook => usize::MAX,
        }
    }
}
