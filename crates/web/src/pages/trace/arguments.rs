//! What a line of the tree says besides the name: the model of a call, the argument of a tool.

use std::collections::{HashMap, HashSet};

use ratchet_core::chat::transcript_view::best_known;
use ratchet_core::id::ObservationId;
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Payload;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::{Observation, ObservationKind};
use serde_json::Value;

use super::run::TraceRun;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::trace_tree::TreeRow;
use crate::web::Web;

/// Maximum bytes of an argument that is shown.
const MAX_SHOWN: usize = 80;
/// Rows whose inputs are read at once by a search.
const SEARCHED_AT_ONCE: usize = 500;
/// Maximum bytes of an input that is parsed.
const MAX_PARSED: usize = 64_000;

/// Arguments of tool calls by observation.
pub(super) type Arguments = HashMap<ObservationId, String>;

/// The arguments of the tool calls among some lines. Only their inputs are read.
pub(super) async fn read(
    web: &Web,
    ctx: &RequestContext,
    run: &TraceRun,
    (from, to): (usize, usize),
) -> PageResult<Arguments> {
    let rows = &run.tree.rows;
    // Line 0 is the trace itself.
    let (from, to) = (from.saturating_sub(1), to.saturating_sub(1).min(rows.len()));
    let found = calls(web, ctx, run, rows.get(from..to).unwrap_or_default()).await?;
    let argument_of = |step: Observation| {
        let input = step.content?.input?;
        Some((step.id, argument(&input)?))
    };
    Ok(found.into_iter().filter_map(argument_of).collect())
}

/// The tool calls among some rows, with their inputs.
async fn calls(
    web: &Web,
    ctx: &RequestContext,
    run: &TraceRun,
    rows: &[TreeRow],
) -> PageResult<Vec<Observation>> {
    let steps = rows.iter().map(|row| &run.tree.steps[row.step]);
    let tools = steps.filter(|step| has_argument(step.kind)).map(|step| step.id.clone());
    let tools: Vec<_> = tools.collect();
    if tools.is_empty() {
        return Ok(Vec::new());
    }
    let (project, trace) = (ctx.project_id(), run.trace.id.clone());
    Ok(web.store.telemetry.observations_of_trace(project, trace, tools).await?)
}

/// The tool calls of a trace whose arguments contain a text, which is in lower case.
pub(super) async fn containing(
    web: &Web,
    ctx: &RequestContext,
    run: &TraceRun,
    text: &str,
) -> PageResult<HashSet<ObservationId>> {
    let mut found = HashSet::new();
    for rows in run.tree.rows.chunks(SEARCHED_AT_ONCE) {
        for step in calls(web, ctx, run, rows).await? {
            let Some(input) = step.content.and_then(|content| content.input) else { continue };
            // What is shown has no escapes, and is a part of what was recorded.
            let shown = line(&input).unwrap_or_default();
            let texts = [shown.as_str(), input.as_str()];
            if texts.into_iter().any(|there| there.to_lowercase().contains(text)) {
                found.insert(step.id);
            }
        }
    }
    Ok(found)
}

fn has_argument(kind: ObservationKind) -> bool {
    matches!(kind, ObservationKind::Tool | ObservationKind::Retriever)
}

/// The most descriptive part of a tool's input, on one line.
fn argument(input: &Payload) -> Option<String> {
    line(input).map(|line| elide(&line, MAX_SHOWN).into_owned())
}

/// The same at any length.
fn line(input: &Payload) -> Option<String> {
    let text = input.as_str();
    let parsed = (text.len() <= MAX_PARSED).then(|| small_tree(text).ok()).flatten();
    let words = match &parsed {
        Some(tree) => words(tree)?,
        None => text.to_owned(),
    };
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

fn words(input: &Value) -> Option<String> {
    if let Some(text) = best_known(input) {
        return Some(text.to_owned());
    }
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match input {
        // Some frameworks wrap the arguments once more.
        Value::Object(fields) => {
            fields.values().find_map(scalar).or_else(|| fields.values().find_map(words_of_object))
        }
        other => scalar(other),
    }
}

fn words_of_object(value: &Value) -> Option<String> {
    best_known(value).map(str::to_owned).or_else(|| {
        let first = value.as_object()?.values().find_map(Value::as_str)?;
        Some(first.to_owned())
    })
}

/// The model, unless the name says it already.
pub(super) fn model(step: &Observation, name: &str) -> Option<String> {
    let model = step.model.as_deref().filter(|model| !model.is_empty())?;
    (!name.contains(model)).then(|| elide(model, MAX_SHOWN).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<&str>) {
        assert_eq!(argument(&Payload::Text(input.into())).as_deref(), expected);
    }

    #[test]
    fn the_telling_field_of_an_input_is_shown_on_one_line() {
        check(r#"{"description":"Runs tests","command":"go test\n ./..."}"#, Some("go test ./..."));
        check(r#"{"email":"","order_id":"KC-435355"}"#, Some("KC-435355"));
        check(r#"{"arguments":{"file_path":"/a.rs"}}"#, Some("/a.rs"));
        check("plain words", Some("plain words"));
        check("{}", None);
        check("[1,2]", None);
        check("", None);
    }

    #[test]
    fn long_arguments_are_cut() {
        let long = format!(r#"{{"query":"{}"}}"#, "x".repeat(500));
        let shown = argument(&Payload::Text(long.into())).unwrap();
        assert!(shown.len() <= MAX_SHOWN + 10, "{shown}");
    }
}
