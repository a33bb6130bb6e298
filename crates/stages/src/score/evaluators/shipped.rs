use ratchet_core::judge::evaluator::QUALITY_CHECK;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Catalog, Document, DocumentKind, Documents};
use ratchet_store::project::ProjectId;
use ratchet_store::{StoreError, StoreResult};
use serde_json::{Value, json};

use crate::dashboards::definitions;

/// The name and id of the evaluator that comes with Ratchet.
pub const NAME: &str = "online-quality-check";
/// The name of its scores.
pub const SCORE: &str = "quality";

/// Adds the shipped evaluator with its rule to a project, unless it has one of that name. It judges
/// every trace; a model or the share of traces can be changed afterwards.
///
/// # Errors
/// Fails only when the database does.
pub async fn add(
    catalog: &Catalog,
    project: ProjectId,
    (judge, delay_seconds): (&str, Option<u64>),
    now: Timestamp,
) -> StoreResult<bool> {
    let (evaluator, rule) = (evaluator(judge, now), rule(delay_seconds, now));
    let work = move |documents: &Documents<'_>| -> StoreResult<bool> {
        let all = documents.all(DocumentKind::Evaluator)?;
        if all.iter().any(|known| known.id == NAME) {
            return Ok(false);
        }
        for (kind, value) in
            [(DocumentKind::Evaluator, &evaluator), (DocumentKind::EvaluationRule, &rule)]
        {
            let body = definitions::body(value)?;
            let document = Document { id: NAME.to_owned(), body, created_at: now, updated_at: now };
            documents.upsert(kind, &document)?;
        }
        Ok(true)
    };
    catalog.with_documents::<_, StoreError>(project, work).await
}

fn evaluator(judge: &str, now: Timestamp) -> Value {
    let at = now.to_string();
    let mapping = ["input", "output", "tool_calls"];
    let mapping = mapping.map(|name| json!({ "variable": name, "source": name }));
    json!({
        "id": NAME,
        "name": NAME,
        "description": "Judges each trace: does the answer do what was asked? Scores quality from 0 to 1.",
        "createdAt": at,
        "updatedAt": at,
        "versions": [{
            "id": format!("{NAME}-1"),
            "version": 1,
            "createdAt": at,
            "type": "llm_as_judge",
            "prompt": [{ "role": "user", "content": QUALITY_CHECK }],
            "variables": ["input", "tool_calls", "output"],
            "modelConfig": null,
            "judge": judge,
            "scoreName": SCORE,
            "variableMapping": mapping,
            "outputDefinition": { "dataType": "NUMERIC", "minValue": 0.0, "maxValue": 1.0 },
        }],
    })
}

fn rule(delay_seconds: Option<u64>, now: Timestamp) -> Value {
    let at = now.to_string();
    let mut rule = json!({
        "id": NAME,
        "name": NAME,
        "enabled": true,
        "sampling": 1.0,
        "filter": [],
        "evaluatorAssignments": [{ "evaluatorId": NAME, "variableMapping": null }],
        "target": "trace",
        "createdAt": at,
        "updatedAt": at,
        "startedAt": at,
    });
    if let (Some(rule), Some(seconds)) = (rule.as_object_mut(), delay_seconds) {
        rule.insert("delaySeconds".to_owned(), seconds.into());
    }
    rule
}
