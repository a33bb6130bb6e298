//! Signing in with another server that vouches for people.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use ratchet_core::catalog::account::Email;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::oidc::{Claims, LoginAttempt, OidcError, Provider};
use ratchet_store::catalog::{Admission, ProviderIdentity, Role, ThrottleKey, Turn, User};
use ratchet_store::secrets::random_token;

use super::form::{Problem, SignInForm};
use super::next::Next;
use super::{SignIn, welcome};
use crate::client_address;
use crate::cookie::{Channel, Cookie};
use crate::page_error::{PageError, PageResult};
use crate::request_context::Params;
use crate::web::{Access, Web};

/// Lifetime of a login attempt.
const JOURNEY_TIME: Duration = Duration::from_secs(10 * 60);
/// Purpose of the encrypted login state.
const SEALED_FOR: &str = "sign-in with a provider";

/// OIDC provider and admission rules.
#[derive(Debug)]
pub struct OidcLogin {
    pub provider: Provider,
    /// What the button calls it.
    pub label: String,
    /// Domains of the addresses that are let in; any when empty.
    pub domains: Vec<String>,
    /// Role of new users; `None` to reject users without an account.
    pub admission: Option<Admission>,
}

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/sign-in/provider", get(depart))
        .route("/sign-in/provider/callback", get(arrive))
}

async fn depart(State(web): State<Web>, parts: Parts) -> PageResult<Response> {
    let oidc = oidc(&web)?;
    let params = Params::read(parts.uri.query().unwrap_or_default());
    let here = here(&parts.headers)
        .ok_or_else(|| PageError::Bad("the Host header is missing or wrong".to_owned()))?;
    let attempt = LoginAttempt {
        redirect_uri: format!("{here}/sign-in/provider/callback"),
        state: random_token()?,
        nonce: random_token()?,
        verifier: random_token()?,
    };
    let url = match oidc.provider.authorization_url(&attempt, web.now()).await {
        Ok(url) => url,
        Err(error) => return failed(&web, &parts.headers, &error),
    };
    let until = web.now().plus_nanos(nanos(JOURNEY_TIME));
    let next = Next::parse(params.get("next").unwrap_or("/"));
    let kept = Kept { attempt, until, next }.sealed(&web)?;
    let channel = Channel::of(&parts.headers);
    let cookie = [Cookie::Departure.set(&kept, Some(JOURNEY_TIME), channel)];
    Ok((cookie, Redirect::to(url.as_str())).into_response())
}

async fn arrive(State(web): State<Web>, parts: Parts) -> PageResult<Response> {
    let oidc = oidc(&web)?;
    let params = Params::read(parts.uri.query().unwrap_or_default());
    // Checked first: any site can send a browser here (login CSRF).
    let Some(kept) = departed(&web, &parts.headers, &params).await? else {
        return refused(&web, &parts.headers, Problem::Journey);
    };
    let address = client_address::of(&web, &parts.headers, &parts.extensions);
    let suspects = vec![ThrottleKey::Address(address)];
    let turn = web.store.catalog.begin_attempt(suspects.clone(), web.now()).await?;
    if let Turn::Wait(wait) = turn {
        return refused(&web, &parts.headers, Problem::TooMany(wait));
    }
    let is_by_them = params.get("iss").is_none_or(|issuer| issuer == oidc.provider.issuer());
    let Some(code) = params.get("code").filter(|_| is_by_them) else {
        return refused(&web, &parts.headers, Problem::Declined);
    };
    let claims = match oidc.provider.claims_of_code(code, &kept.attempt, web.now()).await {
        Ok(claims) => claims,
        Err(error) => return failed(&web, &parts.headers, &error),
    };
    let Some(user) = resolve_identity(&web, oidc, claims).await? else {
        return refused(&web, &parts.headers, Problem::Unknown);
    };
    web.store.catalog.attempt_succeeded(suspects).await?;
    let mut headers = welcome(&web, &parts.headers, &user).await?;
    let (name, value) = Cookie::Departure.clear(Channel::of(&parts.headers));
    headers.append(name, value);
    Ok((headers, Redirect::to(kept.next.as_str())).into_response())
}

