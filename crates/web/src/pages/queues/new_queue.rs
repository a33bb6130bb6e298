use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_store::StoreError;

use super::fields;
use crate::components::field::Entered;
use crate::form::PageForm;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Form of a new queue: its name, and the score configs that reviewers fill in. Open if it was
/// refused.
pub(super) async fn form(
    web: &Web,
    ctx: &RequestContext,
    refused: Option<(&Entered, &[String])>,
) -> PageResult<Markup> {
    let empty = Entered::default();
    let values = refused.unwrap_or((&empty, &[]));
    Ok(html! {
        details.making open[refused.is_some()] {
            summary.button.primary { "New queue" }
            form.maker method="post" action=(ctx.to(&["queues"])) {
                (ctx.viewer.form_token.field())
                (fields::fields(web, ctx, values).await?)
                button.button.primary type="submit" { "Create" }
            }
        }
    })
}

/// `POST …/queues`: creates a queue. A refused form is shown again as it was filled in.
pub(super) async fn create(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let (new, mut entered) = fields::read(form);
    let configs = new.score_configs.clone();
    if entered.is_fine() {
        match ctx.viewer.catalog(&web).create_queue(ctx.project_id(), new, ctx.now).await {
            Ok(made) => {
                let to = ctx.to(&["queues", &made.id]);
                return Ok(Redirect::to(&to.to_string()).into_response());
            }
            Err(refusal @ (StoreError::Exists(_) | StoreError::BadQuery(_))) => {
                entered.wrong("", refusal.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let shown = super::listed(&web, &ctx, Some((&entered, configs.as_slice()))).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}
