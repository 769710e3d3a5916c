//! Compares the reader of transaction logs with the tool that comes with the server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use verify::txnlog::{Change, Entry, LogFolder, Write};
use zookeeper_fixture::{Installation, Server};

const TOOL: &str = "org.apache.zookeeper.server.persistence.TxnLogToolkit";

fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

/// Writes each kind of operation that the product uses.
async fn write(server: &Server) {
    let options = ZookeeperOptions::new(server.connect_string())
        .namespace("/ns")
        .session_timeout(Duration::from_secs(5));
    let center = ZookeeperCenter::connect(options).await.unwrap();
    let txns = [
        Txn::new().create(path("/a"), "first", Lifetime::Persistent),
        Txn::new()
            .put(path("/a"), "second")
            .create(path("/b/c"), "grüße", Lifetime::Ephemeral)
            .check_exists(path("/a"))
            .check_absent(path("/d")),
        Txn::new().create(path("/a"), "refused", Lifetime::Persistent),
        Txn::new().put(path("/a"), "").check_absent(path("/a")),
        Txn::new().delete(path("/a")),
    ];
    for txn in txns {
        center.commit(txn).await.unwrap();
    }
    center.close().await.unwrap();
}

/// Runs the server's own tool on the log files of a folder, and returns its lines.
fn printed(folder: &Path) -> Vec<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("log."))
        .collect();
    files.sort();
    let print = |file: &Path| {
        let mut tool: Command = Installation::locate().unwrap().tool(TOOL);
        let output = tool.arg("-d").arg(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text: String = files.iter().map(|file| print(file)).collect();
    text.lines().filter(|line| line.contains(" zxid 0x")).map(str::to_owned).collect()
}

/// Returns the words that the tool's line of an entry must contain, in this order.
fn expected_words(entry: &Entry) -> Vec<String> {
    let mut words =
        vec![format!("session {:#x}", entry.session), format!("zxid {:#x} ", entry.zxid)];
    match &entry.change {
        Change::OpenSession => words.push("createSession ".into()),
        Change::CloseSession { ephemerals } => {
            words.push("closeSession ".into());
            words.extend(ephemerals.clone());
        }
        Change::Write(writes) => words.extend(writes.iter().flat_map(words_of)),
        Change::Rejected => words.push("error".into()),
        Change::Other { .. } => {}
    }
    words
}

fn words_of(write: &Write) -> [String; 2] {
    let (kind, path) = match write {
        Write::Create { path, .. } => ("create", path),
        Write::Set { path, .. } => ("setData", path),
        Write::Delete { path } => ("delete", path),
        Write::Check { path, .. } => ("check", path),
    };
    [kind.to_owned(), path.clone()]
}

#[test]
fn transactions_equal_those_that_the_servers_tool_prints() {
    let mut server = Server::start().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(write(&server));
    let entries = LogFolder::new(server.transaction_folder()).read_on().unwrap();
    let lines = printed(&server.transaction_folder());
    assert_eq!(entries.len(), lines.len(), "{lines:#?}\n{entries:#?}");
    for (entry, line) in entries.iter().zip(&lines) {
        let mut rest = line.as_str();
        for word in expected_words(entry) {
            let at = rest.find(&word);
            let at = at.unwrap_or_else(|| panic!("no {word:?} in {rest:?}, for {entry:?}"));
            rest = &rest[at + word.len()..];
        }
    }
    let writes: Vec<&Write> = entries
        .iter()
        .filter_map(
            |entry| if let Change::Write(writes) = &entry.change { Some(writes) } else { None },
        )
        .flatten()
        .collect();
    let created = |at: &str, data: &str, ephemeral: bool| Write::Create {
        path: at.to_owned(),
        data: data.as_bytes().to_vec(),
        ephemeral,
    };
    let expected = [
        created("/ns", "", false),
        created("/ns/a", "first", false),
        created("/ns/b", "", false),
        Write::Set { path: "/ns/a".into(), data: b"second".to_vec(), version: 1 },
        created("/ns/b/c", "grüße", true),
        Write::Check { path: "/ns/a".into(), version: 1 },
        created("/ns/d", "", false),
        Write::Delete { path: "/ns/d".into() },
        Write::Delete { path: "/ns/a".into() },
    ];
    for write in &expected {
        assert!(writes.contains(&write), "{write:?} is not among {writes:#?}");
    }
    assert_eq!(writes.len(), expected.len(), "{writes:#?}");
    let refused = entries.iter().filter(|entry| entry.change == Change::Rejected).count();
    assert_eq!(refused, 3, "two conflicts, and the attempt without the parent");
    server.stop().unwrap();
}
