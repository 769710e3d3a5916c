//! Java workers are replaced by Rust workers, one at a time, under a one-second job: no fire is lost, none runs twice.

use super::Setting;
use super::account::Account;
use super::common::{assigned, fires, next_fire};
use crate::protocol::JobPlan;
use crate::stage::{Failure, Kind};
use crate::suite::Report;

const JOB: &str = "rolling";
const TOTAL: u32 = 6;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
    let java = [(Kind::Java, "java1", 1), (Kind::Java, "java2", 2), (Kind::Java, "java3", 3)];
    let rust = [(Kind::Rust, "rust1", 1), (Kind::Rust, "rust2", 2), (Kind::Rust, "rust3", 3)];
    let java = cast.all(java).await?;
    let rust = cast.all(rust).await?;
    let plan = JobPlan::new(JOB, TOTAL);
    let mut ids = Vec::new();
    for worker in &java {
        ids.push(worker.schedule(&plan).await?);
    }
    assigned(&cast, JOB, TOTAL, &ids).await?;
    let from = next_fire(&cast, JOB, TOTAL).await?;
    let mut last = from;
    for (old, new) in java.iter().zip(&rust) {
        ids.push(new.schedule(&plan).await?);
        assigned(&cast, JOB, TOTAL, &ids).await?;
        last = fires(&cast, JOB, TOTAL, next_fire(&cast, JOB, TOTAL).await?, 2).await?;
        old.leave().await?;
        ids.remove(0);
        assigned(&cast, JOB, TOTAL, &ids).await?;
        last = fires(&cast, JOB, TOTAL, last.max(next_fire(&cast, JOB, TOTAL).await?), 2).await?;
    }
    let account = Account::of(JOB, &cast.log.entries());
    account.judge("fires during the replacement", TOTAL, from, last, report);
    for worker in &rust {
        worker.leave().await?;
    }
    cast.tree.close().await
}
