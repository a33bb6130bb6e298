//! The sink that is a Langfuse server: records become requests of its API, and responses become
//! records, here and nowhere else in this crate.

/// Queues and dataset items that reviews read and write.
pub(crate) mod queues;

use ratchet_core::issue::Issue;
use ratchet_core::payload::Json;
use ratchet_core::record::score::config::{Category, ConfigValues, ScoreConfig, StatedValues};
use ratchet_core::record::score::{DataType, Score};
use ratchet_remote::langfuse::client::{LangfuseClient, Position};
use ratchet_remote::langfuse::replay;
use ratchet_remote::langfuse::wire::dataset::{CreateDataset, CreateDatasetItem, DatasetItemView};
use ratchet_remote::langfuse::wire::json::{Raw, raw};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::prompt::CreatePrompt;
use ratchet_remote::langfuse::wire::score_config::{
    ConfigCategory, CreateScoreConfig, ScoreConfigView,
};
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem, NewPrompt};
use serde_json::value::to_raw_value;

use super::{SinkError, SinkResult, StoredItem, parsed};

pub(super) async fn score_configs(client: &LangfuseClient) -> SinkResult<Vec<ScoreConfig>> {
    let mut configs = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = client.score_configs(&at).await?;
        configs.extend(slice.rows.into_iter().filter_map(understood));
        next = slice.next;
    }
    Ok(configs)
}

pub(super) async fn score_config(
    client: &LangfuseClient,
    config: &ScoreConfig,
) -> SinkResult<String> {
    Ok(client.create_score_config(&stated(config)).await?.id)
}

pub(super) async fn prompt(client: &LangfuseClient, new: NewPrompt) -> SinkResult<u32> {
    let new = CreatePrompt {
        kind: Some(WireName(new.body.kind())),
        prompt: to_raw_value(&new.body.to_json()).map_err(unwritable)?.into(),
        config: Some(raw(&new.config)),
        name: new.name,
        labels: new.labels,
        tags: new.tags,
        commit_message: new.commit_message,
    };
    Ok(client.create_prompt(&new).await?.version)
}

pub(super) async fn dataset(client: &LangfuseClient, new: NewDataset) -> SinkResult<()> {
    let new = CreateDataset {
        name: new.name,
        description: new.description,
        metadata: new.metadata.as_ref().map(raw),
        input_schema: change(new.input_schema),
        expected_output_schema: change(new.expected_output_schema),
    };
    client.save_dataset(&new).await?;
    Ok(())
}

pub(super) async fn dataset_item(
    client: &LangfuseClient,
    new: NewDatasetItem,
) -> SinkResult<String> {
    let new = CreateDatasetItem {
        dataset_name: new.dataset_name,
        input: new.input.as_ref().map(raw),
        expected_output: new.expected_output.as_ref().map(raw),
        metadata: new.metadata.as_ref().map(raw),
        source_trace_id: new.source_trace,
        source_observation_id: new.source_observation,
        id: new.id,
        status: new.status.map(WireName),
    };
    Ok(client.save_dataset_item(&new).await?.id)
}

pub(super) async fn dataset_items(
    client: &LangfuseClient,
    dataset: &str,
) -> SinkResult<Vec<StoredItem>> {
    let mut items = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = match client.dataset_items(dataset, &at).await {
            Err(why) if why.status() == Some(404) => return Ok(Vec::new()),
            slice => slice?,
        };
        items.extend(slice.rows.iter().map(item));
        next = slice.next;
    }
    Ok(items)
}

fn item(view: &DatasetItemView) -> StoredItem {
    let value = |raw: &Option<Raw>| parsed(raw.as_ref().map(|raw| raw.get()));
    StoredItem {
        input: value(&view.input),
        expected_output: value(&view.expected_output),
        metadata: value(&view.metadata),
    }
}

pub(super) async fn scores(client: &LangfuseClient, scores: &[Score]) -> SinkResult<()> {
    let events = scores.iter().map(replay::of_score).collect::<Result<Vec<_>, _>>();
    let events = events.map_err(SinkError::Json)?;
    match client.record(&events).await?.errors.into_iter().next() {
        None => Ok(()),
        Some(refused) => Err(SinkError::Refused {
            score: refused.id,
            why: refused.error.or(refused.message).unwrap_or_default(),
        }),
    }
}

fn stated(config: &ScoreConfig) -> CreateScoreConfig {
    let (min_value, max_value) = match &config.values {
        ConfigValues::Numeric { min, max } => (*min, *max),
        ConfigValues::Boolean | ConfigValues::Categorical(_) | ConfigValues::Text => (None, None),
    };
    let categories = match &config.values {
        ConfigValues::Categorical(categories) => {
            let shown = categories.iter().map(|category| ConfigCategory {
                value: category.value,
                label: category.label.clone(),
            });
            Some(shown.collect())
        }
        ConfigValues::Boolean | ConfigValues::Numeric { .. } | ConfigValues::Text => None,
    };
    CreateScoreConfig {
        name: config.name.clone(),
        data_type: WireName(config.values.data_type()),
        categories,
        min_value,
        max_value,
        description: None,
    }
}

/// Parses a score config of a server; `None` if it is invalid.
fn understood(view: ScoreConfigView) -> Option<ScoreConfig> {
    let categories =
        view.categories.map(|categories| categories.into_iter().map(Category::from).collect());
    let stated = StatedValues { min: view.min_value, max: view.max_value, categories };
    // Responses contain the labels of booleans, although requests must not.
    let values = match view.data_type.0 {
        DataType::Boolean => ConfigValues::Boolean,
        other => ConfigValues::new(other, stated).ok()?,
    };
    Some(ScoreConfig { id: view.id, name: view.name, values, is_archived: view.is_archived })
}

fn change(change: FieldUpdate<Json>) -> Maybe<Raw> {
    match change {
        FieldUpdate::Keep => Maybe::Absent,
        FieldUpdate::Clear => Maybe::Null,
        FieldUpdate::Set(json) => Maybe::Value(raw(&json)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are handed over by value")]
fn unwritable(why: serde_json::Error) -> SinkError {
    SinkError::Json(Issue { path: Vec::new(), message: why.to_string() })
}
