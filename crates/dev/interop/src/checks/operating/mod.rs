//! The Java lifecycle API lists, triggers, disables, enables, shuts down and removes Rust
//! instances.

mod idle;
mod slowly;

use serde_json::{Value, json};

use super::CheckSetup;
use super::common::{RECOVERY, assigned, between_fires, fires, next_fire, verify};
use super::run_history::RunHistory;
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Kind, Worker};
use crate::suite::{JavaVersion, Report};

const JOB: &str = "operating";
const TOTAL: u32 = 4;
const DESCRIBED: [&str; 5] = ["jobName", "status", "cron", "instanceCount", "shardingTotalCount"];

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let workers = [
        (Kind::Rust, "rust", 1),
        (Kind::Java, "java", 2),
        (Kind::Rust, "rustBeside", 3),
        (Kind::Java, "operator", 4),
    ];
    let [rust, java, beside, operator] = env.all(workers).await?;
    let plan = JobPlan::new(JOB, TOTAL);
    let (rust_id, java_id) = (rust.schedule(&plan).await?, java.schedule(&plan).await?);
    assigned(&env, JOB, TOTAL, &[&rust_id, &java_id]).await?;
    next_fire(&env, JOB, TOTAL).await?;
    let act =
        Operation { env: &env, operator: &operator, rust: &rust, rust_id, java: &java, java_id };
    act.statistics(report).await?;
    slowly::check(&env, &operator, &beside, report).await?;
    idle::check(&env, &operator, &beside, report).await?;
    act.disable_and_enable(report).await?;
    act.shut_down(report).await?;
    act.remove(report).await?;
    java.leave().await?;
    act.remove_job(report).await?;
    operator.leave().await?;
    rust.leave().await?;
    env.tree.close().await
}

struct Operation<'a> {
    env: &'a CheckEnv<'a>,
    operator: &'a Worker,
    rust: &'a Worker,
    rust_id: String,
    java: &'a Worker,
    java_id: String,
}

/// Returns the instance id in Java's statistics. 2.1.5 shows only the part after the address.
fn shown_id(java: JavaVersion, id: &str) -> &str {
    match java {
        JavaVersion::V2_1_5 => id.split("@-@").nth(1).unwrap_or(id),
        JavaVersion::V3_0_4 => id,
    }
}

