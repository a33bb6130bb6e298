//! Rules: which records evaluators judge.

/// Fields of a rule.
mod fields;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::{EvaluationRule, Evaluator};
use ratchet_stages::score::evaluators::edit;

use super::{edit as editor, reading};
use crate::components::field::Entered;
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::deletion::{self, DeletionQuestion};
use crate::request_context::RequestContext;
use crate::web::Web;
use fields::{RuleMaterial, target_label};

type RulePath = Path<(String, String)>;

/// The rules of the project.
pub(super) async fn list(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let (evaluators, rules) = edit::all(&web.store.catalog, ctx.project_id()).await?;
    if rules.is_empty() {
        return Ok(Markup::default());
    }
    let names = |rule: &EvaluationRule| {
        let used = evaluators.iter().filter(|one| rule.uses(&one.id));
        used.map(|one| one.name.clone()).collect::<Vec<_>>().join(", ")
    };
    let row = |rule: &EvaluationRule| Row {
        id: rule.id.clone(),
        link: Some(ctx.to(&["evaluation-rules", &rule.id, "edit"]))
            .filter(|_| ctx.viewer.can_change()),
        cells: vec![
            html! { bdi { (rule.name) } },
            html! { (state(rule)) },
            html! { (target_label(rule.target)) },
            html! { (figure::percent(rule.sampling)) },
            html! { (rule.filter.len()) },
            html! { bdi { (names(rule)) } },
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Rule"),
        Column::text("State"),
        Column::text("Records"),
        Column::number("Sampling"),
        Column::number("Conditions"),
        Column::wide("Evaluators"),
    ];
    let rows = rules.iter().map(row).collect();
    let table = Table { caption: "Rules".to_owned(), columns, rows, select_for: None };
    Ok(html! { h2 #rules { "Rules" } (table::table(&table)) })
}

fn state(rule: &EvaluationRule) -> &'static str {
    match (rule.enabled, rule.is_running()) {
        (_, true) => "running",
        (true, false) => "not started",
        (false, false) => "off",
    }
}

/// One rule of an evaluator, with a way to change it.
pub(super) fn line(rule: &EvaluationRule, ctx: &RequestContext) -> Markup {
    html! {
        p.muted {
            "Rule " bdi { (rule.name) } ": "
            @if rule.is_running() { "running" } @else { "not running" }
            ", " (figure::percent(rule.sampling)) " of " (target_label(rule.target))
            @if !rule.filter.is_empty() { " that match " (figure::counted(rule.filter.len() as u64, "condition")) }
            ", " (rule.delay().as_secs()) " s after the last change."
            @if ctx.viewer.can_change() {
                " " a href=(ctx.to(&["evaluation-rules", &rule.id, "edit"])) { "Edit rule" }
            }
        }
    }
}

/// `GET …/evaluation-rules/new`: the form of a rule.
pub(super) async fn new(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let material = RuleMaterial::read(&web, &ctx).await?;
    let entered = fields::preset(ctx.params.get("evaluator"), &material);
    Ok(page(&ctx, None, (&entered, &material)))
}

/// `POST …/evaluation-rules/new`: creates a rule. A refused form is shown again as it was filled in.
pub(super) async fn create(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    keep(&web, &ctx, (None, Entered::new(form))).await
}

/// `GET …/evaluation-rules/{rule}/edit`: the form of a rule as it is.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): RulePath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let material = RuleMaterial::read(&web, &ctx).await?;
    let rule = find(&material, &id)?;
    let entered = fields::of(rule, &material);
    Ok(page(&ctx, Some(rule), (&entered, &material)))
}

/// `POST …/evaluation-rules/{rule}/edit`: saves the form.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, id)): RulePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    keep(&web, &ctx, (Some(id), Entered::new(form))).await
}

fn find<'a>(material: &'a RuleMaterial, id: &str) -> PageResult<&'a EvaluationRule> {
    let found = material.rules.iter().find(|rule| rule.id == id);
    found.ok_or_else(|| PageError::not_there("evaluation rule"))
}

async fn keep(
    web: &Web,
    ctx: &RequestContext,
    (id, mut entered): (Option<String>, Entered),
) -> PageResult<Response> {
    let material = RuleMaterial::read(web, ctx).await?;
    let rule = id.as_deref().map(|id| find(&material, id)).transpose()?;
    let draft = fields::draft(&mut entered, &material);
    if entered.is_fine() {
        let (catalog, first) = (ctx.viewer.catalog(web), draft.evaluators.first().cloned());
        match edit::save_rule(&catalog, ctx.project_id(), id.clone(), draft, ctx.now).await {
            Ok(_) => {
                let to = match first {
                    Some(first) => ctx.to(&["evaluators", &first.evaluator_id]),
                    None => ctx.to(&["evaluators"]),
                };
                return editor::done(web, &to, "rule").await;
            }
            Err(error) => reading::note(&mut entered, error)?,
        }
    }
    let shown = page(ctx, rule, (&entered, &material));
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

fn page(
    ctx: &RequestContext,
    rule: Option<&EvaluationRule>,
    (entered, material): (&Entered, &RuleMaterial),
) -> Markup {
    let mut page = begin(ctx, if rule.is_some() { "Edit rule" } else { "New rule" });
    page.summary =
        html! { "A rule says which records its evaluators judge, and how many of them." };
    let action = match rule {
        Some(rule) => ctx.to(&["evaluation-rules", &rule.id, "edit"]),
        None => ctx.to(&["evaluation-rules", "new"]),
    };
    page.body = html! {
        form.maker.editor method="post" action=(action) {
            (ctx.viewer.form_token.field())
            (fields::fields(entered, material, ctx))
            p.actions {
                button.button.primary type="submit" { @if rule.is_some() { "Save" } @else { "Create" } } " "
                a.button href=(Section::Evaluators.link(ctx)) { "Cancel" }
                @if let Some(rule) = rule {
                    " " a.button.danger href=(ctx.to(&["evaluation-rules", &rule.id, "delete"])) { "Delete…" }
                }
            }
        }
    };
    page.show(ctx)
}

fn begin(ctx: &RequestContext, title: &str) -> Page {
    let mut page = Page::new(Section::Evaluators, title);
    page.crumbs = vec![("Evaluators".to_owned(), Section::Evaluators.link(ctx))];
    page
}

/// `GET …/evaluation-rules/{rule}/delete`: asks first.
pub(super) async fn ask(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): RulePath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let material = RuleMaterial::read(&web, &ctx).await?;
    let rule = find(&material, &id)?;
    let question = DeletionQuestion {
        title: format!("Delete rule {}?", rule.name),
        lost: html! {
            p { "Its evaluators and their scores stay, but judge nothing more because of it. "
                "This cannot be undone." }
        },
        action: ctx.to(&["evaluation-rules", &id, "delete"]),
        back: ctx.to(&["evaluation-rules", &id, "edit"]),
    };
    Ok(deletion::ask(&ctx, begin(&ctx, "Delete rule"), &question))
}

/// `POST …/evaluation-rules/{rule}/delete`: deletes a rule.
pub(super) async fn delete(
    State(web): State<Web>,
    Path((_, id)): RulePath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Response> {
    edit::delete_rule(&ctx.viewer.catalog(&web), ctx.project_id(), id, ctx.now).await?;
    editor::done(&web, &ctx.to(&["evaluators"]), "rule-deleted").await
}

/// Whether an evaluator has variables to fill.
fn has_variables(evaluator: &Evaluator) -> bool {
    evaluator.latest().is_some_and(|latest| !latest.variables().is_empty())
}
