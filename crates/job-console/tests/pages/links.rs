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

/// Texts of the jobs and operators of the test.
const WRITTEN_TEXTS: [&str; 2] = ["failed & gone", "first run"];

/// Returns the sentences of English words that a page has outside of code.
fn english_sentences(page: &str) -> Vec<String> {
    let main = page.split("<main").nth(1).expect("the page has a main part");
    let main = main.split("</main>").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut within_code = 0_usize;
    for part in main.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split(' ').next().unwrap_or_default();
        match name {
            "code" | "pre" => within_code += 1,
            "/code" | "/pre" => within_code = within_code.saturating_sub(1),
            _ => {}
        }
        let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
        let words = text.split([' ', ',', '.', ':', ';', '(', ')', '\n']);
        let mut in_row = 0;
        for word in words {
            in_row = if is_word(&word) { in_row + 1 } else { 0 };
            if in_row == 3 && within_code == 0 {
                found.push(text.to_owned());
                break;
            }
        }
    }
    let is_written = |text: &&String| !WRITTEN_TEXTS.iter().any(|known| text.contains(known));
    found.iter().filter(is_written).cloned().collect()
}

#[tokio::test]
async fn chinese_pages_have_no_english_sentences() {
    let mut world = World::with_jobs().await;
    let by = |why: &str| operations::By::new("anna", why).unwrap();
    let report = coordination::JobName::new("report").unwrap();
    let operations = world.operations();
    let item = [sharding::ShardingItem::new(1)].into();
    operations.disable_items(&report, &item, &by("audit")).await.unwrap();
    let scope = operations::Scope::of_job(coordination::JobName::new("wide").unwrap());
    operations.pause(&scope, &by("release")).await.unwrap();
    world.until("n/orders/audit", |page| page.contains("release")).await;
    world.router = Router::new().nest(PREFIX, world.router);
    let pages = crawl(&world, "zh").await;
    let found: BTreeMap<_, _> = pages
        .iter()
        .map(|(address, page)| (address, english_sentences(page)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(
        english_sentences("<main><p>the job is late<code>a bc de fg</code></p></main>").len(),
        1
    );
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
async fn slash_at_the_end_leads_to_the_address_without_it() {
    let world = World::empty().await;
    for (path, location) in [
        ("/n/orders/jobs/", "../jobs"),
        ("/n/orders/", "../orders"),
        ("/n/orders/jobs/?q=a%26b", "../jobs?q=a%26b"),
        ("/api/v1/", "../v1"),
    ] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, StatusCode::PERMANENT_REDIRECT, "{path}");
        let found = answer.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(found, location, "{path}");
        let target = Url::parse("http://console.test").unwrap().join(path).unwrap();
        let target = target.join(&found).unwrap();
        let target = &target[url::Position::BeforePath..];
        assert_eq!(world.get(target).await.status, StatusCode::OK, "{target}");
    }
    assert_eq!(world.get("//").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.post("/n/orders/jobs/", "").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn start_leads_to_the_first_namespace_by_a_relative_address() {
    let world = World::empty().await;
    let answer = world.get("/").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.headers["location"], "./n/orders");
}
