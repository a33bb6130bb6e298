//! The scores that pass some conditions, newest first: where charts of scores lead.

use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_core::record::field_table::SCORE;
use ratchet_core::record::limit::elide;
use ratchet_stages::dashboards::filter::Filter;
use ratchet_store::query::{Condition, Paging, ScoreColumn, ScoreQuery, ScoresOn, TimeRange};
use serde_json::Value;

use crate::components::{empty, filter_bar, table};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::{score, table_export};
use crate::request_context::{Link, Params, RequestContext};
use crate::score_summary;
use crate::web::Web;

/// Parameter of the address with the conditions, as JSON.
const WHERE: &str = "where";
/// Rows of a page.
const ROWS: u64 = 50;
/// Bytes of a condition that are shown.
const MAX_WORDS: usize = 120;

/// A condition on a column of scores, by its name in the API.
pub(in crate::pages) fn condition(
    column: &str,
    kind: FilterKind,
    operator: Operator,
    value: Value,
) -> FilterCondition {
    FilterCondition { column: column.to_owned(), operator, kind, value, key: None }
}

/// Link to the scores that pass some conditions: to the page of a name, if nothing else is asked.
pub(in crate::pages) fn filtered(ctx: &RequestContext, conditions: &[FilterCondition]) -> Link {
    if let Some(name) = only_name(conditions) {
        return score_summary::link(ctx, name);
    }
    let list = ctx.to(&["list", "scores"]);
    match serde_json::to_string(conditions) {
        Ok(json) if !conditions.is_empty() => list.with(WHERE, json),
        Ok(_) | Err(_) => list,
    }
}

/// The name of a score, if conditions say no more than it and its type.
fn only_name(conditions: &[FilterCondition]) -> Option<&str> {
    let mut others = conditions.iter().filter(|one| one.column != "dataType");
    let one = others.next().filter(|one| one.column == "name")?;
    if others.next().is_some() {
        return None;
    }
    match (one.operator, &one.value) {
        (Operator::Equal, Value::String(name)) => Some(name),
        (Operator::AnyOf, Value::Array(names)) if names.len() == 1 => names.first()?.as_str(),
        _ => None,
    }
}

/// The conditions of an address.
fn asked(params: &Params) -> PageResult<Vec<FilterCondition>> {
    let Some(json) = params.get(WHERE) else { return Ok(Vec::new()) };
    serde_json::from_str(json).map_err(|why| PageError::Bad(format!("{WHERE}: {why}")))
}

/// The conditions of an address on columns of the store, and the time they leave.
pub(super) fn resolved(
    ctx: &RequestContext,
) -> PageResult<(TimeRange, Vec<Condition<ScoreColumn>>)> {
    let resolved = Filter::resolve(&asked(&ctx.params)?, &SCORE).map_err(|problems| {
        let words = problems.into_iter().map(|(_, problem)| problem.message);
        PageError::Bad(format!("{WHERE}: {}", words.collect::<Vec<_>>().join("; ")))
    })?;
    let environment = ctx.scope.environment.as_deref();
    let environment = environment.map(|word| Condition::equals(ScoreColumn::Environment, word));
    let mut conditions: Vec<_> = resolved.conditions.into_iter().chain(environment).collect();
    for condition in &mut conditions {
        if condition.column == ScoreColumn::Session {
            // As in charts, it is the session of the score or of its trace.
            condition.column = ScoreColumn::AnySession;
        }
    }
    Ok((ctx.range().and(resolved.range), conditions))
}

/// `GET …/list/scores`: the page.
pub(super) async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let (range, conditions) = resolved(&ctx)?;
    let cursor = ctx.params.get("cursor").map(str::to_owned);
    let query = ScoreQuery {
        project: ctx.project_id(),
        range,
        on: ScoresOn::Anything,
        conditions,
        paging: Paging::After { cursor, limit: ROWS },
    };
    let found = web.store.telemetry.scores(query).await?;
    let titles = score::titles(&web, &ctx, &found.rows).await?;
    let mut page = Page::new(Section::Scores, "Scores, filtered");
    page.crumbs = vec![("Scores".to_owned(), ctx.to(&["scores"]))];
    page.summary = html! { "Newest first, " (ctx.scope.span.within()) "." };
    let file = super::export_link(&ctx);
    let file = ctx.params.get(WHERE).into_iter().fold(file, |file, json| file.with(WHERE, json));
    page.action = table_export::export_menu(&file);
    page.body = html! {
        (chips(&ctx)?)
        @if found.rows.is_empty() {
            (nothing(&ctx))
        } @else {
            (score::list((&found.rows, &titles), score::NameColumn::Shown, &ctx))
            (table::pager(&ctx.here(), ctx.params.get("cursor").is_some(), found.cursor.as_deref()))
        }
    };
    Ok(page.show(&ctx))
}

/// The conditions, each with a link that removes it.
fn chips(ctx: &RequestContext) -> PageResult<Markup> {
    let all = asked(&ctx.params)?;
    let without = |at: usize| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        filtered(ctx, &others.map(|(_, one)| one.clone()).collect::<Vec<_>>())
    };
    let terms = all.iter().enumerate();
    let terms: Vec<(String, Link)> =
        terms.map(|(at, one)| (elide(&words(one), MAX_WORDS).into_owned(), without(at))).collect();
    Ok(filter_bar::chips(&terms, &filtered(ctx, &[])))
}

/// A condition in words: `environment none of judge`.
fn words(condition: &FilterCondition) -> String {
    let operator = serde_json::to_value(condition.operator).unwrap_or_default();
    let value = match &condition.value {
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().unwrap_or_default());
            words.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("{} {} {value}", condition.column, operator.as_str().unwrap_or_default())
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "Remove a filter or choose a longer time range." }
        p { a.button href=(ctx.to(&["scores"])) { "Show all scores" } }
    };
    empty::empty("No scores match", &how)
}
