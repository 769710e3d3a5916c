//! Bound on the places of the core that know Java instances.

use std::collections::BTreeSet;
use std::path::Path;

use super::Violation;
use super::rust::{self, Module};
use crate::Error;

/// Most lines outside of [`SEAM`] that test for Java instances or the dialect of 3.x.
const BOUND: usize = 25;

/// Modules of `coordination` that are about Java instances or the formats of both dialects.
const SEAM: [&str; 2] = ["java", "wire"];

/// Module of the facts about Java instances. A call of one of its methods is a site.
const FACTS: [&str; 2] = ["java", "facts"];

/// Methods of [`FACTS`] whose callers need not know that Java instances exist: the question has an
/// answer without them, or it applies a change of the registry.
const PLAIN: [&str; 13] = [
    "can_be_queued",
    "carries_parameters",
    "claimable_total",
    "empty_items",
    "has_failover_root",
    "has_latch_node",
    "is_pending",
    "is_unmarked",
    "left_unfinished_by",
    "put_instance",
    "put_run_request",
    "remove_instance",
    "remove_run_request",
];

/// Methods of other modules that ask about the marks of 3.x, which outlast sessions.
const OF_MARKS: [&str; 2] = ["any_lasting", "lasting_holder"];

/// Fields that hold facts about Java instances.
const FIELDS: [&str; 2] = ["foreign", "java"];

/// A place that tests for Java instances.
#[derive(Debug)]
pub(super) struct Site {
    file: String,
    line: usize,
    text: String,
}

/// Refuses all sites if there are more of them than the bound.
pub(super) fn check(root: &Path) -> Result<Vec<Violation>, Error> {
    let modules = rust::product(root, "crates/coordination")?;
    let mut found = judge(&sites(&modules));
    found.extend(unknown_methods(&modules));
    Ok(found)
}

/// Returns the names of the functions in the modules below a path.
fn functions<'a>(modules: impl Iterator<Item = &'a Module>) -> BTreeSet<String> {
    let mut defined = BTreeSet::new();
    for module in modules {
        let tokens = rust::tokens(&module.items);
        let functions = tokens.windows(2).filter(|pair| pair[0].0 == "fn");
        defined.extend(functions.map(|pair| pair[1].0.clone()));
    }
    defined
}

/// Returns the methods that ask whether Java instances take part, or for facts about them.
fn methods(modules: &[Module]) -> BTreeSet<String> {
    let mut methods = functions(modules.iter().filter(|module| module.path == FACTS));
    methods.retain(|name| !PLAIN.contains(&name.as_str()));
    methods.extend(OF_MARKS.map(str::to_owned));
    methods
}

/// Refuses names of the lists above that no function has: they would excuse or count nothing.
fn unknown_methods(modules: &[Module]) -> Vec<Violation> {
    let facts = functions(modules.iter().filter(|module| module.path == FACTS));
    let all = functions(modules.iter());
    let plain = PLAIN.iter().filter(|name| !facts.contains(**name));
    let of_marks = OF_MARKS.iter().filter(|name| !all.contains(**name));
    let rule = "method is not in coordination";
    let unknown = plain.chain(of_marks);
    unknown.map(|name| Violation::new("xtask/src/tidy/java.rs", 0, rule, name)).collect()
}

fn judge(sites: &[Site]) -> Vec<Violation> {
    if sites.len() <= BOUND {
        return Vec::new();
    }
    let rule = format!("site {{}} of {} that test for Java, at most {BOUND}", sites.len());
    let numbered = sites.iter().zip(1..);
    let violation = |(site, n): (&Site, usize)| {
        let rule = rule.replace("{}", &n.to_string());
        Violation::new(&site.file, site.line, rule, &site.text)
    };
    numbered.map(violation).collect()
}

/// Returns the sites of product code outside of [`SEAM`] that test for Java instances or the
/// dialect of 3.x.
///
/// A site is a line with at least one of these:
/// - a call or mention of a method of [`FACTS`] or [`OF_MARKS`], after a dot or a path
/// - a read or write of one of [`FIELDS`], after a dot
/// - a path through the module `java`
/// - `Dialect::V2` or `Dialect::V3`
///
/// Tests, comments, definitions and `use` declarations do not count.
pub(super) fn sites(modules: &[Module]) -> Vec<Site> {
    let outside = |module: &&Module| {
        let first = module.path.first();
        !first.is_some_and(|name| SEAM.contains(&name.as_str()))
    };
    let methods = methods(modules);
    modules.iter().filter(outside).flat_map(|module| sites_in(module, &methods)).collect()
}

