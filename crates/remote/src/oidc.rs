//! Servers that vouch for people: OpenID Connect, the authorization code flow with PKCE.
//!
//! A sign-in has two halves. The browser departs to the provider with a state, a nonce and a
//! challenge; it comes back with a code, which is exchanged for a token whose signature and claims
//! are checked here. Nothing is believed that the provider has not signed for this very sign-in.

/// What a provider says about itself.
mod discovery;
/// The keys it signs with.
mod key;
/// What it says about a person, signed.
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

/// No provider takes longer to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// No answer is longer.
const ANSWER_BYTES: usize = 1_000_000;
/// How long what a provider says about itself is believed.
const FRESH: Duration = Duration::from_secs(3_600);
/// How soon its keys are asked for again because of a key that is not among them.
const KEYS_AGAIN: Duration = Duration::from_secs(60);

/// How we know a provider, and how it knows us.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Its address, exactly as it writes it itself.
    pub issuer: String,
    pub client_id: String,
    /// What proves that we are that one; none for public clients.
    pub client_secret: Option<Secret>,
}

/// A server that vouches for people.
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

/// What one sign-in is about. Kept by us from its first half to its second.
#[derive(Clone, Debug)]
pub struct LoginAttempt {
    /// Where the browser comes back to.
    pub redirect_uri: String,
    pub state: Secret,
    /// Comes back inside the token.
    pub nonce: Secret,
    /// What the challenge was made of.
    pub verifier: Secret,
}

/// Why a sign-in with a provider fails.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    #[error("{0}")]
    Settings(String),
    /// The provider did not answer.
    #[error("cannot reach the provider for its {what}")]
    Unreachable {
        what: &'static str,
        #[source]
        source: reqwest::Error,
    },
    /// The provider said no.
    #[error("the provider refused the {what} with status {status}")]
    Refused { what: &'static str, status: u16 },
    /// What the provider says makes no sense.
    #[error("the provider's {what} makes no sense: {why}")]
    Nonsense {
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The token is not one to believe.
    #[error("the provider's token is not to be believed")]
    Token(#[from] TokenFault),
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

impl Provider {
    /// Gets ready; nothing is asked yet.
    ///
    /// # Errors
    /// Refuses an issuer that is neither on this machine nor behind TLS.
    pub fn new(settings: ProviderSettings) -> Result<Self, OidcError> {
        let issuer = discovery::checked(&settings.issuer).map_err(OidcError::Settings)?;
        let is_here = issuer.scheme() == "http";
        let client = if is_here { http::on_this_machine() } else { http::anywhere() };
        let client = client.timeout(PATIENCE).redirect(Policy::none()).build();
        let client = client.map_err(|source| OidcError::Unreachable { what: "client", source })?;
        Ok(Self { settings, client, known: Mutex::default() })
    }

    /// Its address, as it writes it itself.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Where to send the browser.
    ///
    /// # Errors
    /// Fails if the provider cannot be asked about itself.
    pub async fn departure(
        &self,
        journey: &LoginAttempt,
        now: Timestamp,
    ) -> Result<Url, OidcError> {
        let mut url = self.discovery(now).await?.authorization_endpoint;
        let challenge = digest(&SHA256, journey.verifier.expose().as_bytes());
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &journey.redirect_uri)
            .append_pair("scope", "openid email profile")
            .append_pair("state", journey.state.expose())
            .append_pair("nonce", journey.nonce.expose())
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Exchanges the code that a browser came back with, and returns whom the provider vouches for.
    ///
    /// # Errors
    /// Fails if the provider refuses the code, or says something that must not be believed.
    pub async fn arrival(
        &self,
        code: &str,
        journey: &LoginAttempt,
        now: Timestamp,
    ) -> Result<Claims, OidcError> {
        let discovery = self.discovery(now).await?;
        let answer: TokenAnswer =
            self.ask("token", self.exchange(&discovery, code, journey)).await?;
        let expected = token::Expected {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            nonce: &journey.nonce,
            now,
        };
        let keys = self.keys(&discovery, now, FRESH).await?;
        match token::check(&answer.id_token, &keys, &expected) {
            // Providers change their keys now and then.
            Err(TokenFault::UnknownKey) => {
                let keys = self.keys(&discovery, now, KEYS_AGAIN).await?;
                Ok(token::check(&answer.id_token, &keys, &expected)?)
            }
            checked => Ok(checked?),
        }
    }

    fn exchange(
        &self,
        discovery: &Discovery,
        code: &str,
        journey: &LoginAttempt,
    ) -> RequestBuilder {
        let id = &self.settings.client_id;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &journey.redirect_uri)
            .append_pair("code_verifier", journey.verifier.expose());
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
        if let Some((discovery, _)) = known.filter(|(_, since)| is_younger(*since, now, FRESH)) {
            return Ok(discovery);
        }
        let url = discovery::address(&self.settings.issuer).map_err(OidcError::Settings)?;
        let document = self.ask("description", self.client.get(url)).await?;
        let discovery = Discovery::check(document, &self.settings.issuer)
            .map_err(|why| OidcError::Nonsense { what: "description", why })?;
        // Asked for without the lock: nobody queues behind a provider that is slow.
        self.known.lock().await.discovery = Some((discovery.clone(), now));
        Ok(discovery)
    }

    /// The provider's keys, as they were at most so long ago.
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
        let keys: KeySet = self.ask("keys", self.client.get(discovery.jwks_uri.clone())).await?;
        self.known.lock().await.keys = Some((keys.clone(), now));
        Ok(keys)
    }

    async fn ask<T: DeserializeOwned>(
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
            if body.len() > ANSWER_BYTES {
                return Err(OidcError::Nonsense { what, why: "it does not end".to_owned() });
            }
        }
        // Not the parser's own words: they may repeat what is secret.
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
