//! A new database for each test, on the server that an environment variable names.

/// Returns the URL of the server. It panics without one: a requested test that cannot run must
/// fail.
pub(crate) fn url(variable: &str) -> String {
    match std::env::var(variable) {
        Ok(url) => url,
        Err(_) => panic!(
            "{variable} is not set: it must be the URL of a server and of a database on it, \
             with a user that may create databases; see docs/history.md"
        ),
    }
}

/// Returns a unique name for a database.
pub(crate) fn database() -> String {
    format!("ejob_test_{}", uuid::Uuid::new_v4().simple())
}

/// Returns the URL of another database on the same server.
pub(crate) fn with_database(url: &str, database: &str) -> String {
    let mut url = url::Url::parse(url).unwrap();
    url.set_path(database);
    url.to_string()
}
