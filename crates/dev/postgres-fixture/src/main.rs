//! Runs one server for manual use.
//!
//! Prints the URL of its database, and stops it at SIGTERM or SIGINT.

use postgres_fixture::Server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    server_fixture::serve_until_signal(Server::start, Server::url, Server::stop).await
}