fn sites_in(module: &Module, methods: &BTreeSet<String>) -> Vec<Site> {
    let tokens = rust::tokens(&module.items);
    let mut sites = Vec::new();
    for (n, (token, line)) in tokens.iter().enumerate() {
        let before = |k: usize| n.checked_sub(k).map_or("", |m| tokens[m].0.as_str());
        let after = |k: usize| tokens.get(n + k).map_or("", |(token, _)| token.as_str());
        let after_dot = before(1) == "." && before(2) != ".";
        let after_path = before(1) == ":" && before(2) == ":";
        let before_path = after(1) == ":" && after(2) == ":";
        let is_field = FIELDS.contains(&token.as_str()) && after_dot && after(1) != "(";
        let is_method = methods.contains(token) && (after_dot || after_path);
        let is_path = token == "java" && before_path;
        let is_dialect = token == "Dialect" && before_path && ["V2", "V3"].contains(&after(3));
        let is_counted = sites.last().is_some_and(|last: &Site| last.line == *line);
        if !is_counted && (is_field || is_method || is_path || is_dialect) {
            let end = tokens.len().min(n + 6);
            let text: String = tokens[n..end].iter().map(|(token, _)| token.as_str()).collect();
            sites.push(Site { file: module.file.clone(), line: *line, text });
        }
    }
    sites
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust::tests::modules_of;

    const FACTS: (&str, &str) =
        ("java::facts", "fn is_mixed() {} fn is_java() {} fn is_pending() {}");

    fn count(path: &str, text: &str) -> usize {
        sites(&modules_of(&[FACTS, (path, text)])).len()
    }

    #[test]
    fn calls_fields_paths_and_dialects_are_sites() {
        let rows = [
            ("a call", "fn f() { view.is_mixed() }", 1),
            ("a mention", "fn f() { views.any(JobView::is_mixed) }", 1),
            ("in a macro", "fn f() { assert!(view.is_mixed(), \"{}\", view.is_java(id)) }", 1),
            ("a field", "fn f() { if cx.java { \n local.foreign.fire() } }", 2),
            ("a path", "fn f() { crate::java::turn::is_first() }", 1),
            ("a call of the seam", "fn f() { java::planner() }", 1),
            ("dialects", "fn f() { match d { Dialect::V2 => 1,\n Dialect::V3 => 2 } }", 2),
            ("a definition", "fn is_mixed() {} struct A { java: bool }", 0),
            ("a declaration", "use crate::java::turn; mod java;", 0),
            ("a comment", "/// `view.is_mixed()`\nfn f() {} // view.is_mixed()", 0),
            ("a text", "fn f() { \"view.is_mixed()\" }", 0),
            ("a plain question", "fn f() { view.is_pending(item) }", 0),
            ("a question about lasting marks", "fn f() { marks.lasting_holder() }", 1),
            ("a test", "#[cfg(test)] mod tests { fn f() { view.is_mixed() } }", 0),
            ("a local variable", "fn f() { let java = 1; java + 1 }", 0),
        ];
        for (case, text, expected) in rows {
            assert_eq!(count("duty::claim", text), expected, "{case}");
        }
    }

    #[test]
    fn renamed_methods_are_refused() {
        let text = |names: &[&str]| -> String {
            names.iter().map(|name| format!("fn {name}() {{}}\n")).collect()
        };
        let (facts, marks) = (text(&PLAIN[1..]), text(&OF_MARKS));
        let found = unknown_methods(&modules_of(&[("java::facts", &facts), ("view", &marks)]));
        let names: Vec<&str> = found.iter().map(|violation| violation.text.as_str()).collect();
        assert_eq!(names, [PLAIN[0]]);
    }

    #[test]
    fn seam_is_not_counted() {
        let text = "fn f() { view.is_mixed() }";
        assert_eq!(count("java", text), 0);
        assert_eq!(count("java::facts", text), 0);
        assert_eq!(count("wire::dialect", text), 0);
        assert_eq!(count("view::java", text), 1);
        assert_eq!(count("", text), 1);
    }

    #[test]
    fn more_sites_than_the_bound_are_refused_with_their_places() {
        let text = |n: usize| format!("fn f() {{ {} }}", "\nview.is_mixed();".repeat(n));
        let judge = |n| judge(&sites(&modules_of(&[FACTS, ("duty", &text(n))])));
        assert_eq!(judge(BOUND), []);
        let refused = judge(BOUND + 1);
        assert_eq!(refused.len(), BOUND + 1);
        let first = format!(
            "duty.rs:2: site 1 of {} that test for Java, at most {BOUND}: is_mixed();view.",
            BOUND + 1
        );
        assert_eq!(refused[0].to_string(), first);
    }
}
