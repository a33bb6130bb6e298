/// What an action changes besides the promotion, in its transaction.
mod effects;

use std::collections::BTreeSet;

use ratchet_core::catalog::prompt::PRODUCTION;
use ratchet_core::improve::backlog::GateLink;
use ratchet_core::payload::Json;
use ratchet_core::promotion::evidence::PromotionEvidence;
use ratchet_core::promotion::policy::{Responsible, Signer, SignerKind};
use ratchet_core::promotion::state::{Action, Before, Facts, Promotion, PromotionState, Refused};
use ratchet_core::record::redact::Redacted;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::agent::AGENTS;
use super::agent_version::{StoredAgentVersion, VERSIONS, not_promotable, serving};
use super::gate::GATES;
use super::project_table::ProjectTable;
use super::proposal::links::gate_decided;
use super::sql::{Listing, Row, Tx, Value};
use super::versioned::PROMPTS;
use super::{Actor, AuditAction, AuditObject, Catalog, gate};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A promotion to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPromotion {
    /// Id of the agent version.
    pub version: String,
    /// Name of the dataset that gates decide on.
    pub dataset: String,
    /// Who it is for; the caller if `None`. Whoever started an A/B test is the author of what it
    /// offers, so that a second person has to approve it.
    pub author: Option<Signer>,
}

/// A stored promotion.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPromotion {
    pub project: ProjectId,
    pub id: String,
    pub promotion: Promotion,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A filter for promotions. `None` matches any.
#[derive(Clone, Debug)]
pub struct PromotionQuery {
    pub project: ProjectId,
    pub agent: Option<String>,
    pub page: PageNumber,
}

/// An action on a promotion.
#[derive(Clone, Debug)]
pub struct PromotionCall {
    pub project: ProjectId,
    pub id: String,
    pub action: Action,
    /// Whether the operator has set up a deployment.
    pub can_deploy: bool,
    /// Public URL of the server, without a slash at the end.
    pub server: String,
    pub now: Timestamp,
}

const COLUMNS: &str = "project, id, document, created_at, updated_at";
const PROMOTIONS: ProjectTable<StoredPromotion> =
    ProjectTable::new(("promotion", "promotion"), COLUMNS, read);

impl Catalog {
    /// Returns who this catalog acts for.
    pub fn signer(&self) -> Signer {
        signer(&self.actor)
    }

    /// Creates a promotion of an agent version.
    ///
    /// # Errors
    /// Fails if there is no such version or agent.
    pub async fn create_promotion(
        &self,
        project: ProjectId,
        new: NewPromotion,
        now: Timestamp,
    ) -> StoreResult<StoredPromotion> {
        self.transact(move |tx| {
            let version = VERSIONS.require(tx, &project, &new.version)?;
            let agent = AGENTS.require(tx, &project, &version.agent)?;
            let promotion = Promotion {
                agent: agent.name,
                version: version.id,
                environment: agent.settings.promotion.environment,
                dataset: new.dataset,
                author: new.author.unwrap_or_else(|| signer(tx.actor())),
                state: PromotionState::Draft,
                evidence: PromotionEvidence::default(),
                attempts: 0,
                before: None,
                live_at: None,
                watch: None,
                outcome: None,
            };
            let id = Uuid::new_v4().to_string();
            let (created_at, updated_at) = (now, now);
            let stored = StoredPromotion { project, id, promotion, created_at, updated_at };
            insert(tx, &stored)?;
            let audited = AuditAction::Made.on(AuditObject::Promotion, &stored.id);
            let line = format!("version {}", version.version.summary());
            let audited = audited.named(&stored.promotion.agent).became(line);
            tx.audit(&stored.project, now, &audited)?;
            Ok(stored)
        })
        .await
    }

    /// Returns a promotion.
    ///
    /// # Errors
    /// Fails if there is none.
    pub async fn promotion(&self, project: ProjectId, id: String) -> StoreResult<StoredPromotion> {
        self.transact(move |tx| PROMOTIONS.require(tx, &project, &id)).await
    }

