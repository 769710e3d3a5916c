//! Figures of the core's second edition beside those of the first.

mod graph;
mod shapes;
mod structure;

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::path::Path;

use super::rust::{self, Module};
use super::{files, java};
use crate::Error;
use graph::Graph;
use shapes::{Function, Shapes};

/// Crates of the product below `crates`, besides `coordination`.
const PRODUCT: [&str; 13] = [
    "cli",
    "inbound",
    "job-alerts",
    "job-history",
    "job-metrics",
    "job-types",
    "lite",
    "operations",
    "outbound",
    "reg-center",
    "reg-center-zookeeper",
    "sharding",
    "trigger",
];

/// Longest product file that needs no reason, in lines without tests.
const MAX_LINES: usize = 400;

/// Structures that an instance remembers beside the view.
const MEMORIES: [&str; 7] =
    ["Local", "AlreadyReported", "Foreign", "JavaMemory", "Inference", "Reported", "InFlight"];

/// Enumerations that distinguish steps of plans.
const STEP_KINDS: [&str; 3] = ["Step", "StepOp", "Data"];

/// Returns the table of figures, and the places behind some of them.
///
/// The figures of the first edition are constants, measured on its last commit by the same rules.
/// The published figure is in parentheses where its rule differed.
pub(super) fn table(root: &Path) -> Result<String, Error> {
    let mut product = rust::product(root, "crates/coordination")?;
    let n_core = product.len();
    for name in PRODUCT {
        product.extend(rust::product(root, &format!("crates/{name}"))?);
    }
    let core = &product[..n_core];
    let graph = Graph::of(core);
    let mut table = Table::default();
    table.row("mutant switches in product sources", "226 in 29 files", switches(root, &product)?);
    add_structure(&mut table, core, &graph);
    add_shapes(&mut table, core, &product);
    table.list("circle", graph.largest_circle());
    table.list("upward", graph.upward().into_iter().map(|(from, to)| format!("{from} → {to}")));
    table.list("over 400 lines", long_files(&product));
    Ok(table.text)
}

fn add_structure(table: &mut Table, core: &[Module], graph: &Graph<'_>) {
    table.row("sites that test for Java or 3.x", "132 (218)", java::sites(core).len());
    table.row("files of the largest circle", "23", graph.largest_circle().len());
    table.row("arrows that run upward", "16 (24)", graph.upward().len());
    let holder = structure::n_deciders(core, "HolderState");
    table.row("functions that decide \"is the holder gone?\"", "11", holder);
    let start = structure::n_deciders(core, "StartGate");
    table.row("functions that decide \"may a run start?\"", "9", start);
    table.row("matches on kinds of steps", "`Step` (54 variants): 6 in 3 files", step_kinds(core));
    let memories = memories(core);
    table.row(
        "fields of memories",
        "`Local` 25 (22), reports 15 (13), `Foreign` 7, `InFlight` 5",
        memories,
    );
}

fn add_shapes(table: &mut Table, core: &[Module], product: &[Module]) {
    let (shapes, in_product) = (Shapes::of(core), Shapes::of(product));
    let longest = longest(&in_product);
    table.row("lines of the longest functions", "129, 129, 85, 83 (127, 127, 87, 75)", longest);
    table.row("product files over 400 lines", "21 (17)", long_files(product).len());
    let filters = in_both(shapes.constant_filters, in_product.constant_filters);
    table.row("`.filter(\\|_\\| …)`", "69 in `coordination`, 144 in all crates", filters);
    let arms = in_both(shapes.bool_arms, in_product.bool_arms);
    table.row("arms of `match` on a bool", "28 in `coordination`, 109 in all crates", arms);
    table.row("shadowed rebindings in `coordination`", "68 (64)", shapes.shadowings);
    table.row("debug assertions in `coordination`", "1", shapes.debug_assertions);
}

fn in_both(core: usize, product: usize) -> String {
    format!("{core} in `coordination`, {product} in all product crates")
}

/// Text of the table in Markdown.
struct Table {
    text: String,
}

