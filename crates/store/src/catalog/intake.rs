use std::collections::BTreeMap;
use std::sync::Arc;

use ratchet_core::origin::PageOrigin;
use ratchet_core::redact::{Redactor, Rule};
use ratchet_core::score::config::ScoreConfig;

use super::remembered::Remembered;
use super::sql::Tx;
use super::{Catalog, page_origin, redaction, score_config};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// What a project has settled about whatever it records.
#[derive(Clone, Debug, Default)]
pub struct Intake {
    /// What scores must look like, by the id they refer to.
    pub score_configs: BTreeMap<String, ScoreConfig>,
    /// What must not be kept.
    pub redactor: Redactor,
    /// Whose pages may call; anyone's when empty.
    pub page_origins: Vec<PageOrigin>,
}

/// What projects have settled, so that recording needs no database.
pub(super) type KnownIntakes = Remembered<ProjectId, Intake>;

impl Catalog {
    /// Returns what a project has settled about whatever it records. From memory, nearly always.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn intake(&self, project: &ProjectId) -> StoreResult<Arc<Intake>> {
        let (known, look) = self.intakes.get(project);
        if let Some(known) = known {
            return Ok(known);
        }
        let wanted = project.clone();
        let intake = self.transact(move |tx| load(tx, &wanted)).await.map(Arc::new)?;
        self.intakes.remember(project.clone(), &intake, look);
        Ok(intake)
    }
}

fn load(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<Intake> {
    let configs = score_config::all(tx, project)?.into_iter();
    let rules: Vec<Rule> = redaction::all(tx, project)?.into_iter().map(|kept| kept.rule).collect();
    // Rather than keep what must not be kept, record nothing until the rules make sense again.
    let redactor = Redactor::new(&rules)
        .map_err(|why| StoreError::BadQuery(format!("a redaction rule of this project: {why}")))?;
    Ok(Intake {
        score_configs: configs.map(|kept| (kept.config.id.clone(), kept.config)).collect(),
        redactor,
        page_origins: page_origin::all(tx, project)?,
    })
}
