//! Counts shapes of code.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprLit, ExprMatch, ExprMethodCall, ImplItemFn, ItemFn, Lit, Macro, Pat, Stmt,
    TraitItemFn,
};

use crate::tidy::rust::Module;

/// A function of product code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Function {
    /// From the signature to the closing brace.
    pub(super) lines: usize,
    pub(super) name: String,
    pub(super) file: String,
}

/// Counts of shapes in product code. Code inside macro calls is not counted.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// Calls of `filter` with a closure that ignores its argument.
    pub(super) constant_filters: usize,
    /// Arms of a `match` whose pattern is `true` or `false`, with or without a guard.
    pub(super) bool_arms: usize,
    /// `let` statements that rebind a name of an earlier `let` of the same block by its old value.
    pub(super) shadowings: usize,
    /// Calls of `debug_assert!` and its variants.
    pub(super) debug_assertions: usize,
    pub(super) functions: Vec<Function>,
    file: String,
}

impl Shapes {
    pub(super) fn of(modules: &[Module]) -> Self {
        let mut shapes = Self::default();
        for module in modules {
            shapes.file.clone_from(&module.file);
            module.items.iter().for_each(|item| shapes.visit_item(item));
        }
        shapes.functions.sort_by(|a, b| b.cmp(a));
        shapes
    }

    fn add_function(&mut self, signature: &syn::Signature, block: &Block) {
        let end: Span = block.brace_token.span.close();
        let lines = end.end().line - signature.fn_token.span.start().line + 1;
        let name = signature.ident.to_string();
        self.functions.push(Function { lines, name, file: self.file.clone() });
    }
}

impl<'ast> Visit<'ast> for Shapes {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add_function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add_function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add_function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.constant_filters += usize::from(is_constant_filter(call));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_match(&mut self, matched: &'ast ExprMatch) {
        self.bool_arms += matched.arms.iter().filter(|arm| is_bool(&arm.pat)).count();
        visit::visit_expr_match(self, matched);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.shadowings += shadowings(block);
        visit::visit_block(self, block);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string());
        let is_assertion = name.is_some_and(|name| name.starts_with("debug_assert"));
        self.debug_assertions += usize::from(is_assertion);
    }
}

fn is_constant_filter(call: &ExprMethodCall) -> bool {
    let Some(Expr::Closure(closure)) = call.args.first() else { return false };
    call.method == "filter" && matches!(closure.inputs.first(), Some(Pat::Wild(_)))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other pattern is a constant")]
fn is_bool(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(ExprLit { lit: Lit::Bool(_), .. }) => true,
        Pat::Guard(guarded) => is_bool(&guarded.pat),
        _ => false,
    }
}

fn shadowings(block: &Block) -> usize {
    let mut bound = BTreeSet::new();
    let mut count = 0;
    for statement in &block.stmts {
        let Stmt::Local(local) = statement else { continue };
        let mut names = Names::default();
        names.visit_pat(&local.pat);
        let mut mentioned = Mentions::default();
        if let Some(init) = &local.init {
            mentioned.visit_expr(&init.expr);
        }
        let is_rebound = |name: &&String| bound.contains(*name) && mentioned.0.contains(*name);
        count += names.0.iter().filter(is_rebound).count();
        bound.extend(names.0);
    }
    count
}

/// Names that a pattern binds.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}

/// Variables that an expression mentions, also inside macro calls.
#[derive(Default)]
struct Mentions(BTreeSet<String>);

impl<'ast> Visit<'ast> for Mentions {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.extend(path.get_ident().map(ToString::to_string));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let words = call.tokens.to_string();
        let words = words.split(|c: char| !c.is_alphanumeric() && c != '_');
        self.0.extend(words.map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust::tests::modules_of;

    fn shapes(body: &str) -> Shapes {
        Shapes::of(&modules_of(&[("a", &format!("fn f(x: u8) {{\n{body}\n}}"))]))
    }

    #[test]
    fn filters_that_ignore_their_argument_are_counted() {
        let body = "a.filter(|_| b).filter(|c| c.d()); a.filter_map(|_| b).map(|_| c); \
                    g(|| a.filter(|_| x));";
        assert_eq!(shapes(body).constant_filters, 2);
    }

    #[test]
    fn arms_of_matches_on_a_bool_are_counted() {
        let rows = [
            ("match a { true => 1, false => 2 }", 2),
            ("match a { true if b => 1, _ => 2 }", 1),
            ("match a { Some(true) => 1, _ => 2 }", 0),
            ("match (a, b) { (true, _) => 1, _ => 2 }", 0),
            ("if a { match b { true => 1, false => 2 } } else { 3 }", 2),
        ];
        for (body, expected) in rows {
            assert_eq!(shapes(body).bool_arms, expected, "{body}");
        }
    }

    #[test]
    fn names_rebound_by_their_old_value_are_counted() {
        let rows = [
            ("let a = 1; let a = a + 1;", 1),
            ("let a = 1; let a = f(|| a + 1); let a = a.b();", 2),
            ("let a = 1; let a = format!(\"{}\", a);", 1),
            ("let a = 1; let a = 2;", 0),
            ("let a = 1; { let a = a + 1; }", 0),
            ("let a = 1; let b = a;", 0),
            ("let Some(a) = b else { return }; let a = a.c;", 1),
            ("let x = x + 1;", 0),
        ];
        for (body, expected) in rows {
            assert_eq!(shapes(body).shadowings, expected, "{body}");
        }
    }

    #[test]
    fn debug_assertions_are_counted() {
        let body = "debug_assert!(a); debug_assert_eq!(a, b); assert!(c); std::debug_assert!(d);";
        assert_eq!(shapes(body).debug_assertions, 3);
    }

    #[test]
    fn functions_are_ordered_by_their_lines() {
        let text = "/// A function.\nfn a(\n    x: u8,\n) {\n}\nimpl B {\n    fn c() {}\n}\n\
                    trait D {\n    fn e();\n    fn f() {\n    }\n}\n";
        let found = Shapes::of(&modules_of(&[("a", text)])).functions;
        let found: Vec<(usize, &str)> = found.iter().map(|f| (f.lines, f.name.as_str())).collect();
        assert_eq!(found, [(4, "a"), (2, "f"), (1, "c")]);
    }
}
