//! Runs one server for manual use.
//!
//! Prints its address, and stops it at SIGTERM or SIGINT.

use etcd_fixture::Server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = |server: &Server| server.address().to_string();
    server_fixture::serve_until_signal(Server::start, address, Server::stop).await
}
