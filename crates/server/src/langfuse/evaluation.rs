//! What both families of routes for evaluators and rules share: what makes sense, and what is
//! kept.

use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::evaluation_rule::{
    EvaluationRuleView, EvaluatorAssignment, RuleTarget,
};
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluatorKind, EvaluatorVersionView, JudgeMessage, JudgeOutput, JudgePrompt, JudgeRole,
    JudgeScoreType, KeptEvaluator, MappingSource, VariableMapping,
};
use ratchet_remote::langfuse::wire::evaluator_request::EvaluatorRequest;
use ratchet_remote::langfuse::wire::page::{SliceMeta, Sliced};
use ratchet_store::catalog::{Document, DocumentKind, Documents};
use ratchet_store::{StoreError, StoreResult};
use uuid::Uuid;

use super::checks::{Checks, MAX_NAME_CHARS};
use super::documents;
use super::widgets::{MAX_DESCRIPTION_CHARS, check_filters};
use crate::error::{ApiError, ApiResult};

/// Why nothing runs, in a word.
pub(super) const PAUSED_REASON: &str = "evaluation_not_available";
/// Why nothing runs, in a sentence.
pub(super) const PAUSED_MESSAGE: &str =
    "this server keeps evaluators and rules, but does not run them yet";

const MAX_PROMPT_CHARS: usize = 200_000;
const MAX_MESSAGES: usize = 100;
const MAX_CATEGORIES: usize = 500;
const MAX_ASSIGNMENTS: usize = 100;

