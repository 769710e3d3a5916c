//! Generated requests for each operation of the document: valid and broken values by the schemas of
//! parameters and bodies. Each answer is one that the document has.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use fastrand::Rng;
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp};
use job_history::{History, HistoryOptions};
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use crate::schema::faults;
use crate::support::{BASE, Site};

/// Number of seeds by which each operation is requested.
const SEEDS: u64 = 24;
/// Seeds that share a site, one after the other.
const SEEDS_OF_A_SITE: usize = 4;
/// Requests for each operation and seed.
const REQUESTS: usize = 5;
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];
/// Operations that no generated request of the test can fulfil: they need a template of a live
/// process, a finding of the present diagnosis, a fire of the history, or a known backfill.
const NEVER_DONE: [&str; 5] =
    ["create_job", "repair_finding", "repair_finding_of_group", "list_output", "cancel_backfill"];

/// A request, and whether it violates the schemas.
struct Generated {
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Value>,
    is_broken: bool,
}

struct Generator<'a> {
    document: &'a Value,
    rng: Rng,
    /// Values of this site, by the names of their fields and parameters.
    of_site: BTreeMap<&'static str, Value>,
}

impl Generator<'_> {
    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        self.rng.choice(all).expect("not empty").clone()
    }

    fn resolved<'b>(&'b self, schema: &'b Value) -> &'b Value {
        let Some(reference) = schema.get("$ref") else { return schema };
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        self.document.pointer(pointer.expect("a local reference")).expect("a defined schema")
    }

    fn text(&mut self) -> String {
        self.pick(&["report", "作业", "a b", "x", "0", "\"'<&>", "2024-02-29", "%41", "10.0.0.1"])
            .to_owned()
    }

    /// Returns values that make a request effective, for fields whose schema is wider.
    fn known(&mut self, name: &str) -> Option<Value> {
        if let Some(value) = self.of_site.get(name) {
            return Some(value.clone());
        }
        Some(match name {
            "reason" => json!("generated"),
            // A longer wait would only make the test slow.
            "wait_seconds" => self.rng.u64(0..=1).into(),
            "index" => json!(1),
            "start_rate" => self.pick(&["9 in 1m", "1000 in 24h"]).into(),
            "join" | "disable" | "enable" => json!("10.0.0.1"),
            "leave" => json!("10.0.0.1@-@1"),
            "strategy" => self.pick(&["AVG_ALLOCATION", "ODEVITY"]).into(),
            "confirmation" | "text" => self.pick(&["report", "java-2", "long"]).into(),
            "items" => self.pick(&[json!([0]), json!([0, 1]), json!([1, 7])]),
            "expectation" => self.pick(&["exists", "failures"]).into(),
            _ => return None,
        })
    }

    fn value(&mut self, schema: &Value, name: &str, depth: usize) -> Value {
        let schema = self.resolved(schema).clone();
        if let Some(known) = self.known(name)
            && faults(self.document, &schema, &known).is_empty()
        {
            return known;
        }
        if let Some(example) = schema.get("example").filter(|_| self.rng.bool()) {
            return example.clone();
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return self.pick(words);
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(all) = schema.get(keyword).and_then(Value::as_array) {
                let one = self.pick(all);
                return self.value(&one, name, depth);
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            let mut fields = Map::new();
            for part in all {
                let part = self.value(part, name, depth);
                fields.extend(part.as_object().cloned().unwrap_or_default());
            }
            return Value::Object(fields);
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) => self.pick(kinds),
            None => schema["type"].clone(),
        };
        match kind.as_str() {
            Some("boolean") => self.rng.bool().into(),
            Some("integer" | "number") => {
                let least = schema["minimum"].as_i64().unwrap_or(0);
                let most = schema["maximum"].as_i64().unwrap_or(least + 9);
                self.rng.i64(least..=most.min(least + 9)).into()
            }
            Some("string") if schema["format"] == "date-time" => {
                self.pick(&["2024-02-29T12:00:00Z", "2090-01-01T00:00:00+08:00"]).into()
            }
            Some("string") => self.text().into(),
            Some("array") => {
                let n = if depth > 4 { 0 } else { self.rng.usize(0..3) };
                (0..n).map(|_| self.value(&schema["items"], name, depth + 1)).collect()
            }
            Some("object") => self.object(&schema, depth),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut fields = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            // A configuration is given in one of two forms.
            let is_second_form = (name == "document" && fields.contains_key("fields"))
                || (name == "fields" && fields.contains_key("document"));
            let is_wanted = name == "reason" || (depth < 4 && !is_second_form && self.rng.bool());
            if required.contains(&json!(name)) || is_wanted {
                fields.insert(name.clone(), self.value(schema, name, depth + 1));
            }
        }
        Value::Object(fields)
    }

    /// Changes one field of a body, so that it may violate its schema.
    fn mutate(&mut self, body: &mut Value) {
        let Some(fields) = body.as_object_mut() else { return };
        let names: Vec<String> = fields.keys().cloned().collect();
        let Some(name) = self.rng.choice(&names) else { return };
        let wrong = [json!("x"), json!(-1), json!(1_000_000), json!([{}]), json!({}), json!(true)];
        match self.rng.u32(0..4) {
            0 => drop(fields.remove(name)),
            _ => drop(fields.insert(name.clone(), self.pick(&wrong))),
        }
    }

    /// Returns a value of a parameter as text, and whether it violates the schema.
    fn parameter(&mut self, parameter: &Value) -> (String, bool) {
        let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
        let known = match name {
            "namespace" => {
                self.pick(&["orders", "orders", "orders", "orders", "orders", "other"]).to_owned()
            }
            "job" => {
                let jobs =
                    ["report", "report", "long", "java-2", "java-3", "damaged", "left", "no"];
                self.pick(&jobs).to_owned()
            }
            "server" => {
                self.pick(&["10.0.0.1", "10.0.0.1", "10.0.0.9", "10.0.0.77", "host"]).to_owned()
            }
            "instance" => self.pick(&["10.0.0.1@-@1", "10.0.0.9@-@7", "x"]).to_owned(),
            "group" => self.pick(&["db", "db", "no", "a@-@b"]).to_owned(),
            "If-Match" | "request" if self.rng.bool() => {
                let known = self.of_site.get(name).and_then(Value::as_str).unwrap_or("\"1\"");
                known.to_owned()
            }
            "If-Match" => self.pick(&["\"1\"", "\"x\"", "*"]).to_owned(),
            "Idempotency-Key" => format!("key-{}", self.rng.u64(..)),
            _ => String::new(),
        };
        if !known.is_empty() {
            return (known, false);
        }
        let value = match self.one_in(4) {
            true => self.pick(&[json!("x"), json!(-1), json!(1_000_000), json!("")]),
            false => self.value(schema, name, 0),
        };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // A path without a name is that of another route.
        let is_in_path = parameter["in"] == "path";
        let text = if is_in_path && text.is_empty() { "x".to_owned() } else { text };
        // A text without quotes is also a number or a truth value.
        let read = [
            text.parse::<i64>().ok().map(Value::from),
            text.parse::<bool>().ok().map(Value::from),
            Some(json!(text)),
        ];
        let meets = |value: Value| faults(self.document, schema, &value).is_empty();
        (text.clone(), !read.into_iter().flatten().any(meets))
    }

    fn request(&mut self, template: &str, operation: &Value) -> Generated {
        let mut path = template.to_owned();
        let (mut query, mut headers, mut is_broken) = (Vec::new(), Vec::new(), false);
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap().to_owned();
            let is_required = parameter["required"] == true;
            if !is_required && self.rng.bool() {
                continue;
            }
            let (value, breaks) = self.parameter(parameter);
            is_broken |= breaks;
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &encoded(&value)),
                Some("query") => query.push(format!("{name}={}", encoded(&value))),
                _ => headers.push((name, value)),
            }
        }
        if self.one_in(20) {
            query.push("unknown=1".to_owned());
            is_broken = true;
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body = schema.is_object().then(|| {
            let mut body = self.value(schema, "", 0);
            if self.one_in(3) {
                self.mutate(&mut body);
            }
            is_broken |= !faults(self.document, schema, &body).is_empty();
            body
        });
        Generated { path, headers, body, is_broken }
    }
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, entry): (&String, &'_ Value)| -> Vec<(String, String)> {
        let methods = METHODS.iter().filter(|method| entry.get(**method).is_some());
        methods.map(|method| ((*method).to_owned(), path.clone())).collect()
    };
    let all = paths.iter().flat_map(of_path).collect::<Vec<_>>();
    all.into_iter()
        .map(|(method, path)| {
            let entry = &paths[&path][&method];
            (method, path, entry)
        })
        .collect()
}

