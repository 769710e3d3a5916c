//! The service runs all items of a request, on each registry that needs no server.

use std::time::Duration;

async fn runs_all_items_on(address: &str) {
    let (sender, mut items) = tokio::sync::mpsc::unbounded_channel();
    let (scheduler, handle) =
        service::start(address, service::Report(sender)).await.expect("the job starts");
    handle.trigger().await.expect("the registry takes the request");
    let mut ran = Vec::new();
    while ran.len() < 3 {
        let next = tokio::time::timeout(Duration::from_secs(30), items.recv());
        ran.push(next.await.expect("an item runs within 30 s").expect("the job lives"));
    }
    ran.sort_unstable();
    assert_eq!(ran, [0, 1, 2]);
    scheduler.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn runs_in_memory() {
    runs_all_items_on("memory:").await;
}

#[tokio::test]
async fn runs_on_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("registry.db");
    runs_all_items_on(&format!("sqlite:{}", file.display())).await;
}
