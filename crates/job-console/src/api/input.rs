//! Queries and bodies of requests.
//!
//! The problem of a value that cannot be read names the field, its value and the valid values.
//! Those come from the schema in the API's document.

use std::fmt::Write as _;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::{RefOr, Required, Schema};
use utoipa::{IntoParams, ToSchema};

use crate::problem::{Answer, Problem};
use crate::server::MAX_BODY_BYTES;

/// Maximum number of characters of a value that a problem shows.
const MAX_SHOWN: usize = 80;
/// Maximum depth of a schema that is compared with a value.
const MAX_DEPTH: usize = 16;

/// Returns the parameters in the query of an address. Each query has some.
pub(crate) fn pairs(uri: &Uri) -> Vec<(String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

/// The parameters of a read.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + IntoParams> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Answer<Self> {
        let read = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        read.map(|axum::extract::Query(query)| Self(query)).map_err(|_| {
            let detail = fault_of_query::<T>(&pairs(&parts.uri));
            Problem::invalid(detail.unwrap_or_else(|| undocumented("query")))
        })
    }
}

/// The body of a change, as JSON.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        check_content_type(request.headers())?;
        let bytes = Bytes::from_request(request, state).await.map_err(unreceived)?;
        serde_json::from_slice(&bytes).map(Self).map_err(|_| invalid_body::<T>(&bytes))
    }
}

fn check_content_type(headers: &HeaderMap) -> Answer<()> {
    let given = headers.get(header::CONTENT_TYPE);
    let kind = given.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind.strip_prefix("application/").is_some_and(|kind| {
        kind == "json" || kind.strip_suffix("+json").is_some_and(|kind| !kind.is_empty())
    });
    if is_json {
        return Ok(());
    }
    let found = given.map_or_else(|| "missing".to_owned(), |kind| format!("is {kind:?}"));
    let detail = format!("header Content-Type {found}; valid is application/json");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "wrong-content-type", detail))
}

fn unreceived(rejection: BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large();
    }
    Problem::invalid("the body was not received; send it again")
}

/// Returns the problem of a body beyond the limit. A program that mounts the console may set one.
pub(super) fn too_large() -> Problem {
    let detail = format!(
        "the body is larger than the limit of this program; valid are up to {MAX_BODY_BYTES} bytes \
         if it sets no other limit"
    );
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
}

fn invalid_body<T: DeserializeOwned + ToSchema>(bytes: &[u8]) -> Problem {
    let value = match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => value,
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let detail =
                format!("the body is not JSON at line {line}, column {column}; valid is an object");
            return Problem::invalid(detail);
        }
    };
    let detail = Schemas::of::<T>().fault_of(&value).unwrap_or_else(|| {
        // A value has the last one of equal fields.
        if serde_json::from_value::<T>(value).is_ok() {
            return "the body has a field twice; valid is once".to_owned();
        }
        undocumented("body")
    });
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-request", detail)
}

fn undocumented(what: &str) -> String {
    format!("the {what} cannot be read; valid is the form in /api/v1/openapi.json")
}

/// Describes the first parameter that is not as documented.
fn fault_of_query<T: IntoParams>(given: &[(String, String)]) -> Option<String> {
    let parameters = T::into_params(|| Some(ParameterIn::Query));
    for parameter in &parameters {
        let name = &parameter.name;
        let mut values = given.iter().filter(|(given, _)| given == name).map(|(_, value)| value);
        let schema = parameter.schema.as_ref().map(schema_value).unwrap_or_default();
        match (values.next(), values.next()) {
            (None, _) if parameter.required == Required::True => {
                return Some(format!("{name} is missing; valid is {}", described(&schema)));
            }
            (None, _) => {}
            (Some(_), Some(_)) => return Some(format!("{name} is given twice; valid is once")),
            (Some(text), None) => {
                if !is_text_of(&schema, text) {
                    let shown = shown(&Value::String(text.clone()));
                    return Some(format!("{name} is {shown}; valid is {}", described(&schema)));
                }
            }
        }
    }
    None
}

