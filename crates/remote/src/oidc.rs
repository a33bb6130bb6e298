//! OpenID Connect login: the authorization code flow with PKCE.
//!
//! A login has two steps. The browser is redirected to the provider with a state, a nonce and a
//! challenge; it returns with a code, which is exchanged for an ID token whose signature and claims
//! are verified here. Claims are only trusted if the provider signed them for this login attempt.

/// Provider metadata (discovery document).
mod discovery;
/// Signing keys (JWKS).
mod key;
/// ID token verification.
mod token;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use form_urlencoded::{Serializer, byte_serialize};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::http;
use discovery::Discovery;
use key::KeySet;
pub use token::{Claims, TokenFault};

/// Request timeout.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1_000_000;
/// Cache lifetime of provider metadata.
const METADATA_LIFETIME: Duration = Duration::from_secs(3_600);
/// The minimum interval between key refreshes caused by unknown keys.
const KEY_REFRESH_INTERVAL: Duration = Duration::from_secs(60);

/// Issuer and client credentials.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Exactly as in the provider's metadata.
    pub issuer: String,
    pub client_id: String,
    /// `None` for public clients.
    pub client_secret: Option<Secret>,
}

/// An OIDC provider.
#[derive(Debug)]
pub struct Provider {
    settings: ProviderSettings,
    client: Client,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    discovery: Option<(Discovery, Timestamp)>,
    keys: Option<(KeySet, Timestamp)>,
}

/// The state of one login attempt, stored between redirect and callback.
#[derive(Clone, Debug)]
pub struct LoginAttempt {
    pub redirect_uri: String,
    pub state: Secret,
    /// Repeated in the ID token.
    pub nonce: Secret,
    /// PKCE code verifier.
    pub verifier: Secret,
}

/// Error of a login.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    #[error("{0}")]
    Settings(String),
    /// No response from the provider.
    #[error("cannot reach the provider for its {what}")]
    Unreachable {
        what: &'static str,
        #[source]
        source: reqwest::Error,
    },
    /// The provider responded with an error status.
    #[error("the provider refused the {what} with status {status}")]
    Refused { what: &'static str, status: u16 },
    /// An invalid response of the provider.
    #[error("the provider's {what} is invalid: {why}")]
    Nonsense { what: &'static str, why: String },
    /// ID token verification failed.
    #[error("the provider's ID token is invalid")]
    Token(#[from] TokenFault),
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

impl Provider {
    /// Creates a client; sends nothing.
    ///
    /// # Errors
    /// Rejects an issuer without TLS, unless it is on this machine.
    pub fn new(settings: ProviderSettings) -> Result<Self, OidcError> {
        let issuer = discovery::checked(&settings.issuer).map_err(OidcError::Settings)?;
        let is_here = issuer.scheme() == "http";
        let client = if is_here { http::on_this_machine() } else { http::anywhere() };
        let client = client.timeout(TIMEOUT).redirect(Policy::none()).build();
        let client = client.map_err(|source| OidcError::Unreachable { what: "client", source })?;
        Ok(Self { settings, client, known: Mutex::default() })
    }

    /// Returns the issuer URL.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Returns the authorization URL for the browser.
    ///
    /// # Errors
    /// Fails if the provider's metadata cannot be loaded.
    pub async fn authorization_url(
        &self,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<Url, OidcError> {
        let mut url = self.discovery(now).await?.authorization_endpoint;
        let challenge = digest(&SHA256, attempt.verifier.expose().as_bytes());
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("scope", "openid email profile")
            .append_pair("state", attempt.state.expose())
            .append_pair("nonce", attempt.nonce.expose())
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Exchanges the authorization code and returns the verified claims.
    ///
    /// # Errors
    /// Fails if the provider rejects the code, or if verification fails.
    pub async fn claims_of_code(
        &self,
        code: &str,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<Claims, OidcError> {
        let discovery = self.discovery(now).await?;
        let answer: TokenAnswer =
            self.send("token", self.exchange(&discovery, code, attempt)).await?;
        let expected = token::Expected {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            nonce: &attempt.nonce,
            now,
        };
        let keys = self.keys(&discovery, now, METADATA_LIFETIME).await?;
        match token::check(&answer.id_token, &keys, &expected) {
            // Providers rotate their keys.
            Err(TokenFault::UnknownKey) => {
                let keys = self.keys(&discovery, now, KEY_REFRESH_INTERVAL).await?;
                Ok(token::check(&answer.id_token, &keys, &expected)?)
            }
            checked => Ok(checked?),
        }
    }

    fn exchange(
        &self,
        discovery: &Discovery,
        code: &str,
        attempt: &LoginAttempt,
    ) -> RequestBuilder {
        let id = &self.settings.client_id;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("code_verifier", attempt.verifier.expose());
        let request = self.client.post(discovery.token_endpoint.clone());
        let request = match &self.settings.client_secret {
            None => {
                form.append_pair("client_id", id);
                request
            }
            Some(secret) if discovery.takes_secret_in_form() => {
                form.append_pair("client_id", id).append_pair("client_secret", secret.expose());
                request
            }
            Some(secret) => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
                request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)))
            }
        };
        request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form.finish())
    }

    async fn discovery(&self, now: Timestamp) -> Result<Discovery, OidcError> {
        let known = self.known.lock().await.discovery.clone();
        if let Some((discovery, _)) =
            known.filter(|(_, since)| is_younger(*since, now, METADATA_LIFETIME))
        {
            return Ok(discovery);
        }
        let url = discovery::address(&self.settings.issuer).map_err(OidcError::Settings)?;
        let document = self.send("description", self.client.get(url)).await?;
        let discovery = Discovery::check(document, &self.settings.issuer)
            .map_err(|why| OidcError::Nonsense { what: "description", why })?;
        // Loaded without holding the lock, so that a slow provider does not block other logins.
        self.known.lock().await.discovery = Some((discovery.clone(), now));
        Ok(discovery)
    }

    /// Returns the provider's keys, no older than the given age.
    async fn keys(
        &self,
        discovery: &Discovery,
        now: Timestamp,
        age: Duration,
    ) -> Result<KeySet, OidcError> {
        let known = self.known.lock().await.keys.clone();
        if let Some((keys, _)) = known.filter(|(_, since)| is_younger(*since, now, age)) {
            return Ok(keys);
        }
        let keys: KeySet = self.send("keys", self.client.get(discovery.jwks_uri.clone())).await?;
        self.known.lock().await.keys = Some((keys.clone(), now));
        Ok(keys)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        what: &'static str,
        request: RequestBuilder,
    ) -> Result<T, OidcError> {
        let failed = |source| OidcError::Unreachable { what, source };
        let mut answer = request.header(ACCEPT, "application/json").send().await.map_err(failed)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(OidcError::Refused { what, status: status.as_u16() });
        }
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(failed)? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_RESPONSE_BYTES {
                return Err(OidcError::Nonsense { what, why: "it does not end".to_owned() });
            }
        }
        // The parser's message is omitted, because it may contain secrets.
        serde_json::from_slice(&body).map_err(|error| OidcError::Nonsense {
            what,
            why: format!("unexpected JSON in line {}", error.line()),
        })
    }
}

fn is_younger(since: Timestamp, now: Timestamp, age: Duration) -> bool {
    let elapsed = u64::try_from(now.since(since)).ok().map(Duration::from_nanos);
    elapsed.is_some_and(|elapsed| elapsed < age)
}
