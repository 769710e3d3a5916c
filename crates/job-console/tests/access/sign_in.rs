//! Sign-in by password, sessions and sign-out.

use std::time::{Duration, Instant};

use super::*;

#[tokio::test]
async fn form_signs_in_and_out() {
    let router = router(UsersFile::new().access(), LOCAL);
    let page = get(&router, "/sign-in?next=/n/orders", &[]).await;
    assert_eq!(page.status(), StatusCode::OK);
    let page = text(page).await;
    assert!(page.contains(r#"<form method="post" action="/sign-in">"#), "{page}");
    assert!(page.contains(r#"name="next" value="/n/orders""#), "{page}");
    let response = sign_in(&router, "anna", PASSWORD).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(header(&response, "location"), "/n/orders");
    let cookie = header(&response, "set-cookie");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split_once(';').unwrap().0;
    assert_eq!(status_with(&router, cookie).await, StatusCode::OK);
    let forged = cookie.replace("session=", "session=0");
    assert_eq!(status_with(&router, &forged).await, StatusCode::UNAUTHORIZED);
    let headers = [FORM[0], FORM[1], ("cookie", cookie)];
    let response = send(&router, "POST", "/sign-out", &headers, "").await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert!(response.headers().get_all("set-cookie").iter().all(|c| {
        let cookie = c.to_str().unwrap();
        cookie.contains("ejob-session=;") && cookie.contains("Max-Age=0")
    }));
    assert_eq!(status_with(&router, cookie).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn page_is_in_the_language_of_the_reader() {
    let router = router(UsersFile::new().access(), LOCAL);
    let chinese = ("accept-language", "zh-CN,zh;q=0.9");
    let page = text(get(&router, "/sign-in", &[chinese]).await).await;
    for words in [r#"<html lang="zh-CN">"#, "<h1>登录</h1>", "用户名", "密码"] {
        assert!(page.contains(words), "{page}");
    }
    let headers = [FORM[0], FORM[1], FORM[2], chinese];
    let refused = send(&router, "POST", "/sign-in", &headers, "name=anna&password=wrong").await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let page = text(refused).await;
    assert!(page.contains("用户名或密码不正确。"), "{page}");
    let page = text(get(&router, "/sign-in?lang=en", &[chinese]).await).await;
    assert!(page.contains("<h1>Sign in</h1>"), "{page}");
}

#[tokio::test]
async fn json_signs_in_by_https_with_a_secure_cookie() {
    let router = router(UsersFile::new().access(), [10, 0, 0, 1]);
    let body = format!(r#"{{"name": "anna", "password": {PASSWORD:?}}}"#);
    let response = send(&router, "POST", "/sign-in", &JSON, &body).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = header(&response, "set-cookie");
    assert!(cookie.starts_with("__Host-ejob-session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    assert_eq!(text(response).await, r#"{"jobs":"*","name":"anna","role":"operator"}"#);
    let plain = [JSON[0], ("origin", "http://jobs.example"), JSON[2]];
    let response = send(&router, "POST", "/sign-in", &plain, &body).await;
    // The Host header has no scheme, so that the request is one of the same site.
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(text(response).await.contains("insecure-sign-in"));
    let response = send(&router, "POST", "/sign-in", &JSON, r#"{"name": 7}"#).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn next_page_is_one_of_the_console() {
    let console = console(UsersFile::new().access()).prefix("/ejob".parse().unwrap());
    let router = Router::new().nest("/ejob", console.router());
    for (next, expected) in [
        ("/ejob/n/orders?status=failed", "/ejob/n/orders?status=failed"),
        ("/ejob/", "/ejob/"),
        ("/ejobs/", "/ejob/"),
        ("/other", "/ejob/"),
        ("//evil.example/ejob/", "/ejob/"),
        ("/\\evil.example", "/ejob/"),
        ("/ejob/\t/evil.example", "/ejob/"),
        ("https://evil.example/ejob/", "/ejob/"),
        ("javascript:alert(1)", "/ejob/"),
        ("", "/ejob/"),
    ] {
        let query: String = next.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let page = text(get(&router, &format!("/ejob/sign-in?next={query}"), &[]).await).await;
        let field = format!(r#"name="next" value="{expected}""#);
        assert!(page.contains(&field), "{next:?}: {page}");
    }
}

#[tokio::test]
async fn failed_sign_ins_are_delayed() {
    let router = router(UsersFile::new().access(), LOCAL);
    for _ in 0..5 {
        let response = sign_in(&router, "anna", "wrong password").await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let page = text(response).await;
        assert!(page.contains("user name or the password is not right"), "{page}");
        assert!(page.contains(r#"name="name" value="anna""#), "{page}");
    }
    // The right password must wait as well, or else the delay would not protect it.
    let response = sign_in(&router, "anna", PASSWORD).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&response, "retry-after"), "1");
}

#[tokio::test]
async fn sign_in_forgets_the_failures_before_it() {
    let router = router(UsersFile::new().access(), LOCAL);
    for _ in 0..2 {
        for _ in 0..4 {
            let response = sign_in(&router, "anna", "wrong password").await;
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        }
        assert_eq!(sign_in(&router, "anna", PASSWORD).await.status(), StatusCode::SEE_OTHER);
    }
}

#[tokio::test]
async fn clients_of_a_reverse_proxy_are_limited_each_on_its_own() {
    let access = UsersFile::new().access().reverse_proxy("10.0.0.7".parse().unwrap());
    let router = router(access, [10, 0, 0, 7]);
    let attempt = async |client: &str, name: String| {
        let headers = [FORM[0], FORM[1], FORM[2], ("x-forwarded-for", client)];
        let body = format!("name={name}&password=wrong");
        send(&router, "POST", "/sign-in", &headers, &body).await.status()
    };
    for n in 0..20 {
        let status = attempt("192.0.2.1", format!("user{n}")).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    let status = attempt("192.0.2.1", "another".to_owned()).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    let status = attempt("192.0.2.2", "another".to_owned()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn unknown_user_takes_as_long_as_a_wrong_password() {
    let router = router(UsersFile::new().access(), LOCAL);
    let mut fastest = [Duration::MAX; 2];
    for n in 0..4 {
        for (fastest, name) in fastest.iter_mut().zip(["anna".to_owned(), format!("user{n}")]) {
            let began = Instant::now();
            let response = sign_in(&router, &name, "wrong password").await;
            *fastest = began.elapsed().min(*fastest);
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        }
    }
    let [known, unknown] = fastest;
    // Without the password check an answer takes less than a hundredth of this time.
    assert!(unknown > known / 4, "known user {known:?}, unknown user {unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn session_ends_when_the_user_changes() {
    let file = UsersFile::new();
    let second = Duration::from_secs(1);
    for (hash, role) in [(&hash_password(PASSWORD).unwrap(), "operator"), (&file.hash, "viewer")] {
        file.write(&file.hash, "operator");
        let router = router(file.access(), LOCAL);
        let cookie = session(&router).await;
        file.write(&file.hash, "operator");
        tokio::time::advance(second).await;
        assert_eq!(status_with(&router, &cookie).await, StatusCode::OK);
        file.write(hash, role);
        tokio::time::advance(second).await;
        assert_eq!(status_with(&router, &cookie).await, StatusCode::UNAUTHORIZED);
        file.write(&file.hash, "operator");
        tokio::time::advance(second).await;
        assert_eq!(status_with(&router, &cookie).await, StatusCode::UNAUTHORIZED);
    }
    let router = router(file.access(), LOCAL);
    let cookie = session(&router).await;
    write_private(&file.path, "");
    tokio::time::advance(second).await;
    assert_eq!(status_with(&router, &cookie).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn menu_offers_sign_out_to_callers_with_a_session() {
    let router = router(UsersFile::new().access(), LOCAL);
    let cookie = session(&router).await;
    let headers = [("host", "localhost:8080"), ("accept", "text/html"), ("cookie", &*cookie)];
    for (path, action) in [
        ("/n/orders", r#"formaction="../sign-out">Sign out"#),
        ("/n/orders/jobs?lang=zh", r#"formaction="../../sign-out">退出登录"#),
        ("/no/such/page", r#"formaction="../../sign-out">Sign out"#),
    ] {
        let page = text(get(&router, path, &headers).await).await;
        assert!(page.contains(action), "{path}: {page}");
    }
    let open = self::router(Access::open("anna").unwrap(), LOCAL);
    let page = text(get(&open, "/n/orders", &headers[..2]).await).await;
    assert!(page.contains("anna") && !page.contains("sign-out"), "{page}");
}

#[tokio::test]
async fn sign_in_page_has_the_look_of_the_console() {
    let router = router(UsersFile::new().access(), LOCAL);
    let page = text(get(&router, "/sign-in", &[]).await).await;
    let style = page.split_once(r#"<link rel="stylesheet" href=""#).unwrap().1;
    let style = style.split_once('"').unwrap().0;
    let sheet = text(get(&router, style, &[]).await).await;
    assert!(sheet.contains(".sign-in main"), "{style}");
}
