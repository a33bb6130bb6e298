//! What both versions of the routes for evaluators and rules share: validation and storage.

use ratchet_core::catalog::evaluator::document::{EvaluationRule, EvaluatorState};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::evaluation_rule::{
    EvaluationRuleView, EvaluatorAssignment, RuleTarget,
};
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluatorDefinition, EvaluatorKind, EvaluatorVersionView, JudgeMessage, JudgeModel,
    JudgeOutput, JudgePrompt, JudgeRole, JudgeScoreType, MappingSource, StoredEvaluator,
    VariableMapping,
};
use ratchet_remote::langfuse::wire::evaluator_request::EvaluatorRequest;
use ratchet_stages::dashboards::widget_filters::check_filters;
use ratchet_stages::schedule::{self, NOBODY};
use ratchet_stages::score::evaluators::manage;
use ratchet_stages::validation::{Checks, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use ratchet_store::StoreError;
use ratchet_store::catalog::{DocumentKind, Documents};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::documents::{self, Stamp, StoredDocument};
use super::filter::conditions;
use crate::app::App;
use crate::error::{ApiError, ApiResult};

const MAX_PROMPT_CHARS: usize = 200_000;
const MAX_MESSAGES: usize = 100;
const MAX_CATEGORIES: usize = 500;
const MAX_ASSIGNMENTS: usize = 100;

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
    check_names(&mut checks, &request.name, request.description.as_deref());
    check_own(&mut checks, &request);
    let prompt = request.prompt.map(messages);
    match request.kind {
        EvaluatorKind::LlmAsJudge => {
            let texts = prompt.as_deref().unwrap_or_default();
            checks.len("prompt", texts.len(), 1..=MAX_MESSAGES);
            for message in texts {
                checks.text("prompt", &message.content, 1..=MAX_PROMPT_CHARS);
            }
            match &request.output_definition {
                Some(output) => check_output(&mut checks, output),
                None => checks.must(false, "outputDefinition", "required"),
            }
            let has_code = request.source_code.is_some() || request.source_code_language.is_some();
            checks.must(!has_code, "sourceCode", "is for evaluators of type code");
        }
        EvaluatorKind::Code => {
            let code = request.source_code.as_deref().unwrap_or_default();
            checks.text("sourceCode", code, 1..=MAX_PROMPT_CHARS);
            checks.must(request.source_code_language.is_some(), "sourceCodeLanguage", "required");
            let has_judge = prompt.is_some() || request.output_definition.is_some();
            checks.must(!has_judge, "prompt", "is for evaluators of type llm_as_judge");
        }
    }
    let mut definition = EvaluatorDefinition {
        kind: request.kind,
        prompt,
        variables: None,
        model_config: request.model_config,
        variable_mapping: request.variable_mapping,
        output_definition: request.output_definition,
        source_code: request.source_code,
        source_code_language: request.source_code_language,
        judge: request.judge,
        score_name: request.score_name,
    };
    let variables = definition.variables();
    if let Some(mapping) = &definition.variable_mapping
        && let Err(why) = check_mapping(mapping, &variables)
    {
        checks.must(false, "variableMapping", &why);
    }
    definition.variables = (definition.kind == EvaluatorKind::LlmAsJudge).then_some(variables);
    checks.finish()?;
    let id = Uuid::new_v4().to_string();
    Ok(EvaluatorVersionView { id, version: number, created_at: now.into(), definition })
}

/// Fields that Langfuse does not have.
fn check_own(checks: &mut Checks, request: &EvaluatorRequest) {
    if let Some(Err(why)) = request.judge.as_deref().map(schedule::judge) {
        checks.must(false, "judge", &why.to_string());
    }
    checks.must(request.judge.as_deref() != Some(NOBODY), "judge", "must name a judge");
    checks.text("scoreName", request.score_name.as_deref().unwrap_or("x"), 1..=MAX_NAME_CHARS);
    let is_amount = request.daily_cost_cap.is_none_or(|cap| cap >= 0.0 && cap.is_finite());
    checks.must(is_amount, "dailyCostCap", "must be an amount of US dollars");
}

fn messages(prompt: JudgePrompt) -> Vec<JudgeMessage> {
    match prompt {
        JudgePrompt::Text(content) => vec![JudgeMessage { role: JudgeRole::User, content }],
        JudgePrompt::Messages(messages) => messages,
    }
}

