//! New evaluators and new versions.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::{Evaluator, EvaluatorKind};
use ratchet_stages::score::evaluators::edit::{self, EditError};
use ratchet_stages::score::evaluators::manage::EvaluatorOverview;
use ratchet_store::query::PageNumber;

use super::{form, reading};
use crate::components::field::Entered;
use crate::form::PageForm;
use crate::frame::{self, Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::deletion::{self, DeletionQuestion};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// The parameter of a new evaluator's type.
const TYPE: &str = "type";
/// The version that an edit began with.
const BEFORE: &str = "version";
/// LLM connections that are named.
const CONNECTIONS: PageNumber = PageNumber { page: 1, limit: 20 };

/// Links of the list's head.
pub(super) fn head(ctx: &RequestContext) -> Markup {
    html! {
        @if ctx.viewer.can_change() {
            a.button href=(ctx.to(&["evaluation-rules", "new"])) { "New rule" } " "
            a.button.primary href=(ctx.to(&["evaluators", "new"])) { "New evaluator" }
        }
    }
}

/// Links of an evaluator's head.
pub(super) fn actions(one: &EvaluatorOverview, ctx: &RequestContext) -> Markup {
    let to = |what: &str| ctx.to(&["evaluators", &one.evaluator.id, what]);
    let more = html! {
        a href=(to("versions")) { "Versions" }
        a.danger href=(to("delete")) { "Delete…" }
    };
    let new_rule = ctx.to(&["evaluation-rules", "new"]).with("evaluator", &one.evaluator.id);
    html! {
        @if ctx.viewer.can_change() {
            a.button href=(new_rule) { "New rule" } " "
            a.button.primary href=(to("edit")) { "Edit" } " "
            (frame::menu("More actions", "More", &more))
        } @else {
            a.button href=(to("versions")) { "Versions" }
        }
    }
}

/// An evaluator of the project.
pub(super) async fn find(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<Evaluator> {
    let (all, _) = edit::all(&web.store.catalog, ctx.project_id()).await?;
    let found = all.into_iter().find(|one| one.id == id);
    found.ok_or_else(|| PageError::not_there("evaluator"))
}

/// `GET …/evaluators/new`: the form of an evaluator.
pub(super) async fn new(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let kind = kind(&ctx);
    new_page(&web, &ctx, kind, &form::preset(kind)).await
}

fn kind(ctx: &RequestContext) -> EvaluatorKind {
    match ctx.params.get(TYPE) {
        Some("code") => EvaluatorKind::Code,
        _ => EvaluatorKind::LlmAsJudge,
    }
}

/// `POST …/evaluators/new`: creates an evaluator. A refused form is shown again as it was filled in.
pub(super) async fn create(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let (kind, mut entered) = (kind(&ctx), Entered::new(form));
    if entered.text("do") == "variables" {
        return Ok(new_page(&web, &ctx, kind, &entered).await?.into_response());
    }
    let draft = reading::draft(kind, None, &mut entered);
    if entered.is_fine() {
        let catalog = ctx.viewer.catalog(&web);
        match edit::create_evaluator(&catalog, ctx.project_id(), draft, ctx.now).await {
            Ok(id) => return done(&web, &ctx.to(&["evaluators", &id]), "made").await,
            Err(error) => reading::note(&mut entered, error)?,
        }
    }
    let shown = new_page(&web, &ctx, kind, &entered).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// `GET …/evaluators/{evaluator}/edit`: the form of an evaluator as it is.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let evaluator = find(&web, &ctx, &id).await?;
    let latest = evaluator.latest().ok_or_else(|| PageError::not_there("evaluator version"))?;
    let entered = form::of(&evaluator, latest);
    edit_page(&web, &ctx, &evaluator, &entered).await
}

/// `POST …/evaluators/{evaluator}/edit`: saves the form. Another definition is a new version.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let evaluator = find(&web, &ctx, &id).await?;
    let latest = evaluator.latest().ok_or_else(|| PageError::not_there("evaluator version"))?;
    let mut entered = Entered::new(form);
    if entered.text("do") == "variables" {
        return Ok(edit_page(&web, &ctx, &evaluator, &entered).await?.into_response());
    }
    let before = entered.text(BEFORE).parse().unwrap_or(0);
    let draft = reading::draft(latest.kind, Some(latest), &mut entered);
    if entered.is_fine() {
        let catalog = ctx.viewer.catalog(&web);
        let which = (id.clone(), before);
        match edit::change_evaluator(&catalog, ctx.project_id(), which, draft, ctx.now).await {
            Ok(new) => {
                let what = if new.is_some() { "version" } else { "saved" };
                return done(&web, &ctx.to(&["evaluators", &id]), what).await;
            }
            Err(error) => reading::note(&mut entered, error)?,
        }
    }
    let shown = edit_page(&web, &ctx, &evaluator, &entered).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// Applies a change and leads to where it can be seen.
pub(super) async fn done(web: &Web, to: &Link, what: &str) -> PageResult<Response> {
    if let Some(worker) = web.evaluators() {
        worker.prepare().await?;
        worker.wake();
    }
    Ok(Redirect::to(&to.clone().with("done", what).to_string()).into_response())
}

async fn connections(web: &Web, ctx: &RequestContext) -> PageResult<Vec<String>> {
    let found = web.store.catalog.llm_connections(ctx.project_id(), CONNECTIONS).await?;
    Ok(found.rows.into_iter().map(|connection| connection.provider).collect())
}

async fn new_page(
    web: &Web,
    ctx: &RequestContext,
    kind: EvaluatorKind,
    entered: &Entered,
) -> PageResult<Markup> {
    let connections = connections(web, ctx).await?;
    let mut page = Page::new(Section::Evaluators, "New evaluator");
    page.crumbs = vec![("Evaluators".to_owned(), Section::Evaluators.link(ctx))];
    page.summary = html! { "It judges nothing until a rule selects records for it." };
    let here = ctx.to(&["evaluators", "new"]);
    let types = [(EvaluatorKind::LlmAsJudge, "LLM as a judge"), (EvaluatorKind::Code, "Code")];
    let link = |kind: EvaluatorKind| match kind {
        EvaluatorKind::LlmAsJudge => here.clone(),
        EvaluatorKind::Code => here.clone().with(TYPE, "code"),
    };
    page.body = html! {
        nav.tabs aria-label="Type" {
            @for (one, label) in types {
                a href=(link(one)) aria-current=[(one == kind).then_some("page")] { (label) }
            }
        }
        form.maker.editor method="post" action=(link(kind)) {
            (ctx.viewer.form_token.field())
            (form::fields(kind, (entered, &connections)))
            p.actions {
                button.button.primary type="submit" { "Create" } " "
                a.button href=(Section::Evaluators.link(ctx)) { "Cancel" }
            }
        }
    };
    Ok(page.show(ctx))
}

async fn edit_page(
    web: &Web,
    ctx: &RequestContext,
    evaluator: &Evaluator,
    entered: &Entered,
) -> PageResult<Markup> {
    let connections = connections(web, ctx).await?;
    let latest = evaluator.latest().ok_or_else(|| PageError::not_there("evaluator version"))?;
    let mut page = begin(evaluator, "Edit evaluator", ctx);
    page.summary = html! {
        "Another definition becomes version " (latest.version.saturating_add(1))
        ". It judges what arrives from then on; scores of earlier versions stay."
    };
    page.body = html! {
        form.maker.editor method="post" action=(ctx.to(&["evaluators", &evaluator.id, "edit"])) {
            (ctx.viewer.form_token.field())
            input type="hidden" name=(BEFORE) value=(latest.version);
            (form::fields(latest.kind, (entered, &connections)))
            p.actions {
                button.button.primary type="submit" { "Save" } " "
                a.button href=(ctx.to(&["evaluators", &evaluator.id])) { "Cancel" }
            }
        }
    };
    Ok(page.show(ctx))
}

/// A page about an evaluator.
pub(super) fn begin(evaluator: &Evaluator, title: &str, ctx: &RequestContext) -> Page {
    let mut page = Page::new(Section::Evaluators, title);
    page.crumbs = vec![
        ("Evaluators".to_owned(), Section::Evaluators.link(ctx)),
        (evaluator.name.clone(), ctx.to(&["evaluators", &evaluator.id])),
    ];
    page
}

/// `GET …/evaluators/{evaluator}/delete`: asks first.
pub(super) async fn ask(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let evaluator = find(&web, &ctx, &id).await?;
    let question = DeletionQuestion {
        title: format!("Delete evaluator {}?", evaluator.name),
        lost: html! {
            p { "Its " (evaluator.versions.len()) " versions go with it. The scores that it gave stay. "
                "An evaluator that a rule uses is not deleted. This cannot be undone." }
        },
        action: ctx.to(&["evaluators", &id, "delete"]),
        back: ctx.to(&["evaluators", &id]),
    };
    Ok(deletion::ask(&ctx, begin(&evaluator, "Delete evaluator", &ctx), &question))
}

/// `POST …/evaluators/{evaluator}/delete`: deletes an evaluator that no rule uses.
pub(super) async fn delete(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Response> {
    let catalog = ctx.viewer.catalog(&web);
    match edit::delete_evaluator(&catalog, ctx.project_id(), id, ctx.now).await {
        Ok(()) => done(&web, &ctx.to(&["evaluators"]), "deleted").await,
        Err(why @ EditError::InUse(_)) => Err(PageError::Bad(why.to_string())),
        Err(error) => {
            let mut nowhere = Entered::default();
            reading::note(&mut nowhere, error)?;
            Err(PageError::Bad("the evaluator cannot be deleted".to_owned()))
        }
    }
}
