//! Decodes the writes of a transaction.

use crate::docs;
use crate::names::Names;
use crate::replay::Replay;
use crate::replay::job::{Job, Server};
use crate::replay::judge::{Txn, Write};
use crate::replay::nodes::{Action, JobIndex, Step};
use crate::replay::slots::begun_beside;
use crate::tree::Kind;

impl Replay {
    /// Returns the part of a transaction that is about one job.
    pub(super) fn txn<'a>(&mut self, job: JobIndex, sid: i64, steps: &[Step<'a>]) -> Txn<'a> {
        if self.jobs.len() <= job {
            self.jobs.resize_with(job + 1, Job::default);
        }
        let by_operator = self.sessions.is_operator(sid);
        let mut txn = Txn {
            sid,
            by_operator,
            writes: Vec::new(),
            checks: Vec::new(),
            of_groups: Vec::new(),
            beside: Vec::new(),
        };
        for step in steps.iter().filter(|step| step.job == job) {
            match step.action {
                Action::Checked(version) => txn.checks.push((step.kind, version)),
                Action::Put(data, version) => {
                    txn.writes.extend(written(step.kind, Some((data, version)), &mut self.names));
                }
                Action::Gone => txn.writes.extend(written(step.kind, None, &mut self.names)),
            }
        }
        txn.beside = begun_beside(&self.jobs[job], &txn.writes);
        txn
    }
}

fn written<'a>(kind: Kind, data: Option<(&'a str, i32)>, names: &mut Names) -> Option<Write<'a>> {
    let text = data.map(|(text, _)| text);
    Some(match kind {
        Kind::Config => Write::Config(data),
        Kind::Instance(id) => Write::Instance(id, text),
        Kind::Server(ip) => Write::Server(ip, text.map(server)),
        Kind::Leader => Write::Leader(text.map(|text| names.of(text))),
        Kind::Term => Write::Term(data.map(|(text, version)| (docs::term(text, names), version))),
        Kind::Request => Write::Request(data.map(|(_, version)| version)),
        Kind::Assignment => {
            Write::Assignment(text.map(|text| docs::assignment(text, names).map(Box::new)))
        }
        Kind::Backfills => Write::Backfills(text.map(|text| docs::backfills(text, names))),
        Kind::Draining(id) => Write::Draining(id, text.is_some()),
        Kind::Named(id) => Write::Named(id, text.map(|text| names.of(text))),
        Kind::Owner(item) => Write::Owner(item, text.map(|text| names.of(text))),
        Kind::Ledger(item) => {
            Write::Ledger(item, text.map(|text| docs::ledger(text, names).map(Box::new)))
        }
        Kind::Progress(item) => Write::Progress(item, text.map(docs::progress)),
        Kind::Starts => Write::Starts(text.map(docs::starts)),
        Kind::Queued(_)
        | Kind::Permit(_)
        | Kind::Running(_)
        | Kind::Misfire(_)
        | Kind::Failover(_)
        | Kind::ItemDisabled(_)
        | Kind::Misplaced(_) => Write::Mark(kind, text.is_some()),
        Kind::Other => return None,
    })
}

/// Parses the state of a server. Like the product, it takes any unknown text as enabled.
fn server(text: &str) -> Server {
    match text {
        "DISABLED" => Server::Disabled,
        "PAUSED" => Server::Paused,
        _ => Server::Enabled,
    }
}
