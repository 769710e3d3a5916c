//! Stores the preferences of a reader in cookies.

use axum::Extension;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, Method, Uri};
use axum::response::Response;
use axum::routing::post;

use super::prefs::{NAMES, Prefs};
use super::query::{local, root_of};
use super::request::Form;
use super::see_other;
use crate::access::{Caller, Permission};
use crate::problem::{Answer, Problem};
use crate::routes::Routes;

/// Time for which a browser keeps a preference: one year, in seconds.
const KEPT: u32 = 31_536_000;

pub(super) fn add(routes: Routes) -> Routes {
    // The cookies are the reader's own: nothing of the registry changes.
    routes.page(Permission::View, &Method::POST, "/preferences", post(store))
}

async fn store(Extension(_): Extension<Caller>, uri: Uri, Form(given): Form) -> Answer<Response> {
    let value = |name: &str| given.iter().find(|(key, _)| key == name).map(|(_, value)| &**value);
    let back = value("back").and_then(local).unwrap_or_default();
    let mut response = see_other(&root_of(&uri), back);
    for name in NAMES {
        let Some(word) = value(name) else { continue };
        if !Prefs::knows(name, word) {
            let detail = format!("{name} is {word:?}; valid are the options of the menu");
            return Err(Problem::invalid(detail));
        }
        let cookie = format!("ejob_{name}={word}; Path=/; Max-Age={KEPT}; SameSite=Lax");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    Ok(response)
}
