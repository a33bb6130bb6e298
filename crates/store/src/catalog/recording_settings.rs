use std::collections::BTreeMap;
use std::sync::Arc;

use ratchet_core::catalog::cors_origin::PageOrigin;
use ratchet_core::record::redact::{Redact, Redacted, Redactor};
use ratchet_core::record::score::config::ScoreConfig;

use super::cache::Cache;
use super::score_config::SCORE_CONFIGS;
use super::sql::Tx;
use super::{Catalog, cors_origin, redaction};
use crate::StoreResult;
use crate::project::ProjectId;

/// Project settings that recording needs.
#[derive(Clone, Debug, Default)]
pub struct RecordingSettings {
    /// By id.
    pub score_configs: Arc<BTreeMap<String, ScoreConfig>>,
    pub redactor: Redactor,
    /// Allowed CORS origins; any when empty.
    pub page_origins: Vec<PageOrigin>,
}

/// Cached settings, so that recording needs no database.
pub(super) type RecordingSettingsCache = Cache<ProjectId, RecordingSettings>;

impl Catalog {
    /// Returns the settings that recording needs, nearly always from the cache.
    ///
    /// # Errors
    /// Fails if a stored redaction rule is no longer valid.
    pub async fn recording_settings(
        &self,
        project: &ProjectId,
    ) -> StoreResult<Arc<RecordingSettings>> {
        let (known, look) = self.recording_settings.get(project);
        if let Some(known) = known {
            return Ok(known);
        }
        let wanted = project.clone();
        let settings = Arc::new(self.transact(move |tx| load(tx, &wanted)).await?);
        self.recording_settings.remember(project.clone(), &settings, look);
        Ok(settings)
    }

    /// Redacts what people or programs said by the rules of its project. Whatever writes such texts
    /// takes them in this form only.
    pub(super) async fn redacted<T: Redact>(
        &self,
        project: &ProjectId,
        said: T,
    ) -> StoreResult<Redacted<T>> {
        Ok(self.recording_settings(project).await?.redactor.redact(said, usize::MAX))
    }
}

fn load(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<RecordingSettings> {
    let configs = SCORE_CONFIGS.all(tx, project)?.into_iter();
    let configs = configs.map(|kept| (kept.config.id.clone(), kept.config)).collect();
    Ok(RecordingSettings {
        score_configs: Arc::new(configs),
        redactor: redaction::redactor(tx, project)?,
        page_origins: cors_origin::all(tx, project)?,
    })
}

#[cfg(test)]
mod tests {
    use ratchet_core::time::Timestamp;

    use super::*;
    use crate::StoreError;
    use crate::catalog::NewProject;

    #[tokio::test]
    async fn a_rule_that_cannot_be_used_stops_recording_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::Store::open(
            folder.path(),
            crate::StoreOptions {
                prices: Arc::default(),
                queue_len: 1,
                readers: 1,
                holder: "a test".to_owned(),
                known_secrets: Default::default(),
                reserve: crate::disk_reserve::DiskReserve::default(),
            },
        )
        .unwrap();
        let (catalog, shop) = (&store.catalog, ProjectId::parse("shop").unwrap());
        let new = NewProject { id: shop.clone(), name: "shop".to_owned(), retention_days: None };
        catalog.create_project(new, Timestamp::default()).await.unwrap();
        assert!(catalog.recording_settings(&shop).await.unwrap().redactor.is_empty());
        // As an older binary may have stored it.
        let sql = "INSERT INTO redaction_rule (id, kind, what, replacement, created_at, project) \
                   VALUES ('r', 'preset', 'no longer there', '-', 0, 'shop')";
        catalog.transact(move |tx| tx.execute(sql, &[])).await.unwrap();
        catalog.recording_settings.invalidate(&shop);
        let refused = catalog.recording_settings(&shop).await.unwrap_err();
        assert!(matches!(refused, StoreError::Unsettled(_)), "{refused}");
        assert!(refused.to_string().contains("no longer there"), "{refused}");
        assert_eq!(catalog.redaction_rules(shop.clone()).await.unwrap().len(), 1);
        catalog
            .remove_redaction_rule(shop.clone(), "r".to_owned(), Timestamp::default())
            .await
            .unwrap();
        assert!(catalog.recording_settings(&shop).await.is_ok());
    }
}
