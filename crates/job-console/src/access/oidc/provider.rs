//! The provider: its settings and keys, and the tokens that it gives for a code.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use openidconnect::core::{
    CoreClient, CoreClientAuthMethod, CoreErrorResponseType, CoreIdToken, CoreJwsSigningAlgorithm,
    CoreResponseType,
};
use openidconnect::{
    AuthType, AuthenticationFlow, AuthorizationCode, ClaimsVerificationError, ClientId,
    ClientSecret, CsrfToken, IdTokenVerifier, IssuerUrl, JsonWebKeySet, LogoutRequest, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout,
    RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, TokenResponse as _,
};
use outbound::{SecretText, with_causes};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::claims::{NoCaller, payload};
use super::http::{Http, HttpBounds};
use super::pending::SignIns;
use super::{CALLBACK, Oidc, invalid};
use crate::access::{AccessError, Caller};

/// Algorithms of signatures with a public key. A symmetric one, or none, is never accepted.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Largest ID token that is kept for the sign-out at the provider, in bytes.
const MAX_HINT_BYTES: usize = 4096;

/// Bounds of the requests to a provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) http: HttpBounds,
    /// Time after which the settings and keys are fetched again.
    pub(super) fresh: Duration,
    /// Shortest time between two attempts to fetch the settings, or the keys.
    pub(super) retry: Duration,
    /// Time that a sign-in waits for the settings.
    pub(super) wait: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            http: HttpBounds::default(),
            fresh: Duration::from_secs(60 * 60),
            retry: Duration::from_secs(10),
            wait: Duration::from_secs(25),
        }
    }
}

/// Why a sign-in at the provider does not end with a caller.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The provider cannot be reached, or its answer cannot be used. The user may try again.
    #[error("the identity provider cannot be used: {0}")]
    Unusable(String),
    /// The token is not one for this sign-in.
    #[error("the ID token is refused: {0}")]
    Token(String),
    #[error(transparent)]
    NoCaller(#[from] NoCaller),
}

/// A user whom the provider has signed in.
#[derive(Debug)]
pub(in crate::access) struct Signed {
    pub(in crate::access) caller: Caller,
    /// Address of the provider at which the user signs out, if it has one. It names the session.
    sign_out: Option<SecretString>,
}

impl Signed {
    /// Returns the address of the provider at which the user signs out, if it has one.
    pub(in crate::access) fn sign_out(&self) -> Option<&str> {
        self.sign_out.as_ref().map(|address| address.expose_secret())
    }
}

/// An identity provider with what is known about it.
#[derive(Debug)]
pub(in crate::access) struct Provider {
    pub(super) settings: Oidc,
    issuer: IssuerUrl,
    http: Http,
    bounds: Bounds,
    state: Arc<Mutex<State>>,
    pub(super) sign_ins: SignIns,
}

#[derive(Debug, Default)]
struct State {
    metadata: Option<Arc<ProviderMetadataWithLogout>>,
    /// Time of the last attempt to fetch the settings, and why it failed.
    fetched: Option<Instant>,
    failure: Option<String>,
    keys_fetched: Option<Instant>,
}

impl State {
    /// Returns true if the settings have to be fetched.
    fn is_due(&self, bounds: &Bounds) -> bool {
        let interval = match self.failure {
            None => bounds.fresh,
            Some(_) => bounds.retry,
        };
        self.fetched.is_none_or(|fetched| fetched.elapsed() >= interval)
    }

    /// Records the end of an attempt to fetch the settings.
    fn note(&mut self, fetched: Result<ProviderMetadataWithLogout, String>) {
        let now = Instant::now();
        self.fetched = Some(now);
        match fetched {
            Ok(metadata) => {
                self.metadata = Some(Arc::new(metadata));
                (self.failure, self.keys_fetched) = (None, Some(now));
            }
            Err(reason) => self.failure = Some(reason),
        }
    }
}

impl Provider {
    pub(in crate::access) fn new(settings: Oidc) -> Result<Self, AccessError> {
        Self::bounded(settings, Bounds::default())
    }

    pub(super) fn bounded(settings: Oidc, bounds: Bounds) -> Result<Self, AccessError> {
        let valid = "an address for which this machine has certificates";
        let refused = |_| invalid("issuer", &settings.issuer, valid);
        let issuer =
            IssuerUrl::new(settings.issuer.clone()).map_err(|error| refused(error.to_string()))?;
        let http = Http::new(issuer.url(), bounds.http).map_err(refused)?;
        let (state, sign_ins) = (Arc::default(), SignIns::default());
        if let Some(Err(error)) = settings.client_secret.as_ref().map(SecretText::resolve) {
            let valid = "a variable or a file that this process can read";
            return Err(invalid("client_secret", &with_causes(&error), valid));
        }
        Ok(Self { settings, issuer, http, bounds, state, sign_ins })
    }

