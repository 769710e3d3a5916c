//! Places of the sources where mutants differ: one file for each file of the sources.

mod coordinator_decide;
mod coordinator_follow;
mod coordinator_observe;
mod coordinator_record;
mod coordinator_reply;
mod coordinator_reporting;
mod coordinator_starting;
mod coordinator_status;
mod coordinator_unmonitored;
mod duty_claim;
mod duty_cleanup;
mod duty_context;
mod duty_election;
mod duty_expiry;
mod duty_gap_judge;
mod duty_membership;
mod duty_misfire;
mod duty_once;
mod duty_own_item;
mod duty_release;
mod duty_resharding;
mod duty_resharding_moves;
mod duty_resharding_retire;
mod duty_resharding_target;
mod duty_settings;
mod duty_sweep;
mod duty_takeover;
mod duty_trigger;
mod duty_unmonitored;
mod gap;
mod gap_judgement;
mod java_cleanup;
mod java_constrain;
mod java_election;
mod java_facts;
mod java_handing_on;
mod java_inference;
mod java_inference_observe;
mod java_memory;
mod java_records;
mod java_resharding;
mod java_sweep;
mod java_takeover;
mod java_trigger;
mod java_turn;
mod local;
mod local_claims;
mod local_fires;
mod local_requests;
mod model_exhaustive;
mod model_exhaustive_moves;
mod model_exhaustive_walk;
mod model_exhaustive_world;
mod plan;
mod plan_encode;
mod protocol_id;
mod protocol_ledger_cancels;
mod protocol_ledger_claims;
mod protocol_ledger_endings;
mod protocol_ledger_fires;
mod protocol_ledger_lifetime;
mod protocol_ledger_record;
mod protocol_ledger_requests;
mod protocol_request_parameter;
mod root;
mod run_marks;
mod runs;
mod start_gate;
mod tests_script;
mod view_apply;
mod view_config;
mod view_holder;
mod view_queries;
mod wire_data;

/// A place of the sources where mutants differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The text of the product, which is there exactly once.
    pub from: &'static str,
    /// The text of the copy, with switches that are off unless a mutant is chosen. `mutant::` and
    /// `Mutant::` stand for the module and the enum of the copy, so that no site has to add an
    /// import.
    pub to: &'static str,
}

