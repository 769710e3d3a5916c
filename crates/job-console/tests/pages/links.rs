//! Each page is well-formed, escapes foreign texts, and leads only to pages that exist.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::http::StatusCode;
use url::Url;

use super::markup::{elements, faults};
use super::world::{HOSTILE, HOSTILE_FAILURE, World};

/// Address below which the console is mounted.
const PREFIX: &str = "/tools/console";

/// Returns all pages that links lead to from the start, by path and query.
async fn crawl(world: &World, language: &str) -> BTreeMap<String, String> {
    let start = Url::parse(&format!("http://console.test{PREFIX}/n/orders")).unwrap();
    let (mut pages, mut waiting) = (BTreeMap::new(), vec![start]);
    let mut seen = BTreeSet::new();
    while let Some(url) = waiting.pop() {
        let address = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        if !seen.insert(address.clone()) {
            continue;
        }
        assert!(seen.len() < 2_000, "links lead on without end, such as {address}");
        assert!(address.starts_with(PREFIX), "{address} is outside of the console");
        let separator = if address.contains('?') { '&' } else { '?' };
        let answer = world.get(&format!("{address}{separator}lang={language}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{address}: {}", answer.text);
        let kind = answer.headers["content-type"].to_str().unwrap().to_owned();
        if !kind.starts_with("text/html") {
            continue;
        }
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.to_str().unwrap().starts_with("default-src 'none'"), "{address}");
        let links = elements(&answer.text).unwrap_or_else(|fault| panic!("{address}: {fault}"));
        let links =
            links.iter().filter(|link| link.name == "a").filter_map(|link| link.get("href"));
        waiting.extend(links.map(|link| url.join(link).unwrap()).filter(is_new));
        pages.insert(address, answer.text);
    }
    pages
}

/// Combinations of filters have no end, so only one filter at a time is followed.
fn is_new(link: &Url) -> bool {
    link.query_pairs().filter(|(name, _)| name != "lang").count() <= 1
        && link.query_pairs().all(|(name, value)| name != "item" || value == "0")
}

async fn mounted() -> World {
    let mut world = World::with_jobs().await;
    world.router = Router::new().nest(PREFIX, world.router);
    world
}

#[tokio::test]
async fn each_page_is_well_formed_and_each_link_leads_to_a_page() {
    let world = mounted().await;
    for language in ["en", "zh"] {
        let pages = crawl(&world, language).await;
        assert!(pages.len() > 60, "only {} pages were found", pages.len());
        for (address, page) in pages {
            assert_eq!(faults(&page), [""; 0], "{address} in {language}");
        }
    }
}

#[tokio::test]
async fn foreign_texts_are_escaped_in_each_page() {
    let world = mounted().await;
    let pages = crawl(&world, "en").await;
    let (mut names, mut failures, mut parameters) = (0, 0, 0);
    for (address, page) in pages {
        for raw in ["<img", "<script>", "<b>Beijing", "<averages>", "alert('failed & gone')"] {
            assert!(!page.contains(raw), "{address} has {raw}");
        }
        names += page.matches(&escaped(HOSTILE)).count();
        failures += page.matches(&escaped(HOSTILE_FAILURE)).count();
        parameters += page.matches("&lt;b&gt;Beijing&lt;/b&gt;").count();
    }
    assert!(names > 0 && failures > 0 && parameters > 0, "{names} {failures} {parameters}");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[tokio::test]
async fn chinese_pages_have_chinese_labels() {
    let world = World::with_jobs().await;
    let page = world.get("/n/orders/jobs/report?lang=zh").await.text;
    assert!(page.contains("<html lang=\"zh-CN\">"));
    for text in ["概览", "一切正常。", "所有分片都有所有者", "立即运行"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("All is well"));
}

#[tokio::test]
async fn problem_is_a_page_for_a_browser() {
    let world = World::empty().await;
    // Until the first snapshot is read, the job is not known to be absent.
    world.until("n/orders/jobs", |page| page.contains("class=\"fresh ok\"")).await;
    let answer = world.get("/n/orders/jobs/nope").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    assert!(answer.text.contains("namespace &quot;orders&quot; has no job nope"));
    assert_eq!(faults(&answer.text), [""; 0]);
    // Without a namespace there are no jobs to search.
    assert!(!answer.text.contains("role=\"search\"") && !answer.text.contains("id=\"palette"));
    let page = Url::parse("http://console.test/n/orders/jobs/nope").unwrap();
    let links = elements(&answer.text).unwrap();
    let links: Vec<_> = links.iter().filter_map(|link| link.get("href")).collect();
    assert!(links.len() > 3, "{links:?}");
    for link in links.into_iter().filter(|link| !link.starts_with('#')) {
        let status = world.get(page.join(link).unwrap().path()).await.status;
        assert!(status.is_success() || status.is_redirection(), "{link}: {status}");
    }
}

#[tokio::test]
async fn start_leads_to_the_first_namespace_by_a_relative_address() {
    let world = World::empty().await;
    let answer = world.get("/").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.headers["location"], "./n/orders");
}
