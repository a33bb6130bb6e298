//! Error pages: what happened, and what to do next.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_stages::dashboards::definitions::SaveError;
use ratchet_stages::review::review_site::ReviewSiteError;
use ratchet_store::StoreError;
use uuid::Uuid;

use crate::form::ReceivedForm;
use crate::form_budget::FormError;
use crate::frame::{self, Page, Section};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Result of a page handler.
pub type PageResult<T> = Result<T, PageError>;

/// Error of a page handler.
#[derive(Debug)]
pub enum PageError {
    /// Not found, or not visible to this user; the response does not reveal which.
    NotFound(String),
    /// Missing permission.
    Forbidden(String),
    /// The token of a form is missing, or of another login.
    StaleForm,
    /// Invalid input.
    Bad(String),
    /// Not signed in; redirects to the sign-in page and back.
    SignIn {
        next: String,
    },
    /// Another page is the right one for this user.
    Elsewhere {
        to: String,
    },
    /// Not signed in, requested by a script.
    SignedOut,
    /// Timeout while reading the request body.
    TooSlow(String),
    /// Form budget exhausted.
    Busy,
    /// Concurrency limit reached.
    Waiting(String),
    /// Per-user concurrency limit reached.
    HasShare {
        what: String,
        most: usize,
    },
    Store(StoreError),
}

impl PageError {
    /// Not found: `what` names the kind of object.
    pub fn not_there(what: &str) -> Self {
        Self::NotFound(format!("{what} not found"))
    }

    /// The form budget error behind a body read error, if any.
    pub(crate) fn of_body(error: &axum::Error) -> Option<Self> {
        let first: &(dyn std::error::Error + 'static) = error;
        let causes = std::iter::successors(Some(first), |cause| (*cause).source());
        let found = causes.filter_map(|cause| cause.downcast_ref::<FormError>()).next()?;
        Some(match found {
            FormError::TooLong(_) | FormError::CutOff => Self::Bad(found.to_string()),
            FormError::TooSlow(_) => Self::TooSlow(found.to_string()),
            FormError::NoRoom => Self::Busy,
        })
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::NotFound(_) | Self::Store(StoreError::NotFound(_)) => StatusCode::NOT_FOUND,
            Self::Forbidden(_) | Self::StaleForm | Self::Store(StoreError::Denied(_)) => {
                StatusCode::FORBIDDEN
            }
            Self::Store(StoreError::Conflict(_)) => StatusCode::CONFLICT,
            Self::SignIn { .. } | Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::Elsewhere { .. } => StatusCode::SEE_OTHER,
            Self::Bad(_) | Self::Store(StoreError::BadQuery(_) | StoreError::Exists(_)) => {
                StatusCode::BAD_REQUEST
            }
            Self::Busy
            | Self::Waiting(_)
            | Self::HasShare { .. }
            | Self::Store(
                StoreError::QueueFull
                | StoreError::Closing
                | StoreError::TooSlow
                | StoreError::DiskFull
                | StoreError::DiskLow { .. },
            ) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Message and advice.
    fn words(&self) -> (String, &'static str) {
        let message = match self {
            Self::NotFound(message)
            | Self::Forbidden(message)
            | Self::Bad(message)
            | Self::TooSlow(message) => message.clone(),
            Self::Store(
                error @ (StoreError::NotFound(_)
                | StoreError::BadQuery(_)
                | StoreError::Exists(_)
                | StoreError::Conflict(_)
                | StoreError::Denied(_)
                | StoreError::DiskFull
                | StoreError::DiskLow { .. }
                | StoreError::TooSlow),
            ) => error.to_string(),
            Self::SignIn { .. } | Self::SignedOut => "you are not signed in".to_owned(),
            Self::StaleForm => {
                "the form token is missing or expired; nothing was changed (cookies must be allowed)"
                    .to_owned()
            }
            Self::Elsewhere { to } => format!("this page is at {to}"),
            Self::Busy => "too many forms are being submitted; nothing was changed".to_owned(),
            Self::Waiting(what) => {
                format!("too many requests are waiting for {what}; nothing was sent")
            }
            Self::HasShare { what, most } => {
                format!("you already use your share of {what} ({most}); nothing was sent")
            }
            Self::Store(_) => "the database is unavailable; nothing was changed".to_owned(),
        };
        let advice = match self.status() {
            _ if matches!(self, Self::HasShare { .. }) => {
                "Close one of them or wait for it to finish."
            }
            StatusCode::NOT_FOUND => "It may have been deleted, or belong to another project.",
            StatusCode::UNAUTHORIZED => "Sign in and try again.",
            StatusCode::FORBIDDEN => "Ask a project owner for access.",
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => {
                "Fix the problem above and try again."
            }
            StatusCode::REQUEST_TIMEOUT => "Nothing was changed. Try again on a better connection.",
            _ => "Try again; if the problem persists, run ratchet doctor on the server.",
        };
        (message, advice)
    }
}

impl From<SaveError> for PageError {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Store(error) => Self::Store(error),
            invalid @ SaveError::Invalid(_) => Self::Bad(invalid.to_string()),
        }
    }
}

