use std::collections::HashSet;

use ratchet_core::catalog::evaluator::document::{
    EvaluationRule, Evaluator, EvaluatorPause, EvaluatorState,
};
use ratchet_core::stats::interval::Estimate;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    Catalog, Document, DocumentKind, Documents, EvaluatorActivity, WaitingEvaluations,
};
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, StoreError, StoreResult};
use serde::Serialize;

use super::agreement::{self, PeoplesScores};
use super::rules::{ProjectRules, RuleFilter};
use crate::dashboards::definitions;

const DAY_NANOS: i64 = 86_400_000_000_000;
const HOURS_A_DAY: f64 = 24.0;

/// An evaluator, what it did, and what waits for it.
#[derive(Clone, Debug)]
pub struct EvaluatorOverview {
    pub evaluator: Evaluator,
    pub state: EvaluatorState,
    /// The rules that use it.
    pub rules: Vec<EvaluationRule>,
    /// The last 24 hours, to the hour.
    pub last_day: EvaluatorActivity,
    /// Records of the last 30 days that were not judged when they arrived.
    pub skipped_last_30_days: u64,
    /// Since midnight, UTC: what counts against the cost cap.
    pub today: EvaluatorActivity,
    pub queue: WaitingEvaluations,
    /// How often the verdicts of its current version say what people say of the same records; `None`
    /// if no person has scored what it judged.
    pub agreement: Option<Estimate>,
    /// Verdicts of the last 24 hours about the agent that the list is cut by.
    pub judged_of_agent: Option<u64>,
}

impl EvaluatorOverview {
    /// The name of the judge.
    pub fn judge(&self) -> Option<String> {
        self.evaluator.latest()?.judge_name()
    }

    /// The name of its scores.
    pub fn score_name(&self) -> &str {
        let own = self.evaluator.latest().and_then(|latest| latest.score_name.as_deref());
        own.unwrap_or(&self.evaluator.name)
    }

    /// Verdicts per hour, over the last 24 hours.
    pub fn judged_per_hour(&self) -> f64 {
        as_float(self.last_day.judged) / HOURS_A_DAY
    }

    /// From the last change of a record to its verdict, in seconds.
    pub fn mean_lag_seconds(&self) -> Option<f64> {
        let EvaluatorActivity { judged, lag_ms, .. } = &self.last_day;
        (*judged > 0).then(|| as_float(*lag_ms) / as_float(*judged) / 1_000.0)
    }
}

fn as_float(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Lists the evaluators of a project, by name.
///
/// # Errors
/// Fails only when the database does.
pub async fn list(
    store: &Store,
    project: &ProjectId,
    now: Timestamp,
) -> StoreResult<Vec<EvaluatorOverview>> {
    list_of(store, project, None, now).await
}

/// Lists the evaluators of a project, by name. Their agreement with people and their verdicts are
/// cut by an agent, if one is named.
///
/// # Errors
/// Fails only when the database does.
pub async fn list_of(
    store: &Store,
    project: &ProjectId,
    agent: Option<&str>,
    now: Timestamp,
) -> StoreResult<Vec<EvaluatorOverview>> {
    let ProjectRules { evaluators, rules } =
        ProjectRules::load(&store.catalog, project.clone()).await?;
    let midnight = Timestamp::from_nanos(now.nanos().div_euclid(DAY_NANOS) * DAY_NANOS);
    let activity = |since| store.catalog.evaluator_activity(project.clone(), since);
    let (last_day, today) =
        (activity(now.plus_nanos(-DAY_NANOS)).await?, activity(midnight).await?);
    let last_30_days = activity(now.plus_nanos(-30 * DAY_NANOS)).await?;
    let of = |all: &[EvaluatorActivity], id: &str| {
        all.iter().find(|one| one.evaluator == id).cloned().unwrap_or_default()
    };
    let names = match agent {
        Some(agent) => Some(agreement::names_of(store, project, agent).await?),
        None => None,
    };
    let people = PeoplesScores::read(store, project, names.as_ref()).await?;
    let mut overviews = Vec::with_capacity(evaluators.len());
    for evaluator in evaluators {
        let id = evaluator.id.clone();
        let queue = store.catalog.waiting_evaluations(project.clone(), id.clone()).await?;
        let mut overview = EvaluatorOverview {
            state: state(&evaluator, &rules),
            rules: rules.iter().filter(|rule| rule.uses(&id)).cloned().collect(),
            last_day: of(&last_day, &id),
            skipped_last_30_days: of(&last_30_days, &id).skipped,
            today: of(&today, &id),
            queue,
            agreement: None,
            judged_of_agent: None,
            evaluator,
        };
        let version = overview.evaluator.latest().map_or(0, |latest| latest.version);
        overview.agreement = people.agreement(store, project, (&id, version)).await?;
        if let Some(names) = &names {
            let its = (id.as_str(), overview.score_name());
            let of = (names, now.plus_nanos(-DAY_NANOS));
            overview.judged_of_agent = Some(agreement::judged_of(store, project, its, of).await?);
        }
        overviews.push(overview);
    }
    overviews.sort_by(|one, other| one.evaluator.name.cmp(&other.evaluator.name));
    Ok(overviews)
}

/// Whether an evaluator runs; a filter that no rule can be applied with stops it too.
pub fn state(evaluator: &Evaluator, rules: &[EvaluationRule]) -> EvaluatorState {
    let state = evaluator.state(rules);
    let mut running = rules.iter().filter(|rule| rule.is_running() && rule.uses(&evaluator.id));
    let obstacle = running.find_map(|rule| RuleFilter::of(rule).err());
    match (state, obstacle) {
        (EvaluatorState::Active, Some(why)) => EvaluatorState::Paused("filter", why),
        (state, _) => state,
    }
}

/// Error of a request about an evaluator.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project has no such evaluator.
    #[error("evaluator {name} not found; available: {known}")]
    Unknown { name: String, known: String },
    /// It cannot be done.
    #[error("{0}")]
    Refused(String),
}

