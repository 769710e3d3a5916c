//! Claims, runs and their ends.

use checker::history::{ExecEvent, Fact, RegOp, RunId};
use serde_json::{Value, json};

use super::{Story, fire, item_of, name};

impl Story {
    /// Sets a hook that changes the next ledger record.
    pub(crate) fn tamper(&mut self, change: impl FnOnce(&mut Value) + 'static) -> &mut Self {
        self.tamper = Some(Box::new(change));
        self
    }

    /// Lets the next claim or takeover take a permit.
    pub(crate) fn permit(&mut self, number: u32) -> &mut Self {
        self.permit = Some(number);
        self
    }

    /// Lets the next claim write these last starts: times with numbers of runs.
    pub(crate) fn starts(&mut self, starts: &[(i64, u32)]) -> &mut Self {
        self.starts = Some(json!({ "starts": starts }));
        self
    }

    /// Lets the next claim or takeover take a permit of the group `db`.
    pub(crate) fn group_permit(&mut self, number: u32) -> &mut Self {
        self.group_permit = Some(number);
        self
    }

    /// Lets the next claim write these last starts of the group `db`.
    pub(crate) fn group_starts(&mut self, starts: &[(i64, u32)]) -> &mut Self {
        self.group_starts = Some(json!({ "starts": starts }));
        self
    }

    /// Writes the permit of the group into the record of the run that begins, and takes it.
    fn take_group_permit(&mut self, p: &str, i: u32, ledger: &mut Value) -> Option<RegOp> {
        let permit = self.group_permit.take()?;
        (ledger["group"], ledger["group_permit"]) = (json!("db"), json!(permit));
        let token = &ledger["token"];
        let (item, slot) = item_of(i);
        let mut holder = json!({ "job": "j", "item": item, "by": "x", "token": token });
        if slot > 0 {
            holder["slot"] = json!(slot);
        }
        let path = format!("/job@-@groups/db/permits/{permit}");
        Some(self.put(self.sid(p), &path, Some(holder.to_string()), true))
    }

    /// Writes the permit of the run that begins into its record, and takes it.
    fn take_permit(&mut self, p: &str, ledger: &mut Value) -> Option<RegOp> {
        let permit = self.permit.take()?;
        ledger["permit"] = json!(permit);
        self.mark(p, &format!("/j/coordination/permits/{permit}"), true)
    }

    pub(crate) fn ledger_op(&mut self, sid: i64, i: u32, mut ledger: Value) -> RegOp {
        if let Some(tamper) = self.tamper.take() {
            tamper(&mut ledger);
        }
        let text = ledger.to_string();
        self.ledgers.insert(i, ledger);
        self.put(sid, &format!("/j/ledger/{}", name(i)), Some(text), false)
    }

