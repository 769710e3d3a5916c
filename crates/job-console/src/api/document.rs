//! Completes the generated document by the parts that all operations share.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::DRY_RUN;
use crate::changes::MAX_KEY;

/// Parameters of paths: name, description, schema.
fn path_parameter(name: &str) -> Value {
    let (description, schema) = match name {
        "namespace" => (
            "Name of the namespace",
            json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" }),
        ),
        "job" => ("Name of the job", json!({ "type": "string", "minLength": 1 })),
        "group" => ("Name of the group", json!({ "type": "string", "minLength": 1 })),
        "server" => ("IP address of the server", json!({ "type": "string", "minLength": 1 })),
        "instance" => {
            ("Instance id, such as 10.0.0.7@-@4123", json!({ "type": "string", "minLength": 1 }))
        }
        "backfill" => ("Id of the backfill", json!({ "type": "string", "minLength": 1 })),
        "request" => ("Id of the request of runs", json!({ "type": "string", "minLength": 1 })),
        "item" => ("Item number", json!({ "type": "integer", "minimum": 0, "maximum": 99_999 })),
        // A test checks that each parameter is described.
        _ => ("", json!({ "type": "string" })),
    };
    json!({
        "name": name, "in": "path", "required": true,
        "description": description, "schema": schema,
    })
}

/// Problem responses of an operation: status and description.
fn problems(is_change: bool, path: &str) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("400", "A parameter, a header or the body is not valid"),
        ("401", "The caller is not signed in"),
        ("403", "The caller lacks the permission"),
    ];
    if path.contains('{') {
        all.push(("404", "The namespace, the job, or another named object does not exist"));
        all.push(("503", "The first snapshot is loading, or too many requests are running"));
    }
    if path.ends_with("/plan") || path.ends_with("/removal") || path.ends_with("/fires") {
        all.push(("422", "The job does not support the request"));
        all.push(("409", "The job cannot be used"));
    }
    if path.contains("/history/") {
        all.push(("502", "The history store rejects the query"));
    }
    if is_change {
        all.extend([
            ("207", "Some targets have failed: see report.failed"),
            ("409", "The job has changed, or a condition of the change does not hold"),
            ("413", "The body is too large"),
            ("415", "The content type is not application/json"),
            ("422", "The body has a wrong value, or the job does not support the change"),
            ("500", "A fault of this program; the outcome is unknown"),
            ("502", "The registry rejects the change"),
            ("504", "The registry has not answered; outcome_unknown shows whether it may have"),
            ("507", "The job exceeds a limit"),
        ]);
    }
    all
}

/// Parameters of each change.
fn parameters_of_changes(is_change: bool) -> Vec<Value> {
    if !is_change {
        return Vec::new();
    }
    let dry_run = json!({
        "name": DRY_RUN, "in": "query", "required": false,
        "description": "True to change nothing, and to answer what would change",
        "schema": { "type": "boolean", "default": false },
    });
    vec![
        dry_run,
        json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Key of the change: a repeat with the same key gets the first answer",
            "schema": { "type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$" },
        }),
    ]
}

/// Ways in which a request names its caller, as the document shows them.
#[derive(Debug)]
pub(crate) struct Signing<'a> {
    /// Path below which the console is mounted, without a slash at the end.
    pub(crate) prefix: &'a str,
    /// True if callers of this machine need no sign-in.
    pub(crate) is_open: bool,
    /// Name of the cookie of a session.
    pub(crate) cookie: String,
}

/// Returns the complete document.
pub(super) fn complete(document: &OpenApi, signing: &Signing<'_>) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["servers"] = json!([{ "url": format!("{}/", signing.prefix) }]);
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer", "description": "Token of the tokens file" },
        "session": {
            "type": "apiKey", "in": "cookie", "name": signing.cookie,
            "description": "Session of a user who has signed in at the page of the console; with \
                            HTTPS, the name begins with __Host-",
        },
    });
    let mut security = vec![json!({ "token": [] }), json!({ "session": [] })];
    if signing.is_open {
        security.push(json!({}));
    }
    document["security"] = Value::Array(security);
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, operations) in paths.into_iter().flatten() {
        for (method, operation) in operations.as_object_mut().into_iter().flatten() {
            if let Some(operation) = operation.as_object_mut() {
                complete_operation(path, method != "get", operation);
            }
        }
    }
    document
}

fn complete_operation(path: &str, is_change: bool, operation: &mut Map<String, Value>) {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> =
        names.map(path_parameter).chain(parameters_of_changes(is_change)).collect();
    let given = operation.remove("parameters");
    parameters.extend(given.iter().filter_map(Value::as_array).flatten().cloned());
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), Value::Array(parameters));
    }
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    let Some(responses) = responses.as_object_mut() else { return };
    let success = responses.get("200").map(|response| response["content"].clone());
    for (status, description) in problems(is_change, path) {
        let content = match (status, &success) {
            ("207", Some(content)) => content.clone(),
            _ => problem_content(),
        };
        let response = json!({ "description": description, "content": content });
        responses.entry(status).or_insert(response);
    }
    for (status, response) in responses {
        if status.starts_with(['4', '5']) {
            response["content"] = problem_content();
        }
    }
}

fn problem_content() -> Value {
    json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } })
}
