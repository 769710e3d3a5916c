//! The log of sign-ins and refusals.

use job_console::new_token;
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

use super::*;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn log_names_users_and_reasons_and_no_secrets() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false);
    // While there is only one subscriber, tracing lets the thread that logs a line first decide
    // for all threads whether it is logged. Threads of other tests have no subscriber.
    let _second =
        tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
    let guard = tracing::subscriber::set_default(subscriber.finish());
    let router = router(UsersFile::new().access(), LOCAL);
    sign_in(&router, "anna", "another password").await;
    sign_in(&router, "ev%0Ail", PASSWORD).await;
    let cookie = session(&router).await;
    let (token, _) = new_token();
    get(&router, DATA, &[("authorization", &format!("Bearer {token}"))]).await;
    send(&router, "POST", "/sign-out", &[("cookie", &cookie)], "").await;
    send(&router, "POST", "/sign-out", &[FORM[0], FORM[1], ("cookie", &cookie)], "").await;
    drop(guard);
    let log = String::from_utf8(lines.0.lock().clone()).unwrap();
    let log: Vec<&str> = log.lines().filter(|line| line.contains("job_console::access")).collect();
    let expected = [
        r#"reason="wrong password" user="anna" client="127.0.0.1""#,
        r#"reason="unknown user" user="ev\\nil" client="127.0.0.1""#,
        r#"signed in user="anna" role=operator client="127.0.0.1""#,
        r#"the bearer token is not known"#,
        r#"neither Sec-Fetch-Site nor Origin is given"#,
        r#"signed out user="anna" client="127.0.0.1""#,
    ];
    assert_eq!(log.len(), expected.len(), "{log:#?}");
    for (line, expected) in log.iter().zip(expected) {
        assert!(line.contains(expected), "{line}");
    }
    let id = cookie.split_once('=').unwrap().1;
    let secrets = [PASSWORD, "another password", &token, id, "argon2"];
    for secret in secrets {
        assert!(!log.iter().any(|line| line.contains(secret)), "{log:#?}");
    }
}