impl Default for Table {
    fn default() -> Self {
        let text = "| what | first edition | second edition |\n|---|---|---|\n".to_owned();
        Self { text }
    }
}

impl Table {
    fn row(&mut self, what: &str, first: &str, second: impl Display) {
        writeln!(self.text, "| {what} | {first} | {second} |").expect(INFALLIBLE);
    }

    /// Adds a list of places below the table.
    fn list(&mut self, what: &str, places: impl IntoIterator<Item = impl Display>) {
        writeln!(self.text, "\n{what}:").expect(INFALLIBLE);
        for place in places {
            writeln!(self.text, "- {place}").expect(INFALLIBLE);
        }
    }
}

const INFALLIBLE: &str = "writing to a string cannot fail";

/// Counts the places of product sources that ask for a mutant, with tests.
fn switches(root: &Path, product: &[Module]) -> Result<String, Error> {
    let mut counts = Vec::new();
    for module in product {
        let text = files::read(root, &root.join(&module.file))?.text;
        counts.push(text.matches("mutant::is(").count());
    }
    let files = counts.iter().filter(|count| **count > 0).count();
    Ok(match counts.iter().sum::<usize>() {
        0 => "0".to_owned(),
        sum => format!("{sum} in {files} files"),
    })
}

fn step_kinds(core: &[Module]) -> String {
    let text = |name: &&str| {
        let found = structure::matches(core, name)?;
        let structure::Matches { variants, matches, files } = found;
        Some(format!("`{name}` ({variants} variants): {matches} in {files} files"))
    };
    STEP_KINDS.iter().filter_map(text).collect::<Vec<_>>().join("; ")
}

fn longest(shapes: &Shapes) -> String {
    let first = shapes.functions.iter().take(4);
    let text = |function: &Function| {
        let Function { lines, name, file } = function;
        let file = file.rsplit('/').next().unwrap_or(file);
        format!("{lines} (`{name}` in {file})")
    };
    first.map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the files that are longer than [`MAX_LINES`]. A file of both the library and the program
/// of a crate is listed once.
fn long_files(product: &[Module]) -> BTreeSet<&str> {
    let long = product.iter().filter(|module| module.lines > MAX_LINES);
    long.map(|module| module.file.as_str()).collect()
}

fn memories(core: &[Module]) -> String {
    let text = |name: &&str| Some(format!("`{name}` {}", structure::n_fields(core, name)?));
    MEMORIES.iter().filter_map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn table_has_the_figures_of_the_sources() {
        let root = tempfile::tempdir().unwrap();
        let long = "// A line.\n".repeat(MAX_LINES + 1);
        let files = [
            ("coordination/src/lib.rs", "mod duty;\nmod plan;\n"),
            (
                "coordination/src/duty.rs",
                "pub(crate) fn f(a: bool) {\n    mutant::is(A);\n    match a { true => {} false => {} }\n}\n",
            ),
            ("coordination/src/plan.rs", "use crate::duty::f;\nstruct Local { a: u8 }\n"),
            ("cli/src/main.rs", &long),
            ("lite/src/lib.rs", "fn g(b: bool) {\n    match b { true => {} _ => {} }\n}\n"),
        ];
        for (path, text) in files {
            let path = root.path().join("crates").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let table = table(root.path()).unwrap();
        let expected = [
            "| mutant switches in product sources | 226 in 29 files | 1 in 1 files |",
            "| arrows that run upward | 16 (24) | 1 |",
            "| lines of the longest functions | 129, 129, 85, 83 (127, 127, 87, 75) | 4 (`f` in duty.rs), 3 (`g` in lib.rs) |",
            "| product files over 400 lines | 21 (17) | 1 |",
            "| arms of `match` on a bool | 28 in `coordination`, 109 in all crates | 2 in `coordination`, 3 in all product crates |",
            "- crates/coordination/src/plan.rs → crates/coordination/src/duty.rs",
            "- crates/cli/src/main.rs",
        ];
        for line in expected {
            assert!(table.lines().any(|printed| printed == line), "{line} is not in\n{table}");
        }
    }
}