impl From<axum::Error> for PageError {
    fn from(error: axum::Error) -> Self {
        Self::of_body(&error).unwrap_or_else(|| Self::Bad("the form is incomplete".to_owned()))
    }
}

impl From<ReviewSiteError> for PageError {
    fn from(error: ReviewSiteError) -> Self {
        match error {
            ReviewSiteError::Store(error) => Self::Store(error),
            other => Self::Bad(other.to_string()),
        }
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        if let Self::SignIn { next } = &self {
            let link = Link::new("/sign-in").with("next", next);
            let mut response = Redirect::to(&link.to_string()).into_response();
            response.extensions_mut().insert(NeedsSignIn);
            return response;
        }
        if let Self::Elsewhere { to } = &self {
            return Redirect::to(to).into_response();
        }
        let status = self.status();
        let (message, advice) = self.words();
        let id = Uuid::new_v4();
        if let (true, Self::Store(error)) = (status.is_server_error(), &self) {
            tracing::error!(%id, error = error as &dyn std::error::Error, "a page failed");
        }
        let body = html! {
            p.lead { (message) }
            p { (advice) }
            @if status.is_server_error() { p.muted { "Log entry: " code { (id) } } }
            p { a.button href="/" { "Home" } }
        };
        let title = status.canonical_reason().unwrap_or("Request rejected");
        let mut response = (status, frame::bare(title, &body)).into_response();
        let keeps_input = status.is_server_error()
            || matches!(self, Self::StaleForm)
            || [StatusCode::BAD_REQUEST, StatusCode::CONFLICT, StatusCode::NOT_FOUND]
                .contains(&status);
        response.extensions_mut().insert(ErrorPage { title, body, keeps_input });
        response
    }
}

/// The content of an error page, for the frame around it.
#[derive(Clone, Debug)]
struct ErrorPage {
    title: &'static str,
    body: Markup,
    /// Whether the same form may succeed after a correction, or later.
    keeps_input: bool,
}

/// Marks the redirect to the sign-in page.
#[derive(Clone, Copy, Debug)]
struct NeedsSignIn;

/// The page that keeps the form of somebody whose login has ended; `None` if there is nothing to
/// keep.
fn signed_out(form: &ReceivedForm, action: &str) -> Option<Response> {
    let again = form.signed_out(action)?;
    let body = html! {
        section.problem {
            p.lead { "you are not signed in any more; nothing was changed" }
            p { a.button href="/sign-in" target="_blank" rel="noopener" { "Sign in" } }
            (again)
        }
    };
    Some((StatusCode::UNAUTHORIZED, frame::bare("Signed out", &body)).into_response())
}

/// Middleware that shows errors of a project's pages inside its frame, with the form that was sent,
/// so that people can go on.
pub(crate) async fn in_frame(State(web): State<Web>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let form = ReceivedForm::default();
    parts.extensions.insert(form.clone());
    let sent = parts.clone();
    let mut response = next.run(Request::from_parts(sent, body)).await;
    if response.extensions_mut().remove::<NeedsSignIn>().is_some() {
        let action = parts.uri.path_and_query().map_or("/", |here| here.as_str());
        return signed_out(&form, action).unwrap_or(response);
    }
    let Some(error) = response.extensions_mut().remove::<ErrorPage>() else { return response };
    // An unknown project, or somebody who is not signed in, has no frame.
    let Ok(ctx) = RequestContext::from_request_parts(&mut parts, &web).await else {
        return response;
    };
    let mut page = Page::new(Section::of_path(parts.uri.path()), error.title);
    let again = error.keeps_input.then(|| form.again(&ctx)).flatten();
    page.body = html! { section.problem { (error.body) (again.unwrap_or_default()) } };
    (response.status(), page.show(&ctx)).into_response()
}
