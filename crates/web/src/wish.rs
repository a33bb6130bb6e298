use axum::extract::{FromRequest, FromRequestParts, Request};

use crate::place::{Params, Place};
use crate::refusal::Refusal;
use crate::web::Web;

/// The form of somebody who may change the project, and where they sent it from.
#[derive(Debug)]
pub(crate) struct Wish {
    /// Who sent it, and about what.
    pub(crate) place: Place,
    /// What it says.
    pub(crate) form: Params,
}

impl FromRequest<Web> for Wish {
    type Rejection = Refusal;

    async fn from_request(request: Request, web: &Web) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        let place = Place::from_request_parts(&mut parts, web).await?;
        place.visitor.may_change()?;
        let form = String::from_request(Request::from_parts(parts, body), web).await;
        let form = form.map_err(|why| Refusal::Bad(why.to_string()))?;
        Ok(Self { place, form: Params::read(&form) })
    }
}
