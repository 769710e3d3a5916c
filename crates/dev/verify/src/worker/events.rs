//! Converts events of the product into facts of the history.

use checker::history::{Fact, SessionEvent};
use lite::{JobEvent, JobRecord};
use reg_center::SessionChange;

/// Returns the fact of a job's record.
pub(super) fn fact_of(record: &JobRecord) -> Fact {
    let job = record.job.to_string();
    if let JobEvent::Missed { item, fire, reason } = &record.event {
        let item = item.map(|item| item.index());
        return Fact::Missed { job, item, fire: fire.0, reason: reason.to_string() };
    }
    if let JobEvent::Gap { item, gap } = &record.event {
        let (first, until, count) = (gap.first.0, gap.until.0, gap.count);
        return Fact::Gap { job, item: item.index(), first, until, count };
    }
    let name = record.event.name().to_owned();
    Fact::Event { job, name, text: record.event.to_string() }
}

/// Returns the fact of a session change. A closed session is reported under the id of the last
/// session.
pub(super) fn session_fact(
    change: SessionChange,
    last: &mut i64,
    instance: Option<String>,
) -> Fact {
    let (ev, sid) = match change {
        SessionChange::Connected { session, .. } => (SessionEvent::Connected, session.0),
        SessionChange::Suspended { session } => (SessionEvent::Suspended, session.0),
        SessionChange::Lost { session } => (SessionEvent::Lost, session.0),
        SessionChange::Closed => (SessionEvent::Closed, *last),
    };
    *last = sid;
    Fact::Session { ev, sid, instance }
}
