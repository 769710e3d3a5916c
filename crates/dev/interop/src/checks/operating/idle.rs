//! Operation of a job that never fires, so that otherwise short states stay visible.

use serde_json::{Value, json};

use super::shown_id;
use super::slowly::item_rows;
use crate::checks::common::{RECOVERY, assigned};
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Worker};
use crate::suite::{JavaVersion, Report};

const JOB: &str = "operatingIdly";
const TOTAL: u32 = 2;

/// Checks the states of a job with a Java leader, which reshards on request only, and a Rust
/// worker.
pub(super) async fn check(
    env: &CheckEnv<'_>,
    operator: &Worker,
    rust: &Worker,
    report: &mut Report,
) -> Result<(), Failure> {
    let plan = JobPlan::new(JOB, TOTAL).idle();
    let java_id = operator.schedule(&plan).await?;
    let rust_id = rust.schedule(&plan).await?;
    operator.call("trigger", &[("job", JOB)]).await?;
    assigned(env, JOB, TOTAL, &[&rust_id, &java_id]).await?;
    let idle = Idle { env, operator };
    idle.status("all instances live", "OK", report).await?;

    let of = |id: &str| {
        let owners = env.nodes().owners(JOB);
        owners.into_iter().find(|(_, owner)| owner == id).map(|(item, _)| item)
    };
    let rows = [
        (of(&rust_id), rust, &rust_id, "SHARDING_FLAG"),
        (of(&java_id), operator, &java_id, "PENDING"),
    ];
    idle.on("shutdown", rust).await?;
    idle.gone(&rust_id).await?;
    idle.status("items belong to a lost instance", "SHARDING_FLAG", report).await?;
    // The statistics of 3.x fail while an item belongs to a lost instance.
    if env.release() == JavaVersion::V2_1_5 {
        let mut wanted: Vec<Value> = rows
            .map(|(item, worker, id, status)| {
                json!([item, worker.ip, shown_id(env.release(), id), status, false])
            })
            .into();
        wanted.sort_by_key(|row| row[0].as_u64());
        let shown = operator.call("sharding", &[("job", JOB)]).await?;
        report.same("items, one of them of a lost instance", &wanted, &item_rows(&shown));
    }

    operator.call("disable", &[("job", JOB)]).await?;
    idle.status("all servers are disabled", "DISABLED", report).await?;
    operator.call("enable", &[("job", JOB)]).await?;
    operator.call("shutdown", &[("job", JOB)]).await?;
    idle.gone(&java_id).await?;
    idle.status("no instance lives", "CRASHED", report).await
}

struct Idle<'a> {
    env: &'a CheckEnv<'a>,
    operator: &'a Worker,
}

impl Idle<'_> {
    /// Calls an operation on a worker's server.
    async fn on(&self, call: &str, worker: &Worker) -> Result<(), Failure> {
        self.operator.call(call, &[("job", JOB), ("server", &worker.ip)]).await.map(drop)
    }

    /// Expects a status of the job in Java's statistics.
    async fn status(&self, when: &str, expected: &str, report: &mut Report) -> Result<(), Failure> {
        let jobs = self.operator.call("jobs", &[]).await?;
        let found = jobs.as_array().into_iter().flatten().find(|job| job["jobName"] == JOB);
        let found = found.map_or(Value::Null, |job| job["status"].clone());
        report.same(&format!("the job's status when {when}"), &Value::from(expected), &found);
        Ok(())
    }

    /// Waits until an instance is no longer registered.
    async fn gone(&self, id: &str) -> Result<(), Failure> {
        let gone = self.env.tree.wait(RECOVERY, format!("{id} is no longer registered"), |nodes| {
            let instances = nodes.instances(JOB);
            if instances.iter().any(|instance| instance == id) {
                Err(format!("{instances:?}"))
            } else {
                Ok(())
            }
        });
        gone.await
    }
}
