//! Error handlers of a file: errors are found when it is read, and messages arrive.
#![cfg(all(unix, feature = "alerts"))]

#[path = "../../job-alerts/tests/support/http.rs"]
#[expect(dead_code, reason = "tests of job-alerts use the rest")]
mod server;
use crate::support;

use job_types::{JobFile, JobFileError};
use lite::Outcome;

use server::Server;
use support::{Log, Stage, run_once, within};

#[test]
fn documented_error_handlers_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let page = include_str!("../../../docs/job-types.md");
    let (_, rest) = page.split_once("## Error handlers").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (file, _) = rest.split_once("```").unwrap();
    let url = folder.path().join("secret");
    std::fs::write(&url, "https://hooks.example.com/x").unwrap();
    let here = format!("${{file:{}}}", url.display());
    let file = file.replace("${env:SLACK_WEBHOOK}", &here);
    let file = file.replace("${file:/run/secrets/mail}", &here);
    assert_eq!(JobFile::from_toml(&file).unwrap().jobs().len(), 1);
}

/// Returns a file with one job, which fails, and these handlers.
fn file(handlers: &str) -> Result<JobFile, JobFileError> {
    JobFile::from_toml(&format!(
        "[[jobs]]\nname = \"fails\"\nsharding_total_count = 1\nscript = {{ shell = \"echo no disk >&2; exit 3\" }}\n{handlers}\n"
    ))
}

#[test]
fn errors_name_the_job_the_handler_and_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let secret = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("${{file:{}}}", path.display())
    };
    let url = secret("url", "https://hooks.example.com/t0ps3cret\n");
    let no_url = secret("no-url", "t0ps3cret");
    let blank = secret("blank", " ");
    let one = |kind: &str, rest: &str| format!("error_handlers = [{{ kind = \"{kind}\"{rest} }}]");
    let http = |kind: &str, rest: &str| one(kind, &format!(", url = \"{url}\"{rest}"));
    let mail = |rest: &str| {
        let base = ", host = \"mail.example.com\", port = 465, from = \"j@example.com\", to = \"o@example.com\"";
        one("email", &format!("{base}{rest}"))
    };
    let plain = "a credential in plain text; valid is a reference";
    let rows = [
        ("no kind", "error_handlers = [{}]".to_owned(), "[0].kind is missing; valid is log, ignore, throw".to_owned()),
        ("no list", "error_handlers = 'log'".to_owned(), "error_handlers is a text; valid is a list of tables".to_owned()),
        ("unknown field", http("slack", ", urls = 'x'"), "[0].urls is an unknown key of the table error_handlers; did you mean url?".to_owned()),
        (
            "unknown kind",
            one("SLACK", ""),
            "[0].kind is \"SLACK\"; valid is log, ignore, throw, email, dingtalk, wecom, slack or webhook"
                .to_owned(),
        ),
        (
            "unknown kind of the second handler",
            "error_handlers = [{ kind = 'log' }, { kind = 'pager' }]".to_owned(),
            "[1].kind is \"pager\"".to_owned(),
        ),
        (
            "a setting of a kind without settings",
            one("log", ", merge_window = '1m'"),
            "[0].merge_window is set; valid is nothing: log has no settings".to_owned(),
        ),
        (
            "a setting of another kind",
            http("slack", ", keyword = 'jobs'"),
            "[0].keyword is set; valid is nothing: slack has url, connect_timeout".to_owned(),
        ),
        ("a setting of mails", http("wecom", ", to = 'x'"), "[0].to is set; valid is nothing".to_owned()),
        ("a setting of HTTP", mail(", url = 'x'"), "[0].url is set; valid is nothing: email has host".to_owned()),
        ("no URL", one("dingtalk", ""), "[0].url is missing; valid is set".to_owned()),
        (
            "a plain URL of a robot",
            one("slack", ", url = 'https://hooks.example.com/t0ps3cret'"),
            format!("[0].url is {plain}"),
        ),
        (
            "a plain URL with a user",
            one("webhook", ", url = 'https://joe:t0ps3cret@hooks.example.com/'"),
            format!("[0].url is {plain}"),
        ),
        ("no such secret", one("slack", ", url = '${env:NO_SUCH_URL}'"), "[0].url is ${env:NO_SUCH_URL}".to_owned()),
        (
            "no URL in the secret",
            one("slack", &format!(", url = '{no_url}'")),
            "[0].url is a text that is no URL".to_owned(),
        ),
        (
            "no HTTP",
            one("webhook", ", url = 'ftp://example.com/'"),
            "[0].url is a URL that is neither http nor https".to_owned(),
        ),
        ("a plain secret", http("dingtalk", ", secret = 't0ps3cret'"), format!("[0].secret is {plain}")),
        (
            "a blank secret",
            http("dingtalk", &format!(", secret = '{blank}'")),
            "[0].secret is blank".to_owned(),
        ),
        ("a blank keyword", http("dingtalk", ", keyword = ' '"), "[0].keyword is blank".to_owned()),
        (
            "a plain authorization",
            http("webhook", ", authorization = 't0ps3cret'"),
            format!("[0].authorization is {plain}"),
        ),
        (
            "no unit",
            http("slack", ", connect_timeout = '5'"),
            "[0].connect_timeout is \"5\"; valid is a time with its unit".to_owned(),
        ),
        ("zero timeout", http("slack", ", read_timeout = '0s'"), "[0].read_timeout is \"0s\"".to_owned()),
        ("invalid merge window", http("slack", ", merge_window = 'long'"), "[0].merge_window is \"long\"".to_owned()),
        (
            "no host",
            one("email", ", port = 25, from = 'a@b', to = 'a@b'"),
            "[0].host is missing".to_owned(),
        ),
        ("no address", mail("").replace("o@example.com", "anna"), "[0].to is \"anna\"".to_owned()),
        ("no port", mail("").replace("465", "0"), "[0].port is 0".to_owned()),
        ("no number", mail("").replace("465", "70000"), "[0].port is 70000; valid is a whole number from 1 to 65535".to_owned()),
        ("a user name without a password", mail(", username = 'jobs'"), "[0].password is missing".to_owned()),
        (
            "a password without a user name",
            mail(&format!(", password = '{no_url}'")),
            "[0].username is missing; valid is set, or no password either".to_owned(),
        ),
        (
            "a plain password",
            mail(", username = 'jobs', password = 't0ps3cret'"),
            format!("[0].password is {plain}"),
        ),
        (
            "a password without TLS",
            mail(&format!(", username = 'jobs', password = '{no_url}', tls = 'none'")),
            "[0].tls is none, with a password".to_owned(),
        ),
        ("unknown kind of TLS", mail(", tls = 'ssl'"), "[0].tls is \"ssl\"; valid is wrapper".to_owned()),
        ("zero timeout of a mail", mail(", timeout = '0s'"), "[0].timeout is \"0s\"".to_owned()),
        (
            "zero timeout of handlers",
            "error_handler_timeout = '0s'".to_owned(),
            "job \"fails\": error_handler_timeout is \"0s\"; valid is more than zero".to_owned(),
        ),
    ];
    for (case, handlers, expected) in rows {
        let error = file(&handlers).map(drop).unwrap_err().to_string();
        assert!(error.contains(&expected), "{case}: {error}");
        assert!(!error.contains("t0ps3cret"), "{case}: {error}");
        let names_the_line = error.starts_with("line 5: job \"fails\": error_handler");
        assert!(names_the_line, "{case}: {error}");
    }
    // Without the change of a row, each handler is valid.
    for good in [http("slack", ""), mail(""), http("dingtalk", ", keyword = 'jobs'")] {
        assert_eq!(file(&good).unwrap().jobs().len(), 1, "{good}");
    }
}