    /// Returns promotions, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn promotions(&self, query: PromotionQuery) -> StoreResult<Page<StoredPromotion>> {
        let mut from = "FROM promotion WHERE project = $1".to_owned();
        let mut values: Vec<Value> = vec![(&query.project).into()];
        if let Some(agent) = query.agent {
            values.push(agent.into());
            from += " AND agent = $2";
        }
        self.transact(move |tx| {
            let listing = Listing { columns: COLUMNS, from: &from, order: "created_at DESC, id" };
            tx.page(listing, &values, query.page, read)
        })
        .await
    }

    /// Returns the promotions of all projects in a state, the longest unchanged first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn promotions_in(&self, state: PromotionState) -> StoreResult<Vec<StoredPromotion>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM promotion WHERE state = $1 ORDER BY updated_at, id LIMIT 1000"
        );
        self.transact(move |tx| tx.rows(&sql, &[state.as_str().into()], read)).await
    }

    /// Applies an action, redacted by the project's rules, with its effects and audit entries, in one transaction. Evidence that
    /// became void meanwhile is void also if the action is refused.
    ///
    /// # Errors
    /// Fails if there is no such promotion; the inner error is a refusal.
    pub async fn act_on_promotion(
        &self,
        call: PromotionCall,
    ) -> StoreResult<Result<StoredPromotion, Refused>> {
        let action = self.redacted(&call.project, call.action.clone()).await?;
        let done = self.transact(move |tx| act(tx, &call, action)).await;
        self.wake_delivery();
        done
    }

    /// Returns who is responsible for an agent, by its settings.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn responsible(&self, project: ProjectId, agent: String) -> StoreResult<Responsible> {
        self.transact(move |tx| responsible(tx, &project, &agent)).await
    }
}

fn act(
    tx: &Tx<'_>,
    call: &PromotionCall,
    action: Redacted<Action>,
) -> StoreResult<Result<StoredPromotion, Refused>> {
    let action = action.into_inner();
    let mut stored = PROMOTIONS.require(tx, &call.project, &call.id)?;
    let version = match &action {
        Action::ChangeVersion { version, .. } => {
            let next = VERSIONS.require(tx, &call.project, version)?;
            if next.agent != stored.promotion.agent {
                let why = format!("version: {version} is of another agent");
                return Err(StoreError::BadQuery(why));
            }
            next
        }
        _ => VERSIONS.require(tx, &call.project, &stored.promotion.version)?,
    };
    let action = match (action, not_promotable(tx, &call.project, &version)?) {
        (Action::Start, Some(why)) => {
            let state = stored.promotion.state.as_str();
            return Ok(Err(Refused::State { state, why }));
        }
        (Action::Deployed { attempt }, Some(why)) => Action::NotDeployable { attempt, why },
        (Action::Gate(found), _) => {
            if let Some(other) = gate::claim_run(tx, &call.project, (&found.run, &version.id))? {
                let problem = format!(
                    "run {} is evidence for version {other} already; run the gate on this version",
                    found.run_name
                );
                return Ok(Err(Refused::Invalid { field: "gate", problem }));
            }
            Action::Gate(found)
        }
        (action, _) => action,
    };
    let gate_of = gate_link(tx, call, &action)?;
    let facts = facts(tx, call, (&stored, &version))?;
    let was = stored.promotion.clone();
    let applied = stored.promotion.apply(action, &facts);
    if stored.promotion != was {
        stored.updated_at = call.now;
        update(tx, &stored)?;
    }
    if let (Some(link), Ok(_)) = (gate_of, &applied.result) {
        let prompts: Vec<(String, u32)> = version.version.prompts.clone().into_iter().collect();
        gate_decided(tx, &call.project, (&prompts, &link), call.now)?;
    }
    for line in &applied.audit {
        let audited = AuditAction::Changed.on(AuditObject::Promotion, &stored.id);
        let audited = audited.named(&stored.promotion.agent).became(line.clone());
        tx.audit(&call.project, call.now, &audited)?;
    }
    match applied.result {
        Err(refused) => Ok(Err(refused)),
        Ok(list) => {
            effects::carry_out(tx, call, (&stored, &version), list)?;
            Ok(Ok(stored))
        }
    }
}

/// The gate that an action brings as evidence; none if it is no longer stored.
fn gate_link(tx: &Tx<'_>, call: &PromotionCall, action: &Action) -> StoreResult<Option<GateLink>> {
    let Action::Gate(found) = action else { return Ok(None) };
    let gate = GATES.find(tx, &call.project, &found.gate)?;
    Ok(gate.map(|gate| GateLink {
        gate: found.gate.clone(),
        dataset: gate.dataset,
        run: found.run.clone(),
        verdict: found.verdict,
    }))
}

