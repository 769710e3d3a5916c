//! A small check of markup: nesting, unique ids, labels, headings of tables, nothing inline.

use std::collections::BTreeSet;

pub(crate) const VOID: [&str; 6] = ["br", "hr", "input", "link", "meta", "wbr"];

/// An element, in the order of the document.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    /// Names of the elements around it.
    parents: Vec<String>,
}

impl Element {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Returns all elements, or the first fault of the nesting.
pub(crate) fn elements(html: &str) -> Result<Vec<Element>, String> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap_or(html);
    let (mut open, mut found) = (Vec::<String>::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = end_of_tag(rest).ok_or_else(|| format!("no end of a tag: {}", head(rest)))?;
        let (tag, after) = rest.split_at(end);
        rest = &after[1..];
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> ends {last:?}"));
            }
            continue;
        }
        let (name, attributes) = parsed(tag)?;
        found.push(Element { name: name.clone(), attributes, parents: open.clone() });
        if !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(found) } else { Err(format!("not ended: {open:?}")) }
}

fn head(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Returns the place of the `>` that is not within a quoted value.
pub(crate) fn end_of_tag(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    text.char_indices().find_map(|(at, c)| {
        is_quoted ^= c == '"';
        (c == '>' && !is_quoted).then_some(at)
    })
}

pub(crate) fn parsed(tag: &str) -> Result<(String, Vec<(String, String)>), String> {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!("<{}> is no element", head(tag)));
    }
    let mut attributes = Vec::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let key = rest[..end].to_owned();
        let Some(quoted) = rest[end..].strip_prefix("=\"") else {
            attributes.push((key, String::new()));
            rest = &rest[end..];
            continue;
        };
        let (value, after) = quoted.split_once('"').ok_or_else(|| format!("{key} has no end"))?;
        attributes.push((key, unescaped(value)));
        rest = after;
    }
    Ok((name.to_owned(), attributes))
}

fn unescaped(value: &str) -> String {
    let value = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    value.replace("&amp;", "&")
}

/// Returns the faults of a document.
pub(crate) fn faults(html: &str) -> Vec<String> {
    let found = match elements(html) {
        Ok(found) => found,
        Err(fault) => return vec![fault],
    };
    let mut faults = Vec::new();
    let mut ids = BTreeSet::new();
    for id in found.iter().filter_map(|element| element.get("id")) {
        if !ids.insert(id) {
            faults.push(format!("id {id:?} is given twice"));
        }
    }
    let labelled: BTreeSet<_> = found.iter().filter_map(|element| element.get("for")).collect();
    for element in &found {
        faults.extend(fault_of(element, &ids, &labelled));
    }
    for name in ["main", "h1"] {
        let count = found.iter().filter(|element| element.name == name).count();
        if count != 1 {
            faults.push(format!("{count} <{name}>"));
        }
    }
    faults
}

fn fault_of(element: &Element, ids: &BTreeSet<&str>, labelled: &BTreeSet<&str>) -> Vec<String> {
    let name = element.name.as_str();
    let mut faults = Vec::new();
    let mut fault = |text: &str| faults.push(format!("<{name}> {text}: {:?}", element.attributes));
    if element.attributes.iter().any(|(key, _)| key == "style" || key.starts_with("on")) {
        fault("has an inline style or script");
    }
    for reference in ["for", "aria-labelledby", "aria-controls"] {
        if element.get(reference).is_some_and(|id| !ids.contains(id)) {
            fault("refers to an unknown id");
        }
    }
    let is_control = matches!(name, "input" | "select" | "textarea");
    let is_hidden = element.get("type") == Some("hidden");
    let has_label = element.get("id").is_some_and(|id| labelled.contains(id));
    if is_control && !is_hidden && !has_label {
        fault("has no label");
    }
    match name {
        "style" => fault("is inline"),
        "script" if element.get("src").is_none() => fault("is inline"),
        "th" if element.get("scope").is_none() => fault("has no scope"),
        "a" if element.get("href").is_none() => fault("has no address"),
        "tr" if !element.parents.iter().any(|parent| parent == "table") => fault("has no table"),
        "button" if element.get("type").is_none() && !is_in_dialog(element) => {
            fault("has no type");
        }
        _ => {}
    }
    faults
}

fn is_in_dialog(element: &Element) -> bool {
    element.parents.iter().any(|parent| parent == "dialog")
}

#[test]
fn check_finds_faults() {
    let page = |body: &str| format!("<main><h1>a</h1>{body}</main>");
    for (body, expected) in [
        ("<p>b</p>", None),
        ("<p>b</div>", Some("</div> ends Some(\"p\")")),
        ("<p id=\"a\"></p><p id=\"a\"></p>", Some("id \"a\" is given twice")),
        ("<input name=\"q\">", Some("<input> has no label")),
        ("<table><tr><th>b</th></tr></table>", Some("<th> has no scope")),
        ("<p style=\"color:red\">b</p>", Some("<p> has an inline style or script")),
        ("<script>b</script>", Some("<script> is inline")),
        ("<label for=\"a\">b</label>", Some("<label> refers to an unknown id")),
        ("<h1>b</h1>", Some("2 <h1>")),
        ("a < b", Some("< b</main> is no element")),
    ] {
        let faults = faults(&page(body));
        let first = faults.first().map(String::as_str).unwrap_or_default();
        assert!(first.starts_with(expected.unwrap_or_default()), "{body}: {faults:?}");
        assert_eq!(faults.is_empty(), expected.is_none(), "{body}: {faults:?}");
    }
}
