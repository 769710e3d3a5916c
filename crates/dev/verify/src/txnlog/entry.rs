//! Decodes one transaction of the log.

use super::jute::{Malformed, Reader};

/// Operation codes of the log.
mod code {
    pub(super) const CREATE: i32 = 1;
    pub(super) const DELETE: i32 = 2;
    pub(super) const SET_DATA: i32 = 5;
    pub(super) const CHECK: i32 = 13;
    pub(super) const MULTI: i32 = 14;
    pub(super) const CREATE_2: i32 = 15;
    pub(super) const RECONFIG: i32 = 16;
    pub(super) const CREATE_CONTAINER: i32 = 19;
    pub(super) const DELETE_CONTAINER: i32 = 20;
    pub(super) const CREATE_TTL: i32 = 21;
    pub(super) const CREATE_SESSION: i32 = -10;
    pub(super) const CLOSE_SESSION: i32 = -11;
    pub(super) const ERROR: i32 = -1;
}

/// A transaction as logged by a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Position in the order of all transactions.
    pub zxid: i64,
    /// Session that wrote.
    pub session: i64,
    /// Time by the wall clock of the leader, in milliseconds since 1970 UTC.
    pub time_ms: i64,
    /// Effect of the transaction.
    pub change: Change,
}

/// Effect of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A session was opened.
    OpenSession,
    /// A session was closed or expired, with its ephemeral nodes if the server logs them.
    CloseSession {
        /// Paths of the ephemeral nodes.
        ephemerals: Vec<String>,
    },
    /// Nodes were written or checked, in this order.
    Write(Vec<Write>),
    /// No effect: the transaction was rejected.
    Rejected,
    /// Another operation without an effect on nodes and sessions, such as a change of an access
    /// list.
    Other {
        /// Code of the operation.
        code: i32,
    },
}

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A node was created.
    Create {
        /// Path of the node.
        path: String,
        /// Data of the node.
        data: Vec<u8>,
        /// True if the node is removed with its session.
        ephemeral: bool,
    },
    /// A node's data was replaced.
    Set {
        /// Path of the node.
        path: String,
        /// New data of the node.
        data: Vec<u8>,
        /// New version of the node.
        version: i32,
    },
    /// A node was deleted.
    Delete {
        /// Path of the node.
        path: String,
    },
    /// A node was checked. The log does not say whether its version was checked or only its
    /// existence.
    Check {
        /// Path of the node.
        path: String,
        /// Version of the node.
        version: i32,
    },
}

impl Entry {
    /// Decodes the bytes of an entry, and ignores any bytes after the transaction, such as a digest
    /// of the tree.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let session = reader.long()?;
        let _number_in_connection = reader.int()?;
        let zxid = reader.long()?;
        let time_ms = reader.long()?;
        let code = reader.int()?;
        Ok(Self { zxid, session, time_ms, change: change(code, &mut reader)? })
    }
}

fn change(code: i32, reader: &mut Reader<'_>) -> Result<Change, Malformed> {
    Ok(match code {
        code::CREATE_SESSION => Change::OpenSession,
        code::CLOSE_SESSION => {
            // Servers before 3.6, and servers configured that way, log no body.
            let ephemerals = reader.clone().list(Reader::text).unwrap_or_default();
            Change::CloseSession { ephemerals }
        }
        code::ERROR => Change::Rejected,
        code::MULTI => multi(reader)?,
        code => match write(code, reader)? {
            Some(write) => Change::Write(vec![write]),
            None => Change::Other { code },
        },
    })
}

/// Decodes a multi-operation. A rejected one is logged with errors in the places of its operations.
fn multi(reader: &mut Reader<'_>) -> Result<Change, Malformed> {
    let steps = reader.list(|reader| {
        let code = reader.int()?;
        Ok((code, reader.buffer()?))
    })?;
    if steps.iter().any(|(code, _)| *code == code::ERROR) {
        return Ok(Change::Rejected);
    }
    let writes = steps.into_iter().map(|(code, body)| write(code, &mut Reader::new(body)));
    Ok(Change::Write(writes.filter_map(Result::transpose).collect::<Result<_, _>>()?))
}

