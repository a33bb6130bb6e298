use ratchet_core::catalog::prompt::PRODUCTION;
use ratchet_core::payload::Json;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::policy::PromotionPolicy;
use ratchet_core::time::Timestamp;

use super::agent::policy;
use super::project_table::ProjectTable;
use super::sql::{Row, Tx};
use super::versioned::PROMPTS;
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Versions of an agent that are listed.
const MAX_LISTED: u64 = 200;

/// A recorded agent version.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAgentVersion {
    /// The content id.
    pub id: String,
    pub agent: String,
    pub version: AgentVersion,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// What serves in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    pub environment: String,
    /// `None` if what served before the first promotion was not recorded.
    pub version: Option<String>,
    pub promotion: Option<String>,
    pub since: Timestamp,
}

const COLUMNS: &str = "id, agent, content, created_by, created_at";
pub(super) const VERSIONS: ProjectTable<StoredAgentVersion> =
    ProjectTable::new(("agent_version", "agent version"), COLUMNS, read);

impl Catalog {
    /// Records an agent version; the same parts are one version.
    ///
    /// # Errors
    /// Fails if there is no such agent or prompt version, or if a redaction rule matches a text.
    pub async fn save_agent_version(
        &self,
        project: ProjectId,
        agent: String,
        version: AgentVersion,
        now: Timestamp,
    ) -> StoreResult<StoredAgentVersion> {
        let agent = self.agent(project.clone(), agent).await?.name;
        self.transact(move |tx| {
            let id = version.id(&agent);
            if let Some(known) = VERSIONS.find(tx, &project, &id)? {
                return Ok(known);
            }
            let content = serde_json::to_value(&version).unwrap_or_default();
            let content = Json::from_value(&content);
            redaction::must_pass(tx, &project, &[("version", &content)])?;
            if let Some(missing) = missing_prompt(tx, &project, &version)? {
                return Err(StoreError::BadQuery(format!("prompts: {missing} does not exist")));
            }
            let created_by = tx.actor().name().to_owned();
            let (created_at, summary) = (now, version.summary());
            let stored = StoredAgentVersion { id, agent, version, created_by, created_at };
            insert(tx, &project, &stored, &content)?;
            let audited = AuditAction::Made.on(AuditObject::AgentVersion, &stored.id);
            tx.audit(&project, now, &audited.named(&stored.agent).became(summary))?;
            Ok(stored)
        })
        .await
    }

    /// Returns an agent version.
    ///
    /// # Errors
    /// Fails if there is none.
    pub async fn agent_version(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<StoredAgentVersion> {
        self.transact(move |tx| VERSIONS.require(tx, &project, &id)).await
    }

    /// Returns the newest versions of an agent, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn agent_versions(
        &self,
        project: ProjectId,
        agent: String,
    ) -> StoreResult<Vec<StoredAgentVersion>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM agent_version WHERE project = $1 AND agent = $2 \
             ORDER BY created_at DESC, id LIMIT $3"
        );
        self.transact(move |tx| {
            tx.rows(&sql, &[(&project).into(), agent.into(), MAX_LISTED.into()], read)
        })
        .await
    }

    /// Returns what served where, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn serving_history(
        &self,
        project: ProjectId,
        agent: String,
    ) -> StoreResult<Vec<Serving>> {
        let sql = "SELECT environment, version, promotion, since FROM agent_serving \
                   WHERE project = $1 AND agent = $2 ORDER BY since DESC, number DESC LIMIT $3";
        self.transact(move |tx| {
            tx.rows(sql, &[(&project).into(), agent.into(), MAX_LISTED.into()], read_serving)
        })
        .await
    }

    /// Returns what served in an environment at a time: `None` before the first entry.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn serving_at(
        &self,
        project: ProjectId,
        (agent, environment): (String, String),
        at: Timestamp,
    ) -> StoreResult<Option<Serving>> {
        let sql = "SELECT environment, version, promotion, since FROM agent_serving \
                   WHERE project = $1 AND agent = $2 AND environment = $3 AND since <= $4 \
                   ORDER BY since DESC, number DESC LIMIT 1";
        let values = [(&project).into(), agent.into(), environment.into(), at.into()];
        self.transact(move |tx| tx.one(sql, &values, read_serving)).await
    }

    /// Returns the agent whose promotions alone move the label `production` of a prompt, if there
    /// is one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn production_lock(
        &self,
        project: ProjectId,
        prompt: String,
    ) -> StoreResult<Option<String>> {
        self.transact(move |tx| Ok(locked_by(tx, &project, &prompt)?.into_iter().next())).await
    }

    /// Records that a version serves in an environment other than the one that is promoted to, such
    /// as after a deployment to beta.
    ///
    /// # Errors
    /// Fails if there is no such version, or with a conflict if the agent's policy promotes to the
    /// environment.
    pub async fn record_serving(
        &self,
        project: ProjectId,
        (version, environment): (String, String),
        now: Timestamp,
    ) -> StoreResult<Serving> {
        self.transact(move |tx| {
            let stored = VERSIONS.require(tx, &project, &version)?;
            let agent = super::agent::AGENTS.find(tx, &project, &stored.agent)?;
            let promoted = agent.map(|agent| agent.settings.promotion);
            if promoted.is_some_and(|policy| policy.governs(&environment)) {
                return Err(StoreError::Conflict(format!(
                    "agent {}: {environment} changes only by promotion; create one with `ratchet \
                     promote evidence`",
                    stored.agent
                )));
            }
            let serving =
                Serving { environment, version: Some(version), promotion: None, since: now };
            serve(tx, (&project, &stored.agent), &serving)?;
            let audited = AuditAction::Changed.on(AuditObject::AgentVersion, &stored.id);
            let line = format!("serves in {}", serving.environment);
            tx.audit(&project, now, &audited.named(&stored.agent).became(line))?;
            Ok(serving)
        })
        .await
    }
}

