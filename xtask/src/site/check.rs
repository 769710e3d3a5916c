//! Links of the built site: each leads to a file of it, and to an element if it names one. Nothing
//! is loaded from other sites. In the API reference, the links that leave it are checked: rustdoc
//! makes and checks the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use percent_encoding::percent_decode_str;

use super::reference;
use crate::Error;
use crate::folders::files_below;
use crate::tidy::{file_and_anchor, is_external, target};

/// Checks all pages below a folder.
pub(super) fn check_links(site: &Path) -> Result<(), Error> {
    let files: BTreeSet<String> =
        files_below(site)?.iter().map(|file| file.display().to_string()).collect();
    let mut pages = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".html")) {
        let file = site.join(path);
        let text = fs::read_to_string(&file).map_err(Error::file("read", &file))?;
        pages.insert(path.clone(), text);
    }
    let ids: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), attributes(text, "id").collect()))
        .collect();
    let mut violations = Vec::new();
    let mut n_links = 0;
    for (page, text) in &pages {
        let sources = attributes(text, "src").map(|link| (link, true));
        let links = attributes(text, "href").map(|link| (link, false));
        for (link, is_loaded) in sources.chain(links) {
            n_links += 1;
            if let Some(fault) = fault(page, &link, is_loaded, &files, &ids) {
                violations.push(format!("{page}: {fault}: {link}"));
            }
        }
    }
    println!("{} pages, {n_links} links", pages.len());
    match violations.is_empty() {
        true => Ok(()),
        false => Err(Error::Site(violations.join("\n"))),
    }
}

fn fault(
    page: &str,
    link: &str,
    is_loaded: bool,
    files: &BTreeSet<String>,
    ids: &BTreeMap<&str, BTreeSet<String>>,
) -> Option<&'static str> {
    if is_external(link) {
        return is_loaded.then_some("file of another site is loaded");
    }
    let link = percent_decode_str(link).decode_utf8_lossy().into_owned();
    let (_, id) = file_and_anchor(&link);
    let target = target(page, &link);
    if reference::has(page) && reference::has(&target) {
        return None;
    }
    if !files.contains(&target) {
        return Some("link leads to no file");
    }
    let is_id = |ids: &BTreeSet<String>| ids.contains(id);
    let leads_to_element = id.is_empty() || ids.get(target.as_str()).is_some_and(is_id);
    (!leads_to_element).then_some("link leads to no element")
}

/// Returns the values of an attribute. The pages of mdBook quote each of them.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = String> + 'a {
    let mark = format!(" {name}=\"");
    let starts: Vec<usize> = page.match_indices(&mark).map(|(at, _)| at + mark.len()).collect();
    let values = starts.into_iter().filter_map(|at| page[at..].split_once('"'));
    values.map(|(value, _)| value.replace("&amp;", "&").replace("&quot;", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(page: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("zh")).unwrap();
        fs::write(folder.path().join("zh/a.html"), "<h1 id=\"标题\">").unwrap();
        fs::write(folder.path().join("page.html"), page).unwrap();
        fs::create_dir_all(folder.path().join("api/a")).unwrap();
        let reference =
            "<a href=\"../../b.md\"> <a href=\"crate::C\"> <a href=\"../../zh/a.html\">";
        fs::write(folder.path().join("api/a/index.html"), reference).unwrap();
        match check_links(folder.path()) {
            Ok(()) => Vec::new(),
            Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn links_of_pages_lead_to_files_and_elements_of_the_site() {
        let rows = [
            ("<a href=\"zh/a.html\"> <a href=\"zh/a.html#标题\">", None),
            ("<a href=\"zh/a.html#%E6%A0%87%E9%A2%98\">", None),
            ("<a href=\"https://example.com/x\"> <b id=\"x\"> <a href=\"#x\">", None),
            ("<a href=\"zh/b.html\">", Some("page.html: link leads to no file: zh/b.html")),
            ("<img src=\"a.png\">", Some("page.html: link leads to no file: a.png")),
            ("<a href=\"zh/a.html#x\">", Some("page.html: link leads to no element: zh/a.html#x")),
            ("<a href=\"#x\">", Some("page.html: link leads to no element: #x")),
            (
                "<script src=\"https://example.com/x.js\">",
                Some("page.html: file of another site is loaded: https://example.com/x.js"),
            ),
        ];
        for (page, expected) in rows {
            let of_reference = "api/a/index.html: link leads to no file: ../../b.md";
            let expected: Vec<&str> = [of_reference].into_iter().chain(expected).collect();
            assert_eq!(faults(page), expected, "{page}");
        }
    }
}