fn oidc(web: &Web) -> PageResult<&OidcLogin> {
    match &web.access {
        Access::People(SignIn { oidc: Some(oidc), .. }) => Ok(oidc.as_ref()),
        Access::People(_) | Access::Open(_) => {
            Err(PageError::NotFound("no identity provider is configured".to_owned()))
        }
    }
}

/// The other half of the sign-in that a browser comes back from, if it is this browser's and was
/// not used before.
async fn departed(web: &Web, headers: &HeaderMap, params: &Params) -> PageResult<Option<Kept>> {
    let sealed = Cookie::Departure.read(headers);
    let kept = sealed.and_then(|sealed| Kept::open(web, &sealed));
    let state = params.get("state").map(Secret::new);
    let is_same = |kept: &Kept| state.as_ref() == Some(&kept.attempt.state);
    let Some(kept) = kept.filter(|kept| web.now() < kept.until).filter(is_same) else {
        return Ok(None);
    };
    let spent = web.store.catalog.spend(&kept.attempt.state, kept.until, web.now());
    Ok(spent.await?.then_some(kept))
}

/// The user of the verified claims, if admitted.
async fn resolve_identity(web: &Web, oidc: &OidcLogin, claims: Claims) -> PageResult<Option<User>> {
    let email = claims.verified_email.as_deref().and_then(Email::parse);
    let is_of = |email: &Email| oidc.domains.iter().any(|domain| domain == email.domain());
    if !oidc.domains.is_empty() && !email.as_ref().is_some_and(is_of) {
        return Ok(None);
    }
    let issuer = oidc.provider.issuer().to_owned();
    let identity = ProviderIdentity { issuer, subject: claims.subject, email, name: claims.name };
    let admission = oidc.admission.clone();
    let found = web.store.catalog.resolve_identity(identity, admission, web.now()).await?;
    Ok(found.filter(|user| user.role != Role::IngestOnly))
}

fn refused(web: &Web, headers: &HeaderMap, problem: Problem) -> PageResult<Response> {
    let next = Next::default();
    let form = SignInForm { email: "", next: &next, problem: Some(problem) };
    let mut response = form.show(web, headers)?;
    let (name, value) = Cookie::Departure.clear(Channel::of(headers));
    response.headers_mut().append(name, value);
    Ok(response)
}

fn failed(web: &Web, headers: &HeaderMap, error: &OidcError) -> PageResult<Response> {
    tracing::warn!(error = error as &dyn std::error::Error, "a sign-in with the provider failed");
    refused(web, headers, Problem::Provider)
}

/// Where the browser reached us: a provider knows which places are ours and sends it nowhere else.
pub(crate) fn here(headers: &HeaderMap) -> Option<String> {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let named = headers.get("x-forwarded-host").or_else(|| headers.get(HOST)).and_then(text)?;
    let host: Authority = named.trim().parse().ok()?;
    let scheme = match Channel::of(headers) {
        Channel::Secure => "https",
        Channel::Clear => "http",
    };
    Some(format!("{scheme}://{host}"))
}

/// Login state during the redirect: an encrypted cookie in the browser.
#[derive(Debug)]
struct Kept {
    attempt: LoginAttempt,
    until: Timestamp,
    next: Next,
}

impl Kept {
    fn sealed(&self, web: &Web) -> PageResult<Secret> {
        let LoginAttempt { redirect_uri, state, nonce, verifier } = &self.attempt;
        let (state, nonce, verifier) = (state.expose(), nonce.expose(), verifier.expose());
        let (until, next) = (self.until.nanos(), &self.next);
        let text = format!("{state} {nonce} {verifier} {until} {redirect_uri} {next}");
        Ok(Secret::new(web.store.secrets.seal(&Secret::new(text), SEALED_FOR)?))
    }

    fn open(web: &Web, sealed: &Secret) -> Option<Self> {
        let text = web.store.secrets.open(sealed.expose(), SEALED_FOR).ok()?;
        let parts: Vec<&str> = text.expose().split(' ').collect();
        let [state, nonce, verifier, until, redirect_uri, next] = parts.as_slice() else {
            return None;
        };
        let attempt = LoginAttempt {
            redirect_uri: (*redirect_uri).to_owned(),
            state: Secret::new(*state),
            nonce: Secret::new(*nonce),
            verifier: Secret::new(*verifier),
        };
        let until = Timestamp::from_nanos(until.parse().ok()?);
        Some(Self { attempt, until, next: Next::parse(next) })
    }
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
