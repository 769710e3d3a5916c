//! Alerts by HTTP, against a server on loopback.

use crate::support;

use std::time::Duration;

use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use job_alerts::{AlertError, AlertHandler, HttpAlert, Message};
use lite::{ErrorHandler as _, Reaction};
use outbound::SecretText;
use serde_json::json;
use support::http::Server;
use support::{Log, error_with_causes, failure, within};

const ROBOT_OK: Option<&str> = Some(r#"{"errcode":0,"errmsg":"ok"}"#);
const TEXT: &str = "job report: item 3 failed for the fire of 2024-02-29T12:00:00Z\n\
                    the disk is full\n\
                    instance 10.0.0.1@-@1, NORMAL, token 4, attempts 2";

fn url(server: &Server) -> SecretText {
    SecretText::literal(format!("{}/robot/send?access_token=t0ps3cret", server.origin))
}

async fn handle(handler: &AlertHandler, error: &str) -> Result<(), String> {
    let handled = within("the handler", handler.handle(&failure(error))).await;
    match handled {
        Ok(reaction) => {
            assert_eq!(reaction, Reaction::GoOn);
            Ok(())
        }
        Err(error) => Err(error_with_causes(&*error)),
    }
}

#[tokio::test]
async fn dingtalk_message_has_the_keyword_and_a_signed_time() {
    let mut server = Server::start("200 OK", "", ROBOT_OK).await;
    let handler = HttpAlert::ding_talk(url(&server))
        .signing_secret(SecretText::literal("SEC+x/y="))
        .keyword("jobs")
        .build()
        .unwrap();
    handle(&handler, "the disk is full").await.unwrap();
    let seen = server.next().await;
    assert!(
        seen.line.starts_with("POST /robot/send?access_token=t0ps3cret&timestamp="),
        "{seen:?}"
    );
    assert_eq!(seen.header("content-type"), Some("application/json; charset=utf-8"));
    let content = format!("jobs\n{TEXT}");
    assert_eq!(seen.body, json!({ "msgtype": "text", "text": { "content": content } }));

    // Computes the signature independently, as the service checks it.
    let time = seen.query("timestamp").unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"SEC+x/y=").unwrap();
    mac.update(format!("{time}\nSEC+x/y=").as_bytes());
    let sign = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    let escaped = sign.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    assert_eq!(seen.query("sign"), Some(escaped.as_str()));
}

#[tokio::test]
async fn wecom_message_is_within_the_size_limit() {
    let mut server = Server::start("200 OK", "", ROBOT_OK).await;
    let handler = HttpAlert::wecom(url(&server)).build().unwrap();
    handle(&handler, "the disk is full").await.unwrap();
    let seen = server.next().await;
    assert_eq!(seen.body, json!({ "msgtype": "text", "text": { "content": TEXT } }));
    assert_eq!(seen.query("sign"), None);

    let handler = HttpAlert::wecom(url(&server)).build().unwrap();
    handle(&handler, &"ä".repeat(10_000)).await.unwrap();
    let seen = server.next().await;
    let content = seen.body["text"]["content"].as_str().unwrap();
    assert!(content.len() <= 2_048 && content.len() > 2_000, "{}", content.len());
}

#[tokio::test]
async fn slack_message_mentions_no_user_or_channel() {
    let mut server = Server::start("200 OK", "", Some("ok")).await;
    let handler = HttpAlert::slack(url(&server)).build().unwrap();
    handle(&handler, "<!channel> & <@U1>").await.unwrap();
    let seen = server.next().await;
    let text = seen.body["text"].as_str().unwrap();
    assert!(text.contains("\n&lt;!channel&gt; &amp; &lt;@U1&gt;\n"), "{text}");
}

#[tokio::test]
async fn webhook_request_has_the_documented_body_and_the_authorization() {
    let mut server = Server::start("204 No Content", "", Some("")).await;
    let value = SecretText::literal("Bearer t0ps3cret");
    let handler = HttpAlert::webhook(url(&server)).authorization(value).build().unwrap();
    handle(&handler, "the disk is full").await.unwrap();
    let seen = server.next().await;
    assert_eq!(seen.header("authorization"), Some("Bearer t0ps3cret"));
    let body = &seen.body;
    assert_eq!((&body["version"], &body["total"]), (&json!(1), &json!(1)));
    assert_eq!(body["failures"][0]["error"], json!("the disk is full"));
}

