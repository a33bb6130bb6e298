//! Catalog resources of a project. These routes are the same in both API generations.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::list::RawList;
use super::request::ApiRequest;
use super::retry::Idempotency;
use super::slice::{Position, Slice};
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::dataset::{
    CreateDataset, CreateDatasetItem, DatasetItemView, DatasetView,
};
use crate::langfuse::wire::dataset_run::{
    CreateDatasetRunItem, DatasetRunItemView, DatasetRunView, DatasetRunWithItems,
};
use crate::langfuse::wire::experiment::{ExperimentItemView, ExperimentView};
use crate::langfuse::wire::model::{ModelRequest, ModelView};
use crate::langfuse::wire::prompt::{CreatePrompt, PromptMetaView, PromptView, UpdatePrompt};
use crate::langfuse::wire::read::read;
use crate::langfuse::wire::score_config::{CreateScoreConfig, ScoreConfigView, UpdateScoreConfig};

const PAGE_SIZE: u64 = 50;
/// A start time before any record; some lists require one.
const EPOCH: &str = "1970-01-01T00:00:00Z";

impl LangfuseClient {
    /// Returns the project's score configs.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn score_configs(
        &self,
        at: &Position,
    ) -> Result<Slice<ScoreConfigView>, ClientError> {
        self.list(ApiRequest::get(&["score-configs"]), at).await
    }

    /// Creates a score config.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_score_config(
        &self,
        new: &CreateScoreConfig,
    ) -> Result<ScoreConfigView, ClientError> {
        self.get(&ApiRequest::post(&["score-configs"], new, Idempotency::NotIdempotent)).await
    }

    /// Updates a score config.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn update_score_config(
        &self,
        id: &str,
        change: &UpdateScoreConfig,
    ) -> Result<ScoreConfigView, ClientError> {
        self.get(&ApiRequest::patch(&["score-configs", id], change)).await
    }

    /// Returns the project's prompts by name, with their version numbers.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn prompts(&self, at: &Position) -> Result<Slice<PromptMetaView>, ClientError> {
        self.list(ApiRequest::get(&["v2", "prompts"]), at).await
    }

    /// Returns a prompt version with its references unresolved; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn prompt(
        &self,
        name: &str,
        version: u32,
    ) -> Result<Option<PromptView>, ClientError> {
        let request = ApiRequest::get(&["v2", "prompts", name]).with("version", &version);
        self.find(&request.with("resolve", "false")).await
    }

    /// Creates a prompt version.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_prompt(&self, new: &CreatePrompt) -> Result<PromptView, ClientError> {
        self.get(&ApiRequest::post(&["v2", "prompts"], new, Idempotency::NotIdempotent)).await
    }

    /// Adds labels to a prompt version and removes them from other versions.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn move_prompt_labels(
        &self,
        name: &str,
        version: u32,
        labels: Vec<String>,
    ) -> Result<PromptView, ClientError> {
        let path = ["v2", "prompts", name, "versions", &version.to_string()];
        self.get(&ApiRequest::patch(&path, &UpdatePrompt { new_labels: labels })).await
    }

    /// Deletes one version of a prompt.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn delete_prompt(&self, name: &str, version: u32) -> Result<(), ClientError> {
        let request = ApiRequest::delete(&["v2", "prompts", name]).with("version", &version);
        self.0.send(&request).await.map(drop)
    }

    /// Returns the project's datasets.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn datasets(&self, at: &Position) -> Result<Slice<DatasetView>, ClientError> {
        self.list(ApiRequest::get(&["v2", "datasets"]), at).await
    }

    /// Creates or updates a dataset, by name.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn save_dataset(&self, new: &CreateDataset) -> Result<DatasetView, ClientError> {
        self.get(&ApiRequest::post(&["v2", "datasets"], new, Idempotency::Idempotent)).await
    }

    /// Returns the items of a dataset.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn dataset_items(
        &self,
        dataset: &str,
        at: &Position,
    ) -> Result<Slice<DatasetItemView>, ClientError> {
        self.list(ApiRequest::get(&["dataset-items"]).with("datasetName", dataset), at).await
    }

    /// Returns a dataset item, archived or not; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn dataset_item(&self, id: &str) -> Result<Option<DatasetItemView>, ClientError> {
        self.find(&ApiRequest::get(&["dataset-items", id])).await
    }

    /// Creates or updates a dataset item, by id.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn save_dataset_item(
        &self,
        new: &CreateDatasetItem,
    ) -> Result<DatasetItemView, ClientError> {
        let repeat =
            if new.id.is_some() { Idempotency::Idempotent } else { Idempotency::NotIdempotent };
        self.get(&ApiRequest::post(&["dataset-items"], new, repeat)).await
    }

    /// Returns the project's own models, without the server's built-in ones.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn own_models(&self, at: &Position) -> Result<Slice<ModelView>, ClientError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Owner {
            #[serde(default)]
            is_langfuse_managed: bool,
        }
        let is_own = |row: &str| !read::<Owner>(row).is_ok_and(|row| row.is_langfuse_managed);
        let list: RawList =
            self.get(&ApiRequest::get(&["models"]).with("limit", &PAGE_SIZE).at(at)).await?;
        Ok(list.keeping(is_own).rows())
    }

    /// Creates a model.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_model(&self, new: &ModelRequest) -> Result<ModelView, ClientError> {
        self.get(&ApiRequest::post(&["models"], new, Idempotency::NotIdempotent)).await
    }

    /// Returns the runs of a dataset; `None` if the server does not support it.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn dataset_runs(
        &self,
        dataset: &str,
        at: &Position,
    ) -> Result<Option<Slice<DatasetRunView>>, ClientError> {
        let request =
            ApiRequest::get(&["datasets", dataset, "runs"]).with("limit", &PAGE_SIZE).at(at);
        Ok(self.find::<RawList>(&request).await?.map(RawList::rows))
    }

    /// Returns a dataset run with its items; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn dataset_run(
        &self,
        dataset: &str,
        run: &str,
    ) -> Result<Option<DatasetRunWithItems>, ClientError> {
        self.find(&ApiRequest::get(&["datasets", dataset, "runs", run])).await
    }

    /// Returns the experiments over a dataset, which newer servers have instead of runs; `None` if
    /// the server does not support it.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn experiments(
        &self,
        dataset_id: &str,
        at: &Position,
    ) -> Result<Option<Slice<ExperimentView>>, ClientError> {
        let request = ApiRequest::get(&["experiments"])
            .with("fromStartTime", EPOCH)
            .with("datasetId", dataset_id)
            .with("fields", "core,metadata")
            .with("limit", &PAGE_SIZE)
            .at(at);
        Ok(self.find::<RawList>(&request).await?.map(RawList::rows))
    }

    /// Returns the items of an experiment.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn experiment_items(
        &self,
        experiment_id: &str,
        at: &Position,
    ) -> Result<Slice<ExperimentItemView>, ClientError> {
        let request = ApiRequest::get(&["experiment-items"])
            .with("fromStartTime", EPOCH)
            .with("experimentId", experiment_id)
            .with("fields", "core,dataset");
        self.list(request, at).await
    }

    /// Adds an item to a dataset run, which is created if it does not exist.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn create_dataset_run_item(
        &self,
        new: &CreateDatasetRunItem,
    ) -> Result<DatasetRunItemView, ClientError> {
        self.get(&ApiRequest::post(&["dataset-run-items"], new, Idempotency::NotIdempotent)).await
    }

    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        request: ApiRequest,
        at: &Position,
    ) -> Result<Slice<T>, ClientError> {
        let list: RawList = self.get(&request.with("limit", &PAGE_SIZE).at(at)).await?;
        Ok(list.rows())
    }

    pub(super) async fn find<T: DeserializeOwned>(
        &self,
        request: &ApiRequest,
    ) -> Result<Option<T>, ClientError> {
        match self.get(request).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
