//! Minimal client of ZooKeeper's wire protocol that creates and reads nodes.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CREATE: i32 = 1;
const GET_DATA: i32 = 4;

/// A session that is used on a single connection.
pub(crate) struct Session {
    stream: TcpStream,
    next_xid: i32,
}

impl Session {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Session> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut session = Session { stream, next_xid: 1 };
        // Protocol version, last seen transaction, timeout in ms, session id, password.
        let mut hello = Vec::new();
        hello.extend(0_i32.to_be_bytes());
        hello.extend(0_i64.to_be_bytes());
        hello.extend(30_000_i32.to_be_bytes());
        hello.extend(0_i64.to_be_bytes());
        put_bytes(&mut hello, &[0; 16]);
        session.exchange(&hello)?;
        Ok(session)
    }

    /// Creates a persistent node without access restrictions.
    pub(crate) fn create(&mut self, path: &str, data: &[u8]) -> io::Result<()> {
        let mut body = Vec::new();
        put_bytes(&mut body, path.as_bytes());
        put_bytes(&mut body, data);
        // One entry of access control: all permissions for `world:anyone`.
        body.extend(1_i32.to_be_bytes());
        body.extend(31_i32.to_be_bytes());
        put_bytes(&mut body, b"world");
        put_bytes(&mut body, b"anyone");
        body.extend(0_i32.to_be_bytes());
        self.request(CREATE, &body).map(drop)
    }

    /// Returns the data of a node.
    pub(crate) fn read(&mut self, path: &str) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        put_bytes(&mut body, path.as_bytes());
        body.push(0);
        let reply = self.request(GET_DATA, &body)?;
        let length = i32::from_be_bytes(reply[..4].try_into().unwrap());
        Ok(reply[4..4 + usize::try_from(length).unwrap()].to_vec())
    }

    fn request(&mut self, operation: i32, body: &[u8]) -> io::Result<Vec<u8>> {
        let mut message = Vec::new();
        message.extend(self.next_xid.to_be_bytes());
        message.extend(operation.to_be_bytes());
        message.extend(body);
        self.next_xid += 1;
        let reply = self.exchange(&message)?;
        // A header of xid, transaction id and error code comes before the body.
        match i32::from_be_bytes(reply[12..16].try_into().unwrap()) {
            0 => Ok(reply[16..].to_vec()),
            code => Err(io::Error::other(format!("the server answered with code {code}"))),
        }
    }

    fn exchange(&mut self, message: &[u8]) -> io::Result<Vec<u8>> {
        let mut framed = Vec::new();
        put_bytes(&mut framed, message);
        self.stream.write_all(&framed)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut reply = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.stream.read_exact(&mut reply)?;
        Ok(reply)
    }
}

fn put_bytes(message: &mut Vec<u8>, bytes: &[u8]) {
    message.extend(i32::try_from(bytes.len()).unwrap().to_be_bytes());
    message.extend(bytes);
}
