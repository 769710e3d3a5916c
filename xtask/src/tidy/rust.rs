//! Product code as syntax trees, without tests.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ImplItem, Item, Meta};

use crate::Error;

/// A file of a crate.
pub(super) struct Module {
    /// Names of the modules from the root of the crate; empty for the root.
    pub(super) path: Vec<String>,
    /// From the root of the workspace.
    pub(super) file: String,
    /// Items without tests.
    pub(super) items: Vec<Item>,
    /// Lines without those of tests.
    pub(super) lines: usize,
}

/// Reads the library and the program of a crate. Modules and items for tests are left out.
pub(super) fn product(root: &Path, folder: &str) -> Result<Vec<Module>, Error> {
    let mut modules = Vec::new();
    for name in ["lib.rs", "main.rs"] {
        let file = root.join(folder).join("src").join(name);
        if file.is_file() {
            load(root, &file, Vec::new(), &mut modules)?;
        }
    }
    Ok(modules)
}

fn load(
    root: &Path,
    file: &Path,
    path: Vec<String>,
    modules: &mut Vec<Module>,
) -> Result<(), Error> {
    let text = fs::read_to_string(file).map_err(Error::file("read", file))?;
    let mut items = parse(&text, file)?;
    let lines = text.lines().count() - prune(&mut items);
    let children: Vec<String> = items.iter().filter_map(declared).collect();
    let relative = file.strip_prefix(root).unwrap_or(file).display().to_string();
    modules.push(Module { path: path.clone(), file: relative, items, lines });
    for name in children {
        let mut path = path.clone();
        path.push(name.clone());
        load(root, &child(file, &name), path, modules)?;
    }
    Ok(())
}

/// Parses a source, with its tests.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Item>, Error> {
    let syntax = |source| Error::Syntax { path: file.to_owned(), source };
    Ok(syn::parse_file(text).map_err(syntax)?.items)
}

/// Returns the file of a module that is declared in another file.
fn child(file: &Path, name: &str) -> PathBuf {
    let is_folder = ["lib.rs", "main.rs", "mod.rs"].iter().any(|root| file.ends_with(root));
    let folder = if is_folder { file.with_file_name("") } else { file.with_extension("") };
    let in_folder = folder.join(name).join("mod.rs");
    if in_folder.is_file() { in_folder } else { folder.join(format!("{name}.rs")) }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only modules are of interest")]
fn declared(item: &Item) -> Option<String> {
    match item {
        Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    }
}

/// Removes the items for tests, and returns the number of their lines.
pub(super) fn prune(items: &mut Vec<Item>) -> usize {
    let mut lines = 0;
    items.retain_mut(|item| {
        if is_test(attributes(item)) {
            lines += n_lines(item.span());
            return false;
        }
        lines += prune_inside(item);
        true
    });
    lines
}

#[expect(clippy::wildcard_enum_match_arm, reason = "other items contain no items")]
fn prune_inside(item: &mut Item) -> usize {
    let mut lines = 0;
    match item {
        Item::Mod(module) => {
            lines += module.content.as_mut().map_or(0, |(_, items)| prune(items));
        }
        Item::Impl(block) => block.items.retain(|item| match item {
            ImplItem::Fn(function) if is_test(&function.attrs) => {
                lines += n_lines(function.span());
                false
            }
            _ => true,
        }),
        _ => {}
    }
    lines
}

/// Returns the number of lines of a place in a source.
pub(super) fn n_lines(span: proc_macro2::Span) -> usize {
    span.end().line - span.start().line + 1
}

#[expect(clippy::wildcard_enum_match_arm, reason = "other items have no tests")]
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether attributes restrict an item to tests: `#[test]`, `#[cfg(test)]`,
/// `#[cfg(doctest)]` or `#[cfg(all(test, …))]`. The feature `contract` has the tests of every
/// registry.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => requires_test(list.tokens.clone()),
        Meta::List(_) | Meta::NameValue(_) => false,
    })
}

