//! An OIDC provider with scripted users, real keys and real signatures, which can also send invalid
//! tokens.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fixtures;

/// Our client id.
pub const CLIENT_ID: &str = "ratchet-test";
/// Our client secret, with characters that must be encoded.
pub const CLIENT_SECRET: &str = "s3cret:/%";

/// How a token is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signing {
    /// ECDSA, with the provider's own key.
    #[default]
    Es256,
    /// RSA, with the provider's own key.
    Rs256,
    /// ECDSA, with the provider's key id but another key.
    Stranger,
    /// ECDSA, with a key that the provider has not published.
    Unknown,
    /// Unsigned, with `alg: none`.
    Nothing,
    /// HMAC with the public key as shared secret, a known attack.
    Hs256,
}

type Form = BTreeMap<String, String>;

/// A running provider. It serves until the process ends.
#[derive(Clone, Debug)]
pub struct ScriptedProvider {
    address: SocketAddr,
    keys: Arc<Keys>,
    state: Arc<Mutex<Script>>,
}

#[derive(Debug)]
struct Keys {
    own: EcdsaKeyPair,
    stranger: EcdsaKeyPair,
    rsa: RsaKeyPair,
}

#[derive(Debug, Default)]
struct Script {
    signing: Signing,
    claims: Value,
    codes: BTreeMap<String, Form>,
    issued: usize,
}

impl ScriptedProvider {
    /// Starts a provider on a free port of this machine, with the user Ada.
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let keys = Keys { own: ecdsa(), stranger: ecdsa(), rsa: rsa() };
        let provider = Self {
            address: listener.local_addr().unwrap(),
            keys: Arc::new(keys),
            state: Arc::default(),
        };
        let app = Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/keys", get(show_keys))
            .route("/authorize", get(authorize))
            .route("/token", post(exchange))
            .with_state(provider.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        provider
    }

    /// Its issuer URL: `http://127.0.0.1:…`.
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the signing of further tokens, with these claims overriding its own.
    pub fn say(&self, signing: Signing, claims: Value) {
        let mut script = self.script();
        script.signing = signing;
        script.claims = claims;
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap()
    }

    fn token(&self, asked: &Form, script: &Script) -> String {
        let mut claims = json!({
            "iss": self.issuer(),
            "sub": "ada-1",
            "aud": CLIENT_ID,
            "exp": 7_258_118_400u64,
            "nonce": asked["nonce"],
            "email": "Ada@Example.com",
            "email_verified": true,
            "name": "Ada Lovelace",
        });
        for (name, value) in script.claims.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        let (alg, kid) = match script.signing {
            Signing::Es256 | Signing::Stranger => ("ES256", "own"),
            Signing::Unknown => ("ES256", "unknown"),
            Signing::Rs256 => ("RS256", "rsa"),
            Signing::Nothing => ("none", "own"),
            Signing::Hs256 => ("HS256", "own"),
        };
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&json!({"alg": alg, "kid": kid})), part(&claims));
        let signature = self.keys.sign(script.signing, message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl Keys {
    fn sign(&self, signing: Signing, message: &[u8]) -> Vec<u8> {
        let chance = SystemRandom::new();
        let ecdsa = |key: &EcdsaKeyPair| key.sign(&chance, message).unwrap().as_ref().to_vec();
        match signing {
            Signing::Es256 => ecdsa(&self.own),
            Signing::Stranger | Signing::Unknown => ecdsa(&self.stranger),
            Signing::Rs256 => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa.sign(&RSA_PKCS1_SHA256, &chance, message, &mut signature).unwrap();
                signature
            }
            Signing::Nothing => Vec::new(),
            Signing::Hs256 => {
                let key =
                    ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.own.public_key().as_ref());
                ring::hmac::sign(&key, message).as_ref().to_vec()
            }
        }
    }
}

fn ecdsa() -> EcdsaKeyPair {
    let (chance, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
    let document = EcdsaKeyPair::generate_pkcs8(kind, &chance).unwrap();
    EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &chance).unwrap()
}

fn rsa() -> RsaKeyPair {
    let text = fixtures::all("keys").remove(0);
    RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()
}

async fn describe(State(provider): State<ScriptedProvider>) -> Json<Value> {
    let at = |path: &str| format!("{}{path}", provider.issuer());
    Json(json!({
        "issuer": provider.issuer(),
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "jwks_uri": at("/keys"),
        "response_types_supported": ["code"],
    }))
}

async fn show_keys(State(provider): State<ScriptedProvider>) -> Json<Value> {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    // One byte for the encoding of the point, then its two coordinates.
    let point = provider.keys.own.public_key().as_ref()[1..].to_vec();
    let (x, y) = point.split_at(32);
    let RsaPublicKeyComponents::<Vec<u8>> { n, e } = provider.keys.rsa.public().into();
    Json(json!({"keys": [
        {"kty": "RSA", "kid": "encrypts", "use": "enc", "n": text(&n), "e": text(&e)},
        {"kty": "EC", "crv": "P-256", "kid": "own", "use": "sig", "alg": "ES256",
         "x": text(x), "y": text(y)},
        {"kty": "RSA", "kid": "rsa", "use": "sig", "n": text(&[&[0], n.as_slice()].concat()),
         "e": text(&e)},
    ]}))
}

/// Every user is signed in already and consents at once.
async fn authorize(
    State(provider): State<ScriptedProvider>,
    Query(asked): Query<Form>,
) -> Response {
    let is_ours = asked.get("client_id").is_some_and(|id| id == CLIENT_ID)
        && asked.get("response_type").is_some_and(|kind| kind == "code")
        && asked.get("code_challenge_method").is_some_and(|method| method == "S256");
    if !is_ours {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let mut script = provider.script();
    script.issued += 1;
    let code = format!("code-{}", script.issued);
    let (back, state) = (&asked["redirect_uri"], &asked["state"]);
    let target = format!("{back}?code={code}&state={state}");
    script.codes.insert(code, asked);
    Redirect::to(&target).into_response()
}

async fn exchange(
    State(provider): State<ScriptedProvider>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let sent: Form = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let mut script = provider.script();
    // A code can be used once.
    let Some(asked) = sent.get("code").and_then(|code| script.codes.remove(code)) else {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"}))).into_response();
    };
    let verifier = sent.get("code_verifier").map_or("", String::as_str);
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let expected = format!("Basic {}", STANDARD.encode("ratchet-test:s3cret%3A%2F%25"));
    let is_fine = challenge == asked["code_challenge"]
        && sent.get("redirect_uri") == asked.get("redirect_uri")
        && headers.get("authorization").is_some_and(|value| value == expected.as_str());
    if !is_fine {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"})))
            .into_response();
    }
    let token = provider.token(&asked, &script);
    Json(json!({"access_token": "unused", "token_type": "Bearer", "id_token": token}))
        .into_response()
}
