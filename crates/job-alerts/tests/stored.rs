//! Handlers that stored configurations choose.

use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, Layout, encode_config};
use job_alerts::with_alerts;
use lite::{
    ErrorHandler, ErrorHandlers, HandlerSettings, InvalidConfig, JavaFields, JavaFields3,
    JavaSettings, JobBuilder, JobEvent, JobName, Scheduler, job_fn,
};
use outbound::Permissions;
use reg_center::{MemoryRegistry, RegistryCenter as _, Txn};
use support::http::Server;
use support::{Log, within};

/// Reference of a variable that is set in every test, and whose value is no URL.
const NO_URL: &str = "${env:CARGO_PKG_NAME}";

fn permissions(origin: &str, reference: &str) -> Permissions {
    let list = Permissions::nothing().host(origin).unwrap();
    let list = list.host("smtp://mail.example.com:465").unwrap();
    list.secret(reference).unwrap().secret(NO_URL).unwrap()
}

fn make(
    name: &str,
    properties: &[(&str, &str)],
    permissions: &Permissions,
) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
    let properties: BTreeMap<String, String> =
        properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let job = JobName::new("report").unwrap();
    let settings = HandlerSettings::new(&job, &properties);
    with_alerts(ErrorHandlers::default(), permissions).make(name, &settings)
}

/// Creates a file with the URL of a webhook, and returns it with its reference.
fn webhook_file(url: &str) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), url).unwrap();
    let reference = format!("${{file:{}}}", file.path().display());
    (file, reference)
}

#[test]
fn all_properties_of_elasticjob_are_accepted() {
    let (_file, webhook) = webhook_file("https://oapi.dingtalk.com/robot/send?access_token=x");
    let permissions = permissions("https://oapi.dingtalk.com", &webhook);
    let email = [
        ("email.host", "Mail.example.com"),
        ("email.port", "465"),
        ("email.username", "jobs"),
        ("email.password", NO_URL),
        ("email.from", "jobs@example.com"),
        ("email.to", "anna@example.com,ops@example.com"),
        ("email.cc", ""),
        ("email.bcc", "boss@example.com"),
        ("email.subject", "ElasticJob error message"),
        ("email.useSsl", "true"),
        ("email.ssl.trust", "*"),
        ("email.debug", "false"),
        ("streaming.process", "false"),
    ];
    let timeouts = |prefix: &str| {
        [("connectTimeoutMilliseconds", "3000"), ("readTimeoutMilliseconds", "5000")]
            .map(|(name, value)| (format!("{prefix}.{name}"), value))
    };
    let ding_times = timeouts("dingtalk");
    let mut ding: Vec<(&str, &str)> =
        ding_times.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    ding.extend([
        ("dingtalk.webhook", webhook.as_str()),
        ("dingtalk.keyword", "jobs"),
        ("dingtalk.secret", NO_URL),
        ("alert.mergeSeconds", "0"),
    ]);
    let wecom_times = timeouts("wechat");
    let mut wecom: Vec<(&str, &str)> =
        wecom_times.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    wecom.push(("wechat.webhook", webhook.as_str()));
    let rows: [(&str, &[(&str, &str)]); 5] = [
        ("EMAIL", &email),
        ("DINGTALK", &ding),
        ("WECHAT", &wecom),
        ("SLACK", &[("slack.webhook", &webhook)]),
        ("WEBHOOK", &[("webhook.url", &webhook), ("webhook.authorization", NO_URL)]),
    ];
    for (name, properties) in rows {
        let handler = make(name, properties, &permissions);
        assert_eq!(handler.map(|handler| handler.name().to_owned()), Ok(name.to_owned()));
    }
}