fn check_output(checks: &mut Checks, output: &JudgeOutput) {
    let field = "outputDefinition";
    let categories = output.categories.as_deref().unwrap_or_default();
    match output.data_type {
        JudgeScoreType::Numeric => {
            let bounds = (output.min_value, output.max_value);
            let is_ordered = !matches!(bounds, (Some(min), Some(max)) if min > max);
            checks.must(is_ordered, field, "minValue must not exceed maxValue");
        }
        JudgeScoreType::Boolean => {}
        JudgeScoreType::Categorical => {
            let mut unique: Vec<_> = categories.iter().collect();
            unique.sort();
            unique.dedup();
            let is_choice =
                (2..=MAX_CATEGORIES).contains(&unique.len()) && unique.len() == categories.len();
            checks.must(is_choice, field, "needs at least two different categories");
        }
    }
}

fn check_mapping(mapping: &[VariableMapping], variables: &[String]) -> Result<(), String> {
    for (at, one) in mapping.iter().enumerate() {
        let name = &one.variable;
        if !variables.contains(name) {
            return Err(format!("the prompt has no variable {name}"));
        }
        if mapping.iter().skip(at + 1).any(|other| other.variable == *name) {
            return Err(format!("{name} is mapped twice"));
        }
        if one.json_path.as_ref().is_some_and(|path| !path.starts_with('$')) {
            return Err(format!("the jsonPath of {name} must begin with $"));
        }
    }
    Ok(())
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
        check_names(&mut checks, &self.name, self.description.as_deref());
        checks.finish()?;
        check_model(self, documents)
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
        check_rule(self)?;
        for assignment in &self.evaluator_assignments {
            let evaluator: StoredEvaluator = documents::find(documents, &assignment.evaluator_id)?;
            check_assignment(assignment, &latest(&evaluator)?.definition, self.target)
                .map_err(ApiError::Invalid)?;
            if self.enabled {
                check_model(&evaluator, documents)?;
            }
        }
        Ok(())
    }
}

/// Rejects a model that none of the project's connections has.
fn check_model(evaluator: &StoredEvaluator, documents: &Documents<'_>) -> ApiResult<()> {
    let Some(JudgeModel { provider, model }) = &latest(evaluator)?.definition.model_config else {
        return Ok(());
    };
    let why = match documents.llm_connection(provider)? {
        Some(connection) if connection.may_have(model) => return Ok(()),
        Some(_) => format!("the LLM connection {provider} has no model {model}"),
        None => format!("the project has no LLM connection {provider}"),
    };
    let name = &evaluator.name;
    Err(ApiError::Unprocessable(format!("modelConfig of evaluator {name}: {why}")))
}

fn check_names(checks: &mut Checks, name: &str, description: Option<&str>) {
    checks.text("name", name, 1..=MAX_NAME_CHARS);
    checks.text("description", description.unwrap_or_default(), 0..=MAX_DESCRIPTION_CHARS);
}

fn check_rule(rule: &EvaluationRuleView) -> ApiResult<()> {
    let mut checks = Checks::default();
    checks.text("name", &rule.name, 1..=MAX_NAME_CHARS);
    let is_share = rule.sampling > 0.0 && rule.sampling <= 1.0;
    checks.must(is_share, "sampling", "must be greater than 0 and at most 1");
    let assignments = &rule.evaluator_assignments;
    checks.len("evaluatorAssignments", assignments.len(), 0..=MAX_ASSIGNMENTS);
    let is_usable = !rule.enabled || !assignments.is_empty();
    checks.must(is_usable, "enabled", "a rule without an evaluator cannot be switched on");
    let filters = conditions(&mut checks, rule.filter.clone());
    check_filters(&mut checks, &filters);
    Ok(checks.finish()?)
}

fn check_assignment(
    assignment: &EvaluatorAssignment,
    definition: &EvaluatorDefinition,
    target: RuleTarget,
) -> Result<(), String> {
    if definition.kind == EvaluatorKind::Code {
        let has_mapping = assignment.variable_mapping.is_some();
        let why = "variableMapping: code evaluators get all fields, and take no mapping";
        return if has_mapping { Err(why.to_owned()) } else { Ok(()) };
    }
    let variables = definition.variables();
    let own = assignment.variable_mapping.as_deref();
    let mapping = own.or(definition.variable_mapping.as_deref()).unwrap_or_default();
    check_mapping(mapping, &variables).map_err(|why| format!("variableMapping: {why}"))?;
    let is_filled = |name: &&String| mapping.iter().any(|one| one.variable == **name);
    if let Some(open) = variables.iter().find(|name| !is_filled(name)) {
        return Err(format!("variableMapping: nothing fills the variable {open}"));
    }
    let is_of_experiment = |one: &&VariableMapping| {
        matches!(one.source, MappingSource::ExpectedOutput | MappingSource::ExperimentItemMetadata)
    };
    match mapping.iter().find(is_of_experiment) {
        Some(one) if target == RuleTarget::Observation && own.is_some() => {
            Err(format!("variableMapping: observations have nothing to fill {} with", one.variable))
        }
        _ => Ok(()),
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