    pub(in crate::access) fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    pub(in crate::access) fn label(&self) -> &str {
        &self.settings.label
    }

    /// Returns the settings of the provider with its keys. They are fetched when they are needed.
    async fn metadata(self: &Arc<Self>) -> Result<Arc<ProviderMetadataWithLogout>, Fault> {
        let fetching = async {
            let mut state = Arc::clone(&self.state).lock_owned().await;
            if state.is_due(&self.bounds) {
                let provider = Arc::clone(self);
                state = in_task(async move {
                    let fetched = provider.fetch().await;
                    state.note(fetched);
                    state
                })
                .await?;
            }
            // Former settings are better than none.
            let reason = state.failure.clone().unwrap_or_default();
            state.metadata.clone().ok_or(Fault::Unusable(reason))
        };
        let late = |_| Fault::Unusable(format!("no settings within {:?}", self.bounds.wait));
        tokio::time::timeout(self.bounds.wait, fetching).await.map_err(late)?
    }

    async fn fetch(&self) -> Result<ProviderMetadataWithLogout, String> {
        let found =
            ProviderMetadataWithLogout::discover_async(self.issuer.clone(), &self.http).await;
        let found = found.map_err(|error| with_causes(&error))?;
        self.http.check(found.authorization_endpoint().url()).map_err(|fault| fault.to_string())?;
        Ok(found)
    }

