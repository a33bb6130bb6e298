use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::record::observation::Observation;
use ratchet_store::project::ProjectId;

use crate::app::App;
use crate::error::ApiResult;

/// The ids of the prompt versions that observations used, if they still exist.
#[derive(Debug, Default)]
pub(super) struct PromptIds(BTreeMap<(String, u32), String>);

impl PromptIds {
    /// Looks up the prompt versions of some observations. Free if they used none.
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

    /// The id of the prompt version of an observation.
    pub(super) fn get(&self, observation: &Observation) -> Option<&str> {
        let link = observation.prompt.as_ref()?;
        self.0.get(&(link.name.clone(), link.version)).map(String::as_str)
    }
}
