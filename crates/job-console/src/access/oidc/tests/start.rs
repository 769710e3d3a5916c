//! Faults that are found at the start, and fetches whose client disconnects.

use super::*;

/// Waits until a client has made the console ask the provider for a path, and drops the client.
async fn disconnect(stage: &Stage, (path, n): (&str, usize), client: impl Future<Output: Debug>) {
    let is_asked = async {
        while stage.provider.count(path) < n {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answered = client => panic!("the provider does not answer: {answered:?}"),
        asked = tokio::time::timeout(Duration::from_secs(60), is_asked) => asked.unwrap(),
    }
}

#[tokio::test]
async fn client_that_disconnects_does_not_repeat_the_fetch_of_the_settings() {
    let http = HttpBounds { deadline: Duration::from_millis(300), ..HttpBounds::default() };
    let stage = Stage::with("", Bounds { http, ..Bounds::default() }, |oidc| oidc).await;
    stage.script(|script| script.broken = Some(("/settings", Broken::Silent)));
    disconnect(&stage, ("/settings", 1), stage.get(BEGIN, "")).await;
    assert_refused("next client", stage.get(BEGIN, "").await, (502, "cannot be used")).await;
    assert_eq!(stage.provider.count("/settings"), 1);
}

#[tokio::test]
async fn client_that_disconnects_does_not_discard_the_new_keys() {
    let stage = Stage::with("", no_retry(), |oidc| oidc).await;
    let begun = stage.begin("").await;
    stage.script(|script| {
        (script.keys, script.key) = (vec!["two"], "two");
        script.broken = Some(("/jwks", Broken::Held));
    });
    disconnect(&stage, ("/jwks", 2), stage.returned(&begun)).await;
    stage.script(|script| {
        script.broken = None;
        script.released.notify_one();
    });
    stage.session().await;
    assert_eq!(stage.provider.count("/jwks"), 2, "the next client has the new keys");
}

#[test]
fn client_secret_that_cannot_be_read_is_found_at_the_start() {
    for reference in ["${env:NO_SUCH_OIDC_SECRET}", "${file:/no/such/oidc-secret}"] {
        let oidc = settings("https://login.example.com").client_secret(reference).unwrap();
        let error = Access::sign_in().oidc(oidc).unwrap_err().to_string();
        let at = format!("oidc: client_secret is \"{reference}: ");
        assert!(error.starts_with(&at), "{error}");
        assert!(error.ends_with("valid is a variable or a file that this process can read"));
    }
}
