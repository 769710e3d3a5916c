//! Dependencies between the files of a crate.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use crate::tidy::rust::Module;

/// Folders and files of `coordination` from the bottom to the top. The longest path counts. Other
/// files have no layer.
///
/// `java` is on top of the duties, which it replaces. Its lower parts are values, nodes of the view
/// and memory: the duties' input has them as well. The memory needs the lower parts of `local`.
const LAYERS: [&str; 20] = [
    "java/settings",
    "protocol",
    "wire",
    "java/nodes",
    "view",
    "java/facts",
    "plan",
    "run_marks",
    "runs",
    "local/wait",
    "local/fires",
    "java/inference",
    "java/memory",
    "java/records",
    "local",
    "start_gate",
    "duty",
    "java",
    "invariant",
    "coordinator",
];

/// Arrows between the files of a crate. An arrow leads from a file to another file that it names in
/// a path that begins with `crate` or `super`, directly or through a re-export.
pub(super) struct Graph<'a> {
    modules: &'a [Module],
    /// By the positions of the modules.
    arrows: BTreeSet<(usize, usize)>,
}

impl<'a> Graph<'a> {
    pub(super) fn of(modules: &'a [Module]) -> Self {
        let names = Names::of(modules);
        let mut arrows = BTreeSet::new();
        for (from, module) in modules.iter().enumerate() {
            let mut paths = Paths { module: &module.path, found: Vec::new() };
            module.items.iter().for_each(|item| paths.visit_item(item));
            let targets = paths.found.iter().map(|path| names.file_of(path, MAX_REEXPORTS));
            arrows.extend(targets.filter(|to| *to != from).map(|to| (from, to)));
        }
        Self { modules, arrows }
    }

    /// Returns the files of the largest circle: each can be reached from each other one.
    pub(super) fn largest_circle(&self) -> Vec<&'a str> {
        let reached: Vec<BTreeSet<usize>> =
            (0..self.modules.len()).map(|from| self.reached_from(from)).collect();
        let circle = |n: usize| -> Vec<&'a str> {
            let both = reached[n].iter().filter(|other| reached[**other].contains(&n));
            both.map(|other| self.modules[*other].file.as_str()).collect()
        };
        (0..self.modules.len()).map(circle).max_by_key(Vec::len).unwrap_or_default()
    }

    fn reached_from(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            let next = self.arrows.range((node, 0)..(node + 1, 0)).map(|(_, to)| *to);
            open.extend(next.filter(|to| reached.insert(*to)));
        }
        reached
    }

    /// Returns the arrows from a file of a layer to a file of a higher one.
    pub(super) fn upward(&self) -> Vec<(&'a str, &'a str)> {
        let layer = |n: usize| layer_of(&self.modules[n].path);
        let is_upward = |(from, to): &&(usize, usize)| match (layer(*from), layer(*to)) {
            (Some(from), Some(to)) => from < to,
            (None, _) | (_, None) => false,
        };
        let file = |n: usize| self.modules[n].file.as_str();
        let upward = self.arrows.iter().filter(is_upward);
        upward.map(|(from, to)| (file(*from), file(*to))).collect()
    }
}

/// Returns the position of a module's layer.
fn layer_of(module: &[String]) -> Option<usize> {
    let has = |layer: &str| {
        let mut names = module.iter();
        layer.split('/').all(|name| names.next().is_some_and(|own| own == name))
    };
    let longest = LAYERS.iter().filter(|layer| has(layer)).max_by_key(|layer| layer.len())?;
    LAYERS.iter().position(|layer| layer == longest)
}

/// Longest chain of re-exports that is followed.
const MAX_REEXPORTS: usize = 4;

/// Modules and re-exports by their paths from the root.
struct Names<'a> {
    files: BTreeMap<&'a [String], usize>,
    reexports: BTreeMap<(&'a [String], String), Vec<String>>,
}

impl<'a> Names<'a> {
    fn of(modules: &'a [Module]) -> Self {
        let files = modules.iter().enumerate().map(|(n, module)| (module.path.as_slice(), n));
        let mut reexports = BTreeMap::new();
        for module in modules {
            for item in &module.items {
                let Item::Use(item) = item else { continue };
                for (path, name) in used(&item.tree) {
                    let path = absolute(&module.path, &path);
                    reexports.insert((module.path.as_slice(), name), path);
                }
            }
        }
        Self { files: files.collect(), reexports }
    }

    /// Returns the position of the module that defines the item with this path.
    fn file_of(&self, path: &[String], reexports: usize) -> usize {
        let depth = (0..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]));
        let (module, rest) = path.split_at(depth.unwrap_or(0));
        let (key, file) = self.files.get_key_value(module).expect("a crate has a root");
        let reexported = rest.first().and_then(|name| self.reexports.get(&(*key, name.clone())));
        match reexported.filter(|target| reexports > 0 && target.as_slice() != path) {
            Some(target) => self.file_of(target, reexports - 1),
            None => *file,
        }
    }
}