    /// Fetches the keys again, because a token names an unknown one: the provider may have rotated
    /// them. Returns `None` if they were fetched a moment ago.
    async fn with_new_keys(
        self: &Arc<Self>,
        known: &Arc<ProviderMetadataWithLogout>,
    ) -> Result<Option<Arc<ProviderMetadataWithLogout>>, Fault> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        if let Some(metadata) = state.metadata.as_ref().filter(|now| !Arc::ptr_eq(now, known)) {
            return Ok(Some(Arc::clone(metadata)));
        }
        if state.keys_fetched.is_some_and(|fetched| fetched.elapsed() < self.bounds.retry) {
            return Ok(None);
        }
        state.keys_fetched = Some(Instant::now());
        let (provider, known) = (Arc::clone(self), Arc::clone(known));
        in_task(async move {
            let keys = JsonWebKeySet::fetch_async(known.jwks_uri(), &provider.http).await;
            let keys = keys.map_err(|error| Fault::Unusable(with_causes(&error)))?;
            let metadata = Arc::new(ProviderMetadataWithLogout::clone(&known).set_jwks(keys));
            state.metadata = Some(Arc::clone(&metadata));
            Ok(Some(metadata))
        })
        .await?
    }

    fn redirect(&self, prefix: &str) -> RedirectUrl {
        RedirectUrl::from_url(self.settings.public(prefix, CALLBACK))
    }

    /// Begins a sign-in of a browser, and returns the address of the provider.
    pub(super) async fn begin(
        self: &Arc<Self>,
        prefix: &str,
        browser: &str,
        client: Option<IpAddr>,
        next: String,
    ) -> Result<Url, Fault> {
        let metadata = self.metadata().await?;
        let client_id = ClientId::new(self.settings.client_id.clone());
        let relying = CoreClient::from_provider_metadata((*metadata).clone(), client_id, None)
            .set_redirect_uri(self.redirect(prefix));
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let request = relying.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let scopes = ["profile"].into_iter().chain(self.settings.scopes.iter().map(String::as_str));
        let (url, state, nonce) = request
            .add_scopes(scopes.map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge)
            .url();
        self.sign_ins.add(state.secret(), browser, client, (nonce, verifier, next));
        Ok(url)
    }

    /// Exchanges the code of a sign-in for a token, and returns the user of the token.
    pub(super) async fn complete(
        self: &Arc<Self>,
        prefix: &str,
        code: String,
        (nonce, verifier): (Nonce, PkceCodeVerifier),
    ) -> Result<Signed, Fault> {
        let mut metadata = self.metadata().await?;
        let token = self.exchange(&metadata, prefix, code, verifier).await?;
        if let Err(error) = self.verify(&metadata, &token, &nonce) {
            let is_unknown_key = matches!(
                error,
                ClaimsVerificationError::SignatureVerification(
                    SignatureVerificationError::NoMatchingKey
                )
            );
            let renewed = match is_unknown_key {
                true => self.with_new_keys(&metadata).await?,
                false => None,
            };
            let refused = |error: ClaimsVerificationError| Fault::Token(with_causes(&error));
            metadata = renewed.ok_or_else(|| refused(error))?;
            self.verify(&metadata, &token, &nonce).map_err(refused)?;
        }
        let text = token.to_string();
        let claims = payload(&text).ok_or(Fault::Token("it is no JSON".to_owned()))?;
        let caller = self.settings.claims.caller(&claims, &self.settings.grants)?;
        let hint = Some(&token).filter(|_| text.len() <= MAX_HINT_BYTES);
        Ok(Signed { caller, sign_out: self.sign_out(&metadata, prefix, hint) })
    }

    async fn exchange(
        &self,
        metadata: &ProviderMetadataWithLogout,
        prefix: &str,
        code: String,
        verifier: PkceCodeVerifier,
    ) -> Result<CoreIdToken, Fault> {
        let unusable = |reason: String| Fault::Unusable(reason);
        let secret = self.settings.client_secret.as_ref();
        let secret = secret.map(|secret| secret.resolve()).transpose();
        let secret =
            secret.map_err(|error| unusable(format!("client_secret: {}", with_causes(&error))))?;
        let secret = secret.map(|secret| ClientSecret::new(secret.expose_secret().to_owned()));
        let client_id = ClientId::new(self.settings.client_id.clone());
        let relying = CoreClient::from_provider_metadata(metadata.clone(), client_id, secret)
            .set_auth_type(auth_type(metadata))
            .set_redirect_uri(self.redirect(prefix));
        let request = relying.exchange_code(AuthorizationCode::new(code));
        let request = request.map_err(|error| unusable(with_causes(&error)))?;
        let answer = request.set_pkce_verifier(verifier).request_async(&self.http).await;
        let answer = answer.map_err(|error| {
            let refused = match &error {
                RequestTokenError::ServerResponse(refused) => Some(refused.error()),
                RequestTokenError::Request(_)
                | RequestTokenError::Parse(..)
                | RequestTokenError::Other(_) => None,
            };
            match refused == Some(&CoreErrorResponseType::InvalidGrant) {
                // The user has to begin again: the code is wrong, was used, or has expired.
                true => Fault::Token(with_causes(&error)),
                false => unusable(with_causes(&error)),
            }
        })?;
        let token = answer.id_token().cloned();
        token.ok_or_else(|| unusable("its answer has no ID token".to_owned()))
    }

    fn verify(
        &self,
        metadata: &ProviderMetadataWithLogout,
        token: &CoreIdToken,
        nonce: &Nonce,
    ) -> Result<(), ClaimsVerificationError> {
        let client_id = ClientId::new(self.settings.client_id.clone());
        let keys = metadata.jwks().clone();
        let verifier = IdTokenVerifier::new_public_client(client_id, self.issuer.clone(), keys)
            .set_allowed_algs(ALGORITHMS);
        token.claims(&verifier, nonce).map(drop)
    }

    /// Returns the address of the provider at which a user signs out, if it has one. The token
    /// names the session.
    fn sign_out(
        &self,
        metadata: &ProviderMetadataWithLogout,
        prefix: &str,
        hint: Option<&CoreIdToken>,
    ) -> Option<SecretString> {
        let endpoint = metadata.additional_metadata().end_session_endpoint.clone()?;
        self.http.check(endpoint.url()).ok()?;
        let back = self.settings.public(prefix, "/sign-in");
        let request = LogoutRequest::from(endpoint)
            .set_client_id(ClientId::new(self.settings.client_id.clone()))
            .set_post_logout_redirect_uri(PostLogoutRedirectUrl::from_url(back));
        let request = match hint {
            Some(hint) => request.set_id_token_hint(hint),
            None => request,
        };
        Some(String::from(request.http_get_url()).into())
    }
}

/// Fetches in a task of its own, which holds the lock of the state: a client that disconnects must
/// not discard the answer. The lock bounds the number of these tasks to one.
async fn in_task<T: Send + 'static>(
    fetch: impl Future<Output = T> + Send + 'static,
) -> Result<T, Fault> {
    let ended = |error| Fault::Unusable(format!("the fetch has ended: {error}"));
    tokio::spawn(fetch).await.map_err(ended)
}

/// Returns the way in which the console proves its identity: in a header, unless the provider
/// accepts a secret in the body only.
fn auth_type(metadata: &ProviderMetadataWithLogout) -> AuthType {
    let methods = metadata.token_endpoint_auth_methods_supported();
    match methods {
        Some(methods)
            if !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
                && methods.contains(&CoreClientAuthMethod::ClientSecretPost) =>
        {
            AuthType::RequestBody
        }
        _ => AuthType::BasicAuth,
    }
}

#[cfg(test)]
impl Signed {
    pub(super) fn for_test(caller: Caller) -> Self {
        Self { caller, sign_out: None }
    }
}
