//! Faults that are found at the start, and the first fetch of the settings.

use super::*;

#[tokio::test]
async fn client_that_disconnects_does_not_repeat_the_fetch_of_the_settings() {
    let http = HttpBounds { deadline: Duration::from_millis(300), ..HttpBounds::default() };
    let stage = Stage::with("", Bounds { http, ..Bounds::default() }, |oidc| oidc).await;
    stage.script(|script| script.broken = Some(("/settings", Broken::Silent)));
    let is_asked = async {
        while stage.provider.count("/settings") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answered = stage.get(BEGIN, "") => panic!("the provider is silent: {answered:?}"),
        asked = tokio::time::timeout(Duration::from_secs(60), is_asked) => asked.unwrap(),
    }
    assert_refused("next client", stage.get(BEGIN, "").await, (502, "cannot be used")).await;
    assert_eq!(stage.provider.count("/settings"), 1);
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
