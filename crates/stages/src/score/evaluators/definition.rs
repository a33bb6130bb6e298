//! Validation of evaluators and rules, the same for every API and for pages.

use ratchet_core::catalog::evaluator::document::{
    AssignedEvaluator, ConnectionModel, EvaluationRule, EvaluationTarget, Evaluator, EvaluatorKind,
    EvaluatorVersion, MappedVariable, MappingSource, OutputDefinition, OutputType,
};
use ratchet_core::issue::Issue;
use ratchet_store::StoreError;
use ratchet_store::catalog::{DocumentKind, Documents};

use crate::dashboards::definitions;
use crate::dashboards::widget_filters::check_filters;
use crate::schedule::{self, NOBODY};
use crate::validation::{Checks, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};

const MAX_PROMPT_CHARS: usize = 200_000;
const MAX_MESSAGES: usize = 100;
const MAX_CATEGORIES: usize = 500;
const MAX_ASSIGNMENTS: usize = 100;

/// Why an evaluator or a rule was refused.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// Fields are invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Issue>),
    /// An assigned evaluator cannot be used like this.
    #[error("{0}")]
    Assignment(String),
    /// No LLM connection of the project has the model.
    #[error("{0}")]
    NoModel(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks what an evaluator has besides its versions.
pub fn check_evaluator(
    checks: &mut Checks,
    (name, description): (&str, Option<&str>),
    daily_cost_cap: Option<f64>,
) {
    checks.text("name", name, 1..=MAX_NAME_CHARS);
    checks.text("description", description.unwrap_or_default(), 0..=MAX_DESCRIPTION_CHARS);
    let is_amount = daily_cost_cap.is_none_or(|cap| cap >= 0.0 && cap.is_finite());
    checks.must(is_amount, "dailyCostCap", "must be an amount of US dollars");
}

/// Checks a version before it is stored.
pub fn check_version(checks: &mut Checks, version: &EvaluatorVersion) {
    if let Some(Err(why)) = version.judge.as_deref().map(schedule::judge) {
        checks.must(false, "judge", &why.to_string());
    }
    checks.must(version.judge.as_deref() != Some(NOBODY), "judge", "must name a judge");
    checks.text("scoreName", version.score_name.as_deref().unwrap_or("x"), 1..=MAX_NAME_CHARS);
    match version.kind {
        EvaluatorKind::LlmAsJudge => check_judge(checks, version),
        EvaluatorKind::Code => check_code(checks, version),
    }
    if let Some(mapping) = &version.variable_mapping
        && let Err(why) = check_mapping(mapping, &version.variables())
    {
        checks.must(false, "variableMapping", &why);
    }
}

fn check_judge(checks: &mut Checks, version: &EvaluatorVersion) {
    let messages = version.prompt.as_deref().unwrap_or_default();
    checks.len("prompt", messages.len(), 1..=MAX_MESSAGES);
    for message in messages {
        checks.text("prompt", &message.content, 1..=MAX_PROMPT_CHARS);
    }
    match &version.output_definition {
        Some(output) => check_output(checks, output),
        None => checks.must(false, "outputDefinition", "required"),
    }
    let has_code = version.source_code.is_some() || version.source_code_language.is_some();
    checks.must(!has_code, "sourceCode", "is for evaluators of type code");
}

fn check_code(checks: &mut Checks, version: &EvaluatorVersion) {
    let code = version.source_code.as_deref().unwrap_or_default();
    checks.text("sourceCode", code, 1..=MAX_PROMPT_CHARS);
    checks.must(version.source_code_language.is_some(), "sourceCodeLanguage", "required");
    let has_judge = version.prompt.is_some() || version.output_definition.is_some();
    checks.must(!has_judge, "prompt", "is for evaluators of type llm_as_judge");
}

fn check_output(checks: &mut Checks, output: &OutputDefinition) {
    let field = "outputDefinition";
    let categories = output.categories.as_deref().unwrap_or_default();
    match output.data_type {
        OutputType::Numeric => {
            let bounds = (output.min_value, output.max_value);
            let is_ordered = !matches!(bounds, (Some(min), Some(max)) if min > max);
            checks.must(is_ordered, field, "minValue must not exceed maxValue");
        }
        OutputType::Boolean => {}
        OutputType::Categorical => {
            let mut unique: Vec<_> = categories.iter().collect();
            unique.sort();
            unique.dedup();
            let is_choice =
                (2..=MAX_CATEGORIES).contains(&unique.len()) && unique.len() == categories.len();
            checks.must(is_choice, field, "needs at least two different categories");
        }
    }
}

fn check_mapping(mapping: &[MappedVariable], variables: &[String]) -> Result<(), String> {
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

/// Checks what a rule says of itself.
pub fn check_rule(checks: &mut Checks, rule: &EvaluationRule) {
    checks.text("name", &rule.name, 1..=MAX_NAME_CHARS);
    let is_share = rule.sampling > 0.0 && rule.sampling <= 1.0;
    checks.must(is_share, "sampling", "must be greater than 0 and at most 1");
    let assignments = rule.evaluator_assignments.len();
    checks.len("evaluatorAssignments", assignments, 0..=MAX_ASSIGNMENTS);
    let is_usable = !rule.enabled || assignments > 0;
    checks.must(is_usable, "enabled", "a rule without an evaluator cannot be switched on");
    check_filters(checks, &rule.filter);
}

/// Checks that the evaluators of a rule exist, and that all their variables are mapped to fields of
/// its target.
///
/// # Errors
/// Says which evaluator cannot be used, and why.
pub fn check_assignments(
    documents: &Documents<'_>,
    rule: &EvaluationRule,
) -> Result<(), DefinitionError> {
    for assignment in &rule.evaluator_assignments {
        let found = documents.find(DocumentKind::Evaluator, &assignment.evaluator_id)?;
        let evaluator: Evaluator = definitions::read(&found)?;
        let latest = latest(&evaluator)?;
        check_assignment(assignment, latest, rule.target).map_err(DefinitionError::Assignment)?;
        if rule.enabled {
            check_model(documents, &evaluator)?;
        }
    }
    Ok(())
}

fn check_assignment(
    assignment: &AssignedEvaluator,
    version: &EvaluatorVersion,
    target: EvaluationTarget,
) -> Result<(), String> {
    if version.kind == EvaluatorKind::Code {
        let has_mapping = assignment.variable_mapping.is_some();
        let why = "variableMapping: code evaluators get all fields, and take no mapping";
        return if has_mapping { Err(why.to_owned()) } else { Ok(()) };
    }
    let variables = version.variables();
    let own = assignment.variable_mapping.as_deref();
    let mapping = own.or(version.variable_mapping.as_deref()).unwrap_or_default();
    check_mapping(mapping, &variables).map_err(|why| format!("variableMapping: {why}"))?;
    let is_filled = |name: &&String| mapping.iter().any(|one| one.variable == **name);
    if let Some(open) = variables.iter().find(|name| !is_filled(name)) {
        return Err(format!("variableMapping: nothing fills the variable {open}"));
    }
    let is_of_experiment = |one: &&MappedVariable| {
        matches!(one.source, MappingSource::ExpectedOutput | MappingSource::ExperimentItemMetadata)
    };
    match mapping.iter().find(is_of_experiment) {
        Some(one) if target == EvaluationTarget::Observation && own.is_some() => {
            Err(format!("variableMapping: observations have nothing to fill {} with", one.variable))
        }
        _ => Ok(()),
    }
}

/// Rejects a model that none of the project's connections has.
///
/// # Errors
/// Says which connection or model is missing.
pub fn check_model(
    documents: &Documents<'_>,
    evaluator: &Evaluator,
) -> Result<(), DefinitionError> {
    let Some(ConnectionModel { provider, model }) = &latest(evaluator)?.model_config else {
        return Ok(());
    };
    let why = match documents.llm_connection(provider)? {
        Some(connection) if connection.may_have(model) => return Ok(()),
        Some(_) => format!("the LLM connection {provider} has no model {model}"),
        None => format!("the project has no LLM connection {provider}"),
    };
    let name = &evaluator.name;
    Err(DefinitionError::NoModel(format!("modelConfig of evaluator {name}: {why}")))
}

/// The latest version of an evaluator, which is never written without one.
pub(super) fn latest(evaluator: &Evaluator) -> Result<&EvaluatorVersion, StoreError> {
    let missing = || StoreError::NotFound(format!("a version of evaluator {}", evaluator.id));
    evaluator.latest().ok_or_else(missing)
}
