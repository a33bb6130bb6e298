//! One's own account: the password, and where one is signed in.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::account::is_password;
use ratchet_core::secret::Secret;
use ratchet_store::catalog::{Login, LoginUser, ThrottleKey, Turn};

use super::form::{Field, PASSWORD_RULE, Problem, alert, field};
use crate::client_address;
use crate::components::figure;
use crate::frame;
use crate::page_error::{PageError, PageResult};
use crate::request_context::Params;
use crate::viewer::{Identity, Viewer};
use crate::viewer_time::ViewerTime;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/account", get(show))
        .route("/account/password", post(change_password))
        .route("/account/logins", post(end_logins))
}

async fn show(State(web): State<Web>, viewer: Viewer) -> PageResult<Response> {
    page(&web, &viewer, None).await
}

async fn change_password(
    State(web): State<Web>,
    viewer: Viewer,
    parts: Parts,
    fields: Params,
) -> PageResult<Response> {
    let LoginUser { login, user } = person(&viewer)?;
    let secret = |name| Secret::new(fields.get(name).unwrap_or_default());
    let (current, new) = (secret("current"), secret("new"));
    if !is_password(new.expose()) {
        return page(&web, &viewer, Some(&Problem::Choice(PASSWORD_RULE.to_owned()))).await;
    }
    // Someone at an unlocked screen must not get to guess at leisure.
    let address = client_address::of(&web, &parts.headers, &parts.extensions);
    let suspects = ThrottleKey::at_account(&user.email, &address);
    if let Turn::Wait(wait) = web.store.catalog.begin_attempt(suspects.clone(), web.now()).await? {
        return page(&web, &viewer, Some(&Problem::TooMany(wait))).await;
    }
    if web.store.catalog.check_password(&user.email, current).await?.is_none() {
        return page(&web, &viewer, Some(&Problem::Wrong)).await;
    }
    web.store.catalog.attempt_succeeded(suspects).await?;
    let kept = Some(login.id.clone());
    viewer.catalog(&web).set_password(user.id.clone(), new, kept, web.now()).await?;
    tracing::info!(user.id, "a password was changed");
    Ok(Redirect::to("/account").into_response())
}

async fn end_logins(State(web): State<Web>, viewer: Viewer, form: Params) -> PageResult<Redirect> {
    let LoginUser { login, user } = person(&viewer)?;
    let catalog = &web.store.catalog;
    match form.get("login") {
        Some("others") => {
            catalog.end_other_logins(user.id.clone(), login.id.clone()).await?;
        }
        Some(one) => catalog.end_login(user.id.clone(), one.to_owned()).await?,
        None => return Err(PageError::Bad("login: required".to_owned())),
    }
    Ok(Redirect::to("/account"))
}

fn person(viewer: &Viewer) -> PageResult<&LoginUser> {
    match &viewer.who {
        Identity::Person(signed_in) => Ok(signed_in),
        Identity::Anyone => {
            Err(PageError::NotFound("sign-in is disabled on this server".to_owned()))
        }
    }
}

async fn page(web: &Web, viewer: &Viewer, problem: Option<&Problem>) -> PageResult<Response> {
    let LoginUser { login, user } = person(viewer)?;
    let now = web.now();
    let logins = web.store.catalog.logins_of(user.id.clone(), now).await?;
    let body = html! {
        p { (user.email) " · " (user.role.as_str()) }
        (alert(problem))
        h2 { "Password" }
        form.sign-in method="post" action="/account/password" {
            (viewer.form_token.field())
            input type="hidden" name="username" value=(user.email) autocomplete="username";
            (field(&Field { label: "Current password", name: "current", kind: "password",
                value: "", autocomplete: "current-password" }))
            (field(&Field { label: "New password", name: "new", kind: "password",
                value: "", autocomplete: "new-password" }))
            button.button type="submit" { "Change password" }
        }
        p.muted { "Changing the password signs you out on all other devices." }
        h2 { "Active logins" }
        ul.logins { @for one in &logins { li { (row(viewer, one, login, &ViewerTime::utc(now))) } } }
        @if logins.len() > 1 {
            form method="post" action="/account/logins" {
                (viewer.form_token.field())
                button.button type="submit" name="login" value="others" {
                    "Sign out all other devices"
                }
            }
        }
        form method="post" action="/sign-out" {
            (viewer.form_token.field())
            button.button type="submit" { "Sign out" }
        }
        p { a href="/" { "Back" } }
    };
    let status = problem.map_or(StatusCode::OK, Problem::status);
    Ok((status, frame::bare("Account", &body)).into_response())
}

fn row(viewer: &Viewer, one: &Login, present: &Login, now: &ViewerTime) -> Markup {
    html! {
        p title=(one.client) { (browser(&one.client)) }
        p.muted { "since " (figure::when(one.created_at, now)) ", last seen " (figure::when(one.seen_at, now)) " UTC" }
        @if one.id == present.id { p { "current" } }
        @else {
            form method="post" action="/account/logins" {
                (viewer.form_token.field())
                button.quiet type="submit" name="login" value=(one.id) { "Sign out" }
            }
        }
    }
}

/// Browser name from the user agent: `Firefox on Windows`. The full string is the tooltip.
fn browser(client: &str) -> String {
    let first = |words: &[(&'static str, &'static str)]| {
        words.iter().find(|(mark, _)| client.contains(mark)).map(|(_, name)| *name)
    };
    // Most pretend to be others as well; those that do so most come first.
    let program = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (program, system) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        (Some(program), None) => program.to_owned(),
        (None, _) if client.is_empty() => "Unknown browser".to_owned(),
        (None, _) => ratchet_core::record::limit::elide(client, 120).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_called_what_people_call_them() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                      Chrome/148.0.0.0 Safari/537.36";
        assert_eq!(browser(chrome), "Chrome on Linux");
        assert_eq!(browser(&format!("{chrome} Edg/148.0")), "Edge on Linux");
        assert_eq!(browser("my-script"), "my-script");
        assert_eq!(browser(""), "Unknown browser");
    }
}
