//! Where stages write to: the local store, or a Langfuse server. Both take the same records.

use ratchet_core::payload::Json;
use ratchet_core::record::score::config::{Category, ConfigValues, ScoreConfig, StatedValues};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::{DataType, Score};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{ClientError, LangfuseClient, Position};
use ratchet_remote::langfuse::replay;
use ratchet_remote::langfuse::wire::dataset::{CreateDataset, CreateDatasetItem};
use ratchet_remote::langfuse::wire::error::Issue;
use ratchet_remote::langfuse::wire::json::{Raw, raw};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::prompt::CreatePrompt;
use ratchet_remote::langfuse::wire::score_config::{
    ConfigCategory, CreateScoreConfig, ScoreConfigView,
};
use ratchet_remote::langfuse::wire::word::Word;
use ratchet_store::StoreError;
use ratchet_store::catalog::{
    Catalog, Change, NewDataset, NewDatasetItem, NewPrompt, StoredScoreConfig,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use ratchet_store::telemetry::Telemetry;
use serde_json::value::to_raw_value;

use crate::record::scores::{self, ScoreWriteError};

/// Score configs in a page of the local store.
const CONFIGS: u64 = 100;

#[derive(Clone, Debug)]
pub enum Sink {
    /// A project of the local store.
    Local(LocalSink),
    /// The project of a Langfuse server that the client's key opens.
    Remote(LangfuseClient),
}

/// A project of the local store, to be written to.
#[derive(Clone, Debug)]
pub struct LocalSink {
    pub telemetry: Telemetry,
    pub catalog: Catalog,
    pub project: ProjectId,
}

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server could not be asked, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A score makes no sense, and with it none was written.
    #[error("score {score} is refused: {why}")]
    Refused { score: String, why: String },
    /// Something cannot be written as JSON.
    #[error("cannot write it as JSON: {0}")]
    Json(Issue),
}

pub type SinkResult<T> = Result<T, SinkError>;

impl Sink {
    /// Writes scores. One that is there already is changed.
    ///
    /// # Errors
    /// Fails if a score is refused. The local store then has written none; a server may have
    /// written the others.
    pub async fn scores(&self, scores: &[Score], now: Timestamp) -> SinkResult<()> {
        match self {
            Self::Local(local) => local.scores(scores, now).await,
            Self::Remote(client) => send_scores(client, scores).await,
        }
    }

    /// Where it is, as a text that no other place has.
    pub fn place(&self) -> String {
        match self {
            Self::Local(local) => local.project.to_string(),
            Self::Remote(client) => client.base().to_owned(),
        }
    }