/// The sites of each file, by its path from the root of the workspace.
pub const SITES: &[(&str, &[Site])] = &[
    ("crates/coordination/src/coordinator/decide.rs", coordinator_decide::SITES),
    ("crates/coordination/src/coordinator/follow.rs", coordinator_follow::SITES),
    ("crates/coordination/src/coordinator/observe.rs", coordinator_observe::SITES),
    ("crates/coordination/src/coordinator/record.rs", coordinator_record::SITES),
    ("crates/coordination/src/coordinator/reply.rs", coordinator_reply::SITES),
    ("crates/coordination/src/coordinator/reporting.rs", coordinator_reporting::SITES),
    ("crates/coordination/src/coordinator/starting.rs", coordinator_starting::SITES),
    ("crates/coordination/src/coordinator/status.rs", coordinator_status::SITES),
    ("crates/coordination/src/coordinator/unmonitored.rs", coordinator_unmonitored::SITES),
    ("crates/coordination/src/duty/claim.rs", duty_claim::SITES),
    ("crates/coordination/src/duty/cleanup.rs", duty_cleanup::SITES),
    ("crates/coordination/src/duty/context.rs", duty_context::SITES),
    ("crates/coordination/src/duty/election.rs", duty_election::SITES),
    ("crates/coordination/src/duty/expiry.rs", duty_expiry::SITES),
    ("crates/coordination/src/duty/gap_judge.rs", duty_gap_judge::SITES),
    ("crates/coordination/src/duty/membership.rs", duty_membership::SITES),
    ("crates/coordination/src/duty/misfire.rs", duty_misfire::SITES),
    ("crates/coordination/src/duty/once.rs", duty_once::SITES),
    ("crates/coordination/src/duty/own_item.rs", duty_own_item::SITES),
    ("crates/coordination/src/duty/release.rs", duty_release::SITES),
    ("crates/coordination/src/duty/resharding/mod.rs", duty_resharding::SITES),
    ("crates/coordination/src/duty/resharding/moves.rs", duty_resharding_moves::SITES),
    ("crates/coordination/src/duty/resharding/retire.rs", duty_resharding_retire::SITES),
    ("crates/coordination/src/duty/resharding/target.rs", duty_resharding_target::SITES),
    ("crates/coordination/src/duty/settings.rs", duty_settings::SITES),
    ("crates/coordination/src/duty/sweep.rs", duty_sweep::SITES),
    ("crates/coordination/src/duty/takeover.rs", duty_takeover::SITES),
    ("crates/coordination/src/duty/trigger.rs", duty_trigger::SITES),
    ("crates/coordination/src/duty/unmonitored.rs", duty_unmonitored::SITES),
    ("crates/coordination/src/gap/judgement.rs", gap_judgement::SITES),
    ("crates/coordination/src/gap/mod.rs", gap::SITES),
    ("crates/coordination/src/java/cleanup.rs", java_cleanup::SITES),
    ("crates/coordination/src/java/constrain.rs", java_constrain::SITES),
    ("crates/coordination/src/java/election.rs", java_election::SITES),
    ("crates/coordination/src/java/facts.rs", java_facts::SITES),
    ("crates/coordination/src/java/handing_on.rs", java_handing_on::SITES),
    ("crates/coordination/src/java/inference/mod.rs", java_inference::SITES),
    ("crates/coordination/src/java/inference/observe.rs", java_inference_observe::SITES),
    ("crates/coordination/src/java/memory.rs", java_memory::SITES),
    ("crates/coordination/src/java/records.rs", java_records::SITES),
    ("crates/coordination/src/java/resharding.rs", java_resharding::SITES),
    ("crates/coordination/src/java/sweep.rs", java_sweep::SITES),
    ("crates/coordination/src/java/takeover.rs", java_takeover::SITES),
    ("crates/coordination/src/java/trigger.rs", java_trigger::SITES),
    ("crates/coordination/src/java/turn.rs", java_turn::SITES),
    ("crates/coordination/src/lib.rs", root::SITES),
    ("crates/coordination/src/local/claims.rs", local_claims::SITES),
    ("crates/coordination/src/local/fires.rs", local_fires::SITES),
    ("crates/coordination/src/local/mod.rs", local::SITES),
    ("crates/coordination/src/local/requests.rs", local_requests::SITES),
    ("crates/coordination/src/plan/encode.rs", plan_encode::SITES),
    ("crates/coordination/src/plan/mod.rs", plan::SITES),
    ("crates/coordination/src/protocol/id.rs", protocol_id::SITES),
    ("crates/coordination/src/protocol/ledger/cancels.rs", protocol_ledger_cancels::SITES),
    ("crates/coordination/src/protocol/ledger/claims.rs", protocol_ledger_claims::SITES),
    ("crates/coordination/src/protocol/ledger/endings.rs", protocol_ledger_endings::SITES),
    ("crates/coordination/src/protocol/ledger/fires.rs", protocol_ledger_fires::SITES),
    ("crates/coordination/src/protocol/ledger/lifetime.rs", protocol_ledger_lifetime::SITES),
    ("crates/coordination/src/protocol/ledger/record.rs", protocol_ledger_record::SITES),
    ("crates/coordination/src/protocol/ledger/requests.rs", protocol_ledger_requests::SITES),
    ("crates/coordination/src/protocol/request_parameter.rs", protocol_request_parameter::SITES),
    ("crates/coordination/src/run_marks.rs", run_marks::SITES),
    ("crates/coordination/src/runs.rs", runs::SITES),
    ("crates/coordination/src/start_gate.rs", start_gate::SITES),
    ("crates/coordination/src/view/apply.rs", view_apply::SITES),
    ("crates/coordination/src/view/config.rs", view_config::SITES),
    ("crates/coordination/src/view/holder.rs", view_holder::SITES),
    ("crates/coordination/src/view/queries.rs", view_queries::SITES),
    ("crates/coordination/src/wire/data.rs", wire_data::SITES),
    ("crates/coordination/tests/script/mod.rs", tests_script::SITES),
    ("crates/dev/model/src/exhaustive/mod.rs", model_exhaustive::SITES),
    ("crates/dev/model/src/exhaustive/moves.rs", model_exhaustive_moves::SITES),
    ("crates/dev/model/src/exhaustive/walk.rs", model_exhaustive_walk::SITES),
    ("crates/dev/model/src/exhaustive/world.rs", model_exhaustive_world::SITES),
];
