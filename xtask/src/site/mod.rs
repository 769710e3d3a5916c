//! `cargo xtask docs`: the documents as a site in English and Chinese, without foreign requests.

mod check;
mod diagrams;
mod reference;
mod stage;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folders::{create_parent, recreate};
use crate::program::install;
use crate::steps::{Steps, line, output};
use crate::{Error, workspace};
use stage::Stage;

/// Version of mdBook.
const MDBOOK: &str = "=0.5.4";

/// A book of the site.
struct Book {
    /// The language, as in the attribute `lang`.
    language: &'static str,
    title: &'static str,
    /// Folder of its pages from the root of the workspace, and of the book from that of the site.
    folder: &'static str,
    /// The first page, and the page whose headings and links are the table of contents.
    first: &'static str,
    index: &'static str,
    /// Heading of pages that the index does not list.
    rest: &'static str,
    /// Beginning of the page that lists the crates.
    reference: &'static str,
}

/// The English book is built first, because its build empties the folder of the site.
const BOOKS: [Book; 2] = [
    Book {
        language: "en",
        title: "Elastic Job for Rust",
        folder: "",
        first: "README.md",
        index: "docs/README.md",
        rest: "Crates and files",
        reference: "English · [中文](docs/zh/api.md)\n\n# API reference\n\n\
                    The types and functions of each crate, made by rustdoc with all features.\n\n",
    },
    Book {
        language: "zh-CN",
        title: "Elastic Job for Rust 文档",
        folder: "docs/zh/",
        first: "docs/zh/README.md",
        index: "docs/zh/README.md",
        rest: "其他",
        reference: "[English](../../api.md) · 中文\n\n# API 参考\n\n\
                    各个 crate 的类型与函数，由 rustdoc 启用全部功能生成，内容为英文。\n\n",
    },
];

/// Builds the site.
pub(crate) fn build() -> Result<(), Error> {
    let mut steps = Steps::begin();
    run(&mut steps)?;
    println!("the site: file://{}", site().join("index.html").display());
    steps.end("cargo xtask docs")
}

/// Builds the site, and checks its links and diagrams.
pub(crate) fn run(steps: &mut Steps) -> Result<(), Error> {
    steps.step("documentation", reference::document)?;
    let mdbook = install(steps, "mdbook", MDBOOK, &["--no-default-features"])?;
    let mermaid = steps.step("Mermaid", || diagrams::fetch(&folder()))?;
    let stage = steps.step("pages", || Stage::read(workspace()))?;
    steps.step("books", || {
        BOOKS.iter().try_for_each(|book| {
            let source = folder().join(book.language);
            write_source(&stage, book, &source, &mermaid)?;
            build_book(&mdbook, &source, &site().join(book.folder))
        })
    })?;
    steps.step("API reference", || reference::add(workspace(), &site()))?;
    steps.step("links of the site", || check::check_links(&site()))?;
    steps.step("diagrams", || diagrams::check(&stage, &site()))
}

fn folder() -> PathBuf {
    workspace().join("target/site")
}

fn site() -> PathBuf {
    folder().join("html")
}

/// Writes the pages, the table of contents and the settings of a book.
fn write_source(stage: &Stage, book: &Book, folder: &Path, mermaid: &str) -> Result<(), Error> {
    recreate(folder)?;
    let mut pages = stage.pages_of(book);
    pages.insert(reference::PAGE.to_owned(), reference::page(workspace(), book)?);
    for (path, text) in &pages {
        write(&folder.join("src").join(path), text)?;
    }
    let contents = summary::contents(book, &pages);
    write(&folder.join("src/SUMMARY.md"), &contents)?;
    write(&folder.join("book.toml"), &settings(book))?;
    if book.folder.is_empty() {
        write(&folder.join("src").join(diagrams::LIBRARY), mermaid)?;
        write(&folder.join("src").join(diagrams::SCRIPT), include_str!("../../site/diagrams.js"))?;
        for file in stage.files() {
            let (from, to) = (workspace().join(file), folder.join("src").join(file));
            create_parent(&to)?;
            fs::copy(&from, &to).map_err(Error::file("copy", &from))?;
        }
    }
    Ok(())
}

/// Returns the settings of a book. No preprocessor is used: files named `README.md` keep their
/// names, and braces in pages are text.
fn settings(book: &Book) -> String {
    let Book { language, title, .. } = book;
    format!(
        "[book]\ntitle = \"{title}\"\nlanguage = \"{language}\"\n\n\
         [build]\nuse-default-preprocessors = false\n\n\
         [output.html]\nno-section-label = true\ninput-404 = \"\"\n\n\
         [output.html.print]\nenable = false\n\n\
         [output.html.playground]\nrunnable = false\n"
    )
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    create_parent(path)?;
    fs::write(path, text).map_err(Error::file("write", path))
}

/// Builds a book. A warning is an error.
fn build_book(mdbook: &Path, source: &Path, site: &Path) -> Result<(), Error> {
    let mut command = Command::new(mdbook);
    command.arg("build").arg(source).arg("--dest-dir").arg(site);
    let line = line(&command);
    println!("$ {line}");
    let output = output(&mut command)?;
    let log = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && !log.contains("WARN") {
        return Ok(());
    }
    Err(Error::Site(format!("`{line}` ended with {} and reported:\n{log}", output.status)))
}
