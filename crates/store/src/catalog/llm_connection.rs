use std::collections::BTreeMap;

use ratchet_core::catalog::llm::{LlmAdapter, masked};
use ratchet_core::payload::Json;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::secrets::Secrets;
use crate::{StoreError, StoreResult};

/// A connection to an LLM provider, without its secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmConnection {
    pub id: String,
    /// The project's name for the provider; unique.
    pub provider: String,
    /// Protocol of the provider.
    pub adapter: LlmAdapter,
    /// The last characters of the secret, to tell it from others.
    pub secret_hint: String,
    /// The provider's default when `None`.
    pub base_url: Option<String>,
    /// Models beyond the default ones.
    pub custom_models: Vec<String>,
    /// Whether the default models are available.
    pub has_default_models: bool,
    /// Names of extra request headers; their values are secrets.
    pub header_names: Vec<String>,
    /// Adapter-specific JSON object.
    pub config: Option<Json>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl LlmConnection {
    /// Whether it may serve a model. Only the provider knows its default models.
    pub fn may_have(&self, model: &str) -> bool {
        self.has_default_models || self.custom_models.iter().any(|known| known == model)
    }
}

/// A connection to save, including secrets.
#[derive(Clone, Debug)]
pub struct NewLlmConnection {
    /// The project's name for the provider.
    pub provider: String,
    /// Protocol of the provider.
    pub adapter: LlmAdapter,
    pub secret: Secret,
    /// The provider's default when `None`.
    pub base_url: Option<String>,
    /// Models beyond the default ones.
    pub custom_models: Vec<String>,
    /// Whether the default models are available.
    pub has_default_models: bool,
    /// Extra request headers.
    pub headers: BTreeMap<String, Secret>,
    /// Adapter-specific JSON object.
    pub config: Option<Json>,
}

/// The secrets of a connection.
#[derive(Clone, Debug)]
pub struct LlmCredentials {
    pub secret: Secret,
    /// Extra request headers.
    pub headers: BTreeMap<String, Secret>,
}

const COLUMNS: &str = "id, provider, adapter, secret_hint, base_url, custom_models, \
                       has_default_models, header_names, config, created_at, updated_at";

const CONNECTIONS: ProjectTable<LlmConnection> =
    ProjectTable::new(("llm_connection", "LLM connection"), COLUMNS, read);

