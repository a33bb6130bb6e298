use std::collections::BTreeSet;

use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::RunQuery;
use ratchet_store::query::{PageNumber, Paging};

use super::service::{ExperimentService, ServiceResult};
use super::views::{recorded_view, view};

/// Datasets or runs that are read at a time.
const SLICE: u64 = 100;
/// The most runs of a list; those of a project with more are listed by dataset.
pub const MAX_LISTED: usize = 10_000;

impl ExperimentService {
    /// Returns the runs of a project, newest first, and those that other clients recorded: at most
    /// [`MAX_LISTED`].
    ///
    /// # Errors
    /// Fails without such a dataset.
    pub async fn list(&self, dataset: Option<&str>) -> ServiceResult<Vec<ExperimentProgress>> {
        let mut experiments = Vec::new();
        let datasets = match dataset {
            Some(name) => vec![self.dataset(name).await?],
            None => self.all_datasets().await?,
        };
        for dataset in datasets {
            self.add_runs_of(&dataset, &mut experiments).await?;
        }
        experiments.sort_by(|a, b| b.created_at.cmp(&a.created_at));
        experiments.truncate(MAX_LISTED);
        Ok(experiments)
    }

    async fn all_datasets(&self) -> ServiceResult<Vec<Dataset>> {
        let mut datasets = Vec::new();
        for page in 1.. {
            let page = PageNumber { page, limit: SLICE };
            let rows = self.catalog.datasets(self.project.clone(), page).await?.rows;
            let is_last = (rows.len() as u64) < SLICE;
            datasets.extend(rows);
            if is_last {
                break;
            }
        }
        Ok(datasets)
    }

    /// Adds the newest runs of a dataset, at most as many as a list has.
    async fn add_runs_of(
        &self,
        dataset: &Dataset,
        runs: &mut Vec<ExperimentProgress>,
    ) -> ServiceResult<()> {
        let (mut ours, first) = (BTreeSet::new(), runs.len());
        for page in 1.. {
            let page = PageNumber { page, limit: SLICE };
            let of_dataset = Some(dataset.id.clone());
            let project = self.project.clone();
            let rows = self.catalog.experiment_runs(project, of_dataset, page).await?.rows;
            let is_last = (rows.len() as u64) < SLICE;
            ours.extend(rows.iter().map(|run| run.id.clone()));
            runs.extend(rows.iter().map(|run| view(run, &dataset.name)));
            if is_last || runs.len() - first >= MAX_LISTED {
                break;
            }
        }
        let mut cursor = None;
        loop {
            let query = RunQuery {
                project: self.project.clone(),
                dataset: dataset.id.clone(),
                name: None,
                paging: Paging::After { cursor, limit: SLICE },
            };
            let page = self.store.telemetry.runs(query).await?;
            let others = page.rows.iter().filter(|run| !ours.contains(&run.id));
            runs.extend(others.map(|run| recorded_view(run, &dataset.name)));
            cursor = page.cursor;
            if cursor.is_none() || runs.len() - first >= 2 * MAX_LISTED {
                return Ok(());
            }
        }
    }
}