#[test]
fn invalid_properties_are_named_without_their_secrets() {
    let (_file, webhook) = webhook_file("https://oapi.dingtalk.com/t0ps3cret");
    let (_other, elsewhere) = webhook_file("https://evil.example.com/t0ps3cret");
    let webhook = webhook.as_str();
    let permissions = permissions("https://oapi.dingtalk.com", webhook).secret(&elsewhere).unwrap();
    let (ding, email) = ("DINGTALK", "EMAIL");
    let plain = "a plain text in the registry";
    let good_mail = [
        ("email.host", "mail.example.com"),
        ("email.port", "465"),
        ("email.from", "a@b.c"),
        ("email.to", "a@b.c"),
    ];
    let mail = |more: &[(&'static str, &'static str)]| {
        let mut all: BTreeMap<_, _> = good_mail.into_iter().collect();
        all.extend(more.iter().copied());
        all.into_iter().filter(|(_, value)| *value != "-").collect::<Vec<_>>()
    };
    let hook = |more: &[(&'static str, &'static str)]| {
        let mut all = vec![("dingtalk.webhook", webhook)];
        all.extend(more.iter().copied());
        all
    };
    type Row<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, &'a str, &'a str);
    let url = "https://oapi.dingtalk.com/t0ps3cret";
    let rows: Vec<Row<'_>> = vec![
        ("no webhook", ding, vec![], "dingtalk.webhook", "missing"),
        ("a plain URL", ding, vec![("dingtalk.webhook", url)], "dingtalk.webhook", plain),
        (
            "a URL around a secret",
            ding,
            vec![("dingtalk.webhook", "https://evil.example.com/?x=${env:CARGO_PKG_NAME}")],
            "dingtalk.webhook",
            plain,
        ),
        (
            "another secret of the worker",
            ding,
            vec![("dingtalk.webhook", "${env:HOME}")],
            "dingtalk.webhook",
            "${env:HOME}",
        ),
        (
            "a permitted secret that is no URL",
            ding,
            vec![("dingtalk.webhook", NO_URL)],
            "dingtalk.webhook",
            "no URL",
        ),
        (
            "another host",
            ding,
            vec![("dingtalk.webhook", &elsewhere)],
            "dingtalk.webhook",
            "a URL of https://evil.example.com",
        ),
        (
            "a plain secret",
            ding,
            hook(&[("dingtalk.secret", "t0ps3cret")]),
            "dingtalk.secret",
            plain,
        ),
        ("misspelt", ding, hook(&[("dingtalk.sercet", "t0ps3cret")]), "props", "dingtalk.sercet"),
        (
            "no number",
            ding,
            hook(&[("dingtalk.readTimeoutMilliseconds", "soon")]),
            "dingtalk.readTimeoutMilliseconds",
            "\"soon\"",
        ),
        (
            "zero timeout",
            ding,
            hook(&[("dingtalk.connectTimeoutMilliseconds", "0")]),
            "dingtalk.connectTimeoutMilliseconds",
            "0",
        ),
        (
            "merge time with a unit",
            ding,
            hook(&[("alert.mergeSeconds", "5m")]),
            "alert.mergeSeconds",
            "\"5m\"",
        ),
        (
            "merge time too long",
            ding,
            hook(&[("alert.mergeSeconds", "86401")]),
            "alert.mergeSeconds",
            "86401",
        ),
        ("misspelt merge time", ding, hook(&[("alert.merge", "1")]), "props", "alert.merge"),
        ("no webhook of WeCom", "WECHAT", vec![], "wechat.webhook", "missing"),
        ("no webhook of Slack", "SLACK", vec![], "slack.webhook", "missing"),
        ("no URL", "WEBHOOK", vec![], "webhook.url", "missing"),
        (
            "a plain header",
            "WEBHOOK",
            vec![("webhook.url", webhook), ("webhook.authorization", "Bearer t0ps3cret")],
            "webhook.authorization",
            plain,
        ),
        ("a keyword for Slack", "SLACK", vec![("slack.keyword", "x")], "props", "slack.keyword"),
        ("no host", email, mail(&[("email.host", "-")]), "email.host", "missing"),
        ("no port", email, mail(&[("email.port", "-")]), "email.port", "missing"),
        ("no such port", email, mail(&[("email.port", "70000")]), "email.port", "\"70000\""),
        (
            "another port",
            email,
            mail(&[("email.port", "25")]),
            "email.host",
            "smtp://mail.example.com:25",
        ),
        (
            "another host",
            email,
            mail(&[("email.host", "evil.org")]),
            "email.host",
            "smtp://evil.org",
        ),
        ("no sender", email, mail(&[("email.from", "-")]), "email.from", "missing"),
        ("no recipient", email, mail(&[("email.to", " ")]), "email.to", "missing"),
        ("bad recipient", email, mail(&[("email.to", "anna")]), "email.to", "\"anna\""),
        (
            "a plain password",
            email,
            mail(&[("email.username", "x"), ("email.password", "t0ps3cret")]),
            "email.password",
            plain,
        ),
        (
            "another secret",
            email,
            mail(&[("email.username", "x"), ("email.password", "${env:HOME}")]),
            "email.password",
            "${env:HOME}",
        ),
        ("no password", email, mail(&[("email.username", "x")]), "email.password", "missing"),
        ("no user", email, mail(&[("email.password", NO_URL)]), "email.username", "missing"),
        ("no flag", email, mail(&[("email.useSsl", "yes")]), "email.useSsl", "\"yes\""),
        ("no such TLS", email, mail(&[("email.tls", "ssl3")]), "email.tls", "\"ssl3\""),
        (
            "both TLS properties",
            email,
            mail(&[("email.tls", "wrapper"), ("email.useSsl", "true")]),
            "email.tls",
            "beside",
        ),
        (
            "a password without TLS",
            email,
            mail(&[("email.username", "x"), ("email.password", NO_URL), ("email.tls", "none")]),
            "email.tls",
            "with a password",
        ),
        ("no debug", email, mail(&[("email.debug", "2")]), "email.debug", "\"2\""),
        ("misspelt mail", email, mail(&[("email.hots", "x")]), "props", "email.hots"),
    ];
    for (case, name, properties, field, value) in rows {
        let error = make(name, &properties, &permissions).map(|_| ()).unwrap_err();
        assert_eq!(error.field, field, "{case}: {error}");
        assert!(error.value.contains(value), "{case}: {error}");
        assert!(!error.to_string().contains("t0ps3cret"), "{case}: {error}");
    }
}

