use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::record::observation::Observation;
use ratchet_store::project::ProjectId;

use crate::app::App;
use crate::error::ApiResult;

/// The ids of the prompt versions that observations used, as far as these versions are there.
#[derive(Debug, Default)]
pub(super) struct PromptIds(BTreeMap<(String, u32), String>);

impl PromptIds {
    /// Looks up what these observations used. Costs nothing when they used none.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub(super) async fn of(
        app: &App,
        project: &ProjectId,
        observations: &[Observation],
    ) -> ApiResult<Self> {
        let used = observations.iter().filter_map(|row| row.prompt.as_ref());
        let used: BTreeSet<_> = used.map(|link| (link.name.clone(), link.version)).collect();
        let used = used.into_iter().collect();
        Ok(Self(app.store.catalog.prompt_ids(project.clone(), used).await?))
    }

    /// The id of the version that one observation used.
    pub(super) fn get(&self, observation: &Observation) -> Option<&str> {
        let link = observation.prompt.as_ref()?;
        self.0.get(&(link.name.clone(), link.version)).map(String::as_str)
    }
}
