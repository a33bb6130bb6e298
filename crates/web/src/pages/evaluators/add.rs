//! Adding the evaluator that comes with Ratchet.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::judge::offline;
use ratchet_stages::schedule;
use ratchet_stages::score::evaluators::manage::EvaluatorOverview;
use ratchet_stages::score::evaluators::shipped;

use crate::components::field::{self, Entered, FormField};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const JUDGE: FormField<'_> = FormField {
    name: "judge",
    label: "Judge",
    hint: "offline: rules, no model calls, free. Or anthropic:MODEL, connection:NAME:MODEL, …: every \
           trace is sent to that model, at most $10 per day.",
};

/// The form, where the project has no such evaluator and the viewer may add it.
pub(super) fn section(ctx: &RequestContext, all: &[EvaluatorOverview]) -> Markup {
    let is_there = all.iter().any(|one| one.evaluator.id == shipped::NAME);
    if is_there || !ctx.viewer.can_change() {
        return Markup::default();
    }
    form(ctx, &Entered::preset(&[(JUDGE.name, offline::NAME)]))
}

fn form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        form.settings #add method="post" data-inline-errors action=(ctx.to(&["evaluators"])) {
            (ctx.viewer.form_token.field())
            fieldset {
                legend { "Add " (shipped::NAME) }
                p { "Scores " code { (shipped::SCORE) } " of every new trace from 0 to 1: does the answer do what was asked? "
                    "The signal matrix and the weekly sample use it." }
                (field::problem(entered))
                (field::line(JUDGE, entered))
            }
            button.button.primary type="submit" { "Add and start" }
        }
    }
}

/// `POST …/evaluators`: adds the evaluator with its rule, and starts it.
pub(super) async fn add(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let mut entered = Entered::new(form);
    let judge = entered.text(JUDGE.name).trim().to_owned();
    match schedule::judge(&judge) {
        Ok(Some(_)) => {}
        Ok(None) => entered.wrong(JUDGE.name, "name a judge, such as offline"),
        Err(why) => entered.wrong(JUDGE.name, why.to_string()),
    }
    if !entered.is_fine() {
        let mut page = Page::new(Section::Evaluators, "Evaluators");
        page.body = self::form(&ctx, &entered);
        let status = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
        return Ok((status, page.show(&ctx)).into_response());
    }
    let catalog = ctx.viewer.catalog(&web);
    shipped::add(&catalog, ctx.project_id(), (&judge, None), ctx.now).await?;
    if let Some(worker) = web.evaluators() {
        worker.prepare().await?;
        worker.wake();
    }
    let to = ctx.to(&["evaluators", shipped::NAME]).with("done", "added");
    Ok(Redirect::to(&to.to_string()).into_response())
}