#[test]
fn stored_configuration_is_permitted_nothing_by_default() {
    let (_file, webhook) = webhook_file("https://oapi.dingtalk.com/t0ps3cret");
    let properties = [("dingtalk.webhook", webhook.as_str())];
    let error = make("DINGTALK", &properties, &Permissions::nothing()).map(|_| ()).unwrap_err();
    assert!(error.valid.ends_with("the list permits none"), "{error}");
    let secret_only = Permissions::nothing().secret(&webhook).unwrap();
    let error = make("DINGTALK", &properties, &secret_only).map(|_| ()).unwrap_err();
    assert_eq!(error.value, "a URL of https://oapi.dingtalk.com");
}

#[test]
fn secret_is_permitted_only_for_its_host() {
    let (_one, hook) = webhook_file("https://hooks.example.com/t0ps3cret");
    let (_two, ding) = webhook_file("https://oapi.dingtalk.com/t0ps3cret");
    let (hooks_host, ding_host) = ("https://hooks.example.com", "https://oapi.dingtalk.com");
    let mail_host = "smtp://mail.example.com:465";
    let permissions = |entries: &[String]| {
        let list = [hooks_host, ding_host, mail_host]
            .iter()
            .try_fold(Permissions::nothing(), |list, host| list.host(host));
        entries.iter().try_fold(list.unwrap(), |list, entry| list.secret(entry)).unwrap()
    };
    let for_host = |reference: &str, host: &str| format!("{reference} for {host}");
    let token = |host| permissions(&[for_host(&hook, hooks_host), for_host(NO_URL, host)]);
    let webhook = [("webhook.url", hook.as_str()), ("webhook.authorization", NO_URL)];
    let robot = [("dingtalk.webhook", ding.as_str()), ("dingtalk.secret", NO_URL)];
    let mail = [
        ("email.host", "mail.example.com"),
        ("email.port", "465"),
        ("email.from", "a@b.c"),
        ("email.to", "a@b.c"),
        ("email.username", "jobs"),
        ("email.password", NO_URL),
    ];
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Permissions, Option<(&'a str, &'a str)>);
    let rows: [Row<'_>; 7] = [
        ("WEBHOOK", &webhook, token(hooks_host), None),
        ("WEBHOOK", &webhook, token(mail_host), Some(("webhook.authorization", hooks_host))),
        (
            "DINGTALK",
            &robot[..1],
            permissions(&[for_host(&ding, hooks_host)]),
            Some(("dingtalk.webhook", ding_host)),
        ),
        ("DINGTALK", &robot, permissions(&[ding.clone(), for_host(NO_URL, ding_host)]), None),
        (
            "DINGTALK",
            &robot,
            permissions(&[ding.clone(), for_host(NO_URL, mail_host)]),
            Some(("dingtalk.secret", ding_host)),
        ),
        ("EMAIL", &mail, token(mail_host), None),
        ("EMAIL", &mail, token(hooks_host), Some(("email.password", mail_host))),
    ];
    for (name, properties, permissions, expected) in rows {
        let result = make(name, properties, &permissions).map(|_| ());
        let Some((field, host)) = expected else {
            assert_eq!(result, Ok(()), "{name}");
            continue;
        };
        let error = result.unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(error.valid.ends_with(&format!("own list permits for {host}")), "{error}");
        assert!(!error.to_string().contains("t0ps3cret"), "{error}");
    }
}

