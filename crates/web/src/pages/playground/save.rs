use axum::extract::State;
use axum::response::Redirect;
use ratchet_core::payload::Json;
use ratchet_store::catalog::NewDatasetItem;
use serde_json::{Value, json};

use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::prompts::editor::{self, VersionForm};
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
    let new = VersionForm::read(&form).new_prompt(&ctx);
    let new = new.map_err(|(field, why)| PageError::Bad(format!("{field}: {why}")))?;
    editor::create(&web, &ctx, new).await
}
