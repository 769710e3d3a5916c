//! The sign-in page.

use maud::{DOCTYPE, Markup, html};

use crate::pages::Lang;

/// Content of the sign-in page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignInPage {
    pub(crate) lang: Lang,
    pub(crate) files: Files,
    /// Address that the form is sent to, if there are users with passwords.
    pub(crate) action: Option<String>,
    /// Name of the identity provider, and the address that begins a sign-in there.
    pub(crate) provider: Option<(String, String)>,
    /// Address of the page that follows.
    pub(crate) next: String,
    /// User name that was entered before.
    pub(crate) name: String,
    /// Why the sign-in failed.
    pub(crate) problem: Option<String>,
}

/// Addresses of the files of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) style: String,
    pub(crate) icon: String,
}

/// Renders the page.
pub(super) fn render(page: &SignInPage) -> Markup {
    let lang = page.lang;
    let described_by = page.problem.is_some().then_some("problem");
    let main = html! {
        h1 { (lang.sign_in()) }
        @if let Some(problem) = &page.problem {
            p id="problem" role="alert" { (lang.sign_in_problem(problem)) }
        }
        @if let Some(action) = &page.action {
            form method="post" action=(action) {
                input type="hidden" name="next" value=(page.next);
                div.field {
                    label for="name" { (lang.user_name()) }
                    input id="name" name="name" value=(page.name) required
                        autocomplete="username" autocapitalize="none" spellcheck="false"
                        aria-describedby=[described_by];
                }
                div.field {
                    label for="password" { (lang.password()) }
                    input id="password" name="password" type="password" required
                        autocomplete="current-password" aria-describedby=[described_by];
                }
                button type="submit" { (lang.sign_in()) }
            }
        }
        @if let Some((name, begin)) = &page.provider {
            a.button href=(begin) { (lang.sign_in_with(name)) }
        }
    };
    document(lang, &lang.sign_in(), &page.files, None, &main)
}

/// Returns a page without a caller. `refresh` is an address that the browser opens at once.
pub(super) fn document(
    lang: Lang,
    title: &str,
    files: &Files,
    refresh: Option<&str>,
    main: &Markup,
) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(lang.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(address) = refresh {
                    meta http-equiv="refresh" content=(format!("0; url={address}"));
                }
                title { (title) " · Elastic Job" }
                link rel="icon" type="image/svg+xml" href=(files.icon);
                link rel="stylesheet" href=(files.style);
            }
            body.sign-in { main { (main) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_clients_are_escaped_and_controls_have_labels() {
        let hostile = r#""><script>alert(1)</script>"#.to_owned();
        let problem = Some("The user name is not right.".to_owned());
        let page = SignInPage {
            lang: Lang::English,
            action: Some("/sign-in".to_owned()),
            provider: Some((hostile.clone(), "/sign-in/oidc".to_owned())),
            files: Files::default(),
            next: hostile.clone(),
            name: hostile,
            problem,
        };
        let html = render(&page).into_string();
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(html.matches("&gt;&lt;script&gt;").count(), 3, "{html}");
        for control in ["name", "password"] {
            let label = format!(r#"<label for="{control}">"#);
            let input = format!(r#"<input id="{control}" "#);
            assert!(html.contains(&label) && html.contains(&input), "{html}");
        }
        assert_eq!(html.matches(r#"aria-describedby="problem""#).count(), 2, "{html}");
    }
}