fn facts(
    tx: &Tx<'_>,
    call: &PromotionCall,
    (stored, version): (&StoredPromotion, &StoredAgentVersion),
) -> StoreResult<Facts> {
    let promotion = &stored.promotion;
    let of = (&call.project, promotion.agent.as_str());
    let now_serving = serving(tx, of, &promotion.environment)?;
    let mut labels = std::collections::BTreeMap::new();
    for prompt in version.version.prompts.keys() {
        labels.insert(prompt.clone(), PROMPTS.labelled(tx, (&call.project, prompt), PRODUCTION)?);
    }
    let sql = "SELECT id FROM promotion WHERE project = $1 AND agent = $2 AND state = $3 \
               AND id <> $4 LIMIT 1";
    let deploying = PromotionState::Deploying.as_str();
    let values = [(&call.project).into(), of.1.into(), deploying.into(), (&stored.id).into()];
    Ok(Facts {
        responsible: responsible(tx, &call.project, &promotion.agent)?,
        dataset_version: dataset_version(tx, &call.project, &promotion.dataset)?,
        tools: version.version.tools.clone(),
        is_serving: now_serving
            .as_ref()
            .is_some_and(|now| now.promotion.as_ref() == Some(&stored.id)),
        production: Before {
            version: now_serving.as_ref().and_then(|now| now.version.clone()),
            promotion: now_serving.and_then(|now| now.promotion),
            labels,
        },
        deploying: tx.one(sql, &values, |row| row.get(0))?,
        can_deploy: call.can_deploy,
        now: call.now,
    })
}

pub(super) fn responsible(
    tx: &Tx<'_>,
    project: &ProjectId,
    agent: &str,
) -> StoreResult<Responsible> {
    let found = AGENTS.find(tx, project, agent)?;
    let of = |agent: super::Agent| Responsible {
        owner: agent.settings.owner,
        policy: agent.settings.promotion,
    };
    Ok(found.map(of).unwrap_or_default())
}

/// The promotion that still needs a version of a prompt, because it is approved or deploys.
pub(super) fn needed_by(
    tx: &Tx<'_>,
    project: &ProjectId,
    (prompt, versions): (&str, &BTreeSet<u32>),
) -> StoreResult<Option<StoredPromotion>> {
    let sql = format!("SELECT {COLUMNS} FROM promotion WHERE project = $1 AND state IN ($2, $3)");
    let states = [PromotionState::Approved.as_str(), PromotionState::Deploying.as_str()];
    let values = [project.into(), states[0].into(), states[1].into()];
    for stored in tx.rows(&sql, &values, read)? {
        let version = VERSIONS.find(tx, project, &stored.promotion.version)?;
        let needed = version.and_then(|version| version.version.prompts.get(prompt).copied());
        if needed.is_some_and(|number| versions.contains(&number)) {
            return Ok(Some(stored));
        }
    }
    Ok(None)
}

/// When a dataset was last changed.
fn dataset_version(
    tx: &Tx<'_>,
    project: &ProjectId,
    dataset: &str,
) -> StoreResult<Option<Timestamp>> {
    let sql = "SELECT MAX(i.valid_from), MAX(i.valid_to) FROM dataset_item i \
               JOIN dataset d ON d.project = i.project AND d.id = i.dataset \
               WHERE d.project = $1 AND d.name = $2";
    let found: Option<(Option<Timestamp>, Option<Timestamp>)> =
        tx.one(sql, &[project.into(), dataset.into()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.and_then(|(written, ended)| written.max(ended)))
}

pub(super) fn signer(actor: &Actor) -> Signer {
    let kind = match actor {
        Actor::Person { .. } => SignerKind::Person,
        Actor::Key { .. } => SignerKind::Key,
        Actor::Anyone | Actor::CommandLine => SignerKind::Local,
        Actor::Server => SignerKind::Server,
    };
    Signer { kind, name: actor.name().to_owned() }
}

fn document(promotion: &Promotion) -> Json {
    Json::from_value(&serde_json::to_value(promotion).unwrap_or_default())
}

fn insert(tx: &Tx<'_>, stored: &StoredPromotion) -> StoreResult<()> {
    let promotion = &stored.promotion;
    tx.execute(
        "INSERT INTO promotion (project, id, agent, environment, state, document, created_at, \
         updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            (&stored.project).into(),
            (&stored.id).into(),
            (&promotion.agent).into(),
            (&promotion.environment).into(),
            promotion.state.as_str().into(),
            (&document(promotion)).into(),
            stored.created_at.into(),
            stored.updated_at.into(),
        ],
    )
    .map(drop)
}

fn update(tx: &Tx<'_>, stored: &StoredPromotion) -> StoreResult<()> {
    let promotion = &stored.promotion;
    tx.execute(
        "UPDATE promotion SET state = $3, document = $4, updated_at = $5 \
         WHERE project = $1 AND id = $2",
        &[
            (&stored.project).into(),
            (&stored.id).into(),
            promotion.state.as_str().into(),
            (&document(promotion)).into(),
            stored.updated_at.into(),
        ],
    )
    .map(drop)
}

fn read(row: &Row<'_>) -> StoreResult<StoredPromotion> {
    let document: Json = row.get(2)?;
    let promotion = serde_json::from_str(document.as_str()).map_err(StoreError::database)?;
    Ok(StoredPromotion {
        project: row.get(0)?,
        id: row.get(1)?,
        promotion,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
    })
}
