use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use maud::{Markup, html};

use crate::csrf;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::viewer::Viewer;
use crate::web::Web;

/// The form of somebody who may change the project, and where they sent it from.
#[derive(Debug)]
pub(crate) struct PageForm {
    /// Who sent it, and about what.
    pub(crate) ctx: RequestContext,
    pub(crate) form: Params,
}

impl FromRequest<Web> for PageForm {
    type Rejection = PageError;

    async fn from_request(request: Request, web: &Web) -> Result<Self, PageError> {
        let (ctx, form) = received(request, web, Viewer::may_change).await?;
        Ok(Self { ctx, form })
    }
}

/// The form of a user who may review queue items.
#[derive(Debug)]
pub(crate) struct ReviewForm {
    /// Who sent it, and about what.
    pub(crate) ctx: RequestContext,
    pub(crate) form: Params,
}

impl FromRequest<Web> for ReviewForm {
    type Rejection = PageError;

    async fn from_request(request: Request, web: &Web) -> Result<Self, PageError> {
        let (ctx, form) = received(request, web, Viewer::may_review).await?;
        Ok(Self { ctx, form })
    }
}

/// Reads the form of a user who may send it. That of somebody whose login has ended is read too,
/// so that it can be shown again.
async fn received(
    request: Request,
    web: &Web,
    may: fn(&Viewer) -> PageResult<()>,
) -> PageResult<(RequestContext, Params)> {
    let (mut parts, body) = request.into_parts();
    match RequestContext::from_request_parts(&mut parts, web).await {
        Ok(ctx) => {
            may(&ctx.viewer)?;
            Ok((ctx, ReceivedForm::read(parts, body, web).await?))
        }
        Err(error @ PageError::SignIn { .. }) => {
            ReceivedForm::read(parts, body, web).await?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// The form of anyone, such as somebody who signs in.
impl FromRequest<Web> for Params {
    type Rejection = PageError;

    async fn from_request(request: Request, web: &Web) -> Result<Self, PageError> {
        let form = String::from_request(request, web).await;
        form.map(|form| Self::read(&form)).map_err(|why| PageError::Bad(why.to_string()))
    }
}

/// What a form of a project's page sent, for the error page: an input that was refused is shown
/// again, and not lost. Forms that show their own errors need it only for faults of the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedForm(Arc<Mutex<Option<Params>>>);

/// Fields that people do not fill in, and see as little as on the form that was sent.
const UNSEEN: [&str; 21] = [
    "action",
    "ask",
    "asked",
    "attempt",
    "back",
    "col",
    "confirmed",
    "do",
    "id",
    "kind",
    "lease",
    "matching",
    "next",
    "observation",
    "others",
    "remove",
    "show",
    "sure",
    "turn",
    "until",
    "version",
];
/// Longer values, and those of several lines, get an area.
const MAX_LINE: usize = 80;

impl ReceivedForm {
    async fn read(parts: Parts, body: Body, web: &Web) -> Result<Params, PageError> {
        let sent = parts.extensions.get::<Self>().cloned();
        let form = Params::from_request(Request::from_parts(parts, body), web).await?;
        if let Some(sent) = sent {
            sent.keep(form.clone());
        }
        Ok(form)
    }

    /// Keeps what was sent, for the error page.
    pub(crate) fn keep(&self, form: Params) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(form);
    }

    /// The same form again, filled in; `None` if none was sent, or if it has nothing to fill in.
    pub(crate) fn again(&self, ctx: &RequestContext) -> Option<Markup> {
        let how = "It is not saved. Correct it here and send it again.";
        self.filled_in((&ctx.here().to_string(), how), &ctx.viewer.form_token.field())
    }

    /// The same for somebody whose login has ended. The form has no token that is good after the
    /// next sign-in: it is then shown once more, with one.
    pub(crate) fn signed_out(&self, action: &str) -> Option<Markup> {
        let how =
            "It is not saved. Sign in in another tab, come back to this one and send it again.";
        self.filled_in((action, how), &Markup::default())
    }

    fn filled_in(&self, (action, how): (&str, &str), token: &Markup) -> Option<Markup> {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let has_input = sent.pairs().any(|(name, _)| name != csrf::FIELD && !is_unseen(name));
        has_input.then(|| {
            html! {
                h2 { "Your input" }
                p.muted { (how) }
                form.kept-input method="post" action=(action) {
                    (token)
                    @for (at, (name, value)) in sent.pairs().enumerate() {
                        @if name != csrf::FIELD { (kept(at, name, value)) }
                    }
                    button.button.primary type="submit" { "Send again" }
                }
            }
        })
    }
}

fn is_unseen(name: &str) -> bool {
    UNSEEN.contains(&name)
}

/// Whether a field holds a secret, which no page shows again.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["password", "secret", "token", "key"].iter().any(|word| name.contains(word))
}

/// A field's name as people read it: `expected_output` is `Expected output`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn kept(at: usize, name: &str, value: &str) -> Markup {
    if is_unseen(name) {
        return html! { input type="hidden" name=(name) value=(value); };
    }
    let id = format!("kept-{at}");
    html! {
        div.form-row {
            label for=(id) { bdi { (title(name)) } }
            @if is_secret(name) {
                input id=(id) name=(name) type="password" autocomplete="new-password";
            } @else if value.len() > MAX_LINE || value.contains('\n') {
                // Browsers drop the first line break of a textarea.
                textarea id=(id) name=(name) rows="8" spellcheck="false" { "\n" (value) }
            } @else {
                input id=(id) name=(name) type="text" value=(value) autocomplete="off";
            }
        }
    }
}