    /// Returns all score configs, those that take no more scores included.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub async fn score_configs(&self) -> SinkResult<Vec<ScoreConfig>> {
        match self {
            Self::Local(local) => local.score_configs().await,
            Self::Remote(client) => {
                let mut configs = Vec::new();
                let mut next = Some(Position::Start);
                while let Some(at) = next {
                    let slice = client.score_configs(&at).await?;
                    configs.extend(slice.rows.into_iter().filter_map(understood));
                    next = slice.next;
                }
                Ok(configs)
            }
        }
    }

    /// Makes a score config and returns the id that scores refer to it by: a server chooses its
    /// own.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub async fn score_config(&self, config: &ScoreConfig, now: Timestamp) -> SinkResult<String> {
        match self {
            Self::Local(local) => {
                let (created_at, updated_at, description) = (now, now, None);
                let config = config.clone();
                let kept = StoredScoreConfig { config, description, created_at, updated_at };
                let kept = local.catalog.create_score_config(local.project.clone(), kept).await?;
                Ok(kept.config.id)
            }
            Self::Remote(client) => Ok(client.create_score_config(&stated(config)).await?.id),
        }
    }

    /// Makes the next version of a prompt and returns its number.
    ///
    /// # Errors
    /// Fails if it cannot be written, or refers to what is not there.
    pub async fn prompt(&self, new: NewPrompt, now: Timestamp) -> SinkResult<u32> {
        match self {
            Self::Local(local) => {
                let made = local.catalog.create_prompt(local.project.clone(), new, now).await?;
                Ok(made.version)
            }
            Self::Remote(client) => {
                let new = CreatePrompt {
                    kind: Some(Word(new.body.kind())),
                    prompt: to_raw_value(&new.body.to_json()).map_err(unwritable)?.into(),
                    config: Some(raw(&new.config)),
                    name: new.name,
                    labels: new.labels,
                    tags: new.tags,
                    commit_message: new.commit_message,
                };
                Ok(client.create_prompt(&new).await?.version)
            }
        }
    }

    /// Makes a dataset, or changes the one of its name.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub async fn dataset(&self, new: NewDataset, now: Timestamp) -> SinkResult<()> {
        match self {
            Self::Local(local) => {
                local.catalog.save_dataset(local.project.clone(), new, now).await?;
            }
            Self::Remote(client) => {
                let new = CreateDataset {
                    name: new.name,
                    description: new.description,
                    metadata: new.metadata.as_ref().map(raw),
                    input_schema: change(new.input_schema),
                    expected_output_schema: change(new.expected_output_schema),
                };
                client.save_dataset(&new).await?;
            }
        }
        Ok(())
    }

    /// Makes a dataset item, or changes the one of its id, and returns its id.
    ///
    /// # Errors
    /// Fails if it cannot be written, or does not fit its dataset.
    pub async fn dataset_item(&self, new: NewDatasetItem, now: Timestamp) -> SinkResult<String> {
        match self {
            Self::Local(local) => {
                let project = local.project.clone();
                Ok(local.catalog.save_dataset_item(project, new, now).await?.id)
            }
            Self::Remote(client) => {
                let new = CreateDatasetItem {
                    dataset_name: new.dataset_name,
                    input: new.input.as_ref().map(raw),
                    expected_output: new.expected_output.as_ref().map(raw),
                    metadata: new.metadata.as_ref().map(raw),
                    source_trace_id: new.source_trace,
                    source_observation_id: new.source_observation,
                    id: new.id,
                    status: new.status.map(Word),
                };
                Ok(client.save_dataset_item(&new).await?.id)
            }
        }
    }
}

impl LocalSink {
    async fn score_configs(&self) -> SinkResult<Vec<ScoreConfig>> {
        let mut configs = Vec::new();
        for page in 1.. {
            let page = PageNumber { page, limit: CONFIGS };
            let found = self.catalog.score_configs(self.project.clone(), page).await?.rows;
            let is_last = (found.len() as u64) < CONFIGS;
            configs.extend(found.into_iter().map(|kept| kept.config));
            if is_last {
                break;
            }
        }
        Ok(configs)
    }

    async fn scores(&self, scores: &[Score], now: Timestamp) -> SinkResult<()> {
        let drafts = scores.iter().map(ScoreDraft::of).collect();
        let store = (&self.telemetry, &self.catalog);
        let written = scores::write(store, self.project.clone(), drafts, now).await;
        written.map_err(|error| match error {
            ScoreWriteError::Store(error) => SinkError::Store(error),
            ScoreWriteError::Refused { score, why } => {
                SinkError::Refused { score, why: why.to_string() }
            }
        })
    }
}

async fn send_scores(client: &LangfuseClient, scores: &[Score]) -> SinkResult<()> {
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
        data_type: Word(config.values.data_type()),
        categories,
        min_value,
        max_value,
        description: None,
    }
}

/// What a server says of a score config; `None` if it makes no sense to us.
fn understood(view: ScoreConfigView) -> Option<ScoreConfig> {
    let categories =
        view.categories.map(|categories| categories.into_iter().map(Category::from).collect());
    let stated = StatedValues { min: view.min_value, max: view.max_value, categories };
    // The labels of yes and no are told, though nobody may state them.
    let values = match view.data_type.0 {
        DataType::Boolean => ConfigValues::Boolean,
        other => ConfigValues::new(other, stated).ok()?,
    };
    Some(ScoreConfig { id: view.id, name: view.name, values, is_archived: view.is_archived })
}

fn change(change: Change<Json>) -> Maybe<Raw> {
    match change {
        Change::Keep => Maybe::Absent,
        Change::Clear => Maybe::Null,
        Change::Set(json) => Maybe::Value(raw(&json)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are handed over by value")]
fn unwritable(why: serde_json::Error) -> SinkError {
    SinkError::Json(Issue { path: Vec::new(), message: why.to_string() })
}
