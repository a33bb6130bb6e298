//! From the fields of an evaluator to its definition.

use ratchet_core::catalog::evaluator::document::{
    CodeLanguage, ConnectionModel, EvaluatorKind, EvaluatorVersion, MappedVariable,
    OutputDefinition, OutputType, PromptMessage,
};
use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::json_size::small_tree;
use ratchet_stages::score::evaluators::definition::DefinitionError;
use ratchet_stages::score::evaluators::edit::{EditError, EvaluatorDraft};
use ratchet_store::StoreError;
use serde_json::Map;

use super::form::{
    CAP, CATEGORIES, DATA_TYPE, DESCRIPTION, JUDGE, LANGUAGE, MAX, MESSAGES, MIN, NAME, PROMPT,
    REASONING, SCORE_NAME, SEVERAL, SHAPE, SOURCE, VALUE,
};
use super::variables;
use crate::components::field::Entered;
use crate::page_error::PageError;

/// Roles of a prompt's messages.
const ROLES: [&str; 3] = ["system", "user", "assistant"];

/// The evaluator that was entered; what is wrong with it is noted. What the form has no field for
/// is that of the version before.
pub(super) fn draft(
    kind: EvaluatorKind,
    before: Option<&EvaluatorVersion>,
    entered: &mut Entered,
) -> EvaluatorDraft {
    let mut version = EvaluatorVersion {
        version: 0,
        kind,
        prompt: None,
        model_config: None,
        judge: None,
        score_name: text(entered, SCORE_NAME.name),
        variable_mapping: before.and_then(|before| before.variable_mapping.clone()),
        output_definition: None,
        source_code: None,
        source_code_language: None,
        rest: Map::new(),
    };
    match kind {
        EvaluatorKind::LlmAsJudge => read_judge(&mut version, before, entered),
        EvaluatorKind::Code => {
            version.source_code = Some(lines(entered.raw(SOURCE.name)));
            version.source_code_language = CodeLanguage::parse(entered.text(LANGUAGE.name));
        }
    }
    EvaluatorDraft {
        name: entered.text(NAME.name).to_owned(),
        description: text(entered, DESCRIPTION.name),
        daily_cost_cap: number(CAP.name, entered),
        version,
    }
}

fn read_judge(
    version: &mut EvaluatorVersion,
    before: Option<&EvaluatorVersion>,
    entered: &mut Entered,
) {
    read_name(version, before, entered);
    match messages(entered) {
        Ok(prompt) => version.prompt = Some(prompt),
        Err(why) => {
            entered.wrong(PROMPT.name, why);
            return;
        }
    }
    let mapping = variables::read(&version.variables(), entered);
    let is_same = |known: &Vec<MappedVariable>| *known == mapping;
    if !version.variable_mapping.as_ref().is_some_and(is_same) {
        version.variable_mapping = Some(mapping).filter(|mapping| !mapping.is_empty());
    }
    let before = before.and_then(|before| before.output_definition.as_ref());
    version.output_definition = output(before, entered);
}

/// The judge: `connection:NAME:MODEL` is the model that API clients see, other names are ours.
fn read_name(
    version: &mut EvaluatorVersion,
    before: Option<&EvaluatorVersion>,
    entered: &mut Entered,
) {
    let judge = entered.text(JUDGE).to_owned();
    let known = before.filter(|before| before.judge_name().unwrap_or_default() == judge);
    if let Some(known) = known {
        (version.judge, version.model_config) = (known.judge.clone(), known.model_config.clone());
        return;
    }
    let connection = judge.strip_prefix("connection:").and_then(|rest| rest.split_once(':'));
    match connection {
        _ if judge.is_empty() => entered.wrong(JUDGE, "name a judge, such as offline"),
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            let (provider, model) = (provider.to_owned(), model.to_owned());
            version.model_config = Some(ConnectionModel { provider, model });
        }
        _ => version.judge = Some(judge),
    }
}