/// Pauses an evaluator: nothing more is judged by it until it is resumed, and what waits for it is
/// skipped.
///
/// # Errors
/// Fails if the project has no evaluator of that name or id.
pub async fn pause(
    catalog: &Catalog,
    project: ProjectId,
    (name, reason): (String, String),
    now: Timestamp,
) -> Result<(), ManageError> {
    let work = move |documents: &Documents<'_>| {
        let mut evaluator = find(&ProjectRules::read(documents)?, &name)?.clone();
        evaluator.paused = Some(EvaluatorPause { since: now.to_string(), reason });
        save(documents, DocumentKind::Evaluator, &evaluator.id.clone(), &evaluator, now)
    };
    catalog.with_documents(project, work).await
}

/// Resumes an evaluator, and starts those of its rules that were stored by a server that ran none.
///
/// # Errors
/// Fails if the project has no evaluator of that name or id.
pub async fn resume(
    catalog: &Catalog,
    project: ProjectId,
    name: String,
    now: Timestamp,
) -> Result<(), ManageError> {
    let work = move |documents: &Documents<'_>| {
        let mut all = ProjectRules::read(documents)?;
        let mut evaluator = find(&all, &name)?.clone();
        evaluator.paused = None;
        save(documents, DocumentKind::Evaluator, &evaluator.id.clone(), &evaluator, now)?;
        let its = all.rules.iter_mut().filter(|rule| rule.uses(&evaluator.id) && rule.enabled);
        for rule in its.filter(|rule| rule.started_at.is_none()) {
            rule.started_at = Some(now.to_string());
            save(documents, DocumentKind::EvaluationRule, &rule.id, rule, now)?;
        }
        Ok(())
    };
    catalog.with_documents(project, work).await
}

/// Finds an evaluator by name or id.
pub(super) fn find<'a>(all: &'a ProjectRules, name: &str) -> Result<&'a Evaluator, ManageError> {
    let found = all.evaluators.iter().find(|one| one.id == name || one.name == name);
    found.ok_or_else(|| {
        let names: HashSet<&str> = all.evaluators.iter().map(|one| one.name.as_str()).collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        ManageError::Unknown { name: name.to_owned(), known }
    })
}

fn save(
    documents: &Documents<'_>,
    kind: DocumentKind,
    id: &str,
    changed: &impl Serialize,
    now: Timestamp,
) -> Result<(), ManageError> {
    let created_at = documents.find(kind, id)?.created_at;
    let body = definitions::body(changed)?;
    let document = Document { id: id.to_owned(), body, created_at, updated_at: now };
    Ok(documents.upsert(kind, &document)?)
}
