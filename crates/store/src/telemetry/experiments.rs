use super::{Telemetry, TelemetryEngine};
use crate::StoreResult;
use crate::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, ExperimentSummary, RunQuery,
    StoredExperimentItem,
};
use crate::project::ProjectId;
use crate::query::Page;

impl Telemetry {
    /// Returns experiments with items in a time range, latest first. After some bytes they have
    /// neither description nor metadata: see [`Telemetry::whole_experiment`].
    ///
    /// # Errors
    /// Fails on a malformed cursor.
    pub async fn experiments(
        &self,
        query: ExperimentQuery,
    ) -> StoreResult<Page<ExperimentSummary>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.experiments(query).await,
        }
    }

    /// Returns an experiment of a list with its texts, which are read if the list cut it; `None` if
    /// it was deleted meanwhile.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn whole_experiment(
        &self,
        project: ProjectId,
        experiment: Experiment,
    ) -> StoreResult<Option<Experiment>> {
        if !experiment.is_cut {
            return Ok(Some(experiment));
        }
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.whole_experiment(project, experiment).await,
        }
    }

    /// Returns the items of experiments, newest first.
    ///
    /// # Errors
    /// Fails on a malformed cursor.
    pub async fn experiment_items(
        &self,
        query: ExperimentItemQuery,
    ) -> StoreResult<Page<StoredExperimentItem>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.experiment_items(query).await,
        }
    }

    /// Returns an item of a list with its content, which is read if the list cut it; `None` if it
    /// was deleted meanwhile.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn whole_experiment_item(
        &self,
        project: ProjectId,
        item: StoredExperimentItem,
    ) -> StoreResult<Option<StoredExperimentItem>> {
        if !item.is_cut {
            return Ok(Some(item));
        }
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.whole_experiment_item(project, item).await,
        }
    }

    /// Returns the experiments of one dataset, newest first. After some bytes they have neither
    /// description nor metadata: see [`Telemetry::whole_experiment`].
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn runs(&self, query: RunQuery) -> StoreResult<Page<Experiment>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.runs(query).await,
        }
    }

    /// Deletes an experiment, its items and its scores; returns whether it existed. The traces
    /// stay.
    ///
    /// # Errors
    /// On any error nothing is deleted.
    pub async fn delete_experiment(&self, project: ProjectId, id: String) -> StoreResult<bool> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.delete_experiment(project, id).await,
        }
    }

    /// Deletes the experiment items of a dataset item.
    ///
    /// # Errors
    /// On any error nothing is deleted.
    pub async fn forget_item(&self, project: ProjectId, item: String) -> StoreResult<()> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.forget_item(project, item).await,
        }
    }
}
