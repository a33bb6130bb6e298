use ratchet_core::quality::calibration::panel;
use ratchet_core::quality::label;
use ratchet_core::time::Timestamp;

use super::agent::{self, AGENTS};
use super::dataset::{DATASETS, Dataset};
use super::experiment_run::{forget_runs, refuse_if_running};
use super::sql::Tx;
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Datasets that reviews and calibration find by their names.
const NAMED: [&str; 2] = [label::DATASET, panel::DATASET];

impl Catalog {
    /// Renames a dataset. Its items and runs stay; agents and queues that name it follow.
    ///
    /// # Errors
    /// Fails if the name is taken, if a redaction rule matches it, or with a conflict if something
    /// finds the dataset by its name only.
    pub async fn rename_dataset(
        &self,
        project: ProjectId,
        id: String,
        name: String,
        now: Timestamp,
    ) -> StoreResult<Dataset> {
        self.transact(move |tx| {
            let before = find(tx, &project, &id)?;
            if before.name == name {
                return Ok(before);
            }
            redaction::must_pass(tx, &project, &[("name", &redaction::said(&name))])?;
            refuse_if_required(tx, &project, &before.name)?;
            if NAMED.contains(&before.name.as_str()) {
                return Err(StoreError::Conflict(format!(
                    "name: reviews and calibration find their labels in {}",
                    before.name
                )));
            }
            tx.insert(
                "UPDATE dataset SET name = $3, updated_at = $4 WHERE project = $1 AND id = $2",
                &[(&project).into(), (&id).into(), (&name).into(), now.into()],
                || format!("a dataset with the name {name}"),
            )?;
            rename_in_agents(tx, &project, (&before.name, Some(&name)), now)?;
            let sql = "UPDATE review_settings SET dataset = $3 WHERE project = $1 AND dataset = $2";
            tx.execute(sql, &[(&project).into(), (&before.name).into(), (&name).into()])?;
            let audited = AuditAction::Changed.on(AuditObject::Dataset, &id).named(&name);
            tx.audit(&project, now, &audited.was(before.name.as_str()).became(name.as_str()))?;
            find(tx, &project, &id)
        })
        .await
    }

    /// Fails if a dataset cannot be deleted, as [`Catalog::delete_dataset`] does.
    ///
    /// # Errors
    /// Those of [`Catalog::delete_dataset`].
    pub async fn check_dataset_deletion(&self, project: ProjectId, id: String) -> StoreResult<()> {
        self.transact(move |tx| deletable(tx, &project, &id).map(drop)).await
    }

    /// Deletes a dataset with all versions of its items and what the catalog has of its runs.
    /// Decisions of gates stay, as a record. Recorded results of runs are telemetry: they are
    /// deleted before.
    ///
    /// # Errors
    /// Fails if there is no such dataset, or with a conflict while a run executes or while the
    /// promotion of an agent needs it.
    pub async fn delete_dataset(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<Dataset> {
        self.transact(move |tx| {
            let dataset = deletable(tx, &project, &id)?;
            forget_runs(tx, &project, &id)?;
            let sql = "DELETE FROM dataset_item WHERE project = $1 AND dataset = $2";
            tx.execute(sql, &[(&project).into(), (&id).into()])?;
            DATASETS.delete(tx, &project, &dataset.name)?;
            rename_in_agents(tx, &project, (&dataset.name, None), now)?;
            let audited = AuditAction::Deleted.on(AuditObject::Dataset, &id).named(&dataset.name);
            tx.audit(&project, now, &audited)?;
            Ok(dataset)
        })
        .await
    }
}

fn find(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<Dataset> {
    DATASETS.find_by(tx, project, ("id", id))?.ok_or_else(|| DATASETS.missing(id))
}

fn deletable(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<Dataset> {
    let dataset = find(tx, project, id)?;
    refuse_if_required(tx, project, &dataset.name)?;
    refuse_if_running(tx, project, ("dataset", id))?;
    Ok(dataset)
}

/// Fails if an agent reaches production only by gates on the dataset of this name.
fn refuse_if_required(tx: &Tx<'_>, project: &ProjectId, name: &str) -> StoreResult<()> {
    let agents = AGENTS.all(tx, project)?;
    let needs = agents.into_iter().find(|agent| {
        agent.settings.promotion.required_dataset(&agent.name).as_deref() == Some(name)
    });
    match needs {
        None => Ok(()),
        Some(agent) => Err(StoreError::Conflict(format!(
            "dataset {name}: the promotion of agent {} requires it under this name",
            agent.name
        ))),
    }
}

/// Replaces or removes a dataset in the settings of agents.
fn rename_in_agents(
    tx: &Tx<'_>,
    project: &ProjectId,
    (old, new): (&str, Option<&str>),
    now: Timestamp,
) -> StoreResult<()> {
    for mut agent in AGENTS.all(tx, project)? {
        let datasets = &mut agent.settings.datasets;
        if !datasets.iter().any(|name| name == old) {
            continue;
        }
        let kept = std::mem::take(datasets).into_iter();
        let renamed = |name: String| if name == old { new.map(str::to_owned) } else { Some(name) };
        *datasets = kept.filter_map(renamed).collect();
        agent.updated_at = now;
        agent::write(tx, project, &agent)?;
    }
    Ok(())
}
