/// Who may change what locks an agent's production.
mod policy_guard;

use std::collections::BTreeSet;

use ratchet_core::catalog::agent::{
    AgentSettings, AgentTargets, MAX_AGENTS, MAX_DISCOVERED, new_agents,
};
use ratchet_core::payload::Json;
use ratchet_core::promotion::policy::PromotionPolicy;
use ratchet_core::time::Timestamp;

use policy_guard::must_be_approver;

use super::project_table::ProjectTable;
use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::agent_aliases::AgentNames;
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// An agent of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Unique in the project, aliases included.
    pub name: String,
    pub settings: AgentSettings,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "name, owner, on_call, environments, queue, datasets, agent_accuracy, \
                       judge_accuracy, user_satisfaction, traces_reviewed, review_capacity, \
                       aliases, created_at, updated_at, flagged_share, half_width, spot_share, \
                       promotion";

pub(super) const AGENTS: ProjectTable<Agent> =
    ProjectTable::new(("agent", "agent"), COLUMNS, read).by("name").in_order("name");

impl Catalog {
    /// Returns the agents of a project, by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn agents(&self, project: ProjectId) -> StoreResult<Vec<Agent>> {
        self.transact(move |tx| AGENTS.all(tx, &project)).await
    }

    /// Returns the agent with a name or alias.
    ///
    /// # Errors
    /// Fails if the project has no such agent.
    pub async fn agent(&self, project: ProjectId, name: String) -> StoreResult<Agent> {
        self.transact(move |tx| {
            let agents = AGENTS.all(tx, &project)?;
            let is_named =
                |agent: &Agent| agent.name == name || agent.settings.aliases.contains(&name);
            agents.into_iter().find(is_named).ok_or_else(|| AGENTS.missing(&name))
        })
        .await
    }

    /// Creates an agent, or changes its settings.
    ///
    /// # Errors
    /// Fails if an alias is the name or alias of another agent, if the project has too many agents,
    /// if a redaction rule matches a text, or if the policy of an agent with required promotion would
    /// change by somebody who is neither an owner of the project nor an approver.
    pub async fn save_agent(
        &self,
        project: ProjectId,
        name: String,
        settings: AgentSettings,
        now: Timestamp,
    ) -> StoreResult<Agent> {
        let owner = project.clone();
        let saved = self.transact(move |tx| {
            let agents = AGENTS.all(tx, &project)?;
            let known = agents.iter().find(|agent| agent.name == name);
            if known.is_none() && agents.len() >= MAX_AGENTS {
                let why = format!("a project has at most {MAX_AGENTS} agents; delete one first");
                return Err(StoreError::BadQuery(why));
            }
            check_names(&agents, &name, &settings)?;
            check_texts(tx, &project, &name, &settings)?;
            if let Some(known) = known {
                must_be_approver(tx, &project, known, Some(&settings))?;
            }
            let created_at = known.map_or(now, |known| known.created_at);
            let action = if known.is_some() { AuditAction::Changed } else { AuditAction::Made };
            let agent = Agent { name, settings, created_at, updated_at: now };
            write(tx, &project, &agent)?;
            // An alias that was an agent from traffic is part of this one now.
            for alias in &agent.settings.aliases {
                if let Some(merged) = AGENTS.find(tx, &project, alias)? {
                    must_be_approver(tx, &project, &merged, None)?;
                    AGENTS.delete(tx, &project, alias)?;
                }
            }
            let audited = action.on(AuditObject::Agent, &agent.name);
            tx.audit(&project, now, &audited.became(summary(&agent.settings)))?;
            Ok((agent, names(tx, &project)?))
        });
        let (agent, names) = saved.await?;
        self.agent_aliases.set(&owner, names);
        Ok(agent)
    }

    /// Creates agents for those of some names, with their numbers of traces, that no agent has,
    /// most frequent first and only while there is room. Returns the names of the new ones.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn discover_agents(
        &self,
        project: ProjectId,
        seen: Vec<(String, u64)>,
        now: Timestamp,
    ) -> StoreResult<Vec<String>> {
        self.transact(move |tx| {
            let agents = AGENTS.all(tx, &project)?;
            let known: BTreeSet<String> = agents.iter().flat_map(all_names).collect();
            let mut found = new_agents(seen, &known, agents.len());
            let rules = redaction::redactor(tx, &project)?;
            found.retain(|name| rules.passes(&redaction::said(name)));
            for name in &found {
                let settings = AgentSettings::default();
                let agent =
                    Agent { name: name.clone(), settings, created_at: now, updated_at: now };
                write(tx, &project, &agent)?;
                let audited = AuditAction::Made.on(AuditObject::Agent, name);
                tx.audit(&project, now, &audited.became("found in traces"))?;
            }
            Ok(found)
        })
        .await
    }

    /// Returns whether the project has as many agents as traffic may create.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn is_agent_limit_reached(&self, project: ProjectId) -> StoreResult<bool> {
        self.transact(move |tx| Ok(AGENTS.all(tx, &project)?.len() >= MAX_DISCOVERED)).await
    }

    /// Deletes an agent. It is created again when traces with its name arrive.
    ///
    /// # Errors
    /// Fails if the project has no such agent, or if its promotion is required and the caller is
    /// neither an owner of the project nor an approver.
    pub async fn delete_agent(
        &self,
        project: ProjectId,
        name: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        let owner = project.clone();
        let names = self.transact(move |tx| {
            let known = AGENTS.require(tx, &project, &name)?;
            must_be_approver(tx, &project, &known, None)?;
            let was = AGENTS.delete(tx, &project, &name)?;
            let audited = AuditAction::Deleted.on(AuditObject::Agent, &name);
            tx.audit(&project, now, &audited.was(summary(&was.settings)))?;
            names(tx, &project)
        });
        self.agent_aliases.set(&owner, names.await?);
        Ok(())
    }
}

