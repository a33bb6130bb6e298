use std::time::Duration;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::SignIn;
use super::next::Next;
use crate::cookie::{Channel, Cookie};
use crate::csrf::{FormToken, anonymous_cookie};
use crate::frame;
use crate::page_error::PageResult;
use crate::request_context::Link;
use crate::web::{Access, Web};

/// What a password must be like.
pub(super) const PASSWORD_RULE: &str = "The password must have 8 to 256 characters.";

/// Reason of a failed sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Wrong address or password: which one is not revealed.
    Wrong,
    /// They must wait so long.
    TooMany(Duration),
    /// What they chose cannot be.
    Choice(String),
    /// The set-up token is not the one that was printed.
    Token,
    /// The browser comes back from a sign-in that it did not leave for, or comes twice.
    Journey,
    /// The provider let them go without a word for them, or they changed their mind.
    Declined,
    /// The provider was unreachable, or its response invalid.
    Provider,
    /// The provider knows them, and we do not.
    Unknown,
}

impl Problem {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Wrong | Self::Token | Self::Journey | Self::Declined | Self::Unknown => {
                StatusCode::FORBIDDEN
            }
            Self::Provider => StatusCode::BAD_GATEWAY,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Choice(_) => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Wrong => "Wrong email or password.".to_owned(),
            Self::TooMany(wait) => {
                format!("Too many attempts. Try again in {}.", in_words(*wait))
            }
            Self::Choice(why) => why.clone(),
            Self::Token => "Wrong set-up token. The server prints it at startup.".to_owned(),
            Self::Journey => "This sign-in has expired. Try again.".to_owned(),
            Self::Declined => "The provider did not sign you in.".to_owned(),
            Self::Provider => {
                "The identity provider is not reachable. See the server log.".to_owned()
            }
            Self::Unknown => {
                "You have no account on this server. Ask an owner to add you.".to_owned()
            }
        }
    }
}

fn in_words(wait: Duration) -> String {
    match seconds(wait) {
        1 => "1 second".to_owned(),
        seconds @ 2..=90 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

/// Whole seconds until the next attempt, rounded up.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[derive(Clone, Debug)]
pub(super) struct SignInForm<'a> {
    pub(super) email: &'a str,
    pub(super) next: &'a Next,
    /// Why it is shown again.
    pub(super) problem: Option<Problem>,
}

impl SignInForm<'_> {
    pub(super) fn with(mut self, problem: Problem) -> Self {
        self.problem = Some(problem);
        self
    }

    pub(super) fn show(&self, web: &Web, headers: &HeaderMap) -> PageResult<Response> {
        let (email, problem) = (self.email, self.problem.as_ref());
        anonymous_page(web, headers, "Sign in", problem, |token| {
            html! {
                form.sign-in method="post" action="/sign-in" {
                    (token.field())
                    input type="hidden" name="next" value=(self.next);
                    (field(&Field { label: "Email", name: "email", kind: "email", value: email,
                        autocomplete: "username" }))
                    (field(&Field { label: "Password", name: "password", kind: "password",
                        value: "", autocomplete: "current-password" }))
                    button.button.primary type="submit" { "Sign in" }
                }
                (self.provider(web))
            }
        })
    }

    /// The way to the server that vouches for people, if there is one.
    fn provider(&self, web: &Web) -> Markup {
        let Access::People(SignIn { oidc: Some(oidc), .. }) = &web.access else {
            return Markup::default();
        };
        let link = Link::new("/sign-in/provider").with("next", self.next.as_str());
        html! { p { a.button href=(link) { "Sign in with " (oidc.label) } } }
    }
}

/// A page with a form for an anonymous user, bound to the browser by a cookie.
pub(super) fn anonymous_page(
    web: &Web,
    headers: &HeaderMap,
    title: &str,
    problem: Option<&Problem>,
    form: impl FnOnce(&FormToken) -> Markup,
) -> PageResult<Response> {
    let (cookie, channel) = (anonymous_cookie(headers)?, Channel::of(headers));
    let token = FormToken::of(web, &cookie)?;
    let body = html! { (alert(problem)) (form(&token)) };
    let mut response = frame::bare(title, &body).into_response();
    *response.status_mut() = problem.map_or(StatusCode::OK, Problem::status);
    let (name, value) = Cookie::Form.set(&cookie, None, channel);
    response.headers_mut().append(name, value);
    if let Some(Problem::TooMany(wait)) = problem {
        response.headers_mut().insert(RETRY_AFTER, seconds(*wait).into());
    }
    Ok(response)
}

/// Error message, read at once by screen readers.
pub(super) fn alert(problem: Option<&Problem>) -> Markup {
    html! { @if let Some(problem) = problem { p.problem role="alert" { (problem.words()) } } }
}

/// One line of a form.
pub(super) struct Field<'a> {
    pub(super) label: &'a str,
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) value: &'a str,
    pub(super) autocomplete: &'a str,
}

pub(super) fn field(field: &Field<'_>) -> Markup {
    let Field { label, name, kind, value, autocomplete } = field;
    html! {
        label.form-row {
            span { (label) }
            input type=(kind) name=(name) value=(value) autocomplete=(autocomplete) required;
        }
    }
}
