//! Encoding of plans as transactions of the registry: one operation for each step.

use bytes::Bytes;
use reg_center::{Expect, Op, SessionId, Txn, Version};

use super::{Data, Plan, Step, StepOp};
use crate::wire::{self, Layout};

impl Layout {
    /// Encodes a plan: one operation per step, in order.
    pub(crate) fn encode(&self, plan: &Plan, session: SessionId) -> Txn {
        let txn = Txn::new().in_session(session);
        plan.steps.iter().fold(txn, |txn, step| txn.op(self.encode_step(step)))
    }

    pub(crate) fn encode_step(&self, step: &Step) -> Op {
        let path = self.path(&step.node);
        let expect = |version: &Option<Version>| version.map_or(Expect::Exists, Expect::Version);
        match &step.op {
            StepOp::Check(version) => Op::Check { path, expect: expect(version) },
            StepOp::Absent => Op::CheckAbsent { path },
            StepOp::Create(lifetime, data) => {
                Op::Create { path, data: self.encode_data(data), lifetime: *lifetime }
            }
            StepOp::Put(version, data) => {
                Op::Put { path, data: self.encode_data(data), expect: expect(version) }
            }
            StepOp::Delete(version) => Op::Delete { path, expect: expect(version) },
        }
    }

    fn encode_data(&self, data: &Data) -> Bytes {
        match data {
            Data::Empty => Bytes::new(),
            Data::Text(text) => text.clone().into(),
            Data::Registration(id, attributes) => self.instance_data(id, attributes).into(),
            Data::Holder(id) => self.holder_data(id),
            Data::Server(state) => self.server_data(*state).into(),
            Data::Term(leader) => wire::encode_term(leader).into(),
            Data::Assignment(record) => wire::encode_assignment(record).into(),
            Data::Ledger(ledger) => wire::encode_ledger(ledger).into(),
            Data::Request(record) => wire::encode_trigger(record).into(),
            Data::Once(record) => wire::encode_once(record).into(),
            Data::Backfills(log) => wire::encode_backfills(log).into(),
            Data::Audit(log) => wire::encode_audit(log).into(),
            Data::Waiting(waiting) => wire::encode_waiting(waiting).into(),
            Data::Starts(log) => wire::encode_starts(log).into(),
            Data::PermitHolder(holder) => wire::encode_permit_holder(holder).into(),
            Data::Place(by) => wire::encode_place(by).into(),
            Data::RunRequest => wire::TRIGGER.into(),
            Data::RunRequestAccepted(attributes) => wire::marked(attributes).into(),
        }
    }
}