impl Catalog {
    /// Returns a page of a project's connections, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn llm_connections(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<LlmConnection>> {
        self.transact(move |tx| CONNECTIONS.page(tx, &project, page)).await
    }

    /// Upserts the connection of a provider. Secrets are encrypted first.
    ///
    /// # Errors
    /// Fails if the server's encryption key cannot be read or created.
    pub async fn save_llm_connection(
        &self,
        project: ProjectId,
        new: NewLlmConnection,
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<LlmConnection> {
        self.transact(move |tx| {
            let owner = owner(&project, &new.provider);
            let before = by_provider(tx, &project, &new.provider)?;
            let headers: BTreeMap<_, _> =
                new.headers.iter().map(|(name, value)| (name, value.expose())).collect();
            let headers = Secret::new(serde_json::json!(headers).to_string());
            let names: Vec<_> = new.headers.keys().cloned().collect();
            tx.execute(
                "INSERT INTO llm_connection (project, id, provider, adapter, sealed_secret, \
                 secret_hint, base_url, custom_models, has_default_models, sealed_headers, \
                 header_names, config, created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) \
                 ON CONFLICT (project, provider) DO UPDATE SET adapter = excluded.adapter, \
                 sealed_secret = excluded.sealed_secret, secret_hint = excluded.secret_hint, \
                 base_url = excluded.base_url, custom_models = excluded.custom_models, \
                 has_default_models = excluded.has_default_models, \
                 sealed_headers = excluded.sealed_headers, header_names = excluded.header_names, \
                 config = excluded.config, updated_at = excluded.updated_at",
                &[
                    (&project).into(),
                    Uuid::new_v4().to_string().into(),
                    (&new.provider).into(),
                    new.adapter.as_str().into(),
                    secrets.seal(&new.secret, &owner)?.into(),
                    masked(new.secret.expose()).into(),
                    new.base_url.into(),
                    (&Json::from_value(&new.custom_models.into())).into(),
                    new.has_default_models.into(),
                    secrets.seal(&headers, &owner)?.into(),
                    (&Json::from_value(&names.into())).into(),
                    new.config.as_ref().into(),
                    now.into(),
                ],
            )?;
            let kept = by_provider(tx, &project, &new.provider)?;
            let kept =
                kept.ok_or_else(|| StoreError::NotFound(format!("connection {}", new.provider)))?;
            let verb = if before.is_some() { AuditAction::Changed } else { AuditAction::Added };
            let audited = verb.on(AuditObject::Connection, &kept.id).named(&kept.provider);
            tx.audit(&project, now, &audited.became(described(&kept)))?;
            Ok(kept)
        })
        .await
    }

    /// Decrypts the secrets of a provider's connection.
    ///
    /// # Errors
    /// Fails if there is no such connection, or if it was encrypted with another key.
    pub async fn llm_credentials(
        &self,
        project: ProjectId,
        provider: String,
        secrets: Secrets,
    ) -> StoreResult<LlmCredentials> {
        self.transact(move |tx| {
            let sql = "SELECT sealed_secret, sealed_headers FROM llm_connection \
                       WHERE project = $1 AND provider = $2";
            let sealed = |row: &Row<'_>| Ok((row.get::<String>(0)?, row.get::<String>(1)?));
            let found = tx.one(sql, &[(&project).into(), (&provider).into()], sealed)?;
            let missing = || StoreError::NotFound(format!("connection {provider}"));
            let (secret, headers) = found.ok_or_else(missing)?;
            let owner = owner(&project, &provider);
            let headers = secrets.open(&headers, &owner)?;
            let headers: BTreeMap<String, String> =
                serde_json::from_str(headers.expose()).unwrap_or_default();
            let headers = headers.into_iter().map(|(name, value)| (name, Secret::new(value)));
            Ok(LlmCredentials {
                secret: secrets.open(&secret, &owner)?,
                headers: headers.collect(),
            })
        })
        .await
    }

    /// Deletes a connection.
    ///
    /// # Errors
    /// Fails if there is no such connection.
    pub async fn delete_llm_connection(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let found = CONNECTIONS.delete(tx, &project, &id)?;
            let audited =
                AuditAction::Removed.on(AuditObject::Connection, &id).named(&found.provider);
            tx.audit(&project, now, &audited.was(described(&found)))
        })
        .await
    }
}

pub(super) fn by_provider(
    tx: &Tx<'_>,
    project: &ProjectId,
    provider: &str,
) -> StoreResult<Option<LlmConnection>> {
    CONNECTIONS.find_by(tx, project, ("provider", provider))
}

/// A short description of a connection for the audit log.
fn described(kept: &LlmConnection) -> String {
    let adapter = kept.adapter.as_str();
    let Some(url) = &kept.base_url else { return adapter.to_owned() };
    // The URL may contain a password before the host.
    let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{adapter} at {host}")
}

/// The associated data of a secret: moved to another row, it does not decrypt.
fn owner(project: &ProjectId, provider: &str) -> String {
    format!("llm {project} {provider}")
}

impl FromColumn for LlmAdapter {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

fn read(row: &Row<'_>) -> StoreResult<LlmConnection> {
    let texts = |json: Json| serde_json::from_str(json.as_str()).unwrap_or_default();
    Ok(LlmConnection {
        id: row.get(0)?,
        provider: row.get(1)?,
        adapter: row.get(2)?,
        secret_hint: row.get(3)?,
        base_url: row.get(4)?,
        custom_models: texts(row.get(5)?),
        has_default_models: row.get(6)?,
        header_names: texts(row.get(7)?),
        config: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
    })
}
