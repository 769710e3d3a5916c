//! A page as a tree, to which the fragments of its stream apply as in a browser.

use super::markup::{VOID, end_of_tag, parsed};

/// A node of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

/// An element with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
}

impl Element {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the beginning of the element, as a place in an error.
    fn place(&self) -> String {
        let id = self.get("id").map(|id| format!("#{id}")).unwrap_or_default();
        format!("{}{id}", self.name)
    }
}

/// Returns the nodes of a text.
pub(crate) fn parse(html: &str) -> Vec<Node> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap_or(html);
    let root = Element { name: String::new(), attributes: Vec::new(), children: Vec::new() };
    let mut open = vec![root];
    while let Some(at) = rest.find('<') {
        add(&mut open, Node::Text(rest[..at].to_owned()));
        let (tag, after) = rest[at + 1..].split_at(end_of_tag(&rest[at + 1..]).unwrap());
        rest = &after[1..];
        if tag.starts_with('/') {
            let ended = open.pop().unwrap();
            add(&mut open, Node::Element(ended));
            continue;
        }
        let (name, mut attributes) = parsed(tag).unwrap();
        attributes.sort();
        let element = Element { name, attributes, children: Vec::new() };
        if VOID.contains(&element.name.as_str()) {
            add(&mut open, Node::Element(element));
        } else {
            open.push(element);
        }
    }
    open.pop().unwrap().children
}

fn add(open: &mut [Element], node: Node) {
    if node != Node::Text(String::new()) {
        open.last_mut().unwrap().children.push(node);
    }
}

/// Replaces the parts of a page by those of an event, as the script of the console does after the
/// reader has asked for new rows.
pub(crate) fn apply(page: &mut [Node], event: &str) {
    for node in parse(event) {
        let Node::Element(template) = node else { continue };
        for part in template.children {
            if let Node::Element(part) = part
                && let Some(id) = part.get("id").map(str::to_owned)
                && let Some(known) = find(page, &id)
            {
                *known = part;
            }
        }
    }
}

fn find<'a>(nodes: &'a mut [Node], id: &str) -> Option<&'a mut Element> {
    let mut elements = nodes.iter_mut().filter_map(|node| match node {
        Node::Element(element) => Some(element),
        Node::Text(_) => None,
    });
    elements.find_map(|element| {
        if element.get("id") == Some(id) { Some(element) } else { find(&mut element.children, id) }
    })
}

/// Removes what two consoles show differently.
///
/// - Texts that change by time alone: of elements with `data-rel` or `data-since`, whose attributes
///   have the times, and with `data-live`, which has the age of the page.
/// - Times that end with "or earlier": the console first saw a state then, and the registry does
///   not have its beginning.
pub(crate) fn without_ages(nodes: &mut Vec<Node>) {
    let is_first_seen = |node: &Node| matches!(node, Node::Element(element) if element.children == [Node::Text("or earlier".to_owned())]);
    if nodes.iter().any(is_first_seen) {
        let is_time = |node: &Node| matches!(node, Node::Element(element) if element.name == "time" || element.get("data-rel").is_some());
        nodes.retain(|node| !is_time(node));
    }
    for node in nodes {
        if let Node::Element(element) = node {
            let by_time = ["data-rel", "data-since", "data-live"];
            if by_time.iter().any(|name| element.get(name).is_some()) {
                element.children.clear();
            }
            without_ages(&mut element.children);
        }
    }
}

/// Returns the first difference of two pages, with its place.
pub(crate) fn difference(one: &[Node], other: &[Node]) -> Option<String> {
    let longer = one.len().max(other.len());
    (0..longer).find_map(|n| match (one.get(n), other.get(n)) {
        (Some(Node::Element(a)), Some(Node::Element(b)))
            if (&a.name, &a.attributes) == (&b.name, &b.attributes) =>
        {
            difference(&a.children, &b.children).map(|found| format!("{} > {found}", a.place()))
        }
        (a, b) if a == b => None,
        (a, b) => Some(format!("{a:?}\n is not\n{b:?}")),
    })
}

#[test]
fn ages_and_times_of_first_sight_are_removed() {
    let page = |live: &str, age: &str, at: &str| {
        let mut page = parse(&format!(
            "<b data-live=\"live\">{live}</b><i data-rel=\"1\">{age}</i><p><time datetime=\"{at}\">{at}</time> \
             <i data-rel=\"{at}\">{age}</i> <span>or earlier</span></p><time datetime=\"7\">7</time>"
        ));
        without_ages(&mut page);
        page
    };
    assert_eq!(difference(&page("1 s", "2 s ago", "3"), &page("2 s", "4 s ago", "5")), None);
    let shown = format!("{:?}", page("1 s", "2 s ago", "3"));
    assert!(shown.contains("(\"data-rel\", \"1\")") && shown.contains("Text(\"7\")"), "{shown}");
}

#[test]
fn events_replace_elements_by_their_ids() {
    let mut page =
        parse("<main><p id=\"a\">1</p><table><tr id=\"r\"><td>x</td></tr></table></main>");
    apply(&mut page, "<template><p id=\"a\" class=\"b\">2<br></p></template>");
    apply(&mut page, "<template><tr id=\"r\"><td>y</td></tr><tr id=\"lost\"></tr></template>");
    let expected =
        "<main><p class=\"b\" id=\"a\">2<br></p><table><tr id=\"r\"><td>y</td></tr></table></main>";
    assert_eq!(difference(&page, &parse(expected)), None);
    let other = parse(&expected.replace("y", "z"));
    let found = difference(&page, &other).unwrap();
    assert!(found.starts_with("main > table > tr#r > td > Some(Text(\"y\"))"), "{found}");
}
