//! What both versions of the routes for evaluators and rules share: validation and storage.

use ratchet_core::catalog::evaluator::document::{EvaluationRule, EvaluatorState};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::evaluation_rule::EvaluationRuleView;
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluatorDefinition, EvaluatorKind, EvaluatorVersionView, JudgeMessage, JudgePrompt, JudgeRole,
    StoredEvaluator,
};
use ratchet_remote::langfuse::wire::evaluator_request::EvaluatorRequest;
use ratchet_stages::score::evaluators::definition::{
    DefinitionError, check_assignments, check_evaluator, check_model, check_rule, check_version,
};
use ratchet_stages::score::evaluators::manage;
use ratchet_stages::validation::Checks;
use ratchet_store::StoreError;
use ratchet_store::catalog::{DocumentKind, Documents};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::documents::{self, Stamp, StoredDocument};
use super::filter::conditions;
use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// Validates a definition and returns it as a version.
///
/// # Errors
/// 400 with everything that is invalid.
pub(super) fn version(
    request: EvaluatorRequest,
    number: u32,
    now: Timestamp,
) -> ApiResult<EvaluatorVersionView> {
    let mut checks = Checks::default();
    let names = (request.name.as_str(), request.description.as_deref());
    check_evaluator(&mut checks, names, request.daily_cost_cap);
    let mut definition = EvaluatorDefinition {
        kind: request.kind,
        prompt: request.prompt.map(messages),
        variables: None,
        model_config: request.model_config,
        variable_mapping: request.variable_mapping,
        output_definition: request.output_definition,
        source_code: request.source_code,
        source_code_language: request.source_code_language,
        judge: request.judge,
        score_name: request.score_name,
    };
    let is_judge = definition.kind == EvaluatorKind::LlmAsJudge;
    definition.variables = is_judge.then(|| definition.variables());
    let id = Uuid::new_v4().to_string();
    let made = EvaluatorVersionView { id, version: number, created_at: now.into(), definition };
    check_version(&mut checks, &read_again(&made)?);
    checks.finish()?;
    Ok(made)
}

fn messages(prompt: JudgePrompt) -> Vec<JudgeMessage> {
    match prompt {
        JudgePrompt::Text(content) => vec![JudgeMessage { role: JudgeRole::User, content }],
        JudgePrompt::Messages(messages) => messages,
    }
}

impl StoredDocument for StoredEvaluator {
    const KIND: DocumentKind = DocumentKind::Evaluator;

    fn stamp(&mut self) -> Stamp<'_> {
        let Self { id, created_at, updated_at, .. } = self;
        Stamp { id, created_at: created_at.0, updated_at: &mut updated_at.0 }
    }

    /// Its versions were validated on creation; what they reference may have changed.
    fn check(&self, documents: &Documents<'_>) -> ApiResult<()> {
        let mut checks = Checks::default();
        let names = (self.name.as_str(), self.description.as_deref());
        check_evaluator(&mut checks, names, self.daily_cost_cap);
        checks.finish()?;
        Ok(check_model(documents, &read_again(self)?)?)
    }

    fn check_unused(&self, documents: &Documents<'_>) -> ApiResult<()> {
        match rules_of(&documents::all(documents)?, &self.id).first() {
            None => Ok(()),
            Some(rule) => {
                let what = format!("the evaluation rule {} that uses it", rule.id);
                Err(StoreError::Exists(what).into())
            }
        }
    }
}

impl StoredDocument for EvaluationRuleView {
    const KIND: DocumentKind = DocumentKind::EvaluationRule;

    fn stamp(&mut self) -> Stamp<'_> {
        let Self { id, created_at, updated_at, .. } = self;
        Stamp { id, created_at: created_at.0, updated_at: &mut updated_at.0 }
    }

    /// Its evaluators must exist, and all their variables must be mapped to fields of the target.
    fn check(&self, documents: &Documents<'_>) -> ApiResult<()> {
        let mut checks = Checks::default();
        let filter = conditions(&mut checks, self.filter.clone());
        let bare = Self { filter: Vec::new(), ..self.clone() };
        let rule = EvaluationRule { filter, ..read_again(&bare)? };
        check_rule(&mut checks, &rule);
        checks.finish()?;
        Ok(check_assignments(documents, &rule)?)
    }
}

impl From<DefinitionError> for ApiError {
    fn from(error: DefinitionError) -> Self {
        match error {
            DefinitionError::Invalid(issues) => issues.into(),
            DefinitionError::Assignment(why) => Self::Invalid(why),
            DefinitionError::NoModel(why) => Self::Unprocessable(why),
            DefinitionError::Store(error) => error.into(),
        }
    }
}

/// The latest version of an evaluator.
///
/// # Errors
/// Fails if it has none, which is never written.
pub(super) fn latest(evaluator: &StoredEvaluator) -> ApiResult<&EvaluatorVersionView> {
    let missing = || StoreError::NotFound(format!("a version of evaluator {}", evaluator.id));
    Ok(evaluator.versions.last().ok_or_else(missing)?)
}

/// Whether an evaluator runs, and if not, why.
///
/// # Errors
/// Fails if a stored document cannot be read.
pub(super) fn state(
    evaluator: &StoredEvaluator,
    rules: &[EvaluationRuleView],
) -> ApiResult<EvaluatorState> {
    let rules: Vec<EvaluationRule> = rules.iter().map(read_again).collect::<ApiResult<_>>()?;
    Ok(manage::state(&read_again(evaluator)?, &rules))
}

/// The stored form of a document as the type that runs it.
fn read_again<T: DeserializeOwned>(document: &impl Serialize) -> ApiResult<T> {
    let value = serde_json::to_value(document).and_then(serde_json::from_value);
    value.map_err(|why| ApiError::internal(format!("a document cannot be read: {why}")))
}

/// Applies changed evaluators and rules: what is recorded from now on is evaluated by them.
///
/// # Errors
/// Fails only when the database does.
pub(super) async fn apply(app: &App) -> ApiResult<()> {
    if let Some(worker) = app.evaluators() {
        worker.prepare().await?;
        worker.wake();
    }
    Ok(())
}

/// Starts a rule that a person switches on.
pub(super) fn start(rule: &mut EvaluationRuleView, enabled: Option<bool>, now: Timestamp) {
    if enabled == Some(true) {
        rule.started_at = rule.started_at.or(Some(now.into()));
    }
}

/// The rules that use an evaluator.
pub(super) fn rules_of<'a>(
    rules: &'a [EvaluationRuleView],
    evaluator: &str,
) -> Vec<&'a EvaluationRuleView> {
    let uses = |rule: &&EvaluationRuleView| {
        rule.evaluator_assignments.iter().any(|one| one.evaluator_id == evaluator)
    };
    rules.iter().filter(uses).collect()
}
