//! ZooKeeper's four-letter administrative commands, and parsers of their answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Error;

/// Longest wait for an answer. A request to a paused server waits for all of it.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Sends `word` to the server at `address` and returns the whole answer.
pub(crate) fn ask(address: SocketAddr, word: &str) -> Result<String, Error> {
    exchange(address, word).map_err(|source| Error::NoAnswer {
        address,
        word: word.to_owned(),
        source,
    })
}

fn exchange(address: SocketAddr, word: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.is_empty() {
        // A server that shuts down accepts the connection and closes it.
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok(answer),
    }
}

/// Returns `standalone`, `leader`, `follower` … from an answer to `srvr`, or `None` from a server
/// that does not serve yet.
pub(crate) fn mode(srvr: &str) -> Option<&str> {
    srvr.lines().find_map(|line| line.strip_prefix("Mode: "))
}

/// Returns the value of `name` from an answer to `mntr`.
pub(crate) fn metric<'a>(mntr: &'a str, name: &str) -> Option<&'a str> {
    mntr.lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_and_metrics_are_parsed_from_answers() {
        assert_eq!(
            mode("Zookeeper version: 3.8.0\nMode: follower\nNode count: 5\n"),
            Some("follower")
        );
        assert_eq!(mode("This ZooKeeper instance is not currently serving requests\n"), None);
        let mntr = "zk_version\t3.8.0\nzk_packets_received\t17\nzk_packets_received_max\t9\n";
        assert_eq!(metric(mntr, "zk_packets_received"), Some("17"));
        assert_eq!(metric(mntr, "zk_packets"), None);
    }
}