    /// Changes and writes the record of an item.
    pub(crate) fn ledger(&mut self, p: &str, i: u32, change: impl FnOnce(&mut Value)) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        change(&mut ledger);
        let op = self.ledger_op(self.sid(p), i, ledger);
        self.commit(p, vec![op])
    }

    pub(crate) fn mark(&mut self, p: &str, path: &str, present: bool) -> Option<RegOp> {
        let there = self.has(path);
        let ephemeral =
            path.ends_with("running") || path.ends_with("failover") || path.contains("/permits/");
        (there != present)
            .then(|| self.put(self.sid(p), path, present.then(String::new), ephemeral))
    }

    /// Commits a claim of fire `k` without a run.
    pub(crate) fn only_claim(&mut self, p: &str, i: u32, source: &str, at: i64) -> &mut Self {
        let (sid, id) = self.sessions[p].clone();
        let mut ledger = self.ledgers[&i].clone();
        let last = ledger["last"].as_i64();
        let noted = ledger.get("misfire").cloned();
        let map = ledger.as_object_mut().unwrap();
        map.retain(|key, _| !["merged", "misfire"].contains(&key.as_str()) || source == "MANUAL");
        if source != "MANUAL"
            && let Some(noted) = noted
        {
            let count = noted["count"].as_i64().unwrap() + i64::from(source == "NORMAL");
            ledger["merged"] = json!({ "first": noted["first"], "last": at, "count": count });
        }
        if source != "MANUAL" && ledger["last"].as_i64().is_none_or(|last| last < at) {
            ledger["previous"] = ledger["last"].clone();
            ledger["last"] = json!(at);
        }
        ledger["state"] = json!("running");
        ledger["holder"] = json!(id);
        ledger["fire"] = json!(at);
        ledger["source"] = json!(source);
        ledger["token"] = json!(ledger["token"].as_u64().unwrap() + 1);
        ledger["config"] = json!(self.config_version());
        let mut ops = vec![self.check(&format!("/j/instances/{id}"))];
        ops.extend(self.take_permit(p, &mut ledger));
        ops.extend(self.take_group_permit(p, i, &mut ledger));
        if let Some(starts) = self.group_starts.take() {
            ops.push(self.put(sid, "/job@-@groups/db/starts", Some(starts.to_string()), false));
        }
        if let Some(starts) = self.starts.take() {
            ops.push(self.put(sid, "/j/coordination/starts", Some(starts.to_string()), false));
        }
        ops.push(self.ledger_op(sid, i, ledger));
        ops.extend(self.mark(p, &format!("/j/sharding/{}/running", name(i)), true));
        ops.extend(self.mark(
            p,
            &format!("/j/sharding/{}/misfire", name(i)),
            source == "MANUAL" && self.has(&format!("/j/sharding/{}/misfire", name(i))),
        ));
        self.commit(p, ops);
        let next = last.map_or(fire(1), |last| last + 10_000);
        if ["NORMAL", "MISFIRE"].contains(&source) && next < at && !self.hides_gaps {
            self.says(
                p,
                Fact::Gap { job: "j".into(), item: i, first: next, until: at, count: None },
            );
        }
        self
    }

    /// The owner gives an item a further slot.
    pub(crate) fn add_slot(&mut self, p: &str, i: u32) -> &mut Self {
        self.add_slot_with(p, i, |_, _| {})
    }

    /// Gives an item a further slot, with other records of the item and the slot.
    pub(crate) fn add_slot_with(
        &mut self,
        p: &str,
        i: u32,
        change: impl FnOnce(&mut Value, &mut Value),
    ) -> &mut Self {
        let (item, number) = item_of(i);
        let (mut of_item, mut of_slot) =
            (self.ledgers[&item].clone(), json!({ "state": "idle", "token": 0 }));
        of_item["slots"] = json!(u64::from(number).max(of_item["slots"].as_u64().unwrap_or(0)));
        change(&mut of_item, &mut of_slot);
        let sid = self.sid(p);
        let ops = vec![self.ledger_op(sid, item, of_item), self.ledger_op(sid, i, of_slot)];
        self.commit(p, ops)
    }

    /// Claims fire `k` in a further slot and begins its run.
    pub(crate) fn beside(&mut self, p: &str, i: u32, source: &str, k: i64) -> &mut Self {
        self.beside_with(p, i, (source, k), |_, _| {}).start(p, i)
    }

    /// Commits a claim in a further slot, with other records of the item and the slot.
    pub(crate) fn beside_with(
        &mut self,
        p: &str,
        i: u32,
        claim: (&str, i64),
        change: impl FnOnce(&mut Value, &mut Value),
    ) -> &mut Self {
        let ops = self.beside_ops(p, i, claim, change);
        self.commit(p, ops)
    }

    pub(crate) fn beside_ops(
        &mut self,
        p: &str,
        i: u32,
        (source, k): (&str, i64),
        change: impl FnOnce(&mut Value, &mut Value),
    ) -> Vec<RegOp> {
        let ((sid, id), (item, _), at) = (self.sessions[p].clone(), item_of(i), fire(k));
        let mut of_item = self.ledgers[&item].clone();
        let token = self.ledgers.get(&i).map_or(0, |ledger| ledger["token"].as_u64().unwrap());
        let mut of_slot = json!({
            "state": "running", "holder": id, "fire": at, "source": source, "token": token + 1,
            "config": self.config_version(),
        });
        let noted = of_item.as_object_mut().unwrap().remove("misfire");
        if let Some(noted) = noted {
            let count = noted["count"].as_i64().unwrap() + i64::from(source == "NORMAL");
            of_slot["merged"] = json!({ "first": noted["first"], "last": at, "count": count });
        }
        if of_item["last"].as_i64().is_none_or(|last| last < at) {
            of_item["previous"] = of_item["last"].clone();
            of_item["last"] = json!(at);
        }
        of_slot["last"] = of_item["last"].clone();
        let mut ops = vec![self.check(&format!("/j/instances/{id}"))];
        ops.extend(self.take_permit(p, &mut of_slot));
        ops.extend(self.take_group_permit(p, i, &mut of_slot));
        if let Some(starts) = self.starts.take() {
            ops.push(self.put(sid, "/j/coordination/starts", Some(starts.to_string()), false));
        }
        change(&mut of_item, &mut of_slot);
        ops.push(self.ledger_op(sid, item, of_item));
        ops.push(self.ledger_op(sid, i, of_slot));
        ops.extend(self.mark(p, &format!("/j/sharding/{}/running", name(i)), true));
        ops.extend(self.mark(p, &format!("/j/sharding/{item}/misfire"), false));
        ops
    }

    /// Stops reports of gaps by later claims.
    pub(crate) fn hide_gaps(&mut self) -> &mut Self {
        self.hides_gaps = true;
        self
    }

    /// Claims fire `k` and begins its run.
    pub(crate) fn claim(&mut self, p: &str, i: u32, k: i64) -> &mut Self {
        self.claim_as(p, i, "NORMAL", fire(k))
    }

    pub(crate) fn claim_as(&mut self, p: &str, i: u32, source: &str, at: i64) -> &mut Self {
        self.only_claim(p, i, source, at).start(p, i)
    }

    pub(crate) fn run_id(&self, i: u32) -> RunId {
        let ledger = &self.ledgers[&i];
        let number = |key: &str| ledger[key].as_i64().unwrap_or_default();
        let (item, slot) = item_of(i);
        RunId { job: "j".into(), item, slot, fire: number("fire"), token: number("token") as u64 }
    }

    /// Returns the source of a run as the job's code sees it.
    fn source_of(&self, i: u32) -> String {
        let ledger = &self.ledgers[&i];
        let source = ledger["source"].as_str().unwrap_or("NORMAL");
        let is_backfilled = source == "MANUAL" && ledger["past_fire"].is_i64();
        if is_backfilled { "BACKFILL" } else { source }.to_owned()
    }

    /// Begins the run of an item, as its record says.
    pub(crate) fn start(&mut self, p: &str, i: u32) -> &mut Self {
        let source = self.source_of(i);
        let (run, cfg) = (self.run_id(i), self.config_version());
        self.says(p, Fact::Exec { ev: ExecEvent::Start, run, source, cfg, result: None })
    }

    pub(crate) fn stop(&mut self, p: &str, i: u32, result: &str) -> &mut Self {
        let run = self.run_id(i);
        self.stop_run(p, run, result)
    }

    pub(crate) fn stop_run(&mut self, p: &str, run: RunId, result: &str) -> &mut Self {
        let result = Some(result.to_owned());
        let source = self.source_of(super::further(run.item, run.slot));
        let cfg = self.config_version();
        self.says(p, Fact::Exec { ev: ExecEvent::End, run, source, cfg, result })
    }

    /// The leader ends the run of a lost holder, or an orphaned run, without a takeover.
    pub(crate) fn abandon(&mut self, leader: &str, i: u32) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("idle");
        ledger["outcome"] = json!("interrupted");
        let term = self.check("/j/coordination/term");
        let mut ops = vec![term, self.ledger_op(self.sid(leader), i, ledger)];
        ops.extend(self.mark(leader, &format!("/j/leader/failover/items/{}", name(i)), false));
        self.commit(leader, ops)
    }

    /// An operator requests the cancellation of the run of an item.
    pub(crate) fn cancel(&mut self, i: u32) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        ledger["cancel"] =
            json!({ "token": ledger["token"], "by": "anna", "why": "wrong month", "at": fire(0) });
        let op = self.ledger_op(super::OPERATOR, i, ledger);
        self.commit("operator", vec![op])
    }

    /// Writes the progress of the item's present run, or of a former one, by its token.
    pub(crate) fn progress(&mut self, p: &str, i: u32, token: Option<u64>) -> &mut Self {
        let token = token.map_or(self.ledgers[&i]["token"].clone(), |token| json!(token));
        let data = json!({ "v": 1, "token": token, "at": fire(0), "done": 1 }).to_string();
        self.write(p, &format!("/j/coordination/progress/{}", name(i)), Some(&data))
    }

    /// Records the end of a run.
    pub(crate) fn release(&mut self, p: &str, i: u32, outcome: &str) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("idle");
        ledger["outcome"] = json!(outcome);
        let permit = ledger.as_object_mut().unwrap().remove("permit");
        ledger.as_object_mut().unwrap().remove("group");
        let of_group = ledger.as_object_mut().unwrap().remove("group_permit");
        let mut ops = vec![self.ledger_op(self.sid(p), i, ledger)];
        let permit = permit.map(|permit| format!("/j/coordination/permits/{permit}"));
        ops.extend(permit.and_then(|path| self.mark(p, &path, false)));
        let of_group = of_group.map(|permit| format!("/job@-@groups/db/permits/{permit}"));
        ops.extend(of_group.and_then(|path| self.mark(p, &path, false)));
        ops.extend(self.mark(p, &format!("/j/sharding/{}/running", name(i)), false));
        ops.extend(self.mark(p, &format!("/j/sharding/{}/failover", name(i)), false));
        self.commit(p, ops)
    }

    /// Ends the run of an item with success and records it.
    pub(crate) fn done(&mut self, p: &str, i: u32) -> &mut Self {
        self.stop(p, i, "ok").release(p, i, "succeeded")
    }

    pub(crate) fn effect(&mut self, i: u32, accepted: bool) -> &mut Self {
        let run = self.run_id(i);
        self.effect_of(run, accepted)
    }

    pub(crate) fn effect_of(&mut self, run: RunId, accepted: bool) -> &mut Self {
        self.rseq += 1;
        let rseq = self.rseq;
        self.says("resource", Fact::Effect { run, accepted, rseq })
    }

    /// The run of an item announces itself to the resource.
    pub(crate) fn announce(&mut self, i: u32, accepted: bool) -> &mut Self {
        let run = self.run_id(i);
        self.announce_run(run, accepted)
    }

    pub(crate) fn announce_run(&mut self, run: RunId, accepted: bool) -> &mut Self {
        self.rseq += 1;
        let rseq = self.rseq;
        self.says("resource", Fact::Announced { run, accepted, rseq })
    }

    /// All items run fire `k` on their owners, for one second.
    pub(crate) fn round(&mut self, k: i64) -> &mut Self {
        let owners: Vec<_> = self.owners.clone().into_iter().collect();
        let process = |story: &Self, id: &str| {
            story.sessions.iter().find(|(_, (_, of))| of == id).map(|(p, _)| p.clone()).unwrap()
        };
        self.at(k as f64 * 10.0 + 0.01);
        for (i, id) in &owners {
            let p = process(self, id);
            self.claim(&p, *i, k);
        }
        self.at(k as f64 * 10.0 + 1.0);
        for (i, id) in &owners {
            let p = process(self, id);
            self.done(&p, *i);
        }
        self
    }

    /// Notes a fire that met the running item.
    pub(crate) fn note(&mut self, p: &str, i: u32, k: i64) -> &mut Self {
        let at = fire(k);
        let mut ledger = self.ledgers[&i].clone();
        ledger["misfire"] = match ledger.get("misfire").and_then(|m| m["first"].as_i64()) {
            Some(first) => {
                json!({ "first": first, "last": at, "count": (at - first) / 10_000 + 1 })
            }
            None => json!({ "first": at, "last": at, "count": 1 }),
        };
        let mut ops = vec![self.ledger_op(self.sid(p), i, ledger)];
        ops.extend(self.mark(p, &format!("/j/sharding/{}/misfire", name(i)), true));
        self.commit(p, ops)
    }

    /// The leader orphans a run whose holder is gone.
    pub(crate) fn orphan(&mut self, leader: &str, i: u32) -> &mut Self {
        let sid = self.sid(leader);
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("orphan");
        let ops = vec![
            self.check("/j/coordination/term"),
            self.ledger_op(sid, i, ledger),
            self.put(
                sid,
                &format!("/j/leader/failover/items/{}", name(i)),
                Some(String::new()),
                false,
            ),
        ];
        self.commit(leader, ops)
    }

    pub(crate) fn only_take_over(&mut self, p: &str, i: u32) -> &mut Self {
        let ops = self.takeover(p, i);
        self.commit(p, ops)
    }

    /// The leader takes over a run whose holder is gone, in one write.
    pub(crate) fn take_over_at_once(&mut self, leader: &str, i: u32) -> &mut Self {
        let mut ops = vec![self.check("/j/coordination/term")];
        ops.extend(self.takeover(leader, i));
        self.commit(leader, ops).start(leader, i)
    }

    fn takeover(&mut self, p: &str, i: u32) -> Vec<RegOp> {
        let (sid, id) = self.sessions[p].clone();
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("running");
        ledger["holder"] = json!(id);
        ledger["source"] = json!("FAILOVER");
        ledger["token"] = json!(ledger["token"].as_u64().unwrap() + 1);
        ledger["config"] = json!(self.config_version());
        let permit = self.take_permit(p, &mut ledger);
        let of_group = self.take_group_permit(p, i, &mut ledger);
        let mut ops = vec![self.ledger_op(sid, i, ledger)];
        ops.extend(permit.into_iter().chain(of_group));
        ops.extend(self.mark(p, &format!("/j/sharding/{}/running", name(i)), true));
        ops.extend(self.mark(p, &format!("/j/sharding/{}/failover", name(i)), true));
        ops.extend(self.mark(p, &format!("/j/leader/failover/items/{}", name(i)), false));
        ops
    }

    pub(crate) fn take_over(&mut self, p: &str, i: u32) -> &mut Self {
        self.only_take_over(p, i).start(p, i)
    }

    pub(crate) fn once(&mut self, p: &str, stage: &str, k: i64, token: u64) -> &mut Self {
        let (job, stage) = ("j".to_owned(), stage.to_owned());
        self.says(p, Fact::Once { job, fire: fire(k), stage, token })
    }
}
