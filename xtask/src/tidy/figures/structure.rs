//! Counts fields, decisions and matches of named types.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{ExprMatch, ImplItemFn, ItemEnum, ItemFn, ItemImpl, ItemStruct, ReturnType, Type};

use crate::tidy::rust::Module;

/// Returns the number of fields of the structure with this name, if there is one.
pub(super) fn n_fields(modules: &[Module], name: &str) -> Option<usize> {
    let mut search = Fields { name, found: None };
    each_item(modules, |item, _| search.visit_item(item));
    search.found
}

/// Returns the number of functions that return this type, also inside another type.
pub(super) fn n_deciders(modules: &[Module], name: &str) -> usize {
    let mut search = Deciders { name, found: 0 };
    each_item(modules, |item, _| search.visit_item(item));
    search.found
}

/// Uses of an enumeration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Matches {
    pub(super) variants: usize,
    /// `match` expressions with a variant in an arm.
    pub(super) matches: usize,
    /// Files with such a `match`.
    pub(super) files: usize,
}

/// Returns how often the enumeration with this name is matched, if there is one.
pub(super) fn matches(modules: &[Module], name: &str) -> Option<Matches> {
    let mut variants = Variants { name, found: None };
    each_item(modules, |item, _| variants.visit_item(item));
    let mut search = Arms { name, is_own: false, found: 0 };
    let mut files = BTreeSet::new();
    each_item(modules, |item, file| {
        let before = search.found;
        search.visit_item(item);
        if search.found > before {
            files.insert(file.to_owned());
        }
    });
    let variants = variants.found?;
    Some(Matches { variants, matches: search.found, files: files.len() })
}

fn each_item<'a>(modules: &'a [Module], mut visit: impl FnMut(&'a syn::Item, &'a str)) {
    for module in modules {
        module.items.iter().for_each(|item| visit(item, &module.file));
    }
}

struct Fields<'a> {
    name: &'a str,
    found: Option<usize>,
}

impl<'ast> Visit<'ast> for Fields<'_> {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if item.ident == self.name {
            self.found = Some(item.fields.len());
        }
    }
}

struct Variants<'a> {
    name: &'a str,
    found: Option<usize>,
}

impl<'ast> Visit<'ast> for Variants<'_> {
    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        if item.ident == self.name {
            self.found = Some(item.variants.len());
        }
    }
}

struct Deciders<'a> {
    name: &'a str,
    found: usize,
}

impl Deciders<'_> {
    fn judge(&mut self, output: &ReturnType) {
        let mut search = Mention { name: self.name, found: false };
        search.visit_return_type(output);
        self.found += usize::from(search.found);
    }
}

impl<'ast> Visit<'ast> for Deciders<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.judge(&function.sig.output);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.judge(&function.sig.output);
        visit::visit_impl_item_fn(self, function);
    }
}

struct Mention<'a> {
    name: &'a str,
    found: bool,
}

impl<'ast> Visit<'ast> for Mention<'_> {
    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.found |= ident == self.name;
    }
}

/// Counts matches on variants, written as `Name::Variant`, or `Self::Variant` inside an `impl`.
struct Arms<'a> {
    name: &'a str,
    is_own: bool,
    found: usize,
}

impl<'ast> Visit<'ast> for Arms<'_> {
    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.is_own = matches!(&*item.self_ty, Type::Path(path) if path.path.is_ident(self.name));
        visit::visit_item_impl(self, item);
        self.is_own = false;
    }

    fn visit_expr_match(&mut self, matched: &'ast ExprMatch) {
        let mut search = Prefix { name: self.name, is_own: self.is_own, found: false };
        matched.arms.iter().for_each(|arm| search.visit_pat(&arm.pat));
        self.found += usize::from(search.found);
        visit::visit_expr_match(self, matched);
    }
}

struct Prefix<'a> {
    name: &'a str,
    is_own: bool,
    found: bool,
}

impl<'ast> Visit<'ast> for Prefix<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut prefixes = path.segments.iter().rev().skip(1);
        let is_named =
            |ident: &proc_macro2::Ident| ident == self.name || (self.is_own && ident == "Self");
        self.found |= prefixes.next().is_some_and(|segment| is_named(&segment.ident));
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust::tests::modules_of;

    #[test]
    fn fields_of_a_named_structure_are_counted() {
        let modules = modules_of(&[("a", "struct A { b: u8, c: u8 }"), ("d", "struct E(u8);")]);
        assert_eq!(n_fields(&modules, "A"), Some(2));
        assert_eq!(n_fields(&modules, "E"), Some(1));
        assert_eq!(n_fields(&modules, "F"), None);
    }

    #[test]
    fn functions_that_return_a_type_are_counted() {
        let text = "fn a() -> State {} fn b(s: State) -> bool {} fn c() -> Option<(u8, State)> {}
                    impl B { fn d(&self) -> Result<State, E> {} }
                    #[cfg(test)] mod tests { fn e() -> State {} }";
        assert_eq!(n_deciders(&modules_of(&[("a", text)]), "State"), 3);
    }

    #[test]
    fn matches_on_variants_are_counted() {
        let first = "enum Step { A, B(u8) }
                     impl Step { fn f(&self) { match self { Self::A => 1, Self::B(_) => 2 } } }
                     fn g(s: Step) { match s.0 { Step::A if x => 1, _ => 2 } }";
        let second =
            "impl Other { fn h(&self) { match self { Self::A => match b { Some(1) => 2 } } } }
                      fn i(s: Step) { match (s, t) { (crate::Step::B(_), _) => 1, _ => 2 } }";
        let modules = modules_of(&[("a", first), ("b", second)]);
        let expected = Matches { variants: 2, matches: 3, files: 2 };
        assert_eq!(matches(&modules, "Step"), Some(expected));
        assert_eq!(matches(&modules, "Other"), None);
    }
}
