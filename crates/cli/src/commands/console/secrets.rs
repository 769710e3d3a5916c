//! `console hash` and `console token`: entries for the files of users and tokens.

use std::io::{IsTerminal as _, Read as _};

use console::Term;
use serde_json::json;

use crate::fault::Fault;
use crate::output::Page;

/// Maximum size of a password on the standard input, in bytes, with its line break.
const MAX_INPUT_BYTES: u64 = 1024 + 2;

/// Prints the hash of a password.
pub(super) async fn hash() -> Result<Page, Fault> {
    // The terminal and the hash block for long.
    let hashed = tokio::task::spawn_blocking(|| {
        let password = read_password()?;
        job_console::hash_password(&password).map_err(Fault::usage)
    });
    let hash = hashed.await.map_err(Fault::refused)??;
    Ok(Page::new(format!("{hash}\n"), &json!({ "hash": hash })))
}

/// Prints a new token and its hash.
pub(super) fn token() -> Page {
    let (token, hash) = job_console::new_token();
    let remark = "give the token to its user, and put the hash into the tokens file; the token is not shown again\n";
    let text = format!("token: {token}\nhash:  {hash}\n");
    Page::new(text, &json!({ "token": token, "hash": hash })).beside(remark.to_owned())
}

/// Reads a password twice from a terminal, without echo, or once from another standard input.
fn read_password() -> Result<String, Fault> {
    let unreadable = |error| Fault::usage(format!("the password cannot be read: {error}"));
    if !std::io::stdin().is_terminal() {
        let mut text = String::new();
        std::io::stdin().take(MAX_INPUT_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        return Ok(text.strip_suffix('\r').unwrap_or(text).to_owned());
    }
    let ask = |prompt: &str| {
        let terminal = Term::stderr();
        if !terminal.is_term() {
            return Err(std::io::Error::other("the standard error is no terminal"));
        }
        terminal.write_str(prompt)?;
        terminal.read_secure_line()
    };
    let password = ask("password: ").map_err(unreadable)?;
    if ask("again: ").map_err(unreadable)? != password {
        return Err(Fault::usage("the two passwords differ; type the same one twice"));
    }
    Ok(password)
}