/// Returns a path from the root of the crate. A path of another crate becomes one that names no
/// module.
fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let mut base = module.to_vec();
    let mut rest = path;
    while let [first, after @ ..] = rest {
        match first.as_str() {
            "crate" => base.clear(),
            "super" => drop(base.pop()),
            "self" => {}
            _ => break,
        }
        rest = after;
    }
    base.extend_from_slice(rest);
    base
}

/// Returns the paths of a `use` declaration with the names that they bind.
fn used(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let mut found = used(&path.tree);
            for (names, bound) in &mut found {
                if bound == "self" {
                    *bound = path.ident.to_string();
                }
                names.insert(0, path.ident.to_string());
            }
            found
        }
        UseTree::Name(name) if name.ident == "self" => vec![(Vec::new(), "self".to_owned())],
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(name) => vec![(vec![name.ident.to_string()], name.rename.to_string())],
        UseTree::Glob(_) => vec![(Vec::new(), "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(used).collect(),
    }
}

/// Paths of a file that begin with `crate` or `super`.
struct Paths<'a> {
    module: &'a [String],
    found: Vec<Vec<String>>,
}

impl Paths<'_> {
    fn add(&mut self, path: &[String]) {
        if path.first().is_some_and(|first| first == "crate" || first == "super") {
            self.found.push(absolute(self.module, path));
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        used(&item.tree).iter().for_each(|(path, _)| self.add(path));
    }

    /// The module in `pub(super)` is no dependency.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&names);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust::tests::modules_of;

    fn arrows(texts: &[(&str, &str)]) -> Vec<String> {
        let modules = modules_of(texts);
        let graph = Graph::of(&modules);
        let name = |n: usize| modules[n].path.join("::");
        graph.arrows.iter().map(|(from, to)| format!("{} → {}", name(*from), name(*to))).collect()
    }

    #[test]
    fn arrows_lead_to_the_files_that_define_what_is_named() {
        let root = ("", "mod a; mod b; pub use a::Item; use b::c::{self, Other as Renamed};");
        let rows: [(&str, &[&str]); 10] = [
            ("use crate::a::Item;", &["b → a"]),
            ("use crate::{Item, Renamed};", &["b → a", "b → b::c"]),
            ("fn f() { crate::c::g() }", &["b → b::c"]),
            ("fn f(x: super::Item) {}", &["b → a"]),
            ("use crate::Unknown;", &["b → "]),
            ("use crate::a::*;", &["b → a"]),
            ("use crate::b::c::{self};", &["b → b::c"]),
            ("pub(super) fn f() {}", &[]),
            ("use other::a; fn f() { self::g(); a::h() }", &[]),
            ("#[cfg(test)] mod tests { use crate::a::Item; }", &[]),
        ];
        for (text, expected) in rows {
            let texts = [root, ("a", "struct Item;"), ("b", text), ("b::c", "struct Other;")];
            assert_eq!(arrows(&texts), expected, "{text}");
        }
    }

    #[test]
    fn largest_circle_is_found() {
        let texts = [
            ("", ""),
            ("a", "use crate::b;"),
            ("b", "use crate::c;"),
            ("c", "use crate::a; use crate::d;"),
            ("d", "use crate::e;"),
            ("e", "use crate::d;"),
        ];
        let modules = modules_of(&texts);
        assert_eq!(Graph::of(&modules).largest_circle(), ["a.rs", "b.rs", "c.rs"]);
        let modules = modules_of(&[("", ""), ("a", "use crate::b;"), ("b", "")]);
        assert!(Graph::of(&modules).largest_circle().is_empty());
    }

    #[test]
    fn arrows_to_higher_layers_are_found() {
        let texts = [
            ("", ""),
            ("protocol", "use crate::wire;"),
            ("wire", "use crate::protocol; use crate::gap;"),
            ("view::items", "use crate::duty::claim;"),
            ("duty::claim", "use crate::view::items;"),
            ("gap", "use crate::coordinator;"),
            ("java::nodes", "use crate::java::sweep;"),
            ("java::sweep", "use crate::duty::claim; use crate::java::nodes;"),
            ("coordinator", ""),
        ];
        let modules = modules_of(&texts);
        let expected = [
            ("protocol.rs", "wire.rs"),
            ("view/items.rs", "duty/claim.rs"),
            ("java/nodes.rs", "java/sweep.rs"),
        ];
        assert_eq!(Graph::of(&modules).upward(), expected);
    }
}
