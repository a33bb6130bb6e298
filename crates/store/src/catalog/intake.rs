use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ratchet_core::score::config::ScoreConfig;
use rustc_hash::FxHashMap;

use super::{Catalog, score_config};
use crate::StoreResult;
use crate::project::ProjectId;

/// What a project has settled about whatever it records.
#[derive(Clone, Debug, Default)]
pub struct Intake {
    /// What scores must look like, by the id they refer to.
    pub score_configs: BTreeMap<String, ScoreConfig>,
}

/// What projects have settled, so that recording needs no database.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIntakes(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    intakes: FxHashMap<ProjectId, Arc<Intake>>,
    /// How often anything changed: what was read before a change must not be remembered after.
    changes: u64,
}

impl KnownIntakes {
    fn get(&self, project: &ProjectId) -> (Option<Arc<Intake>>, u64) {
        let Ok(known) = self.0.lock() else { return (None, 0) };
        (known.intakes.get(project).cloned(), known.changes)
    }

    fn remember(&self, project: ProjectId, intake: &Arc<Intake>, changes: u64) {
        if let Ok(mut known) = self.0.lock()
            && known.changes == changes
        {
            known.intakes.insert(project, intake.clone());
        }
    }

    pub(super) fn forget(&self, project: &ProjectId) {
        if let Ok(mut known) = self.0.lock() {
            known.changes += 1;
            known.intakes.remove(project);
        }
    }
}

impl Catalog {
    /// Returns what a project has settled about whatever it records. From memory, nearly always.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn intake(&self, project: &ProjectId) -> StoreResult<Arc<Intake>> {
        let (known, changes) = self.intakes.get(project);
        if let Some(known) = known {
            return Ok(known);
        }
        let wanted = project.clone();
        let configs = self.transact(move |tx| score_config::all(tx, &wanted)).await?;
        let by_id = configs.into_iter().map(|kept| (kept.config.id.clone(), kept.config));
        let intake = Arc::new(Intake { score_configs: by_id.collect() });
        self.intakes.remember(project.clone(), &intake, changes);
        Ok(intake)
    }
}
