//! CSRF protection: middleware around all pages, so that no page can forget it.
//!
//! A request that changes anything must have a same-origin `Origin` or `Sec-Fetch-Site` header, as
//! far as the browser sends one, and must carry a token that only our pages know: in the field
//! `form_token` of a form, which must be the first if the form carries a file, or in the header
//! `X-Form-Token`, which scripts fill from `data-form-token` of the page's `main`.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use maud::{Markup, html};
use ratchet_core::request_site::{RequestSite, forwarded_host, is_loopback_host};
use ratchet_core::secret::Secret;
use ratchet_store::catalog::LoginUser;
use ratchet_store::secrets::random_token;

use crate::cookie::Cookie;
use crate::form::ReceivedForm;
use crate::form_budget::{FormLease, Sender};
use crate::page_error::{PageError, PageResult};
use crate::request_context::Params;
use crate::web::{Access, Web};
use crate::{client_address, multipart};

/// The form field of the CSRF token.
pub(crate) const FIELD: &str = "form_token";
/// The header of the CSRF token in requests by scripts.
const HEADER: &str = "x-form-token";

/// Maximum form size of signed-in users, in bytes.
const FORM_BYTES: usize = 4_000_000;
/// Maximum form size of anonymous users, in bytes.
const STRANGERS_FORM_BYTES: usize = 32_000;
/// Maximum multipart form size, in bytes; each page with an upload has a lower limit.
const UPLOAD_BYTES: usize = 25_000_000;
/// Bytes read to find the first field of a multipart form.
const FIRST_FIELD_BYTES: usize = 4_000;

/// A CSRF token.
#[derive(Clone, Debug)]
pub struct FormToken(Secret);

impl FormToken {
    /// The hidden field for every form that changes something.
    pub fn field(&self) -> Markup {
        html! { input type="hidden" name=(FIELD) value=(self.0.expose()); }
    }

    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The token for the login or anonymous cookie of a browser.
    pub(crate) fn of(web: &Web, cookie: &Secret) -> PageResult<Self> {
        Ok(Self(Secret::new(web.store.secrets.sign(&signed(cookie))?)))
    }

    /// The token for a server without authentication. It needs no cookie, because pages of other
    /// origins cannot read ours.
    pub(crate) fn open(web: &Web) -> PageResult<Self> {
        Self::of(web, &Secret::new(""))
    }
}

#[cfg(test)]
impl FormToken {
    /// A placeholder where no form is rendered.
    pub(crate) fn blank() -> Self {
        Self(Secret::new(""))
    }
}

/// The message that is signed to create the token.
fn signed(cookie: &Secret) -> String {
    format!("form {}", cookie.expose())
}

/// The anonymous cookie of the request, or a new one.
pub(crate) fn anonymous_cookie(headers: &HeaderMap) -> PageResult<Secret> {
    Cookie::Form.read(headers).map_or_else(|| Ok(random_token()?), Ok)
}

