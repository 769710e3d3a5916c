//! Runs the service until Ctrl-C.

use std::time::Duration;

use elastic_job::prelude::*;

#[tokio::main]
async fn main() -> Result<(), JobError> {
    let address = std::env::args().nth(1).unwrap_or("sqlite:registry.db".to_owned());
    let (sender, mut items) = tokio::sync::mpsc::unbounded_channel();
    let (scheduler, handle) = service::start(&address, service::Report(sender)).await?;
    handle.trigger().await?;
    loop {
        tokio::select! {
            Some(item) = items.recv() => println!("item {item}"),
            stopped = tokio::signal::ctrl_c() => {
                stopped?;
                scheduler.shutdown(Duration::from_secs(30)).await;
                return Ok(());
            }
        }
    }
}