impl Operation<'_> {
    async fn call(&self, call: &str, arguments: &[(&str, &str)]) -> Result<Value, Failure> {
        self.operator.call(call, arguments).await
    }

    /// Calls an operation on the Rust worker's server.
    async fn on_rust(&self, call: &str) -> Result<(), Failure> {
        self.call(call, &[("job", JOB), ("server", &self.rust.ip)]).await.map(drop)
    }

    /// Returns the fields [`DESCRIBED`] of the job in Java's statistics.
    async fn job(&self) -> Result<Value, Failure> {
        let jobs = self.call("jobs", &[]).await?;
        let found = jobs.as_array().into_iter().flatten().find(|job| job["jobName"] == JOB);
        Ok(found.map_or(Value::Null, |job| {
            DESCRIBED.map(|field| job.get(field).cloned().unwrap_or(Value::Null)).into()
        }))
    }

    /// Returns a server in Java's statistics: instances, jobs, number of disabled jobs.
    async fn server(&self, ip: &str) -> Result<Value, Failure> {
        let servers = self.call("servers", &[]).await?;
        let found =
            servers.as_array().into_iter().flatten().find(|server| server["serverIp"] == ip);
        Ok(found.map_or(Value::Null, |server| {
            json!([server["instances"], server["jobNames"], server["disabledJobsNum"]])
        }))
    }

    async fn statistics(&self, report: &mut Report) -> Result<(), Failure> {
        let wanted = json!([JOB, "OK", "* * * * * ?", 2, TOTAL]);
        report.same(&format!("the job's {DESCRIBED:?}"), &wanted, &self.job().await?);
        let wanted = json!([[self.rust_id], [JOB], 0]);
        report.same("the Rust worker's server", &wanted, &self.server(&self.rust.ip).await?);
        Ok(())
    }

    async fn disable_and_enable(&self, report: &mut Report) -> Result<(), Failure> {
        between_fires(self.env, &[JOB], TOTAL).await?;
        self.on_rust("disable").await?;
        assigned(self.env, JOB, TOTAL, &[&self.java_id]).await?;
        let from = next_fire(self.env, JOB, TOTAL).await?;
        let to = fires(self.env, JOB, TOTAL, from, 2).await?;
        let n_runs = RunHistory::of(JOB, &self.env.log.entries()).n_runs_of("rust", from);
        report.same("runs of a disabled Rust worker", &0, &n_runs);
        let wanted = json!([[self.rust_id], [JOB], 1]);
        report.same("the disabled server", &wanted, &self.server(&self.rust.ip).await?);
        let found = self.env.nodes().leader(JOB);
        report.same("leader while Rust is disabled", &Some(self.java_id.clone()), &found);

        between_fires(self.env, &[JOB], TOTAL).await?;
        self.on_rust("enable").await?;
        assigned(self.env, JOB, TOTAL, &[&self.rust_id, &self.java_id]).await?;
        let again = next_fire(self.env, JOB, TOTAL).await?;
        let what = "fires while Rust is disabled and enabled";
        verify(self.env, JOB, TOTAL, (to, again), what, report);
        let n_runs = RunHistory::of(JOB, &self.env.log.entries()).n_runs_of("rust", to);
        report.holds("runs of Rust after it is enabled", "some", &n_runs.to_string(), n_runs > 0);
        Ok(())
    }

    async fn shut_down(&self, report: &mut Report) -> Result<(), Failure> {
        let before = between_fires(self.env, &[JOB], TOTAL).await?;
        self.on_rust("shutdown").await?;
        assigned(self.env, JOB, TOTAL, &[&self.java_id]).await?;
        let from = next_fire(self.env, JOB, TOTAL).await?;
        let to = fires(self.env, JOB, TOTAL, from, 3).await?;
        let n_runs = RunHistory::of(JOB, &self.env.log.entries()).n_runs_of("rust", from);
        report.same("runs of Rust after its shutdown", &0, &n_runs);
        verify(self.env, JOB, TOTAL, (before, to), "fires while Rust is shut down", report);
        let found = self.env.nodes().instances(JOB);
        report.same("instances after the shutdown", &vec![self.java_id.clone()], &found);
        let wanted = json!([JOB, "OK", "* * * * * ?", 1, TOTAL]);
        report.same("the job after the shutdown", &wanted, &self.job().await?);
        Ok(())
    }

    async fn remove(&self, report: &mut Report) -> Result<(), Failure> {
        self.on_rust("remove").await?;
        report.same("the removed server", &Value::Null, &self.server(&self.rust.ip).await?);
        // A Rust process that still took part in the job would have created its server node again
        // by now.
        next_fire(self.env, JOB, TOTAL).await?;
        let exists = self.env.nodes().has(&format!("/{JOB}/servers/{}", self.rust.ip));
        report.same("the removed server's node", &false, &exists);
        let found = self.server(&self.java.ip).await?;
        report.same("the Java worker's server", &json!([[self.java_id], [JOB], 0]), &found);
        Ok(())
    }

    async fn remove_job(&self, report: &mut Report) -> Result<(), Failure> {
        self.call("removeConfig", &[("job", JOB)]).await?;
        let expected = "no node of the job is left";
        let gone =
            self.env.tree.wait(RECOVERY, expected, |nodes| match nodes.has(&format!("/{JOB}")) {
                true => Err(nodes.draw(&format!("/{JOB}"))),
                false => Ok(()),
            });
        gone.await?;
        report.holds("the removed job", expected, "no node", true);
        Ok(())
    }
}
