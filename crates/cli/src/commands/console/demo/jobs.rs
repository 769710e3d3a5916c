//! The jobs of the demonstration. Each shows one state that operators meet.

use std::time::Duration;

use lite::{
    GroupLimits, InvalidConfig, JobBuilder, JobConfig, JobError, NewJob, ShardingContext, Template,
    job_fn,
};
use tokio::time::sleep;

/// Server whose disk hangs.
pub(super) const HANGING_SERVER: &str = "10.0.0.12";
/// Currency that the job `price-update` knows.
pub(super) const CURRENCY: &str = "EUR";

/// Group of the jobs that call the service of the customer data.
pub(super) const GROUP: &str = "crm-api";
/// First limits of the group, before an operator lowers them.
pub(super) const GROUP_LIMITS: GroupLimits =
    GroupLimits { cluster_concurrency: Some(4), start_rate: None };

/// Name of the template that all servers offer.
const TEMPLATE: &str = "report";

/// Parameters of four items.
const REGIONS: &str = "0=eu,1=us,2=asia,3=africa";

/// Code of a job.
type Code = fn(ShardingContext) -> futures_util::future::BoxFuture<'static, Result<(), JobError>>;

/// A job with its code, and the servers that run it.
pub(super) struct DemoJob {
    pub(super) config: JobConfig,
    code: Code,
    servers: &'static [&'static str],
}

impl DemoJob {
    pub(super) fn runs_on(&self, server: &str) -> bool {
        self.servers.contains(&server)
    }

    pub(super) fn code(&self) -> impl lite::Job {
        job_fn(self.code)
    }
}

/// Returns all jobs.
pub(super) fn all() -> Result<Vec<DemoJob>, InvalidConfig> {
    Ok([working()?, grouped()?, troubled()?, held()?].into_iter().flatten().collect())
}

/// Returns the template from which visitors create jobs. A run takes two seconds for each item.
pub(super) fn template() -> lite::Result<Template> {
    Template::new(TEMPLATE, |new: NewJob| {
        Ok(new.run(job_fn(|_: ShardingContext| work(Duration::from_secs(2)))))
    })
}

fn job(
    builder: JobBuilder,
    code: Code,
    servers: &'static [&'static str],
) -> Result<DemoJob, InvalidConfig> {
    Ok(DemoJob { config: builder.build()?, code, servers })
}

/// Jobs whose runs succeed.
fn working() -> Result<Vec<DemoJob>, InvalidConfig> {
    Ok(vec![
        job(
            JobBuilder::new("heartbeat", 3)
                .cron("0/2 * * * * ?")
                .description("Fires every two seconds, and its items take a moment"),
            |_| Box::pin(work(Duration::from_millis(200))),
            &super::SERVERS,
        )?,
        job(
            JobBuilder::new("daily-report", 4)
                .cron("0 * * * * ?")
                .sharding_item_parameters(REGIONS)
                .description("Fires every minute, and its items take 20 to 35 seconds"),
            |run| {
                let time = Duration::from_secs(20 + 5 * u64::from(run.item().index()));
                Box::pin(work(time))
            },
            &super::SERVERS,
        )?,
        job(
            JobBuilder::new("settle-payments", 6)
                .cron("0/20 * * * * ?")
                .failover(true)
                .description("Other servers take over the items of 10.0.0.13 when it is lost"),
            |_| Box::pin(work(Duration::from_secs(12))),
            &super::SERVERS,
        )?,
        job(
            JobBuilder::new("rebuild-index", 2)
                .cron("0/10 * * * * ?")
                .misfire(true)
                .description("Item 0 takes longer than the time between two fires: a misfire"),
            |run| {
                let seconds = if run.item().index() == 0 { 14 } else { 3 };
                Box::pin(work(Duration::from_secs(seconds)))
            },
            &["10.0.0.11", HANGING_SERVER],
        )?,
    ])
}

/// Jobs that share the limits of a group.
fn grouped() -> Result<Vec<DemoJob>, InvalidConfig> {
    let job_of_group = |name, description| {
        let builder =
            JobBuilder::new(name, 3).cron("0/15 * * * * ?").group(GROUP).description(description);
        job(builder, |_| Box::pin(work(Duration::from_secs(2))), &super::SERVERS)
    };
    Ok(vec![
        job_of_group("sync-customers", "Shares the limits of its group with sync-invoices")?,
        job_of_group("sync-invoices", "Shares the limits of its group with sync-customers")?,
    ])
}

/// Jobs whose runs fail or hang.
fn troubled() -> Result<Vec<DemoJob>, InvalidConfig> {
    Ok(vec![
        job(
            JobBuilder::new("import-orders", 4)
                .cron("5/10 * * * * ?")
                .sharding_item_parameters(REGIONS)
                .description("Item 2 fails at every third fire"),
            |run| Box::pin(import(run)),
            &super::SERVERS,
        )?,
        job(
            JobBuilder::new("sync-stock", 4)
                .cron("0/15 * * * * ?")
                .sharding_item_parameters(REGIONS)
                .description("Items on the server 10.0.0.12 hang until they move to another one"),
            |run| Box::pin(sync_stock(run)),
            &["10.0.0.11", HANGING_SERVER],
        )?,
        job(
            JobBuilder::new("price-update", 2)
                .cron("3/15 * * * * ?")
                .job_parameter(CURRENCY)
                .description("Fails since an operator changed its parameter"),
            |run| Box::pin(update_prices(run)),
            &super::SERVERS,
        )?,
    ])
}

/// Jobs that operators hold back.
fn held() -> Result<Vec<DemoJob>, InvalidConfig> {
    Ok(vec![
        job(
            JobBuilder::new("newsletter", 3)
                .cron("0/30 * * * * ?")
                .description("Paused by an operator"),
            |_| Box::pin(work(Duration::from_secs(2))),
            &super::SERVERS,
        )?,
        job(
            JobBuilder::new("archive-logs", 4)
                .cron("0/30 * * * * ?")
                .sharding_item_parameters(REGIONS)
                .description("An operator has disabled item 3"),
            |_| Box::pin(work(Duration::from_secs(4))),
            &super::SERVERS,
        )?,
    ])
}

async fn work(time: Duration) -> Result<(), JobError> {
    sleep(time).await;
    Ok(())
}

async fn import(run: ShardingContext) -> Result<(), JobError> {
    sleep(Duration::from_secs(2)).await;
    let n_fire = run.fire_time().as_second() / 10;
    if run.item().index() == 2 && n_fire % 3 == 0 {
        return Err("the supplier answered 503 for the region asia".into());
    }
    Ok(())
}

async fn sync_stock(run: ShardingContext) -> Result<(), JobError> {
    let is_hanging = run.instance().as_str().starts_with(&format!("{HANGING_SERVER}@"));
    if !is_hanging {
        return work(Duration::from_secs(3)).await;
    }
    run.winding_down().await;
    Err(format!("the disk of {HANGING_SERVER} did not answer until the item moved").into())
}

async fn update_prices(run: ShardingContext) -> Result<(), JobError> {
    sleep(Duration::from_secs(1)).await;
    match run.job_parameter() {
        CURRENCY => Ok(()),
        other => Err(format!("currency is {other:?}; valid is {CURRENCY:?}").into()),
    }
}
