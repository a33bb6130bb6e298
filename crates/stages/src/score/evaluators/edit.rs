//! Making, changing and deleting evaluators and rules. Each runs in one transaction.

use ratchet_core::catalog::evaluator::document::{
    AssignedEvaluator, EvaluationRule, EvaluationTarget, Evaluator, EvaluatorKind, EvaluatorVersion,
};
use ratchet_core::catalog::filter::FilterCondition;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Catalog, Document, DocumentKind, Documents};
use ratchet_store::project::ProjectId;
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::definition::{self, DefinitionError};
use super::rules::ProjectRules;
use crate::dashboards::definitions;
use crate::validation::Checks;

/// What people say of an evaluator.
#[derive(Clone, Debug)]
pub struct EvaluatorDraft {
    pub name: String,
    pub description: Option<String>,
    /// In US dollars.
    pub daily_cost_cap: Option<f64>,
    /// Its number and id are given when it is stored.
    pub version: EvaluatorVersion,
}

/// What people say of a rule.
#[derive(Clone, Debug)]
pub struct RuleDraft {
    pub name: String,
    pub enabled: bool,
    /// Share of the matching records, from 0 to 1.
    pub sampling: f64,
    pub filter: Vec<FilterCondition>,
    pub evaluators: Vec<AssignedEvaluator>,
    pub target: EvaluationTarget,
    pub delay_seconds: Option<u64>,
}

/// Why nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Somebody saved another version meanwhile.
    #[error("version {0} was saved meanwhile: compare before you save again")]
    Changed(u32),
    /// A rule uses the evaluator that was to be deleted.
    #[error("rule {0} uses it: delete that rule or take the evaluator out of it first")]
    InUse(String),
}

impl From<StoreError> for EditError {
    fn from(error: StoreError) -> Self {
        Self::Definition(error.into())
    }
}

/// All evaluators and rules of a project, by name.
///
/// # Errors
/// Fails only when the database does.
pub async fn all(
    catalog: &Catalog,
    project: ProjectId,
) -> Result<(Vec<Evaluator>, Vec<EvaluationRule>), StoreError> {
    let ProjectRules { mut evaluators, mut rules } = ProjectRules::load(catalog, project).await?;
    evaluators.sort_by(|one, other| one.name.cmp(&other.name));
    rules.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((evaluators, rules))
}

/// Creates an evaluator with its first version and returns its id.
///
/// # Errors
/// Fails if the draft is invalid.
pub async fn create_evaluator(
    catalog: &Catalog,
    project: ProjectId,
    draft: EvaluatorDraft,
    now: Timestamp,
) -> Result<String, EditError> {
    let work = move |documents: &Documents<'_>| {
        let mut checks = Checks::default();
        check(&mut checks, &draft);
        checks.finish().map_err(DefinitionError::Invalid)?;
        let EvaluatorDraft { name, description, daily_cost_cap, version } = draft;
        let evaluator = Evaluator {
            id: Uuid::new_v4().to_string(),
            name,
            description,
            versions: vec![stamped(version, 1, now)],
            paused: None,
            daily_cost_cap,
            rest: Map::from_iter([("createdAt".to_owned(), json!(now.to_string()))]),
        };
        save_evaluator(documents, evaluator, (now, now))
    };
    catalog.with_documents(project, work).await
}

/// Changes an evaluator. Another definition than that of version `before` becomes a new version,
/// whose number is returned.
///
/// # Errors
/// Fails if the draft is invalid, or if `before` is not the latest version.
pub async fn change_evaluator(
    catalog: &Catalog,
    project: ProjectId,
    (id, before): (String, u32),
    draft: EvaluatorDraft,
    now: Timestamp,
) -> Result<Option<u32>, EditError> {
    let work = move |documents: &Documents<'_>| {
        let found = documents.find(DocumentKind::Evaluator, &id)?;
        let mut evaluator: Evaluator = definitions::read(&found)?;
        let latest = definition::latest(&evaluator)?;
        if latest.version != before {
            return Err(EditError::Changed(latest.version));
        }
        let mut checks = Checks::default();
        check(&mut checks, &draft);
        let is_same_kind = draft.version.kind == latest.kind;
        checks.must(is_same_kind, "type", "the type of an evaluator cannot change");
        checks.finish().map_err(DefinitionError::Invalid)?;
        let EvaluatorDraft { name, description, daily_cost_cap, version } = draft;
        let number = latest.version.saturating_add(1);
        let is_new = !is_same(latest, &version);
        if is_new {
            evaluator.versions.push(stamped(version, number, now));
        }
        evaluator = Evaluator { name, description, daily_cost_cap, ..evaluator };
        save_evaluator(documents, evaluator, (found.created_at, now))?;
        Ok(is_new.then_some(number))
    };
    catalog.with_documents(project, work).await
}