/// Middleware that rejects requests without a valid token or from another origin.
pub(crate) async fn require_csrf_token(
    State(web): State<Web>,
    request: Request,
    next: Next,
) -> Response {
    match check_csrf(&web, request).await {
        // The handler still holds the form, so its memory counts until the handler returns.
        Ok((request, _lease)) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn check_csrf(
    web: &Web,
    mut request: Request,
) -> PageResult<(Request, Option<Arc<FormLease>>)> {
    if matches!(web.access, Access::Open(_)) {
        reject_other_hosts(request.headers())?;
    }
    if is_harmless(request.method()) {
        return Ok((request, None));
    }
    reject_cross_site(web, &request)?;
    let sender = sender(web, &mut request).await?;
    let is_signed_in = matches!(sender, Sender::Person(_));
    let headers = request.headers();
    let (by_script, cookies) = match is_signed_in {
        true => (script_token(headers), [Cookie::Session].as_slice()),
        // No script of ours runs on pages for strangers. A session that is over still goes with
        // its forms: the page then says that it is.
        false => (None, [Cookie::Session, Cookie::Form].as_slice()),
    };
    let cookies: Vec<Secret> = match web.access {
        Access::Open(_) => vec![Secret::new("")],
        Access::People(_) => cookies.iter().filter_map(|cookie| cookie.read(headers)).collect(),
    };
    let lease = Arc::new(web.form_budget.begin(sender));
    let request = within_budget(web, request, &lease, is_signed_in);
    let (request, given, form) = read_token(request, by_script).await?;
    let Some(given) = given else { return Err(stale(&request, form)) };
    for cookie in cookies {
        if web.store.secrets.is_signed(&signed(&cookie), given.expose())? {
            return Ok((request, Some(lease)));
        }
    }
    Err(stale(&request, form))
}

/// Identifies the sender by a verified login, or as anonymous. The result is stored in the request
/// extensions, so that the page does not look it up again.
async fn sender(web: &Web, request: &mut Request) -> PageResult<Sender> {
    let address = client_address::of(web, request.headers(), request.extensions());
    if let Access::Open(_) = web.access {
        return Ok(Sender::Person(address));
    }
    let Some(session) = Cookie::Session.read(request.headers()) else {
        return Ok(Sender::Stranger(address));
    };
    let signed_in = web.store.catalog.signed_in(&session, web.now()).await?;
    let person = signed_in.as_ref().map(|signed_in| Sender::Person(signed_in.user.id.clone()));
    request.extensions_mut().insert(RequestUser(signed_in));
    Ok(person.unwrap_or(Sender::Stranger(address)))
}

/// Limits the request body by the form budget of its sender.
fn within_budget(
    web: &Web,
    request: Request,
    lease: &Arc<FormLease>,
    is_signed_in: bool,
) -> Request {
    let (limit, time) = match (is_signed_in, boundary(request.headers()).is_some()) {
        (false, _) => (STRANGERS_FORM_BYTES, web.settings.forms.time),
        (true, false) => (FORM_BYTES, web.settings.forms.time),
        (true, true) => (UPLOAD_BYTES, web.settings.forms.upload_time),
    };
    request.map(|body| lease.body(body, limit, time))
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    content_type(headers).and_then(multipart::boundary)
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

/// The identified sender of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestUser(pub(crate) Option<LoginUser>);

fn is_harmless(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

/// Refuses a form. It is shown again with a good token if the browser says that a page of ours has
/// sent it: what another site fills in must not come with a button that sends it.
fn stale(request: &Request, form: Option<Bytes>) -> PageError {
    let says_site = |name: &str| request.headers().contains_key(name);
    let is_ours = says_site(ORIGIN.as_str()) || says_site("sec-fetch-site");
    let kept = request.extensions().get::<ReceivedForm>().filter(|_| is_ours);
    if let (Some(kept), Some(form)) = (kept, form) {
        kept.keep(Params::read(&String::from_utf8_lossy(&form)));
    }
    PageError::StaleForm
}

/// Rejects foreign host names on servers without authentication, against DNS rebinding.
fn reject_other_hosts(headers: &HeaderMap) -> PageResult<()> {
    if is_loopback_host(headers.get(HOST).map(text)) {
        return Ok(());
    }
    Err(PageError::Forbidden(
        "with --no-auth this server shows its pages only at localhost; start it without \
         --no-auth to reach it by another host name"
            .to_owned(),
    ))
}

/// Rejects requests by pages of other origins.
fn reject_cross_site(web: &Web, request: &Request) -> PageResult<()> {
    let headers = request.headers();
    let forwarded = || forwarded_host(headers.get_all("x-forwarded-host").iter().map(text));
    // From anyone else, the header could name the host of any page.
    let is_forwarded = client_address::is_trusted_proxy(web, request.extensions());
    let host = is_forwarded.then(forwarded).flatten();
    let site = RequestSite {
        host: host.or_else(|| headers.get(HOST).map(text)),
        origin: headers.get(ORIGIN).map(text),
        fetch_site: headers.get("sec-fetch-site").map(text),
    };
    if site.is_same_origin() {
        return Ok(());
    }
    Err(PageError::Forbidden("cross-site request rejected; nothing was changed".to_owned()))
}

/// A header's text. Bytes that are no text match nothing.
fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

fn script_token(headers: &HeaderMap) -> Option<Secret> {
    headers.get(HEADER).and_then(|given| given.to_str().ok()).map(Secret::new)
}

/// Extracts the token and restores the body that was read for it: all of it, which is returned too,
/// except for multipart forms.
async fn read_token(
    request: Request,
    by_script: Option<Secret>,
) -> PageResult<(Request, Option<Secret>, Option<Bytes>)> {
    if let Some(boundary) = boundary(request.headers()) {
        if by_script.is_some() {
            return Ok((request, by_script, None));
        }
        let (parts, body) = request.into_parts();
        let (given, body) = first_field(body, &boundary).await?;
        return Ok((Request::from_parts(parts, body), given, None));
    }
    let is_form = content_type(request.headers()).is_some_and(|content| {
        let kind = content.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    });
    if !is_form && by_script.is_none() {
        return Ok((request, None, None));
    }
    let (parts, body) = request.into_parts();
    let form = to_bytes(body, usize::MAX).await?;
    let in_form = || {
        let mut fields = form_urlencoded::parse(&form);
        fields.find(|(name, _)| name == FIELD).map(|(_, value)| Secret::new(value))
    };
    let given = by_script.or_else(in_form);
    Ok((Request::from_parts(parts, Body::from(form.clone())), given, Some(form)))
}

/// Reads the token of a multipart form, which is its first field, and restores the bytes: a request
/// without a token is rejected before its file is read.
async fn first_field(body: Body, boundary: &str) -> PageResult<(Option<Secret>, Body)> {
    let mut stream = body.into_data_stream();
    let mut read = Vec::new();
    let given = loop {
        if let Some(first) = multipart::first(&read, boundary) {
            let token = || Secret::new(String::from_utf8_lossy(first.content));
            break (first.name == FIELD).then(token);
        }
        match stream.next().await {
            Some(bytes) if read.len() < FIRST_FIELD_BYTES => read.extend(bytes?),
            _ => break None,
        }
    };
    let read = Bytes::from(read);
    Ok((given, Body::from_stream(futures_util::stream::iter([Ok(read)]).chain(stream))))
}
