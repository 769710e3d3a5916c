//! Runs one server for manual use: prints where it listens, and ends with its standard input.

use std::io::{self, Read, Write};

use zookeeper_fixture::Server;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::start()?;
    writeln!(io::stdout(), "{}", server.connect_string())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(server.stop()?)
}
