use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::catalog::review::{MAX_INSTRUCTIONS, MAX_REVIEWS, ReviewSettings};
use ratchet_store::catalog::QueueId;

use crate::components::field::{self, Entered, FormField};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const INSTRUCTIONS: FormField<'_> = FormField {
    name: "instructions",
    label: "Instructions",
    hint: "Shown above every item: what to look at, and what counts as correct.",
};
const REVIEWS: FormField<'_> = FormField {
    name: "reviews",
    label: "Reviews per item",
    hint: "With two or more, different people review each item and their agreement is measured.",
};
const BLIND: FormField<'_> = FormField {
    name: "blind",
    label: "Blind: hide the judge's verdict until the reviewer has answered",
    hint: "",
};

/// Why double review needs people who sign in.
const ONE_PERSON: &str =
    "1 without sign-in: browsers are distinguished, people are not; turn sign-in on for more";

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, queue)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let of = QueueId { project: ctx.project_id(), queue };
    let known = web.store.catalog.review_settings(of.clone()).await?;
    let entered = Entered::preset(&[
        ("instructions", &known.instructions),
        ("reviews", &known.reviews.to_string()),
        ("blind", if known.is_blind { "yes" } else { "" }),
    ]);
    page(&web, &ctx, of, &entered).await
}

async fn page(
    web: &Web,
    ctx: &RequestContext,
    of: QueueId,
    entered: &Entered,
) -> PageResult<Markup> {
    let queue = web.store.catalog.queue(of.clone()).await?;
    let assignees = super::assignees::form(web, ctx, &of).await?;
    let mut page = Page::new(Section::Queues, "Review settings");
    let here = ctx.to(&["queues", &queue.id]);
    page.crumbs =
        vec![("Queues".to_owned(), Section::Queues.link(ctx)), (queue.name.clone(), here.clone())];
    page.body = html! {
        form.settings method="post" action=(ctx.to(&["queues", &queue.id, "settings"])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            (field::area(INSTRUCTIONS, 6, entered))
            (field::number(REVIEWS, entered))
            (field::tick(BLIND, entered))
            button.button.primary type="submit" { "Save" } " "
            a.button href=(here) { "Cancel" }
        }
        (assignees)
    };
    Ok(page.show(ctx))
}

pub(super) async fn save(
    State(web): State<Web>,
    Path((_, queue)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let of = QueueId { project: ctx.project_id(), queue };
    let mut entered = Entered::new(form);
    let instructions = entered.raw("instructions").trim().replace("\r\n", "\n");
    if instructions.chars().count() > MAX_INSTRUCTIONS {
        entered.wrong("instructions", format!("at most {MAX_INSTRUCTIONS} characters"));
    }
    let reviews = entered.text("reviews").parse().ok();
    let Some(reviews) = reviews.filter(|n| (1..=MAX_REVIEWS).contains(n)) else {
        entered.wrong("reviews", format!("from 1 to {MAX_REVIEWS}"));
        let shown = page(&web, &ctx, of, &entered).await?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response());
    };
    if reviews > 1 && ctx.viewer.person().is_none() {
        entered.wrong("reviews", ONE_PERSON.to_owned());
    }
    if !entered.is_fine() {
        let shown = page(&web, &ctx, of, &entered).await?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response());
    }
    let is_blind = entered.is_ticked("blind");
    let known = web.store.catalog.review_settings(of.clone()).await?;
    let new = ReviewSettings { instructions, reviews, is_blind, ..known };
    ctx.viewer.catalog(&web).set_review_settings(of.clone(), new, ctx.now).await?;
    Ok(Redirect::to(&ctx.to(&["queues", &of.queue]).to_string()).into_response())
}
