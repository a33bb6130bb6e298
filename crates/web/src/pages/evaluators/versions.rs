//! What an evaluator does, version by version.

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::{
    EvaluatorKind, EvaluatorVersion, MappedVariable, OutputDefinition, OutputType,
};
use ratchet_core::time::Timestamp;
use serde_json::Value;

use super::{edit, form};
use crate::components::{diff, figure};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Versions of a page, newest first.
const VERSIONS: usize = 50;

/// `GET …/evaluators/{evaluator}/versions`: what changed from version to version.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let evaluator = edit::find(&web, &ctx, &id).await?;
    let mut parts = Vec::new();
    for (at, version) in evaluator.versions.iter().enumerate().rev().take(VERSIONS) {
        let before = at.checked_sub(1).and_then(|at| evaluator.versions.get(at));
        let changes = match before {
            Some(before) => diff::beside(written(before), written(version)).await,
            None => html! { pre.payload tabindex="0" { (written(version)) } },
        };
        parts.push(html! {
            section {
                h2 id={ "v" (version.version) } { "Version " (version.version) }
                @if let Some(at) = created_at(version) { p.muted { "Created " (figure::ago(at, &ctx.time)) } }
                @if let Some(before) = before { h3 { "Changes since version " (before.version) } }
                (changes)
            }
        });
    }
    let mut page = edit::begin(&evaluator, "Versions", &ctx);
    page.summary = html! { (evaluator.versions.len()) " versions. The newest one runs." };
    page.body = html! { @for part in &parts { (part) } };
    Ok(page.show(&ctx))
}

/// The definition of a version, folded.
pub(super) fn definition(version: &EvaluatorVersion) -> Markup {
    html! {
        details.definition open {
            summary { "Definition, version " (version.version) }
            pre.payload tabindex="0" { (written(version)) }
        }
    }
}

fn created_at(version: &EvaluatorVersion) -> Option<Timestamp> {
    let text = version.rest.get("createdAt").and_then(Value::as_str)?;
    Timestamp::parse(text).ok()
}

/// A version as one text, so that two of them can be compared line by line.
fn written(version: &EvaluatorVersion) -> String {
    let mut lines = vec![format!("Judge: {}", version.judge_name().unwrap_or_default())];
    lines.extend(version.score_name.as_ref().map(|name| format!("Score name: {name}")));
    lines.extend(version.output_definition.as_ref().map(output));
    lines.extend(version.variable_mapping.iter().flatten().map(mapped));
    lines.push(String::new());
    lines.push(match version.kind {
        EvaluatorKind::LlmAsJudge => form::written(version.prompt.as_deref().unwrap_or_default()).1,
        EvaluatorKind::Code => version.source_code.clone().unwrap_or_default(),
    });
    lines.join("\n")
}

fn mapped(one: &MappedVariable) -> String {
    let path = one.json_path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    format!("{{{{{}}}}}: {}{path}", one.variable, one.source.as_str())
}

fn output(output: &OutputDefinition) -> String {
    let mut text = format!("Score type: {}", output.data_type.as_str());
    match output.data_type {
        OutputType::Numeric => {
            let bound = |value: Option<f64>| value.map_or("any".to_owned(), |it| it.to_string());
            let bounds = (bound(output.min_value), bound(output.max_value));
            text.push_str(&format!(", {} to {}", bounds.0, bounds.1));
        }
        OutputType::Boolean => {}
        OutputType::Categorical => {
            text.push_str(": ");
            text.push_str(&output.categories.as_deref().unwrap_or_default().join(", "));
        }
    }
    for (label, instructions) in [
        ("Reason", &output.score_reasoning_instructions),
        ("Score", &output.score_value_instructions),
    ] {
        if let Some(instructions) = instructions.as_ref().filter(|text| !text.is_empty()) {
            text.push_str(&format!("\n{label}: {instructions}"));
        }
    }
    text
}
