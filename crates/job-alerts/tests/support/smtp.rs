//! A mail server on loopback that follows a script, without TLS.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::within;

/// Lines that a client sent in one connection.
pub(crate) type Session = Vec<String>;

pub(crate) struct MailServer {
    pub(crate) port: u16,
    sessions: mpsc::UnboundedReceiver<Session>,
}

/// Behaviour of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    Good,
    /// Rejects the recipients, and repeats the command in its answer.
    RejectsRecipients,
    /// Never answers.
    Silent,
}

impl MailServer {
    pub(crate) async fn start(behavior: Behavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, sessions) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let session = serve(stream, behavior).await;
                // The receiver is gone if the test has ended.
                let _ = sender.send(session);
            }
        });
        Self { port, sessions }
    }

    /// Waits until a connection has ended, and returns the lines that the client sent.
    pub(crate) async fn next(&mut self) -> Session {
        within("a mail", self.sessions.recv()).await.unwrap()
    }
}

async fn serve(stream: TcpStream, behavior: Behavior) -> Session {
    let mut stream = BufReader::new(stream);
    let (mut session, mut in_data) = (Vec::new(), false);
    if behavior != Behavior::Silent {
        let _ = stream.write_all(b"220 mail.example.com ESMTP\r\n").await;
    }
    let mut bytes = Vec::new();
    while let Ok(n) = stream.read_until(b'\n', &mut bytes).await {
        if n == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        bytes.clear();
        session.push(line.clone());
        if behavior == Behavior::Silent {
            continue;
        }
        let answer = match line.split([' ', ':']).next().unwrap_or_default() {
            "." if in_data => {
                in_data = false;
                "250 taken".to_owned()
            }
            _ if in_data => continue,
            "EHLO" => "250-mail.example.com\r\n250 AUTH PLAIN LOGIN".to_owned(),
            "RCPT" if behavior == Behavior::RejectsRecipients => {
                format!("550 no such user\u{1b}[31m: {line}")
            }
            "DATA" => {
                in_data = true;
                "354 go on".to_owned()
            }
            "QUIT" => "221 bye".to_owned(),
            _ => "250 fine".to_owned(),
        };
        if stream.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            break;
        }
    }
    session
}
