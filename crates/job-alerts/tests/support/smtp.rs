//! A mail server on loopback that follows a script, without TLS.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::within;

/// What a client said in one connection, line by line.
pub(crate) type Session = Vec<String>;

pub(crate) struct MailServer {
    pub(crate) port: u16,
    sessions: mpsc::UnboundedReceiver<Session>,
}

/// What the server does otherwise than a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    /// Refuses the recipients, and repeats what it heard.
    Refuses,
    /// Never says anything.
    Silent,
}

impl MailServer {
    pub(crate) async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, sessions) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let session = talk(stream, mood).await;
                // The test may have seen enough.
                let _ = sender.send(session);
            }
        });
        Self { port, sessions }
    }

    /// Waits until a connection has ended, and returns what was said in it.
    pub(crate) async fn next(&mut self) -> Session {
        within("a mail", self.sessions.recv()).await.unwrap()
    }
}

async fn talk(stream: TcpStream, mood: Mood) -> Session {
    let mut stream = BufReader::new(stream);
    let (mut session, mut in_data) = (Vec::new(), false);
    if mood != Mood::Silent {
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
        if mood == Mood::Silent {
            continue;
        }
        let answer = match line.split([' ', ':']).next().unwrap_or_default() {
            "." if in_data => {
                in_data = false;
                "250 taken".to_owned()
            }
            _ if in_data => continue,
            "EHLO" => "250-mail.example.com\r\n250 AUTH PLAIN LOGIN".to_owned(),
            "RCPT" if mood == Mood::Refuses => format!("550 no such user\u{1b}[31m: {line}"),
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