#[tokio::test]
async fn rejection_by_the_server_is_an_error_without_secrets() {
    type Make = fn(SecretText) -> HttpAlert;
    let (ding, wecom, slack): (Make, Make, Make) =
        (HttpAlert::ding_talk, HttpAlert::wecom, HttpAlert::slack);
    let rows: [(&str, Make, &str, Option<&str>, &str); 7] = [
        (
            "an errcode",
            ding,
            "200 OK",
            Some(r#"{"errcode":310000,"errmsg":"t0ps3cret: sign\nnot match"}"#),
            "answered 200: errcode 310000, ***: sign not match",
        ),
        ("an errcode of WeCom", wecom, "200 OK", Some(r#"{"errcode":93000}"#), "errcode 93000"),
        ("no JSON", ding, "200 OK", Some("ok"), "answered 200: no errcode"),
        ("a status", ding, "500 Oh No", ROBOT_OK, "answered 500"),
        (
            "a status of Slack",
            slack,
            "403 No",
            Some("invalid_token"),
            "answered 403: invalid_token",
        ),
        ("a redirect", slack, "302 Found", Some(""), "redirected"),
        ("silence", slack, "200 OK", None, "was not reached"),
    ];
    let (log, _guard) = Log::listen();
    for (case, make, status, body, expected) in rows {
        let headers = if case == "a redirect" { "Location: /elsewhere\r\n" } else { "" };
        let server = Server::start(status, headers, body).await;
        let handler = make(url(&server)).read_timeout(Duration::from_millis(200));
        let handler = handler.sign_if_ding_talk(case).build().unwrap();
        let error = handle(&handler, "x").await.unwrap_err();
        assert!(error.contains(expected), "{case}: {error}");
        assert!(error.contains(&server.origin), "{case}: {error}");
        assert!(!error.contains("t0ps3cret") && !error.contains("robot/send"), "{case}: {error}");
        assert!(!format!("{handler:?}").contains(&server.origin), "{case}");
    }
    assert!(!log.text().contains("t0ps3cret"), "{}", log.text());
}

/// Adds a signing secret in the cases of DingTalk, so that the test would see it in an error.
trait SignIfDingTalk {
    fn sign_if_ding_talk(self, case: &str) -> Self;
}

impl SignIfDingTalk for HttpAlert {
    fn sign_if_ding_talk(self, case: &str) -> Self {
        match case {
            "an errcode" | "no JSON" | "a status" => {
                self.signing_secret(SecretText::literal("SECt0ps3cret"))
            }
            _ => self,
        }
    }
}

#[tokio::test]
async fn unreachable_host_is_an_error_without_the_url() {
    let server = Server::start("200 OK", "", None).await;
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    drop(server);
    let webhook = SecretText::literal(format!("http://{port}/t0ps3cret"));
    let handler = HttpAlert::webhook(webhook).build().unwrap();
    let error = handle(&handler, "x").await.unwrap_err();
    assert!(error.contains(&format!("http://{port} was not reached")), "{error}");
    assert!(!error.contains("t0ps3cret"), "{error}");
}

#[tokio::test]
async fn webhook_file_is_read_again_for_each_alert() {
    let mut server = Server::start("200 OK", "", Some("ok")).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{}/one\n", server.origin)).unwrap();
    let reference = format!("${{file:{}}}", file.path().display());
    let webhook = SecretText::parse(&reference).unwrap();
    let handler = HttpAlert::slack(webhook).build().unwrap().merge_window(Duration::ZERO);
    handle(&handler, "x").await.unwrap();
    assert!(server.next().await.line.starts_with("POST /one "));
    std::fs::write(file.path(), format!("{}/two\n", server.origin)).unwrap();
    handle(&handler, "x").await.unwrap();
    assert!(server.next().await.line.starts_with("POST /two "));
    file.close().unwrap();
    let error = handle(&handler, "x").await.unwrap_err();
    assert!(error.contains("SLACK: slack.webhook cannot be resolved"), "{error}");
}

#[test]
fn invalid_settings_are_named_without_secrets() {
    let good = || SecretText::literal("https://example.com/t0ps3cret");
    let literal = |text: &str| SecretText::literal(text);
    let rows: [(&str, HttpAlert, &str, &str); 14] = [
        (
            "no URL",
            HttpAlert::slack(literal("t0ps3cret")),
            "slack.webhook",
            "a text that is no URL",
        ),
        ("empty", HttpAlert::wecom(literal("")), "wechat.webhook", "a text that is no URL"),
        (
            "scheme",
            HttpAlert::webhook(literal("ftp://h/t0ps3cret")),
            "webhook.url",
            "a URL that is neither http nor https",
        ),
        (
            "a password with a colon",
            HttpAlert::webhook(literal("t0ps3cret:x")),
            "webhook.url",
            "a URL that is neither http nor https",
        ),
        (
            "no such variable",
            HttpAlert::ding_talk(SecretText::parse("${env:EJOB_NO_SUCH}").unwrap()),
            "dingtalk.webhook",
            "${env:EJOB_NO_SUCH}",
        ),
        (
            "no such file",
            HttpAlert::ding_talk(good())
                .signing_secret(SecretText::parse("${file:/no/such/file}").unwrap()),
            "dingtalk.secret",
            "${file:/no/such/file}",
        ),
        (
            "blank secret",
            HttpAlert::ding_talk(good()).signing_secret(literal(" ")),
            "dingtalk.secret",
            "blank",
        ),
        (
            "authorization",
            HttpAlert::webhook(good()).authorization(literal("t0ps3cret\n")),
            "webhook.authorization",
            "cannot be a header value",
        ),
        ("blank keyword", HttpAlert::ding_talk(good()).keyword(" "), "dingtalk.keyword", "blank"),
        (
            "zero connect timeout",
            HttpAlert::slack(good()).connect_timeout(Duration::ZERO),
            "slack.connectTimeoutMilliseconds",
            "0s",
        ),
        (
            "zero read timeout",
            HttpAlert::webhook(good()).read_timeout(Duration::ZERO),
            "webhook.readTimeoutMilliseconds",
            "0s",
        ),
        ("keyword for a kind without one", HttpAlert::slack(good()).keyword("x"), "keyword", "set"),
        (
            "signing secret for a kind without one",
            HttpAlert::wecom(good()).signing_secret(literal("t0ps3cret")),
            "signing_secret",
            "set",
        ),
        (
            "authorization for a kind without one",
            HttpAlert::slack(good()).authorization(literal("t0ps3cret")),
            "authorization",
            "set",
        ),
    ];
    for (case, alert, field, value) in rows {
        let error = alert.build().unwrap_err();
        assert_eq!(error.field, field, "{case}");
        assert!(error.value.contains(value), "{case}: {error}");
        assert!(!error.to_string().contains("t0ps3cret"), "{case}: {error}");
    }
}

fn message() -> Message {
    let body = json!({ "version": 1, "job": "report" });
    Message::new("[jobs] report\nis late", "item 0 is late", body)
}

#[tokio::test]
async fn channel_sends_messages_of_a_program() {
    let mut server = Server::start("200 OK", "", Some("ok")).await;
    let channel = HttpAlert::webhook(url(&server)).channel().unwrap();
    within("sending", channel.send(&message())).await.unwrap();
    assert_eq!(server.next().await.body, message().body);
    let channel = HttpAlert::slack(url(&server)).channel().unwrap();
    within("sending", channel.send(&message())).await.unwrap();
    assert_eq!(server.next().await.body, json!({ "text": "item 0 is late" }));
    assert_eq!(format!("{channel:?}"), "AlertChannel(\"SLACK\")");
}

#[tokio::test]
async fn error_says_whether_the_message_may_have_arrived() {
    let sent = async |alert: HttpAlert| -> AlertError {
        let channel = alert.read_timeout(Duration::from_millis(200)).channel().unwrap();
        within("sending", channel.send(&message())).await.unwrap_err()
    };
    let silent = Server::start("200 OK", "", None).await;
    let refusing = Server::start("503 Service Unavailable", "", Some("busy")).await;
    let gateway = Server::start("502 Bad Gateway", "", Some("upstream reset")).await;
    let slow_gateway = Server::start("504 Gateway Timeout", "", Some("")).await;
    let no_robot = Server::start("200 OK", "", Some("<html>")).await;
    // The first header counts, so that the body ends too early.
    let cut_off = Server::start("200 OK", "Transfer-Encoding: chunked\r\n", Some("9\r\n{")).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let rows = [
        ("no answer", HttpAlert::webhook(url(&silent)), true),
        ("refused", HttpAlert::webhook(url(&refusing)), false),
        ("a gateway without its server", HttpAlert::webhook(url(&gateway)), true),
        ("a gateway that waited in vain", HttpAlert::ding_talk(url(&slow_gateway)), true),
        ("no errcode", HttpAlert::ding_talk(url(&no_robot)), true),
        ("a cut answer", HttpAlert::wecom(url(&cut_off)), true),
        ("no connection", HttpAlert::webhook(SecretText::literal(closed)), false),
    ];
    for (case, alert, expected) in rows {
        let error = sent(alert).await;
        assert_eq!(error.may_have_arrived(), expected, "{case}: {error}");
    }
}
