//! The embedded files: their size, and how browsers keep them.

use axum::body::Body;
use axum::http::{Request, StatusCode};

use super::markup::elements;
use super::world::World;

/// Returns the addresses of the files that a page needs.
async fn files(world: &World, extension: &str) -> Vec<String> {
    let page = world.get("/n/orders").await;
    let found = elements(&page.text).unwrap();
    let addresses = found.iter().filter_map(|one| match one.name.as_str() {
        "script" => one.get("src"),
        "link" => one.get("href"),
        _ => None,
    });
    let addresses = addresses.filter(|address| address.ends_with(extension));
    addresses.map(|address| address.replacen("../", "/", 1)).collect()
}

#[tokio::test]
async fn files_are_small_and_kept_for_ever() {
    let world = World::empty().await;
    for (extension, expected, max) in [(".js", 2, 25 * 1_024), (".css", 1, 12 * 1_024)] {
        let files = files(&world, extension).await;
        assert_eq!(files.len(), expected, "{files:?}");
        let mut size = 0;
        for file in files {
            let request = Request::get(&file).header("accept-encoding", "gzip");
            let answer = world.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, StatusCode::OK, "{file}");
            assert_eq!(answer.headers["content-encoding"], "gzip", "{file}");
            let kept = &answer.headers["cache-control"];
            assert_eq!(kept, "public, max-age=31536000, immutable", "{file}");
            size += answer.size;
        }
        assert!(size <= max, "files *{extension} take {size} bytes, more than {max}");
    }
}

#[tokio::test]
async fn script_has_neither_evaluation_nor_markup_handlers() {
    let world = World::empty().await;
    for file in files(&world, ".js").await {
        let script = world.get(&file).await.text;
        for forbidden in ["eval(", "new Function", ".style.", "fetch(\"http", "import("] {
            assert!(!script.contains(forbidden), "{file} has {forbidden}");
        }
    }
}

#[tokio::test]
async fn unknown_file_is_not_found() {
    let world = World::empty().await;
    let answer = world.get("/assets/console-0000000000000000.css").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}
