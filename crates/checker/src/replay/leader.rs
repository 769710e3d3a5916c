//! Leaders: each begins its own term, and writes as leader in that term only. S8.

use crate::Property::S8;
use crate::replay::judge::{Judge, Write};
use crate::tree::Kind;

impl Judge<'_> {
    /// Judges that a term begins together with the leader's node, in the leader's session, and that
    /// no term is deleted.
    pub(crate) fn election(&mut self) {
        let mut term = None;
        let mut leader = None;
        for write in &self.txn.writes {
            match write {
                Write::Term(written) => term = Some(written.clone()),
                Write::Leader(Some(name)) => leader = Some(*name),
                Write::Leader(None)
                | Write::Config(_)
                | Write::Instance(..)
                | Write::Server(..)
                | Write::Request(_)
                | Write::Assignment(_)
                | Write::Backfills(_)
                | Write::Draining(..)
                | Write::Named(..)
                | Write::Owner(..)
                | Write::Ledger(..)
                | Write::Progress(..)
                | Write::Starts(_)
                | Write::Mark(..) => {}
            }
        }
        if term.is_none() && leader.is_none() {
            return;
        }
        let wrong = match (term, leader) {
            (Some(None), _) => Some("the term was deleted".to_owned()),
            (Some(Some((Err(error), _))), _) => Some(format!("the term cannot be read: {error}")),
            (None, Some(leader)) => {
                Some(format!("{} became leader without a term of its own", self.text(leader)))
            }
            (Some(Some((Ok(name), _))), None) => {
                Some(format!("a term of {} begins without the leader's node", self.text(name)))
            }
            (Some(Some((Ok(name), _))), Some(leader)) if name != leader => Some(format!(
                "{} became leader in a term of {}",
                self.text(leader),
                self.text(name)
            )),
            (Some(Some((Ok(name), _))), Some(_))
                if !self.job.is_registered_by(name, self.txn.sid) =>
            {
                Some(format!(
                    "{} became leader and is not registered in this session",
                    self.text(name)
                ))
            }
            (Some(Some((Ok(_), _))), Some(_)) | (None, None) => None,
        };
        self.expect(wrong.is_none(), S8, None, |_| wrong.unwrap_or_default());
    }

    /// Judges that the writer of a leader's write began the present term and checks its version.
    pub(crate) fn leader_writes(&mut self, what: &'static str) {
        let checked = self.txn.checks.iter().find(|(kind, _)| *kind == Kind::Term);
        let wrong = match (self.job.term, checked) {
            (None, _) => Some("there is no term".to_owned()),
            (Some(_), None | Some((_, None))) => {
                Some("the transaction does not check the version of the term".to_owned())
            }
            (Some(term), Some((_, Some(version)))) if *version != term.version => {
                Some(format!("the transaction checks term {version}; the term is {}", term.version))
            }
            (Some(term), Some(_)) if term.session != self.txn.sid => {
                Some(format!("session {} began the term", term.session))
            }
            (Some(_), Some(_)) => None,
        };
        self.expect(wrong.is_none(), S8, None, |judge| {
            format!("session {} {what}: {}", judge.txn.sid, wrong.unwrap_or_default())
        });
    }
}
