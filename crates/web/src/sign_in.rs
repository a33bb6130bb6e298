//! Signing in and out, the first owner, and what people do with their own account.

mod next;
mod form;
/// Another server that vouches for people.
mod provider;
mod set_up;
/// The viewer's own password and logins.
mod account;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use ratchet_core::network::Networks;
use ratchet_core::secret::Secret;
use ratchet_store::catalog::{Actor, LOGIN_LIFETIME, LoginUser, Role, ThrottleKey, Turn, User};

use crate::client_address;
use crate::cookie::{Channel, Cookie};
use crate::page_error::PageResult;
use crate::request_context::Params;
use crate::viewer::Viewer;
use crate::web::{Access, Web};
use form::{Problem, SignInForm};
use next::Next;
pub use provider::OidcLogin;
pub(crate) use provider::here;

/// Settings of sign-in.
#[derive(Debug, Default)]
pub struct SignIn {
    /// Setup token for the first owner, while there is no user: only the operator
    /// has seen it.
    pub set_up_token: Option<Secret>,
    /// Another server that vouches for people, if there is one.
    pub oidc: Option<Box<OidcLogin>>,
    /// Trusted proxies, whose forwarded client addresses are used.
    pub trusted_proxies: Networks,
}

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/sign-in", get(show).post(enter))
        .route("/sign-out", post(leave))
        .merge(provider::routes())
        .merge(set_up::routes())
        .merge(account::routes())
}

async fn show(State(web): State<Web>, parts: Parts) -> PageResult<Response> {
    let params = Params::read(parts.uri.query().unwrap_or_default());
    let next = Next::parse(params.get("next").unwrap_or("/"));
    if Viewer::identify(&web, &parts).await.is_ok() {
        return Ok(Redirect::to(next.as_str()).into_response());
    }
    if !web.store.catalog.has_users().await? {
        return Ok(Redirect::to("/set-up").into_response());
    }
    SignInForm { email: "", next: &next, problem: None }.show(&web, &parts.headers)
}

async fn enter(State(web): State<Web>, parts: Parts, fields: Params) -> PageResult<Response> {
    let next = Next::parse(fields.get("next").unwrap_or("/"));
    if let Access::Open(_) = web.access {
        return Ok(Redirect::to(next.as_str()).into_response());
    }
    let (email, password) = (fields.get("email"), fields.get("password"));
    let (email, password) = (email.unwrap_or_default(), password.unwrap_or_default());
    let form = SignInForm { email, next: &next, problem: None };
    let address = client_address::of(&web, &parts.headers, &parts.extensions);
    let suspects = ThrottleKey::at_account(email, &address);
    if let Turn::Wait(wait) = web.store.catalog.begin_attempt(suspects.clone(), web.now()).await? {
        tracing::warn!(address, "refused an attempt to sign in");
        return form.with(Problem::TooMany(wait)).show(&web, &parts.headers);
    }
    let found = web.store.catalog.check_password(email, Secret::new(password)).await?;
    // Users with write-only access have no pages.
    let Some(user) = found.filter(|user| user.role != Role::IngestOnly) else {
        return form.with(Problem::Wrong).show(&web, &parts.headers);
    };
    web.store.catalog.attempt_succeeded(suspects).await?;
    let welcome = welcome(&web, &parts.headers, &user).await?;
    Ok((welcome, Redirect::to(next.as_str())).into_response())
}

async fn leave(State(web): State<Web>, parts: Parts) -> PageResult<Response> {
    end_current_login(&web, &parts.headers).await?;
    let forget = [Cookie::Session.clear(Channel::of(&parts.headers))];
    Ok((forget, Redirect::to("/sign-in")).into_response())
}

/// Creates a login with a new token, whatever the browser carried before, and returns the
/// headers that hand it over.
async fn welcome(web: &Web, headers: &HeaderMap, user: &User) -> PageResult<HeaderMap> {
    end_current_login(web, headers).await?;
    let client = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let catalog = web.store.catalog.by(Actor::person(user));
    let begun = catalog.create_login(user.id.clone(), client.to_owned(), web.now());
    let (login, token) = begun.await?;
    tracing::info!(user.id, login = login.id, "signed in");
    let channel = Channel::of(headers);
    let cookies =
        [Cookie::Session.set(&token, Some(LOGIN_LIFETIME), channel), Cookie::Form.clear(channel)];
    let mut answer = HeaderMap::new();
    for (name, value) in cookies {
        answer.append(name, value);
    }
    Ok(answer)
}

/// Ends the login of a browser on the server, too: a copy of its cookie is worthless
/// from then on.
async fn end_current_login(web: &Web, headers: &HeaderMap) -> PageResult<()> {
    let Some(token) = Cookie::Session.read(headers) else { return Ok(()) };
    if let Some(LoginUser { login, user }) = web.store.catalog.signed_in(&token, web.now()).await? {
        web.store.catalog.end_login(user.id, login.id).await?;
    }
    Ok(())
}