/// The names of the agents of each project.
pub(crate) fn of_all_projects(tx: &Tx<'_>) -> StoreResult<Vec<(ProjectId, AgentNames)>> {
    let sql = "SELECT DISTINCT project FROM agent WHERE aliases <> '[]'";
    let projects: Vec<ProjectId> = tx.rows(sql, &[], |row| row.get(0))?;
    let of = |project: ProjectId| names(tx, &project).map(|names| (project, names));
    projects.into_iter().map(of).collect()
}

fn names(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<AgentNames> {
    Ok(AGENTS.all(tx, project)?.iter().map(|agent| all_names(agent).collect()).collect())
}

fn all_names(agent: &Agent) -> impl Iterator<Item = String> {
    std::iter::once(agent.name.clone()).chain(agent.settings.aliases.clone())
}

/// Fails if a name would mean two agents. An alias may be the name of an agent without aliases,
/// which then becomes part of this one.
fn check_names(agents: &[Agent], name: &str, settings: &AgentSettings) -> StoreResult<()> {
    for other in agents.iter().filter(|agent| agent.name != name) {
        let is_taken = |taken: &String| {
            taken == name
                || settings.aliases.contains(taken)
                    && (*taken != other.name || !other.settings.aliases.is_empty())
        };
        if let Some(taken) = all_names(other).find(|taken| is_taken(taken)) {
            return Err(StoreError::BadQuery(format!(
                "aliases: {taken} is a name of the agent {}; remove it there first",
                other.name
            )));
        }
    }
    Ok(())
}

fn check_texts(
    tx: &Tx<'_>,
    project: &ProjectId,
    name: &str,
    settings: &AgentSettings,
) -> StoreResult<()> {
    let texts = [
        ("name", name.to_owned()),
        ("aliases", settings.aliases.join("\n")),
        ("owner", settings.owner.clone().unwrap_or_default()),
        ("onCall", settings.on_call.join("\n")),
        ("queue", settings.queue.clone().unwrap_or_default()),
        ("datasets", settings.datasets.join("\n")),
    ];
    let texts: Vec<_> = texts.iter().map(|(field, text)| (*field, redaction::said(text))).collect();
    let fields: Vec<_> = texts.iter().map(|(field, json)| (*field, json)).collect();
    redaction::must_pass(tx, project, &fields)
}

/// The settings in one line, for the audit log.
fn summary(settings: &AgentSettings) -> String {
    let owner = settings.owner.as_deref().unwrap_or("none");
    let targets = &settings.targets;
    format!(
        "owner {owner}; aliases {}; on call {}; targets {} {} {} {}; capacity {}; half-width {}; spot \
         checks {}{}{}",
        settings.aliases.join(", "),
        settings.on_call.join(", "),
        targets.agent_accuracy,
        targets.judge_accuracy,
        targets.user_satisfaction,
        targets.traces_reviewed,
        settings.review_capacity,
        settings.half_width,
        settings.spot_share,
        settings.flagged_share.map(|share| format!("; flagged share {share}")).unwrap_or_default(),
        policy_summary(&settings.promotion)
    )
}

/// The promotion policy, if it is on.
fn policy_summary(policy: &PromotionPolicy) -> String {
    if !policy.is_required {
        return String::new();
    }
    format!(
        "; promotion required, approvers {}, second person {}, least accuracy {}",
        policy.approvers.join(", "),
        policy.second_person,
        policy.min_accuracy
    )
}

pub(super) fn write(tx: &Tx<'_>, project: &ProjectId, agent: &Agent) -> StoreResult<()> {
    let Agent { name, settings, created_at, updated_at } = agent;
    let list = |texts: &[String]| Json::from_value(&texts.to_vec().into());
    let targets = &settings.targets;
    let policy = serde_json::to_value(&settings.promotion).unwrap_or_default();
    let sql = format!(
        "INSERT INTO agent ({COLUMNS}, project) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
         $19) \
         ON CONFLICT (project, name) DO UPDATE SET owner = $2, on_call = $3, environments = $4, \
         queue = $5, datasets = $6, agent_accuracy = $7, judge_accuracy = $8, \
         user_satisfaction = $9, traces_reviewed = $10, review_capacity = $11, aliases = $12, \
         updated_at = $14, flagged_share = $15, half_width = $16, spot_share = $17, \
         promotion = $18"
    );
    let values = &[
        name.into(),
        settings.owner.clone().into(),
        (&list(&settings.on_call)).into(),
        (&list(&settings.environments)).into(),
        settings.queue.clone().into(),
        (&list(&settings.datasets)).into(),
        targets.agent_accuracy.into(),
        targets.judge_accuracy.into(),
        targets.user_satisfaction.into(),
        targets.traces_reviewed.into(),
        settings.review_capacity.into(),
        (&list(&settings.aliases)).into(),
        (*created_at).into(),
        (*updated_at).into(),
        settings.flagged_share.into(),
        settings.half_width.into(),
        settings.spot_share.into(),
        (&Json::from_value(&policy)).into(),
        project.into(),
    ];
    tx.execute(&sql, values).map(drop)
}

/// A policy as it is stored; that of agents from before there were any is the default.
pub(super) fn policy(stored: Option<Json>) -> PromotionPolicy {
    stored.and_then(|json| serde_json::from_str(json.as_str()).ok()).unwrap_or_default()
}

fn read(row: &Row<'_>) -> StoreResult<Agent> {
    let list = |column| -> StoreResult<Vec<String>> {
        let json: Json = row.get(column)?;
        Ok(serde_json::from_str(json.as_str()).unwrap_or_default())
    };
    Ok(Agent {
        name: row.get(0)?,
        settings: AgentSettings {
            aliases: list(11)?,
            owner: row.get(1)?,
            on_call: list(2)?,
            environments: list(3)?,
            queue: row.get(4)?,
            datasets: list(5)?,
            targets: AgentTargets {
                agent_accuracy: row.get(6)?,
                judge_accuracy: row.get(7)?,
                user_satisfaction: row.get(8)?,
                traces_reviewed: row.get(9)?,
            },
            review_capacity: row.get(10)?,
            flagged_share: row.get(14)?,
            half_width: row.get(15)?,
            spot_share: row.get(16)?,
            promotion: policy(row.get(17)?),
        },
        created_at: row.get(12)?,
        updated_at: row.get(13)?,
    })
}
