//! The API reference: the pages of rustdoc below the site, and a page that lists the crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml_edit::DocumentMut;

use super::Book;
use crate::folders::{copy_folder, entries};
use crate::steps::{cargo, niced, run};
use crate::tidy::{file_and_anchor, is_external, links, target};
use crate::{Error, workspace};

/// Folder of rustdoc's pages, from the root of the site.
const FOLDER: &str = "api";
/// Page that lists the crates, from the folder of each book.
pub(super) const PAGE: &str = "api.md";

/// Front page of the reference, to which rustdoc's help page links: rustdoc makes none for a
/// workspace.
const FRONT_PAGE: &str = "<!DOCTYPE html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>API reference</title>
<meta http-equiv=\"refresh\" content=\"0; url=../api.html\">
<a href=\"../api.html\">The crates</a>
</html>
";

/// Folders with a folder for each crate. Users depend on the crates of the first one.
const CRATES: [&str; 2] = ["crates", "crates/dev"];

/// Returns true for a file of the reference. Paths are from the root of the site.
pub(super) fn has(file: &str) -> bool {
    Path::new(file).starts_with(FOLDER)
}

/// Documents all crates. A warning is an error.
pub(super) fn document() -> Result<(), Error> {
    // Pages of removed items would stay.
    run(&mut cargo("clean --quiet --doc"))?;
    let mut documentation = cargo("doc --workspace --no-deps --all-features");
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    run(&mut niced(&documentation))
}

/// Returns the page of a book that lists the crates of the product.
pub(super) fn page(root: &Path, book: &Book) -> Result<String, Error> {
    let up = "../".repeat(book.folder.matches('/').count());
    let mut page = book.reference.to_owned();
    for (name, folder) in crates(root, &CRATES[..1])? {
        let description = description(&root.join(folder).join("Cargo.toml"))?;
        page.push_str(&format!("- [`{name}`]({up}{FOLDER}/{name}/index.html): {description}\n"));
    }
    Ok(page)
}

/// Copies the pages of rustdoc into the site.
pub(super) fn add(root: &Path, site: &Path) -> Result<(), Error> {
    copy_folder(&workspace().join("target/doc"), &site.join(FOLDER))?;
    let front = site.join(FOLDER).join("index.html");
    fs::write(&front, FRONT_PAGE).map_err(Error::file("write", &front))?;
    for (name, folder) in crates(root, &CRATES)? {
        let page = site.join(FOLDER).join(name).join("index.html");
        let readme = format!("{folder}/README.md");
        if page.exists() && root.join(&readme).exists() {
            link_to_site(root, site, &readme, &page)?;
        }
    }
    Ok(())
}

/// Returns the libraries' names and the folders of the crates, which are directly in the parents.
fn crates(root: &Path, parents: &[&str]) -> Result<BTreeMap<String, String>, Error> {
    let mut found = BTreeMap::new();
    for parent in parents {
        for folder in entries(&root.join(parent))? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if folder.join("Cargo.toml").is_file() {
                found.insert(name.replace('-', "_"), format!("{parent}/{name}"));
            }
        }
    }
    Ok(found)
}

fn description(manifest: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(manifest).map_err(Error::file("read", manifest))?;
    let parsed = text.parse::<DocumentMut>().ok();
    let found = parsed.as_ref().and_then(|file| file.get("package")?.get("description")?.as_str());
    let missing = || Error::Site(format!("{} has no description", manifest.display()));
    found.map(str::to_owned).ok_or_else(missing)
}

/// Replaces the links of a crate's front page that lead to pages and files of the site.
///
/// The front page is the README of the crate, so that its links start at the crate's folder.
fn link_to_site(root: &Path, site: &Path, readme: &str, page: &Path) -> Result<(), Error> {
    let read = |path: &Path| fs::read_to_string(path).map_err(Error::file("read", path));
    let mut text = read(page)?;
    for (_, link) in links(&read(&root.join(readme))?) {
        let (file, anchor) = file_and_anchor(link);
        if file.is_empty() || is_external(link) {
            continue;
        }
        let mut target = target(readme, link);
        if root.join(&target).is_dir() {
            target.push_str("/README.md");
        }
        let target =
            target.strip_suffix(".md").map_or(target.clone(), |page| format!("{page}.html"));
        if site.join(&target).is_file() {
            let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
            let new = format!(" href=\"../../{target}{anchor}\"");
            text = text.replace(&format!(" href=\"{link}\""), &new);
        }
    }
    fs::write(page, text).map_err(Error::file("write", page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::BOOKS;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn front_pages_of_crates_lead_to_pages_of_the_site() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let readme = "[a](../../docs/a.md#b) [c](../c) [d](crate::D) [e](https://example.com/e.md)";
        write(root, "crates/c/README.md", "");
        write(root, "crates/x/README.md", readme);
        for path in ["docs/a.html", "crates/c/README.html"] {
            write(root, &format!("site/{path}"), "");
        }
        let html = |[a, c]: [&str; 2]| {
            format!(
                "<a href=\"{a}\"> <a href=\"{c}\"> <a href=\"struct.D.html\"> \
                 <a href=\"https://example.com/e.md\">"
            )
        };
        write(root, "site/api/x/index.html", &html(["../../docs/a.md#b", "../c"]));
        let page = root.join("site/api/x/index.html");
        link_to_site(root, &root.join("site"), "crates/x/README.md", &page).unwrap();
        let expected = html(["../../docs/a.html#b", "../../crates/c/README.html"]);
        assert_eq!(fs::read_to_string(page).unwrap(), expected);
    }

    #[test]
    fn front_page_of_the_reference_leads_to_the_list_of_crates() {
        let list = PAGE.replace(".md", ".html");
        assert_eq!(FRONT_PAGE.matches(&format!("../{list}\"")).count(), 2);
    }

    #[test]
    fn list_has_the_crates_that_users_depend_on() {
        for (book, up) in BOOKS.iter().zip(["", "../../"]) {
            let page = page(workspace(), book).unwrap();
            assert!(
                page.contains(&format!("\n- [`elastic_job`]({up}api/elastic_job/index.html): "))
            );
            assert!(page.contains("[`reg_center_zookeeper`]"), "{page}");
            assert!(!page.contains("simulation"), "{page}");
        }
    }
}