/// Returns true if a parameter of this schema may have this text.
fn is_text_of(schema: &Value, text: &str) -> bool {
    let value = match type_of(schema) {
        Some("integer") => text.parse::<i64>().ok().map(Value::from),
        Some("boolean") => text.parse::<bool>().ok().map(Value::from),
        _ => None,
    };
    let value = value.unwrap_or_else(|| Value::String(text.to_owned()));
    Schemas::default().fault(schema, &value, "", 0).is_none()
}

fn schema_value(schema: &RefOr<Schema>) -> Value {
    serde_json::to_value(schema).unwrap_or_default()
}

/// The schema of a body, with those that it refers to.
#[derive(Default)]
struct Schemas {
    root: Value,
    named: Map<String, Value>,
}

impl Schemas {
    fn of<T: ToSchema>() -> Self {
        let mut named = Vec::new();
        T::schemas(&mut named);
        let named = named.iter().map(|(name, schema)| (name.clone(), schema_value(schema)));
        Self { root: schema_value(&T::schema()), named: named.collect() }
    }

    /// Describes the first part of a body that is not as documented.
    fn fault_of(&self, body: &Value) -> Option<String> {
        self.fault(&self.root, body, "", 0)
    }

    /// Returns the schema that a reference means. A schema that is not known has no conditions.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema };
        let name = reference.rsplit('/').next().unwrap_or_default();
        self.named.get(name).unwrap_or(&Value::Null)
    }

    /// `path` is the path of the value within the body; it is empty for the body itself.
    fn fault(&self, schema: &Value, value: &Value, path: &str, depth: usize) -> Option<String> {
        let schema = self.resolved(schema);
        if depth > MAX_DEPTH {
            return None;
        }
        let wrong = || {
            let name = if path.is_empty() { "the body" } else { path };
            Some(format!("{name} is {}; valid is {}", shown(value), self.description(schema)))
        };
        if let Some(variants) = variants(schema) {
            let faults = variants.iter().map(|one| self.fault(one, value, path, depth + 1));
            let faults: Option<Vec<_>> = faults.collect();
            let faults = faults?;
            // The only variant of the value's own type knows the exact place.
            let mut objects = variants.iter().zip(faults).filter(|(one, _)| {
                value.is_object() && type_of(self.resolved(one)) == Some("object")
            });
            return match (objects.next(), objects.next()) {
                (Some((_, fault)), None) => Some(fault),
                _ => wrong(),
            };
        }
        if let Some(valid) = schema.get("enum").and_then(Value::as_array) {
            return if valid.contains(value) { None } else { wrong() };
        }
        if value.is_null() && is_nullable(schema) {
            return None;
        }
        match (type_of(schema), value) {
            (Some("object"), Value::Object(fields)) => {
                self.fault_of_fields(schema, fields, path, depth)
            }
            (Some("array"), Value::Array(values)) => {
                let items = &schema["items"];
                let mut values = values.iter().enumerate();
                values
                    .find_map(|(n, one)| self.fault(items, one, &format!("{path}[{n}]"), depth + 1))
            }
            (Some("string"), Value::String(text)) => {
                let is_time = schema["format"] == "date-time";
                if is_time && text.parse::<Timestamp>().is_err() { wrong() } else { None }
            }
            (Some("integer"), Value::Number(number)) => {
                let (min, max) = bounds(schema);
                let number = number.as_i128();
                let is_within =
                    number.is_some_and(|it| it >= min && max.is_none_or(|max| it <= max));
                if is_within { None } else { wrong() }
            }
            (Some("number"), Value::Number(_)) | (Some("boolean"), Value::Bool(_)) | (None, _) => {
                None
            }
            (Some(_), _) => wrong(),
        }
    }

    fn fault_of_fields(
        &self,
        schema: &Value,
        fields: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Option<String> {
        let within = |name: &str| {
            if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
        };
        let known = schema["properties"].as_object();
        let other = &schema["additionalProperties"];
        for (name, value) in fields {
            let fault = match known.and_then(|known| known.get(name)) {
                Some(schema) => self.fault(schema, value, &within(name), depth + 1),
                None if *other == Value::Bool(false) => {
                    let valid = names(schema);
                    let name = shown(&Value::String(within(name)));
                    Some(format!("field {name} is unknown; valid are {valid}"))
                }
                None => self.fault(other, value, &within(name), depth + 1),
            };
            if fault.is_some() {
                return fault;
            }
        }
        let required =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = required.into_iter().find(|name| !fields.contains_key(*name))?;
        let valid = self.description(&schema["properties"][missing]);
        Some(format!("{} is missing; valid is {valid}", within(missing)))
    }

    /// Describes the valid values of a schema.
    fn description(&self, schema: &Value) -> String {
        let schema = self.resolved(schema);
        let Some(variants) = variants(schema) else { return described(schema) };
        let variants = variants.iter().map(|one| self.description(one));
        let (nulls, mut variants): (Vec<_>, Vec<_>) = variants.partition(|text| text == "null");
        variants.extend(nulls);
        variants.join(", or ")
    }
}