fn requires_test(condition: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = condition.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name)] => name == "test" || name == "doctest",
        [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(value)] => {
            name == "feature" && value.to_string() == "\"contract\""
        }
        [TokenTree::Ident(name), TokenTree::Group(all)] if name == "all" => {
            let inner: Vec<TokenTree> = all.stream().into_iter().collect();
            let is_comma = |token: &TokenTree| token.to_string() == ",";
            inner.split(is_comma).any(|part| requires_test(part.iter().cloned().collect()))
        }
        _ => false,
    }
}

/// Returns the tokens of items as texts with their lines, without declarations by `use`.
pub(super) fn tokens(items: &[Item]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for item in items.iter().filter(|item| !matches!(item, Item::Use(_))) {
        flatten(item.to_token_stream(), &mut found);
    }
    found
}

fn flatten(stream: TokenStream, found: &mut Vec<(String, usize)>) {
    for token in stream {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                found.push((open.to_owned(), line));
                flatten(group.stream(), found);
                found.push((close.to_owned(), group.span_close().start().line));
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {
                found.push((token.to_string(), line));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the product items of a text.
    pub(in crate::tidy) fn product_of(text: &str) -> Vec<Item> {
        let mut items = parse(text, Path::new("a.rs")).unwrap();
        prune(&mut items);
        items
    }

    /// Returns modules of a crate, each with its path and its text.
    pub(in crate::tidy) fn modules_of(texts: &[(&str, &str)]) -> Vec<Module> {
        let module = |(path, text): &(&str, &str)| Module {
            path: path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            file: format!("{}.rs", path.replace("::", "/")),
            items: product_of(text),
            lines: 0,
        };
        texts.iter().map(module).collect()
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let text = "
            fn a() {}
            #[cfg(test)] mod b { fn c() {} }
            #[cfg(all(test, feature = \"x\"))] mod d;
            #[cfg(not(test))] fn e() {}
            #[cfg(any(test, feature = \"x\"))] fn f() {}
            #[cfg(feature = \"contract\")] fn l() {}
            impl A { #[cfg(test)] fn g() {} fn h() {} }
            mod i { #[test] fn j() {} fn k() {} }
        ";
        let names: Vec<String> = tokens(&product_of(text))
            .windows(2)
            .filter(|pair| pair[0].0 == "fn")
            .map(|pair| pair[1].0.clone())
            .collect();
        assert_eq!(names, ["a", "e", "f", "h", "k"]);
    }

    #[test]
    fn lines_of_tests_are_counted() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let mut items = parse(text, Path::new("a.rs")).unwrap();
        assert_eq!(prune(&mut items), 4);
        assert_eq!(items.len(), 1);
    }

    #[test]
    fn modules_are_found_as_the_compiler_finds_them() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("a/src/lib.rs", "mod b;\nmod c;\n#[cfg(test)]\nmod missing;\n"),
            ("a/src/b.rs", "mod d;\n"),
            ("a/src/b/d.rs", ""),
            ("a/src/c/mod.rs", "mod e;\n"),
            ("a/src/c/e.rs", "fn e() {}\n#[test]\nfn f() {}\n"),
        ];
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found: Vec<(String, String, usize)> = product(root.path(), "a")
            .unwrap()
            .into_iter()
            .map(|module| (module.path.join("::"), module.file, module.lines))
            .collect();
        let expected = [
            ("", "a/src/lib.rs", 2),
            ("b", "a/src/b.rs", 1),
            ("b::d", "a/src/b/d.rs", 0),
            ("c", "a/src/c/mod.rs", 1),
            ("c::e", "a/src/c/e.rs", 1),
        ];
        let expected =
            expected.map(|(path, file, lines)| (path.to_owned(), file.to_owned(), lines));
        assert_eq!(found, expected);
    }
}
