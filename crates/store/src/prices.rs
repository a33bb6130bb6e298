use std::sync::{Arc, PoisonError, RwLock};

use ratchet_core::record::price::{OwnModel, PriceTable};
use rustc_hash::FxHashMap;

use crate::project::ProjectId;

/// Model prices by project. Read once for every recorded batch.
#[derive(Clone, Debug)]
pub(crate) struct ProjectPrices {
    /// For projects without custom models.
    base: Arc<PriceTable>,
    own: Arc<RwLock<FxHashMap<ProjectId, Arc<PriceTable>>>>,
}

impl ProjectPrices {
    /// The same prices for every project.
    pub(crate) fn new(base: Arc<PriceTable>) -> Self {
        Self { base, own: Arc::default() }
    }

    /// Prices without custom models.
    pub(crate) fn base(&self) -> &Arc<PriceTable> {
        &self.base
    }

    pub(crate) fn of(&self, project: &ProjectId) -> Arc<PriceTable> {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(own.get(project).unwrap_or(&self.base))
    }

    /// Sets a project's custom models.
    pub(crate) fn set(&self, project: &ProjectId, models: Vec<OwnModel>) {
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        if models.is_empty() {
            own.remove(project);
        } else {
            own.insert(project.clone(), Arc::new(self.base.with_own(models)));
        }
    }
}
