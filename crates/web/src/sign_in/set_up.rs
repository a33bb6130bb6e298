//! Setup of the first owner. The token is known only to the operator who started the server.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::html;
use ratchet_core::catalog::account::{Email, is_password};
use ratchet_core::secret::Secret;
use ratchet_store::catalog::{NewUser, Role, ThrottleKey, Turn};

use super::form::{Field, PASSWORD_RULE, Problem, anonymous_page, field};
use super::{SignIn, welcome};
use crate::client_address;
use crate::page_error::PageResult;
use crate::request_context::Params;
use crate::web::{Access, Web};

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/set-up", get(show).post(create))
}

async fn show(State(web): State<Web>, parts: Parts) -> PageResult<Response> {
    if is_over(&web).await? {
        return Ok(Redirect::to("/sign-in").into_response());
    }
    let params = Params::read(parts.uri.query().unwrap_or_default());
    form(&web, &parts.headers, &params, None)
}

async fn create(State(web): State<Web>, parts: Parts, fields: Params) -> PageResult<Response> {
    if is_over(&web).await? {
        return Ok(Redirect::to("/sign-in").into_response());
    }
    let address = client_address::of(&web, &parts.headers, &parts.extensions);
    let suspects = vec![ThrottleKey::Address(address)];
    if let Turn::Wait(wait) = web.store.catalog.begin_attempt(suspects.clone(), web.now()).await? {
        return form(&web, &parts.headers, &fields, Some(&Problem::TooMany(wait)));
    }
    if !is_token(&web, fields.get("token").unwrap_or_default())? {
        return form(&web, &parts.headers, &fields, Some(&Problem::Token));
    }
    web.store.catalog.attempt_succeeded(suspects).await?;
    let new = match owner(&fields) {
        Ok(new) => new,
        Err(why) => return form(&web, &parts.headers, &fields, Some(&Problem::Choice(why))),
    };
    let Some(user) = web.store.catalog.create_first_owner(new, web.now()).await? else {
        return Ok(Redirect::to("/sign-in").into_response());
    };
    tracing::info!(user.id, "the first owner is set up");
    let welcome = welcome(&web, &parts.headers, &user).await?;
    Ok((welcome, Redirect::to("/")).into_response())
}

/// Whether setup is done: there is a user, or sign-in is off.
async fn is_over(web: &Web) -> PageResult<bool> {
    if let Access::Open(_) = web.access {
        return Ok(true);
    }
    Ok(web.store.catalog.has_users().await?)
}

/// Whether this is the token that was printed. Takes the same time either way: it is not the texts
/// that are compared.
fn is_token(web: &Web, given: &str) -> PageResult<bool> {
    let Access::People(SignIn { set_up_token: Some(token), .. }) = &web.access else {
        return Ok(false);
    };
    let signed = web.store.secrets.sign(&format!("set-up {given}"))?;
    Ok(web.store.secrets.is_signed(&format!("set-up {}", token.expose()), &signed)?)
}

fn owner(fields: &Params) -> Result<NewUser, String> {
    let email = Email::parse(fields.get("email").unwrap_or_default());
    let email = email.ok_or("Not a valid email address.")?;
    let password = Secret::new(fields.get("password").unwrap_or_default());
    if !is_password(password.expose()) {
        return Err(PASSWORD_RULE.to_owned());
    }
    Ok(NewUser { email, name: None, password, role: Role::Owner, project: None })
}

fn form(
    web: &Web,
    headers: &HeaderMap,
    typed: &Params,
    problem: Option<&Problem>,
) -> PageResult<Response> {
    let text = |name| typed.get(name).unwrap_or_default();
    anonymous_page(web, headers, "Set up this server", problem, |form_token| {
        html! {
            p { "Create the owner account. The owner has full access and can "
                "add other users." }
            form.sign-in method="post" action="/set-up" {
                (form_token.field())
                (field(&Field { label: "Set-up token (printed by ratchet serve)", name: "token",
                    kind: "text", value: text("token"), autocomplete: "off" }))
                (field(&Field { label: "Email", name: "email", kind: "email",
                    value: text("email"), autocomplete: "username" }))
                (field(&Field { label: "Password (8 characters or more)", name: "password",
                    kind: "password", value: "", autocomplete: "new-password" }))
                button.button.primary type="submit" { "Create owner account" }
            }
        }
    })
}
