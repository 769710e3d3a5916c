//! Alerts by mail, against a server on loopback.

use crate::support;

use std::time::Duration;

use job_alerts::{AlertHandler, Email, MailTls};
use lite::ErrorHandler as _;
use outbound::SecretText;
use support::smtp::{Behavior, MailServer};
use support::{Log, error_with_causes, failure, within};

fn mail(server: &MailServer) -> Email {
    let to = "Anna <anna@example.com>, ops@example.com";
    Email::new("127.0.0.1", server.port, "Jobs <jobs@example.com>", to)
        .timeout(Duration::from_secs(2))
}

async fn handle(handler: &AlertHandler, error: &str) -> Result<(), String> {
    let handled = within("the handler", handler.handle(&failure(error))).await;
    handled.map(drop).map_err(|error| error_with_causes(&*error))
}

#[tokio::test]
async fn mail_describes_the_failure_to_all_recipients() {
    let mut server = MailServer::start(Behavior::Good).await;
    let handler = mail(&server).cc("boss@example.com").bcc("log@example.com").tls(MailTls::None);
    handle(&handler.build().unwrap(), "the disk is full\r\n.\r\nBcc: x@example.com").await.unwrap();
    let lines = server.next().await;
    let has = |line: &str| lines.iter().any(|found| found == line);
    for address in ["anna", "ops", "boss", "log"] {
        assert!(has(&format!("RCPT TO:<{address}@example.com>")), "{address}: {lines:#?}");
    }
    assert!(has("MAIL FROM:<jobs@example.com>"), "{lines:#?}");
    let subject = "Subject: job report: item 3 failed for the fire of 2024-02-29T12:00:00Z";
    let header = lines.join("\n").replace("\n ", " ");
    assert!(header.contains(subject), "{header}");
    assert!(!header.contains("log@example.com\n") || !header.contains("Bcc: log"), "{header}");
    assert!(has("the disk is full"), "{lines:#?}");
    assert!(has(".."), "a line with one dot must be escaped: {lines:#?}");
    assert!(has("instance 10.0.0.1@-@1, NORMAL, token 4, attempts 2"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("AUTH")), "{lines:#?}");
}

#[tokio::test]
async fn subject_can_be_set() {
    let mut server = MailServer::start(Behavior::Good).await;
    let handler = mail(&server).subject("ElasticJob error message").tls(MailTls::None);
    handle(&handler.build().unwrap(), "x").await.unwrap();
    let lines = server.next().await;
    assert!(lines.contains(&"Subject: ElasticJob error message".to_owned()), "{lines:#?}");
}

#[tokio::test]
async fn password_is_not_sent_without_tls() {
    for tls in [MailTls::Wrapper, MailTls::StartTls] {
        let (log, guard) = Log::listen();
        let mut server = MailServer::start(Behavior::Good).await;
        let password = SecretText::literal("t0ps3cret");
        let handler = mail(&server).credentials("jobs", password).tls(tls).build().unwrap();
        let error = handle(&handler, "x").await.unwrap_err();
        let address = format!("EMAIL: smtp://127.0.0.1:{}", server.port);
        assert!(error.contains(&address), "{tls:?}: {error}");
        let lines = server.next().await;
        let auth = |line: &String| line.starts_with("AUTH") || line.starts_with("MAIL");
        assert!(!lines.iter().any(auth), "{tls:?}: {lines:#?}");
        drop(guard);
        for text in [error, log.text(), format!("{handler:?}")] {
            assert!(!text.contains("t0ps3cret"), "{tls:?}: {text}");
        }
    }
}

#[tokio::test]
async fn rejection_by_the_server_is_an_error_of_one_line() {
    let server = MailServer::start(Behavior::RejectsRecipients).await;
    let handler = mail(&server).tls(MailTls::None).build().unwrap();
    let error = handle(&handler, "x").await.unwrap_err();
    assert!(error.contains("answered permanent error (550)"), "{error}");
    assert!(error.contains("no such user") && !error.contains('\u{1b}'), "{error}");
}

#[tokio::test]
async fn silent_server_times_out() {
    let server = MailServer::start(Behavior::Silent).await;
    let handler = mail(&server).tls(MailTls::None).timeout(Duration::from_millis(200));
    let error = handle(&handler.build().unwrap(), "x").await.unwrap_err();
    assert!(error.contains("was not reached"), "{error}");
}

#[test]
fn invalid_settings_are_named_without_secrets() {
    let good = || Email::new("mail.example.com", 465, "jobs@example.com", "anna@example.com");
    let new = |host: &str, port, from: &str, to: &str| Email::new(host, port, from, to);
    let secret = || SecretText::literal("t0ps3cret");
    let missing = SecretText::parse("${env:EJOB_NO_SUCH}").unwrap();
    let rows = [
        ("no host", new("", 25, "a@b.c", "a@b.c"), "email.host", "\"\""),
        ("a URL", new("smtp://x", 25, "a@b.c", "a@b.c"), "email.host", "smtp://x"),
        ("no port", new("h", 0, "a@b.c", "a@b.c"), "email.port", "0"),
        ("no sender", new("h", 25, "", "a@b.c"), "email.from", "\"\""),
        ("two senders", new("h", 25, "a@b.c,d@e.f", "a@b.c"), "email.from", "a@b.c,d@e.f"),
        ("bad sender", new("h", 25, "jobs", "a@b.c"), "email.from", "\"jobs\""),
        ("no recipient", new("h", 25, "a@b.c", " , "), "email.to", ","),
        ("bad recipient", new("h", 25, "a@b.c", "a@b.c, anna"), "email.to", "\"anna\""),
        ("a recipient of two lines", new("h", 25, "a@b.c", "a@b.c\nBcc: x@y.z"), "email.to", "Bcc"),
        ("bad copy", good().cc("anna"), "email.cc", "\"anna\""),
        ("bad hidden copy", good().bcc("anna"), "email.bcc", "\"anna\""),
        ("blank subject", good().subject(" "), "email.subject", "\" \""),
        ("a subject of two lines", good().subject("a\nb"), "email.subject", "\"a\\nb\""),
        (
            "a password without a user name",
            good().credentials(" ", secret()),
            "email.username",
            "blank",
        ),
        (
            "empty password",
            good().credentials("x", SecretText::literal("")),
            "email.password",
            "empty",
        ),
        ("missing password", good().credentials("x", missing), "email.password", "EJOB_NO_SUCH"),
        (
            "a password without TLS",
            good().credentials("x", secret()).tls(MailTls::None),
            "email.tls",
            "none, with a password",
        ),
        ("zero timeout", good().timeout(Duration::ZERO), "email.timeoutMilliseconds", "0s"),
    ];
    for (case, email, field, value) in rows {
        assert!(!format!("{email:?}").contains("t0ps3cret"), "{case}");
        let error = email.build().unwrap_err();
        assert_eq!(error.field, field, "{case}: {error}");
        assert!(error.value.contains(value), "{case}: {error}");
        assert!(!error.to_string().contains("t0ps3cret"), "{case}: {error}");
    }
}

#[tokio::test]
async fn mail_to_a_server_without_a_connection_has_not_arrived() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let email = Email::new("127.0.0.1", port, "jobs@example.com", "ops@example.com");
    let channel = email.tls(MailTls::None).channel().unwrap();
    let message = job_alerts::Message::new("late", "late", serde_json::Value::Null);
    let error = within("sending", channel.send(&message)).await.unwrap_err();
    assert!(!error.may_have_arrived(), "{error:?}");
}
