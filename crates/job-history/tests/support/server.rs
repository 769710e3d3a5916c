//! A new database for each test of a server.

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