fn write(code: i32, reader: &mut Reader<'_>) -> Result<Option<Write>, Malformed> {
    Ok(Some(match code {
        code::CREATE | code::CREATE_2 => {
            let (path, data) = named_data(reader)?;
            skip_access_list(reader)?;
            Write::Create { path, data, ephemeral: reader.boolean()? }
        }
        code::CREATE_CONTAINER | code::CREATE_TTL => {
            let (path, data) = named_data(reader)?;
            Write::Create { path, data, ephemeral: false }
        }
        code::SET_DATA | code::RECONFIG => {
            let (path, data) = named_data(reader)?;
            Write::Set { path, data, version: reader.int()? }
        }
        code::DELETE | code::DELETE_CONTAINER => Write::Delete { path: reader.text()? },
        // The server logs the version that the node would have after a write.
        code::CHECK => Write::Check { path: reader.text()?, version: reader.int()? - 1 },
        _ => return Ok(None),
    }))
}

fn named_data(reader: &mut Reader<'_>) -> Result<(String, Vec<u8>), Malformed> {
    Ok((reader.text()?, reader.buffer()?.to_vec()))
}

fn skip_access_list(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    reader.list(|reader| {
        reader.int()?;
        reader.buffer()?;
        reader.buffer().map(drop)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        let length = i32::try_from(text.len()).unwrap().to_be_bytes();
        [&length[..], text.as_bytes()].concat()
    }

    fn entry(code: i32, body: &[&[u8]]) -> Vec<u8> {
        let head: [&[u8]; 5] = [
            &0x77_i64.to_be_bytes(),
            &5_i32.to_be_bytes(),
            &0x1_0000_0002_i64.to_be_bytes(),
            &1_700_000_000_000_i64.to_be_bytes(),
            &code.to_be_bytes(),
        ];
        [head.concat(), body.concat()].concat()
    }

    fn change_of(bytes: &[u8]) -> Change {
        Entry::decode(bytes).unwrap().change
    }

    #[test]
    fn head_has_zxid_session_and_time() {
        let found =
            Entry::decode(&entry(code::CREATE_SESSION, &[&1000_i32.to_be_bytes()])).unwrap();
        let expected = Entry {
            zxid: 0x1_0000_0002,
            session: 0x77,
            time_ms: 1_700_000_000_000,
            change: Change::OpenSession,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn rejected_transaction_changes_nothing() {
        let step = |code: i32, body: &[u8]| {
            let length = i32::try_from(body.len()).unwrap().to_be_bytes();
            [&code.to_be_bytes()[..], &length, body].concat()
        };
        let error = step(code::ERROR, &(-101_i32).to_be_bytes());
        let delete = step(code::DELETE, &text("/a"));
        let check = step(code::CHECK, &[&text("/b")[..], &4_i32.to_be_bytes()].concat());
        let two = 2_i32.to_be_bytes();
        let rows = [
            ("rejected as a whole", entry(code::ERROR, &[&[0, 0, 0, 0]]), Change::Rejected),
            (
                "rejected in an operation",
                entry(code::MULTI, &[&two, &error, &error]),
                Change::Rejected,
            ),
            (
                "committed",
                entry(code::MULTI, &[&two, &delete, &check]),
                Change::Write(vec![
                    Write::Delete { path: "/a".into() },
                    Write::Check { path: "/b".into(), version: 3 },
                ]),
            ),
            ("access list", entry(7, &[&text("/a")]), Change::Other { code: 7 }),
        ];
        for (case, bytes, expected) in rows {
            assert_eq!(change_of(&bytes), expected, "{case}");
        }
    }

    #[test]
    fn truncated_entry_is_an_error() {
        let complete = entry(code::SET_DATA, &[&text("/a"), &text("data"), &3_i32.to_be_bytes()]);
        let set = Write::Set { path: "/a".into(), data: b"data".to_vec(), version: 3 };
        assert_eq!(change_of(&complete), Change::Write(vec![set]));
        for length in 0..complete.len() {
            assert!(Entry::decode(&complete[..length]).is_err(), "{length} bytes");
        }
    }
}
