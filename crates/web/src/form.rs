use axum::extract::{FromRequest, FromRequestParts, Request};

use crate::page_error::PageError;
use crate::request_context::{Params, RequestContext};
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
        let (mut parts, body) = request.into_parts();
        let ctx = RequestContext::from_request_parts(&mut parts, web).await?;
        ctx.viewer.may_change()?;
        let form = Params::from_request(Request::from_parts(parts, body), web).await?;
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
        let (mut parts, body) = request.into_parts();
        let ctx = RequestContext::from_request_parts(&mut parts, web).await?;
        ctx.viewer.may_review()?;
        let form = Params::from_request(Request::from_parts(parts, body), web).await?;
        Ok(Self { ctx, form })
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