/// The file with the URL changes to another permitted host, which the authorization is not for.
#[tokio::test]
async fn secret_is_not_sent_to_the_new_host_of_a_changed_url() {
    let (mut server, mut other) = (
        Server::start("200 OK", "", Some("ok")).await,
        Server::start("200 OK", "", Some("ok")).await,
    );
    let (file, webhook) = webhook_file(&format!("{}/hook", server.origin));
    let list = [&server.origin, &other.origin]
        .iter()
        .try_fold(Permissions::nothing(), |list, host| list.host(host));
    let list = list.unwrap().secret(&webhook).unwrap();
    let list = list.secret(&format!("{NO_URL} for {}", server.origin)).unwrap();
    let properties = [
        ("webhook.url", webhook.as_str()),
        ("webhook.authorization", NO_URL),
        ("alert.mergeSeconds", "0"),
    ];
    let handler = make("WEBHOOK", &properties, &list).unwrap();
    within("an alert", handler.handle(&support::failure("x"))).await.unwrap();
    assert_eq!(server.next().await.header("authorization"), Some("job-alerts"));
    std::fs::write(file.path(), format!("{}/hook", other.origin)).unwrap();
    let error = within("an alert", handler.handle(&support::failure("x"))).await.unwrap_err();
    let expected =
        format!("webhook.authorization, {NO_URL}, is not permitted for {}", other.origin);
    assert!(error.to_string().contains(&expected), "{error}");
    assert!(other.has_no_further_request());
}

fn choosing(handler: &str, properties: &[(&str, &str)]) -> JobConfig {
    let props: BTreeMap<_, _> =
        properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let error_handler = Some(handler.to_owned());
    let fields = JavaFields::V3(JavaFields3 { error_handler, props, ..JavaFields3::default() });
    let java = JavaSettings { fields, ..JavaSettings::default() };
    JobBuilder::new("report", 3).java_settings(java).build().unwrap()
}

/// Covers the way from the stored configuration to the messages, and checks that no secret is
/// logged.
#[tokio::test]
async fn failures_are_sent_by_the_handler_of_the_stored_configuration() {
    let (log, _guard) = Log::listen();
    let mut server = Server::start("200 OK", "", Some("ok")).await;
    let (_file, webhook) = webhook_file(&format!("{}/t0ps3cret", server.origin));
    let permissions = permissions(&server.origin, &webhook);
    let registry = MemoryRegistry::new();
    let scheduler = Scheduler::builder(Arc::new(registry.connect()))
        .error_handlers(with_alerts(ErrorHandlers::default(), &permissions))
        .build()
        .unwrap();
    let job = job_fn(|_| async { Err("the disk is full".into()) });
    let config = choosing("SLACK", &[("slack.webhook", &webhook)]);
    let handle = scheduler.schedule(config, job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    let seen = server.next().await;
    assert_eq!(seen.line, "POST /t0ps3cret HTTP/1.1");
    let text = seen.body["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("job report: item ") && text.contains("the disk is full"), "{text}");

    // An operator writes the URL itself to the registry. The worker rejects it, and the former
    // handler stays.
    let url = format!("{}/t0ps3cret", server.origin);
    let operator = registry.connect();
    let bad = choosing("SLACK", &[("slack.webhook", &url)]);
    let path = Layout::new(&bad.job_name).config_path();
    assert!(
        operator.commit(Txn::new().put(path, encode_config(&bad))).await.unwrap().is_committed()
    );
    let rejected = within("a rejection", async {
        while let Some(record) = events.next().await {
            if let JobEvent::ConfigRejected { reason } = record.event {
                return reason;
            }
        }
        panic!("the job ended without rejecting the configuration");
    });
    let reason = rejected.await;
    assert!(reason.starts_with("slack.webhook is a plain text in the registry"), "{reason}");

    // The other two items failed, too. Their failures are sent together when the job ends.
    handle.shutdown(Duration::from_secs(30)).await.unwrap();
    let seen = server.next().await;
    let text = seen.body["text"].as_str().unwrap();
    assert!(text.starts_with("job report: 2 failures\n"), "{text}");
    assert!(server.has_no_further_request());
    let log = log.text();
    assert!(!log.contains("t0ps3cret"), "{log}");
}