fn messages(entered: &Entered) -> Result<Vec<PromptMessage>, String> {
    let prompt = lines(entered.raw(PROMPT.name));
    if entered.text(SHAPE.name) != MESSAGES {
        return Ok(vec![PromptMessage { role: "user".to_owned(), content: prompt }]);
    }
    let json = small_tree(&prompt).map_err(|why| why.to_string())?;
    let messages: Vec<PromptMessage> =
        serde_json::from_value(json).map_err(|why| format!("a list of messages: {why}"))?;
    match messages.iter().find(|message| !ROLES.contains(&message.role.as_str())) {
        Some(message) => Err(format!("role {}: must be {}", message.role, ROLES.join(", "))),
        None => Ok(messages),
    }
}

fn output(before: Option<&OutputDefinition>, entered: &mut Entered) -> Option<OutputDefinition> {
    let Some(data_type) = OutputType::parse(entered.text(DATA_TYPE.name)) else {
        entered.wrong(DATA_TYPE.name, "choose one");
        return None;
    };
    let bounds = match data_type {
        OutputType::Numeric => (number(MIN.name, entered), number(MAX.name, entered)),
        OutputType::Boolean | OutputType::Categorical => (None, None),
    };
    let is_categorical = data_type == OutputType::Categorical;
    let several = before.and_then(|before| before.should_allow_multiple_matches);
    let several = match (is_categorical, entered.is_ticked(SEVERAL.name)) {
        (true, true) => Some(true),
        (true, false) => several.map(|_| false),
        (false, _) => None,
    };
    Some(OutputDefinition {
        data_type,
        min_value: bounds.0,
        max_value: bounds.1,
        categories: is_categorical.then(|| entered.lines(CATEGORIES.name)),
        should_allow_multiple_matches: several,
        score_reasoning_instructions: text(entered, REASONING.name),
        score_value_instructions: text(entered, VALUE.name),
    })
}

fn text(entered: &Entered, field: &str) -> Option<String> {
    entered.filled(field).map(lines)
}

/// A text with the line breaks that it has everywhere else; forms send others.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A number; nothing if the field is empty or says something else, which is noted.
pub(super) fn number(field: &str, entered: &mut Entered) -> Option<f64> {
    let said = entered.filled(field)?.parse::<f64>().ok().filter(|number| number.is_finite());
    if said.is_none() {
        entered.wrong(field, "must be a number");
    }
    said
}

/// Notes at the fields why nothing was stored.
///
/// # Errors
/// Faults that no other input would mend.
pub(super) fn note(entered: &mut Entered, error: EditError) -> Result<(), PageError> {
    match error {
        EditError::Definition(DefinitionError::Invalid(issues)) => {
            for issue in issues {
                entered.wrong(field(&issue), issue.message);
            }
        }
        EditError::Definition(DefinitionError::NoModel(why)) => entered.wrong(JUDGE, why),
        EditError::Definition(DefinitionError::Store(
            why @ (StoreError::BadQuery(_) | StoreError::Exists(_)),
        )) => entered.wrong("", why.to_string()),
        EditError::Definition(DefinitionError::Store(error)) => return Err(error.into()),
        other => entered.wrong("", other.to_string()),
    }
    Ok(())
}

/// The field of the form for that of the API.
fn field(issue: &Issue) -> &'static str {
    let Some(PathStep::Field(name)) = issue.path.first() else { return "" };
    match name.as_str() {
        "name" => NAME.name,
        "description" => DESCRIPTION.name,
        "judge" => JUDGE,
        "prompt" | "variableMapping" => PROMPT.name,
        "outputDefinition" => DATA_TYPE.name,
        "scoreName" => SCORE_NAME.name,
        "dailyCostCap" => CAP.name,
        "sourceCode" => SOURCE.name,
        "sourceCodeLanguage" => LANGUAGE.name,
        "sampling" => "sampling",
        "filters" => "filter",
        "enabled" | "evaluatorAssignments" => "evaluator",
        _ => "",
    }
}