#[tokio::test]
async fn handlers_of_a_file_get_each_failure() {
    let (mut hook, mut chat) = (
        Server::start("200 OK", "", Some("")).await,
        Server::start("200 OK", "", Some("ok")).await,
    );
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("slack");
    std::fs::write(&secret, format!("{}/services/t0ps3cret\n", chat.origin)).unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "Bearer t0ps3cret\n").unwrap();
    let handlers = format!(
        "error_handler_timeout = '20s'\n\
         [[jobs.error_handlers]]\nkind = 'webhook'\nurl = '{}/alerts'\nauthorization = '${{file:{}}}'\nmerge_window = '0s'\n\
         [[jobs.error_handlers]]\nkind = 'slack'\nurl = '${{file:{}}}'\n\
         [[jobs.error_handlers]]\nkind = 'log'\n",
        hook.origin,
        token.display(),
        secret.display()
    );
    let (log, _guard) = Log::listen();
    let job = file(&handlers).unwrap().into_jobs().remove(0);
    let shown = format!("{job:?}");
    let stage = Stage::new();
    let handle = stage.join(job.schedule(&stage.scheduler)).await;
    assert_eq!(run_once(&handle).await, Outcome::Failed);

    let alert = hook.next().await;
    assert_eq!(alert.line, "POST /alerts HTTP/1.1");
    assert_eq!(alert.header("authorization"), Some("Bearer t0ps3cret"));
    assert_eq!((&alert.body["job"], &alert.body["total"]), (&"fails".into(), &1.into()));
    assert!(alert.body["failures"][0]["error"].as_str().unwrap().contains("no disk"));
    let message = chat.next().await;
    assert_eq!(message.line, "POST /services/t0ps3cret HTTP/1.1");
    assert!(message.body["text"].as_str().unwrap().contains("item 0 failed"), "{message:?}");
    within("the end", handle.shutdown(std::time::Duration::from_secs(30))).await.unwrap();
    assert!(log.text().contains("no disk"), "{}", log.text());
    assert!(!format!("{shown}{}", log.text()).contains("t0ps3cret"), "{shown}\n{}", log.text());
}

#[tokio::test]
async fn throw_handler_of_a_file_stops_the_job() {
    let job = file("error_handlers = [{ kind = 'throw' }]").unwrap().into_jobs().remove(0);
    let stage = Stage::new();
    let handle = stage.join(job.schedule(&stage.scheduler)).await;
    assert_eq!(run_once(&handle).await, Outcome::Failed);
    within("the stop", async {
        while handle.status().await.unwrap().stopped.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
