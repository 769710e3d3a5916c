//! `plan`: shows the items that a change would move.

use clap::Args;
use coordination::{JobName, ServerIp};
use jiff::Timestamp;
use operations::{PlanError, WhatIf, plan_moves};
use sharding::{InstanceAttributes, InstanceId, PlacementRules, StrategyRegistry};

use super::look::usable;
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, Table, Text};
use crate::suggestion;
use crate::text::{instance, job_name, or_dash, server_ip};

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// An instance would join at this address; can be repeated
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    join: Vec<ServerIp>,
    /// This instance would leave; can be repeated
    #[arg(long, value_name = "ID", value_parser = instance)]
    leave: Vec<InstanceId>,
    /// This server would be disabled; can be repeated
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    disable: Vec<ServerIp>,
    /// This server would be enabled; can be repeated
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    enable: Vec<ServerIp>,
    /// The job would have this many items
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    items: Option<u32>,
    /// This strategy would assign the items
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// These placement rules would hold
    #[arg(long, value_name = "RULES", value_parser = PlacementRules::parse)]
    placement: Option<PlacementRules>,
    /// Attributes of the instances that would join, such as "weight=2 zone=a disk=ssd"
    #[arg(long, value_name = "ATTRIBUTES", requires = "join")]
    joining: Option<InstanceAttributes>,
    /// Show the items that would stay, too
    #[arg(long)]
    all: bool,
}

impl PlanArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let strategies = StrategyRegistry::default();
        if let Some(Err(error)) = self.strategy.as_ref().map(|name| strategies.get(name)) {
            let question = suggestion::of_value("strategy", &error.name);
            return Err(Fault::usage(format!("--strategy: {error}")).with_question(question));
        }
        let job = cx.operations().await?.job(&self.job).await?;
        usable(&job)?;
        let mut what_if = WhatIf::default().with(|it| {
            it.leave = self.leave;
            it.disable = self.disable;
            it.enable = self.enable;
            it.total_count = self.items;
            it.strategy = self.strategy;
            it.placement = self.placement;
            it.joining = self.joining.unwrap_or_default();
        });
        what_if.join_on(self.join).map_err(Fault::usage)?;
        let now = Timestamp::now().as_millisecond();
        let plan = plan_moves(&job, &what_if, &strategies, now).map_err(fault)?;
        let row = |planned: &operations::PlannedMove| {
            vec![
                planned.item.to_string(),
                or_dash(planned.from.as_ref()),
                or_dash(planned.to.as_ref()),
                if planned.waits { "when its run has ended" } else { "at once" }.to_owned(),
                planned.reason.clone(),
            ]
        };
        let item = |planned: &operations::PlannedItem| {
            let owner = or_dash(planned.owner.as_ref());
            vec![planned.item.to_string(), owner, planned.reason.clone()]
        };
        let mut text: Text = if plan.no_available_instance {
            "no instance would be available: items keep their owners, and none runs\n".into()
        } else if self.all {
            Table::new(&["ITEM", "OWNER", "REASON"], plan.items.iter().map(item)).into()
        } else if plan.moves.is_empty() {
            "no item would move\n".into()
        } else {
            Table::new(&["ITEM", "FROM", "TO", "WHEN", "REASON"], plan.moves.iter().map(row)).into()
        };
        if plan.java_leads {
            text.push_str("a Java instance leads: it moves all items at once, when none runs\n");
        }
        Ok(Page::new(text, &plan))
    }
}

/// Returns the fault of a plan. The parts of a change have the names of the options.
fn fault(error: PlanError) -> Fault {
    match error {
        PlanError::Invalid { .. } => Fault::usage(format!("--{error}")),
        PlanError::NoSuch { .. } => Fault::not_found(format!("--{error}")),
        PlanError::Config(_) | PlanError::Unreadable { .. } | PlanError::Strategy(_) | _ => {
            Fault::refused(error)
        }
    }
}
