//! Predicates of errors, the size of a transaction, valid paths, and the end of a session hub.

use std::time::Duration;

use futures_util::FutureExt;
use reg_center::{
    Error, Lifetime, Limits, NodePath, SessionChange, SessionHub, SessionId, Txn, Version,
};

const SESSION: SessionId = SessionId(7);

fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("a path of the table")
}

#[test]
fn every_error_is_classified_by_unknown_lost_and_retryable() {
    let cause = || "cause".to_owned();
    let too_large = Error::TooLarge { unit: "bytes", size: 2, limit: 1 };
    let no_path = Error::from(NodePath::parse("x").unwrap_err());
    // Columns: `is_unknown`, `is_session_lost`, `is_retryable`.
    let rows = [
        (Error::Unavailable { call: "commit" }, [false, false, true]),
        (Error::Unknown { call: "commit", cause: cause() }, [true, false, true]),
        (Error::SessionLost { session: SESSION }, [false, true, false]),
        (too_large, [false, false, false]),
        (Error::NotAuthorized { path: path("/a") }, [false, false, false]),
        (no_path, [false, false, false]),
        (Error::Closed, [false, false, false]),
        (Error::Rejected { call: "commit", cause: cause() }, [false, false, false]),
    ];
    for (error, expected) in rows {
        let answers = [error.is_unknown(), error.is_session_lost(), error.is_retryable()];
        assert_eq!(answers, expected, "{error}");
    }
}

#[test]
fn transaction_size_counts_paths_and_data_of_every_operation() {
    let at = || path("/abc");
    let version = Version(1);
    let rows = [
        ("create", Txn::new().create(at(), "12", Lifetime::Persistent), 6),
        ("put", Txn::new().put(at(), "123"), 7),
        ("put if", Txn::new().put_if(at(), version, "1"), 5),
        ("delete", Txn::new().delete(at()), 4),
        ("delete if", Txn::new().delete_if(at(), version), 4),
        ("check exists", Txn::new().check_exists(at()), 4),
        ("check version", Txn::new().check_version(at(), version), 4),
        ("check absent", Txn::new().check_absent(at()), 4),
        ("several", Txn::new().put(at(), "1").create(path("/"), "", Lifetime::Ephemeral), 6),
        ("no operation", Txn::new().in_session(SESSION), 0),
    ];
    for (case, txn, size) in rows {
        assert_eq!(txn.size(), size, "{case}");
        let limits = |max_bytes| Limits { max_ops: 2, max_bytes };
        assert_eq!(limits(size).admit(&txn), Ok(()), "{case} at the limit");
        if let Some(less) = size.checked_sub(1) {
            let refused = Error::TooLarge { unit: "bytes", size, limit: less };
            assert_eq!(limits(less).admit(&txn), Err(refused), "{case} over the limit");
        }
    }
}

#[test]
fn a_transaction_runs_in_the_connected_session_that_it_is_bound_to() {
    let other = SessionId(8);
    let connected = |session| SessionChange::Connected { session, timeout: Duration::from_secs(1) };
    let suspended = SessionChange::Suspended { session: SESSION };
    let lost = SessionChange::Lost { session: SESSION };
    let unavailable = Err(Error::Unavailable { call: "commit" });
    let gone = Err(Error::SessionLost { session: SESSION });
    // Columns: the center's session, the result of an unbound and of a bound transaction.
    let rows = [
        (None, unavailable.clone(), gone.clone()),
        (Some(connected(SESSION)), Ok(SESSION), Ok(SESSION)),
        (Some(connected(other)), Ok(other), gone.clone()),
        (Some(suspended), unavailable.clone(), unavailable.clone()),
        (Some(lost), unavailable.clone(), gone),
        (Some(SessionChange::Closed), Err(Error::Closed), Err(Error::Closed)),
    ];
    for (current, unbound, bound) in rows {
        assert_eq!(Txn::new().session_in(current), unbound, "unbound, {current:?}");
        let txn = Txn::new().in_session(SESSION);
        assert_eq!(txn.session_in(current), bound, "bound, {current:?}");
    }
}

#[test]
fn a_hub_delivers_nothing_after_closed() {
    let hub = SessionHub::new();
    assert_eq!(hub.current(), None);
    let mut early = hub.subscribe();
    assert_eq!(early.next().now_or_never(), None, "no change was published yet");
    let connected = SessionChange::Connected { session: SESSION, timeout: Duration::from_secs(1) };
    for change in [connected, SessionChange::Closed, connected] {
        hub.publish(change);
    }
    assert_eq!(hub.current(), Some(SessionChange::Closed));
    let mut late = hub.subscribe();
    let next = |feed: &mut reg_center::SessionFeed| {
        feed.next().now_or_never().expect("a published change is pending")
    };
    assert_eq!(next(&mut early), Some(connected));
    for feed in [&mut early, &mut late] {
        assert_eq!(next(feed), Some(SessionChange::Closed));
        assert_eq!(next(feed), None);
    }
}

#[test]
fn a_path_rejects_exactly_the_reserved_character_ranges() {
    let rows = [
        ("before the private range", '\u{D7FF}', true),
        ("the first private one", '\u{E000}', false),
        ("the last private one", '\u{F8FF}', false),
        ("after the private range", '\u{F900}', true),
        ("before the specials", '\u{FFEF}', true),
        ("the first special", '\u{FFF0}', false),
        ("the last special", '\u{FFFF}', false),
        ("beyond the basic plane", '\u{10000}', false),
    ];
    for (case, character, valid) in rows {
        assert_eq!(NodePath::parse(&format!("/a{character}")).is_ok(), valid, "{case}");
        assert_eq!(NodePath::root().join(&character.to_string()).is_ok(), valid, "{case}");
    }
}

#[test]
fn a_hub_removes_dropped_subscribers_on_publish() {
    let hub = SessionHub::new();
    let staying = hub.subscribe();
    drop(hub.subscribe());
    let count = || format!("{hub:?}").matches("abandoned: false").count();
    assert_eq!(count(), 2, "the hub has not scanned its subscribers yet: {hub:?}");
    hub.publish(SessionChange::Lost { session: SESSION });
    assert_eq!(count(), 1, "{hub:?}");
    drop(staying);
}

#[test]
fn a_hub_removes_dropped_subscribers_without_a_session_change() {
    let hub = SessionHub::new();
    let staying = [hub.subscribe(), hub.subscribe()];
    for _ in 0..1_000 {
        drop(hub.subscribe());
    }
    let known = format!("{hub:?}").matches("abandoned: false").count();
    assert!(
        (2..16).contains(&known),
        "the hub keeps {known} subscribers, of which 2 are alive: {hub:?}"
    );
    drop(staying);
}

#[test]
fn versions_wrap_around_to_zero() {
    assert_eq!([0, 1, u32::MAX].map(|n| Version(n).next().0), [1, 2, 0]);
}