/// Checks a definition and makes the version of it.
///
/// # Errors
/// 400 with everything that makes no sense.
pub(super) fn version(
    request: EvaluatorRequest,
    number: u32,
    now: Timestamp,
) -> ApiResult<EvaluatorVersionView> {
    let mut checks = Checks::default();
    checks.text("name", &request.name, 1..=MAX_NAME_CHARS);
    let description = request.description.as_deref().unwrap_or_default();
    checks.text("description", description, 0..=MAX_DESCRIPTION_CHARS);
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
    let mut version = EvaluatorVersionView {
        id: Uuid::new_v4().to_string(),
        version: number,
        created_at: now.into(),
        kind: request.kind,
        prompt,
        variables: None,
        model_config: request.model_config,
        variable_mapping: request.variable_mapping,
        output_definition: request.output_definition,
        source_code: request.source_code,
        source_code_language: request.source_code_language,
    };
    let variables = version.variables();
    if let Some(mapping) = &version.variable_mapping
        && let Err(why) = check_mapping(mapping, &variables)
    {
        checks.must(false, "variableMapping", &why);
    }
    version.variables = (version.kind == EvaluatorKind::LlmAsJudge).then_some(variables);
    checks.finish()?;
    Ok(version)
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

/// Checks what a rule says by itself.
///
/// # Errors
/// 400 with everything that makes no sense.
pub(super) fn check_rule(rule: &EvaluationRuleView) -> ApiResult<()> {
    let mut checks = Checks::default();
    checks.text("name", &rule.name, 1..=MAX_NAME_CHARS);
    let is_share = rule.sampling > 0.0 && rule.sampling <= 1.0;
    checks.must(is_share, "sampling", "must be greater than 0 and at most 1");
    let assignments = &rule.evaluator_assignments;
    checks.len("evaluatorAssignments", assignments.len(), 0..=MAX_ASSIGNMENTS);
    let is_usable = !rule.enabled || !assignments.is_empty();
    checks.must(is_usable, "enabled", "a rule without an evaluator cannot be switched on");
    check_filters(&mut checks, &rule.filter);
    checks.finish()
}

/// Keeps a rule whose evaluators are there and whose variables are all filled.
///
/// # Errors
/// Fails if an evaluator is not there or its variables are not filled from what the target has.
pub(super) fn keep_rule(
    documents: &Documents<'_>,
    mut rule: EvaluationRuleView,
    now: Timestamp,
) -> StoreResult<EvaluationRuleView> {
    for assignment in &rule.evaluator_assignments {
        let evaluator = find_evaluator(documents, &assignment.evaluator_id)?;
        check_assignment(assignment, latest(&evaluator)?, rule.target)
            .map_err(StoreError::BadQuery)?;
    }
    rule.updated_at = now.into();
    let times = (rule.created_at.0, now);
    documents::keep(documents, DocumentKind::EvaluationRule, (&rule.id, &rule), times)?;
    Ok(rule)
}

fn check_assignment(
    assignment: &EvaluatorAssignment,
    version: &EvaluatorVersionView,
    target: RuleTarget,
) -> Result<(), String> {
    if version.kind == EvaluatorKind::Code {
        let has_mapping = assignment.variable_mapping.is_some();
        let why = "variableMapping: code evaluators are given everything, and take no mapping";
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

/// Returns an evaluator.
///
/// # Errors
/// Fails if the project has none of that id.
pub(super) fn find_evaluator(documents: &Documents<'_>, id: &str) -> StoreResult<KeptEvaluator> {
    documents::read(&documents.find(DocumentKind::Evaluator, id)?)
}

/// Keeps an evaluator, new or again.
///
/// # Errors
/// Fails only when the database does.
pub(super) fn keep_evaluator(
    documents: &Documents<'_>,
    mut evaluator: KeptEvaluator,
    now: Timestamp,
) -> StoreResult<KeptEvaluator> {
    evaluator.updated_at = now.into();
    let times = (evaluator.created_at.0, now);
    let entry = (evaluator.id.as_str(), &evaluator);
    documents::keep(documents, DocumentKind::Evaluator, entry, times)?;
    Ok(evaluator)
}

/// Removes an evaluator that no rule uses.
///
/// # Errors
/// Fails if there is none of that id, or if a rule uses it.
pub(super) fn delete_evaluator(documents: &Documents<'_>, id: &str) -> StoreResult<()> {
    documents.find(DocumentKind::Evaluator, id)?;
    if let Some(rule) = rules_of(&rules(documents)?, id).first() {
        return Err(StoreError::Exists(format!("the evaluation rule {} that uses it", rule.id)));
    }
    documents.delete(DocumentKind::Evaluator, id)
}

/// The latest version of an evaluator.
///
/// # Errors
/// Fails if it has none, which nobody wrote.
pub(super) fn latest(evaluator: &KeptEvaluator) -> StoreResult<&EvaluatorVersionView> {
    let missing = || StoreError::NotFound(format!("a version of evaluator {}", evaluator.id));
    evaluator.versions.last().ok_or_else(missing)
}

/// All rules of a project, the last changed first.
///
/// # Errors
/// Fails only when the database does.
pub(super) fn rules(documents: &Documents<'_>) -> StoreResult<Vec<EvaluationRuleView>> {
    documents.all(DocumentKind::EvaluationRule)?.iter().map(documents::read).collect()
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

/// A slice of a list, behind a cursor that counts.
///
/// # Errors
/// 400 if the cursor is not ours.
pub(super) fn slice<T>(all: Vec<T>, cursor: Option<&str>, limit: u64) -> ApiResult<Sliced<T>> {
    let wrong = || ApiError::Invalid("cursor: not one of ours".to_owned());
    let skipped: usize = cursor.map_or(Ok(0), |text| text.parse().map_err(|_| wrong()))?;
    let rows = usize::try_from(limit).unwrap_or(usize::MAX);
    let next = skipped.saturating_add(rows);
    let cursor = (next < all.len()).then(|| next.to_string());
    let data = all.into_iter().skip(skipped).take(rows).collect();
    Ok(Sliced { data, meta: SliceMeta { limit, cursor } })
}

/// All documents of a kind, read.
///
/// # Errors
/// Fails only when the database does.
pub(super) fn evaluators(documents: &Documents<'_>) -> StoreResult<Vec<KeptEvaluator>> {
    let all: Vec<Document> = documents.all(DocumentKind::Evaluator)?;
    all.iter().map(documents::read).collect()
}
