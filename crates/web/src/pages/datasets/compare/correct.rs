use axum::extract::{Path, State};
use axum::response::Redirect;
use ratchet_core::catalog::review::CORRECTNESS;
use ratchet_core::id::TraceId;
use ratchet_stages::review::answer::AnswerError;
use ratchet_stages::review::correction::{self, Correction};

use super::super::one;
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::web::Web;

/// `POST …/datasets/{name}/compare`: saves the viewer's score of an output.
pub(in super::super) async fn correct(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    one::find(&web, &ctx, name).await?;
    let trace = TraceId::parse(form.get("trace").unwrap_or_default())
        .map_err(|_| PageError::not_there("trace"))?;
    let is_correct = match form.get(CORRECTNESS) {
        Some("1") => true,
        Some("0") => false,
        _ => return Err(PageError::Bad(format!("{CORRECTNESS}: choose 0 or 1"))),
    };
    let comment = form.get("comment").map(|text| text.trim().to_owned());
    let author = ctx.viewer.person().map(str::to_owned);
    let correction = Correction {
        trace,
        is_correct,
        comment: comment.filter(|text| !text.is_empty()),
        reviewer: author.clone().unwrap_or_else(|| "anyone".to_owned()),
        author,
    };
    let store = (&web.store, &ctx.viewer.catalog(&web));
    let saved = correction::correct(store, &ctx.project_id(), correction, ctx.now).await;
    saved.map_err(|error| match error {
        AnswerError::Invalid(why) => PageError::Bad(why),
        AnswerError::Store(error) => error.into(),
    })?;
    Ok(Redirect::to(&ctx.here().with("done", "corrected").to_string()))
}