/// The first prompt version that does not exist, in words.
pub(super) fn missing_prompt(
    tx: &Tx<'_>,
    project: &ProjectId,
    version: &AgentVersion,
) -> StoreResult<Option<String>> {
    for (name, number) in &version.prompts {
        if !PROMPTS.versions(tx, (project, name))?.contains(number) {
            return Ok(Some(format!("version {number} of prompt {name}")));
        }
    }
    Ok(None)
}

/// What serves in an environment now.
pub(super) fn serving(
    tx: &Tx<'_>,
    (project, agent): (&ProjectId, &str),
    environment: &str,
) -> StoreResult<Option<Serving>> {
    let sql = "SELECT environment, version, promotion, since FROM agent_serving WHERE project = $1 \
               AND agent = $2 AND environment = $3 ORDER BY number DESC LIMIT 1";
    tx.one(sql, &[project.into(), agent.into(), environment.into()], read_serving)
}

/// Notes what serves from now on.
pub(super) fn serve(
    tx: &Tx<'_>,
    (project, agent): (&ProjectId, &str),
    serving: &Serving,
) -> StoreResult<()> {
    tx.execute(
        "INSERT INTO agent_serving (project, agent, environment, number, version, promotion, \
         since) VALUES ($1, $2, $3, (SELECT COALESCE(MAX(number), 0) + 1 FROM agent_serving \
         WHERE project = $1 AND agent = $2 AND environment = $3), $4, $5, $6)",
        &[
            project.into(),
            agent.into(),
            (&serving.environment).into(),
            serving.version.clone().into(),
            serving.promotion.clone().into(),
            serving.since.into(),
        ],
    )
    .map(drop)
}

/// The agents whose policy lets the label `production` of a prompt move only by promotion, by name.
pub(super) fn locked_by(
    tx: &Tx<'_>,
    project: &ProjectId,
    prompt: &str,
) -> StoreResult<Vec<String>> {
    let sql = "SELECT a.name, a.promotion, (SELECT 1 FROM agent_prompt p WHERE p.project = $1 \
               AND p.prompt = $2 AND p.agent = a.name) FROM agent a \
               WHERE a.project = $1 AND a.promotion IS NOT NULL ORDER BY a.name";
    let agents = tx.rows(sql, &[project.into(), prompt.into()], |row| {
        let (name, stored, used): (String, Option<Json>, Option<i64>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((name, policy(stored), used.is_some()))
    })?;
    let locks = |(name, policy, is_used): (String, PromotionPolicy, bool)| {
        let is_named = policy.prompts.iter().any(|name| name == prompt);
        (policy.is_required && (is_used || is_named)).then_some(name)
    };
    Ok(agents.into_iter().filter_map(locks).collect())
}

/// Fails with a conflict if the label `production` of a prompt moves only by promotion.
pub(super) fn refuse_if_promoted(
    tx: &Tx<'_>,
    project: &ProjectId,
    prompt: &str,
) -> StoreResult<()> {
    match locked_by(tx, project, prompt)?.first() {
        None => Ok(()),
        Some(agent) => Err(StoreError::Conflict(format!(
            "prompt {prompt}: its label production moves only by promotion or rollback of agent \
             {agent}; create a promotion with `ratchet promote evidence`, or switch the agent's \
             promotion policy off"
        ))),
    }
}

/// Returns in words why an agent's version cannot go live: a prompt of it was deleted, or the label
/// `production` of a prompt that it would move is another agent's.
pub(super) fn not_promotable(
    tx: &Tx<'_>,
    project: &ProjectId,
    stored: &StoredAgentVersion,
) -> StoreResult<Option<String>> {
    if let Some(missing) = missing_prompt(tx, project, &stored.version)? {
        return Ok(Some(format!("{missing} was deleted; name another version")));
    }
    for (prompt, number) in &stored.version.prompts {
        if PROMPTS.labelled(tx, (project, prompt), PRODUCTION)? == Some(*number) {
            continue;
        }
        let others = locked_by(tx, project, prompt)?;
        if let Some(other) = others.into_iter().find(|agent| *agent != stored.agent) {
            return Ok(Some(format!(
                "the label production of prompt {prompt} moves only by promotion of agent {other}; \
                 promote this prompt version there first"
            )));
        }
    }
    Ok(None)
}

fn insert(
    tx: &Tx<'_>,
    project: &ProjectId,
    stored: &StoredAgentVersion,
    content: &Json,
) -> StoreResult<()> {
    tx.execute(
        "INSERT INTO agent_version (project, id, agent, content, created_by, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            project.into(),
            (&stored.id).into(),
            (&stored.agent).into(),
            content.into(),
            (&stored.created_by).into(),
            stored.created_at.into(),
        ],
    )?;
    for prompt in stored.version.prompts.keys() {
        tx.execute(
            "INSERT INTO agent_prompt (project, prompt, agent) VALUES ($1, $2, $3) \
             ON CONFLICT (project, prompt, agent) DO NOTHING",
            &[project.into(), prompt.into(), (&stored.agent).into()],
        )?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> StoreResult<StoredAgentVersion> {
    let content: Json = row.get(2)?;
    Ok(StoredAgentVersion {
        id: row.get(0)?,
        agent: row.get(1)?,
        version: serde_json::from_str(content.as_str()).unwrap_or_default(),
        created_by: row.get(3)?,
        created_at: row.get(4)?,
    })
}

fn read_serving(row: &Row<'_>) -> StoreResult<Serving> {
    Ok(Serving {
        environment: row.get(0)?,
        version: row.get(1)?,
        promotion: row.get(2)?,
        since: row.get(3)?,
    })
}
