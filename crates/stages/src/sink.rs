//! Where stages write to: the local store, or a Langfuse server. Both take the same records.

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json;
use ratchet_core::record::score::Score;
use ratchet_core::record::score::config::ScoreConfig;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{ClientError, LangfuseClient};
use ratchet_store::StoreError;
use ratchet_store::catalog::{
    Catalog, Collected, DatasetItem, DatasetItemQuery, NewDataset, NewDatasetItem, NewPrompt,
    StoredScoreConfig,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use ratchet_store::telemetry::Telemetry;
use serde_json::Value;

use crate::record::scores::{self, ScoreWriteError};

/// Conversion to and from the requests of a Langfuse server.
pub(crate) mod langfuse;

/// Score configs in a page of the local store.
const CONFIGS: u64 = 100;
/// Dataset items in a page of the local store.
const ITEMS: u64 = 100;

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
    /// The server is unreachable, or rejected the request.
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
            Self::Remote(client) => langfuse::scores(client, scores).await,
        }
    }

    /// Unique identifier of the target.
    pub fn location(&self) -> String {
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
            Self::Remote(client) => langfuse::score_configs(client).await,
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
            Self::Remote(client) => langfuse::score_config(client, config).await,
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
            Self::Remote(client) => langfuse::prompt(client, new).await,
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
                Ok(())
            }
            Self::Remote(client) => langfuse::dataset(client, new).await,
        }
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
            Self::Remote(client) => langfuse::dataset_item(client, new).await,
        }
    }

    /// Makes or changes dataset items. The local store writes all of them or none; a server takes
    /// them one by one.
    ///
    /// # Errors
    /// Fails if one cannot be written, or does not fit its dataset.
    pub async fn save_dataset_items(
        &self,
        new: Vec<NewDatasetItem>,
        now: Timestamp,
    ) -> SinkResult<()> {
        match self {
            Self::Local(local) => {
                let saved = local.catalog.save_dataset_items(local.project.clone(), new, now);
                match saved.await? {
                    Collected::Kept(_) => Ok(()),
                    Collected::Unfit(unfit) => {
                        let why = unfit.into_iter().next().map(|(_, why)| why);
                        Err(StoreError::BadQuery(why.unwrap_or_default()).into())
                    }
                }
            }
            Self::Remote(client) => {
                for item in new {
                    langfuse::dataset_item(client, item).await?;
                }
                Ok(())
            }
        }
    }

    /// Returns the items of a dataset, newest first; none where there is no such dataset.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub async fn dataset_items(&self, dataset: &str) -> SinkResult<Vec<StoredItem>> {
        match self {
            Self::Local(local) => local.dataset_items(dataset).await,
            Self::Remote(client) => langfuse::dataset_items(client, dataset).await,
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

    async fn dataset_items(&self, dataset: &str) -> SinkResult<Vec<StoredItem>> {
        let mut items = Vec::new();
        for page in 1.. {
            let query = DatasetItemQuery {
                project: self.project.clone(),
                dataset_name: Some(dataset.to_owned()),
                source_trace: None,
                source_observation: None,
                status: DatasetStatus::Active,
                as_of: None,
                page: PageNumber { page, limit: ITEMS },
            };
            let rows = match self.catalog.dataset_items(query).await {
                Err(StoreError::NotFound(_)) => return Ok(Vec::new()),
                page => page?.rows,
            };
            let is_last = (rows.len() as u64) < ITEMS;
            items.extend(rows.iter().map(StoredItem::of));
            if is_last {
                break;
            }
        }
        Ok(items)
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

/// The contents of a dataset item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredItem {
    pub input: Value,
    pub expected_output: Value,
    pub metadata: Value,
}

impl StoredItem {
    fn of(item: &DatasetItem) -> Self {
        let text = |json: &'_ Option<Json>| parsed(json.as_ref().map(Json::as_str));
        Self {
            input: text(&item.input),
            expected_output: text(&item.expected_output),
            metadata: text(&item.metadata),
        }
    }
}

/// Parses a JSON text; text that is no JSON is null.
fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