/// Returns values that are valid for this site now.
async fn of_site(site: &Site) -> BTreeMap<&'static str, Value> {
    let of_report = |path: &str| format!("{BASE}/jobs/report/{path}");
    let tag = site.get(&of_report("configuration")).await;
    let audit = site.get(&of_report("audit")).await;
    let mut requests = audit.body["rows"].as_array().into_iter().flatten();
    let request = requests.find(|record| record["act"] == "trigger");
    let hour_ago = Timestamp::now() - SignedDuration::from_hours(1);
    let file = "[[jobs]]\nname = 'new'\nsharding_total_count = 1\nstored = true\n";
    BTreeMap::from([
        ("If-Match", json!(tag.header("etag"))),
        ("request", request.map_or(Value::Null, |record| record["id"].clone())),
        ("export", site.get(&format!("{BASE}/export")).await.body["export"].clone()),
        ("files", json!([{ "name": "new.toml", "text": file }])),
        ("fields", json!({ "description": format!("changed at {}", Timestamp::now()) })),
        ("from", json!(hour_ago.to_string())),
    ])
}

/// Sends a request, and checks that the document has its answer.
async fn check(
    site: &Site,
    document: &Value,
    method: &str,
    operation: &Value,
    it: &Generated,
) -> StatusCode {
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    let mut request = Request::builder().method(&method).uri(&it.path);
    for (name, value) in &it.headers {
        request = request.header(name, value);
    }
    let body = it.body.as_ref().map(Value::to_string).unwrap_or_default();
    let request = request.header("content-type", "application/json").body(Body::from(body));
    let at = || format!("{method} {} {:?} {:?}", it.path, it.headers, it.body);
    let response = site.router.clone().oneshot(request.unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let status = parts.status;
    let documented = operation["responses"].get(status.as_str());
    let documented = documented.unwrap_or_else(|| panic!("{}: {status} is not documented", at()));
    assert!(!status.is_server_error(), "{}: {status}", at());
    assert!(!it.is_broken || status.is_client_error(), "{}: accepted with {status}", at());
    let Some(kind) = parts.headers.get("content-type").map(|kind| kind.to_str().unwrap()) else {
        assert_eq!(status, StatusCode::NOT_MODIFIED, "{}: no content type", at());
        return status;
    };
    let content = documented["content"].get(kind);
    let content = content.unwrap_or_else(|| panic!("{}: {status} {kind} is not documented", at()));
    // A stream does not end.
    if kind == "application/json" || kind == "application/problem+json" {
        let bytes = body.collect().await.unwrap().to_bytes();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        let found = faults(document, &content["schema"], &value);
        assert!(found.is_empty(), "{}: {status} {found:#?}\n{value}", at());
    }
    status
}

/// Returns the place of an operation in the order of requests: an update makes a restoration
/// possible, and both need a job that no other operation has removed.
fn order(path: &str) -> usize {
    let first = ["/configuration", "/configuration/restore"];
    first.iter().position(|end| path.ends_with(end)).unwrap_or(first.len())
}

#[tokio::test]
async fn generated_requests_get_documented_answers() {
    let mut done: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for first_seed in (0..SEEDS).step_by(SEEDS_OF_A_SITE) {
        let folder = tempfile::tempdir().unwrap();
        let options = HistoryOptions::sqlite(folder.path().join("history.db"));
        let history = History::open(options).await.unwrap();
        let site = Site::populated_with(Some(history)).await;
        let document = site.get("/api/v1/openapi.json").await.ok().body;
        for seed in first_seed..first_seed + SEEDS_OF_A_SITE as u64 {
            let (rng, values) = (Rng::with_seed(seed), of_site(&site).await);
            let mut generator = Generator { document: &document, rng, of_site: values };
            let mut all = operations(&document);
            generator.rng.shuffle(&mut all);
            all.sort_by_key(|(_, path, _)| order(path));
            for (method, path, operation) in all {
                let names_revision = path.contains("/configuration");
                for _ in 0..if names_revision { REQUESTS * 4 } else { REQUESTS } {
                    if names_revision {
                        generator.of_site = of_site(&site).await;
                    }
                    let request = generator.request(&path, operation);
                    let status = check(&site, &document, &method, operation, &request).await;
                    let id = operation["operationId"].as_str().unwrap().to_owned();
                    let counts = done.entry(id).or_default();
                    counts.0 += usize::from(status.is_success());
                    counts.1 += usize::from(status.is_client_error());
                }
            }
        }
    }
    let without: Vec<_> = done.iter().filter(|(_, (good, _))| *good == 0).collect();
    let unexpected: Vec<_> =
        without.iter().filter(|(id, _)| !NEVER_DONE.contains(&id.as_str())).collect();
    assert!(unexpected.is_empty(), "no valid request was generated for {unexpected:?}");
    let never_refused: Vec<_> = done.iter().filter(|(_, (_, bad))| *bad == 0).collect();
    assert!(never_refused.is_empty(), "no broken request was generated for {never_refused:?}");
}
