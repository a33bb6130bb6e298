use axum::extract::State;
use axum::response::Redirect;
use ratchet_core::catalog::prompt::{PromptBody, PromptKind, check_message, check_name};
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Json;
use ratchet_store::catalog::{NewDatasetItem, NewPrompt};
use serde_json::{Value, json};

use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Message for the `done` parameter.
pub(super) fn done_message(ctx: &RequestContext) -> Option<&'static str> {
    match ctx.params.get("done")? {
        "kept" => Some("Saved as dataset item"),
        _ => None,
    }
}

/// `POST …/playground/item`: keeps an answer as what should come out.
pub(super) async fn item(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let bad = |why: &str| PageError::Bad(why.to_owned());
    let dataset = form.get("dataset").ok_or_else(|| bad("dataset: choose one"))?;
    let input = form.get("input").and_then(Json::parse);
    let output = Value::from(form.get("output").unwrap_or_default().replace("\r\n", "\n"));
    let new = NewDatasetItem {
        dataset_name: dataset.to_owned(),
        input: Some(input.ok_or_else(|| bad("input: JSON is needed"))?),
        expected_output: Some(Json::from_value(&output)),
        metadata: form.get("model").map(|model| Json::from_value(&json!({ "model": model }))),
        ..NewDatasetItem::default()
    };
    let catalog = ctx.viewer.catalog(&web);
    let item = catalog.save_dataset_item(ctx.project_id(), new, ctx.now).await?;
    let to = ctx.to(&["datasets", dataset, "items", &item.id]);
    Ok(Redirect::to(&to.with("done", "added").to_string()))
}

/// `POST …/playground/version`: keeps the prompt as a new version, with no label but `latest`.
pub(super) async fn version(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let name = form.get("name").unwrap_or_default().trim().to_owned();
    check_name(&name).map_err(|why| PageError::Bad(format!("name: {why}")))?;
    let message = form.get("message").unwrap_or_default().trim().to_owned();
    check_message(&message).map_err(|why| PageError::Bad(format!("message: {why}")))?;
    let kind = form.get("kind").and_then(PromptKind::parse).unwrap_or(PromptKind::Text);
    let text = form.get("text").unwrap_or_default().replace("\r\n", "\n");
    let wrong = |why: String| PageError::Bad(format!("prompt: {why}"));
    let json = match kind {
        PromptKind::Text => Value::from(text),
        PromptKind::Chat => small_tree(&text).map_err(|why| wrong(why.to_string()))?,
    };
    let body = PromptBody::read(kind, json).map_err(|why| wrong(why.to_string()))?;
    let new = NewPrompt {
        name: name.clone(),
        body,
        config: Json::from_value(&json!({})),
        labels: Vec::new(),
        tags: None,
        commit_message: Some(message).filter(|message| !message.is_empty()),
        created_by: ctx.viewer.name().to_owned(),
    };
    let made = ctx.viewer.catalog(&web).create_prompt(ctx.project_id(), new, ctx.now).await?;
    let to = ctx.to(&["prompts", &name]).with("version", made.version.to_string());
    Ok(Redirect::to(&to.with("done", "made").to_string()))
}
