//! An identity provider on loopback, which answers as a test wants.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKeyId, PrivateSigningKey as _};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

/// How a token is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signing {
    #[default]
    Valid,
    /// With a key other than the published one of this name.
    OtherKey,
    /// Without a signature.
    None,
    /// The algorithm is one with a shared secret.
    Symmetric,
}

/// How the provider answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// Names of the published keys, and of the one that signs.
    pub(super) keys: Vec<&'static str>,
    pub(super) key: &'static str,
    pub(super) signing: Signing,
    /// Claims that replace those of a valid token; null removes one.
    pub(super) claims: Map<String, Value>,
    /// Fields that replace those of the settings.
    pub(super) settings: Map<String, Value>,
    /// Path whose answer is replaced, and by what.
    pub(super) broken: Option<(&'static str, Broken)>,
    /// Releases an answer that is held.
    pub(super) released: Arc<Notify>,
    /// Nonce of the sign-in, which the valid token has.
    pub(super) nonce: String,
    /// Paths of the requests so far.
    pub(super) requests: Vec<&'static str>,
    /// Body and `Authorization` header of the last request for a token.
    pub(super) asked: (String, String),
}

/// A wrong answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Broken {
    Status(u16),
    /// A body without end.
    Endless,
    /// No answer.
    Silent,
    /// The right answer, once it is released.
    Held,
    Empty,
    /// The code is refused.
    Refused,
}

/// A provider that runs until it is dropped.
pub(super) struct TestProvider {
    pub(super) issuer: String,
    pub(super) script: Arc<Mutex<Script>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
struct Shared {
    issuer: String,
    script: Arc<Mutex<Script>>,
}

impl TestProvider {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let script = Script { keys: vec!["one"], key: "one", ..Script::default() };
        let script = Arc::new(Mutex::new(script));
        let shared = Shared { issuer: issuer.clone(), script: Arc::clone(&script) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(settings))
            .route("/jwks", get(keys))
            .route("/token", post(token))
            .with_state(shared);
        let task = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { issuer, script, task }
    }

    /// Returns the number of requests for a path.
    pub(super) fn count(&self, path: &str) -> usize {
        self.script.lock().requests.iter().filter(|asked| **asked == path).count()
    }
}

impl Drop for TestProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Records a request, and returns the wrong answer to it if there is one.
async fn broken(shared: &Shared, path: &'static str) -> Option<Response> {
    let (broken, released) = {
        let mut script = shared.script.lock();
        script.requests.push(path);
        let broken = script.broken.filter(|(broken, _)| *broken == path);
        (broken, Arc::clone(&script.released))
    };
    Some(match broken?.1 {
        Broken::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Broken::Endless => {
            let chunk = || Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 64 * 1024]));
            Body::from_stream(futures_util::stream::repeat_with(chunk)).into_response()
        }
        Broken::Silent => std::future::pending().await,
        Broken::Held => {
            released.notified().await;
            return None;
        }
        Broken::Refused => {
            let body = Json(json!({ "error": "invalid_grant" }));
            (StatusCode::BAD_REQUEST, body).into_response()
        }
        Broken::Empty => {
            Json(json!({ "access_token": "a", "token_type": "bearer" })).into_response()
        }
    })
}

async fn settings(State(shared): State<Shared>) -> Response {
    if let Some(broken) = broken(&shared, "/settings").await {
        return broken;
    }
    let issuer = &shared.issuer;
    let mut settings = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"),
        "end_session_endpoint": format!("{issuer}/end"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
    });
    replace(&mut settings, &shared.script.lock().settings);
    Json(settings).into_response()
}

async fn keys(State(shared): State<Shared>) -> Response {
    if let Some(broken) = broken(&shared, "/jwks").await {
        return broken;
    }
    let names = shared.script.lock().keys.clone();
    let keys: Vec<_> = names.iter().map(|name| key(name, name).as_verification_key()).collect();
    Json(json!({ "keys": keys })).into_response()
}

async fn token(State(shared): State<Shared>, headers: HeaderMap, body: String) -> Response {
    if let Some(broken) = broken(&shared, "/token").await {
        return broken;
    }
    let mut script = shared.script.lock();
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap());
    script.asked = (body, authorization.unwrap_or_default().to_owned());
    let now = Timestamp::now().as_second();
    let mut claims = json!({
        "iss": shared.issuer, "aud": "ejob", "sub": "1", "iat": now, "exp": now + 300,
        "nonce": script.nonce, "preferred_username": "anna", "groups": ["ops"],
    });
    replace(&mut claims, &script.claims);
    let token = sign(&script, &claims);
    let answer = json!({ "access_token": "a", "token_type": "bearer", "id_token": token });
    Json(answer).into_response()
}

fn replace(fields: &mut Value, by: &Map<String, Value>) {
    let fields = fields.as_object_mut().unwrap();
    for (name, value) in by {
        fields.insert(name.clone(), value.clone());
    }
    fields.retain(|_, value| !value.is_null());
}

fn sign(script: &Script, claims: &Value) -> String {
    let algorithm = match script.signing {
        Signing::Valid | Signing::OtherKey => "EdDSA",
        Signing::None => "none",
        Signing::Symmetric => "HS256",
    };
    let header = json!({ "alg": algorithm, "typ": "JWT", "kid": script.key });
    let encoded = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let signed = format!("{}.{}", encoded(&header), encoded(claims));
    let seed = if script.signing == Signing::OtherKey { "other" } else { script.key };
    let signature = match script.signing {
        Signing::None => Vec::new(),
        Signing::Valid | Signing::OtherKey | Signing::Symmetric => {
            let key = key(seed, script.key);
            key.sign(&CoreJwsSigningAlgorithm::EdDsa, signed.as_bytes()).unwrap()
        }
    };
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

/// Returns an Ed25519 key (PKCS #8, RFC 8410) that is made of a seed.
fn key(seed: &str, name: &str) -> CoreEdDsaPrivateSigningKey {
    let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    der.extend(crate::access::secret::digest(seed));
    let text = BASE64_STANDARD.encode(der);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    let name = JsonWebKeyId::new(name.to_owned());
    CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(name)).unwrap()
}