fn variants(schema: &Value) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array())
}

/// Describes the valid values of a schema that has neither variants nor a reference.
fn described(schema: &Value) -> String {
    if let Some(valid) = schema.get("enum").and_then(Value::as_array) {
        let valid =
            valid.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned));
        return format!("one of {}", valid.collect::<Vec<_>>().join(", "));
    }
    let mut text = match type_of(schema) {
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => {
            let (min, max) = bounds(schema);
            let max = max.map(|max| format!(" to {max}")).unwrap_or_default();
            format!("a number from {min}{max}")
        }
        Some("number") => "a number".to_owned(),
        Some("string") if schema["format"] == "date-time" => {
            "a time such as 2026-11-30T09:00:00Z".to_owned()
        }
        Some("string") => match schema["example"].as_str() {
            Some(example) => format!("a text such as {example:?}"),
            None => "a text".to_owned(),
        },
        Some("array") => match type_of(&schema["items"]) {
            Some("integer") => "a list of numbers".to_owned(),
            Some("string") => "a list of texts".to_owned(),
            _ => "a list".to_owned(),
        },
        Some("object") => format!("an object with {}", names(schema)),
        Some("null") => return "null".to_owned(),
        Some(_) | None => "the form in /api/v1/openapi.json".to_owned(),
    };
    if is_nullable(schema) {
        text.push_str(", or null");
    }
    text
}

/// Returns the names of the fields of an object.
fn names(schema: &Value) -> String {
    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    known.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the type of a schema, beside null.
fn type_of(schema: &Value) -> Option<&str> {
    let types = schema.get("type")?;
    let others = types.as_array().into_iter().flatten().filter_map(Value::as_str);
    types.as_str().or_else(|| others.into_iter().find(|one| *one != "null"))
}

fn is_nullable(schema: &Value) -> bool {
    let types = schema.get("type").and_then(Value::as_array);
    types.is_some_and(|types| types.iter().any(|one| one == "null"))
}

/// Returns the least and the greatest integer of a schema.
fn bounds(schema: &Value) -> (i128, Option<i128>) {
    let given = |key| schema.get(key).and_then(Value::as_number);
    // The document may have a bound as a float.
    let given = |key| given(key)?.to_string().trim_end_matches(".0").parse::<i128>().ok();
    let min = given("minimum");
    let max_of_format = || match (schema["format"].as_str(), min) {
        (Some("int32"), Some(0..)) => Some(i128::from(u32::MAX)),
        (Some("int32"), _) => Some(i128::from(i32::MAX)),
        _ => None,
    };
    (min.unwrap_or(i128::from(i64::MIN)), given("maximum").or_else(max_of_format))
}

/// Returns a value as JSON, cut if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        let _ = write!(shown, "… ({} bytes)", text.len());
    }
    shown
}