/// Deletes an evaluator that no rule uses.
///
/// # Errors
/// Fails if a rule uses it.
pub async fn delete_evaluator(
    catalog: &Catalog,
    project: ProjectId,
    id: String,
    now: Timestamp,
) -> Result<(), EditError> {
    let work = move |documents: &Documents<'_>| {
        let all = ProjectRules::read(documents)?;
        match all.rules.iter().find(|rule| rule.uses(&id)) {
            Some(rule) => Err(EditError::InUse(rule.name.clone())),
            None => Ok(documents.delete(DocumentKind::Evaluator, &id, now)?),
        }
    };
    catalog.with_documents(project, work).await
}

/// Creates a rule, or changes the one with an id, and returns its id. A rule that is switched on
/// starts.
///
/// # Errors
/// Fails if the draft is invalid.
pub async fn save_rule(
    catalog: &Catalog,
    project: ProjectId,
    id: Option<String>,
    draft: RuleDraft,
    now: Timestamp,
) -> Result<String, EditError> {
    let work = move |documents: &Documents<'_>| {
        let before = id.map(|id| documents.find(DocumentKind::EvaluationRule, &id)).transpose()?;
        let created_at = before.as_ref().map_or(now, |before| before.created_at);
        let before: Option<EvaluationRule> = before.as_ref().map(definitions::read).transpose()?;
        let mut rule = rule(before, draft, now);
        let mut checks = Checks::default();
        definition::check_rule(&mut checks, &rule);
        checks.finish().map_err(DefinitionError::Invalid)?;
        definition::check_assignments(documents, &rule)?;
        rule.rest.insert("updatedAt".to_owned(), json!(now.to_string()));
        put(documents, (DocumentKind::EvaluationRule, &rule.id, &rule), (created_at, now))?;
        Ok(rule.id)
    };
    catalog.with_documents(project, work).await
}

/// Deletes a rule; its evaluators stay.
///
/// # Errors
/// Fails if the project has no rule with that id.
pub async fn delete_rule(
    catalog: &Catalog,
    project: ProjectId,
    id: String,
    now: Timestamp,
) -> Result<(), StoreError> {
    let work =
        move |documents: &Documents<'_>| documents.delete(DocumentKind::EvaluationRule, &id, now);
    catalog.with_documents(project, work).await
}

fn check(checks: &mut Checks, draft: &EvaluatorDraft) {
    let names = (draft.name.as_str(), draft.description.as_deref());
    definition::check_evaluator(checks, names, draft.daily_cost_cap);
    definition::check_version(checks, &draft.version);
}

/// A version as it is stored.
fn stamped(mut version: EvaluatorVersion, number: u32, now: Timestamp) -> EvaluatorVersion {
    version.version = number;
    version.rest = Map::from_iter([
        ("id".to_owned(), json!(Uuid::new_v4().to_string())),
        ("createdAt".to_owned(), json!(now.to_string())),
    ]);
    if version.kind == EvaluatorKind::LlmAsJudge {
        version.rest.insert("variables".to_owned(), json!(version.variables()));
    }
    version
}

/// Whether two versions give the same verdicts.
fn is_same(one: &EvaluatorVersion, other: &EvaluatorVersion) -> bool {
    let bare = |version: &EvaluatorVersion| EvaluatorVersion {
        version: 0,
        rest: Map::new(),
        ..version.clone()
    };
    bare(one) == bare(other)
}

fn rule(before: Option<EvaluationRule>, draft: RuleDraft, now: Timestamp) -> EvaluationRule {
    let started_at = before.as_ref().and_then(|before| before.started_at.clone());
    let (id, rest) = match before {
        Some(before) => (before.id, before.rest),
        None => {
            let created = ("createdAt".to_owned(), Value::from(now.to_string()));
            (Uuid::new_v4().to_string(), Map::from_iter([created]))
        }
    };
    let RuleDraft { name, enabled, sampling, filter, evaluators, target, delay_seconds } = draft;
    EvaluationRule {
        id,
        name,
        enabled,
        sampling,
        filter,
        evaluator_assignments: evaluators,
        target,
        started_at: if enabled { started_at.or(Some(now.to_string())) } else { started_at },
        delay_seconds,
        rest,
    }
}

fn save_evaluator(
    documents: &Documents<'_>,
    mut evaluator: Evaluator,
    times: (Timestamp, Timestamp),
) -> Result<String, EditError> {
    definition::check_model(documents, &evaluator)?;
    evaluator.rest.insert("updatedAt".to_owned(), json!(times.1.to_string()));
    put(documents, (DocumentKind::Evaluator, &evaluator.id, &evaluator), times)?;
    Ok(evaluator.id)
}

fn put(
    documents: &Documents<'_>,
    (kind, id, value): (DocumentKind, &str, &impl Serialize),
    (created_at, updated_at): (Timestamp, Timestamp),
) -> Result<(), StoreError> {
    let body = definitions::body(value)?;
    documents.upsert(kind, &Document { id: id.to_owned(), body, created_at, updated_at })
}
