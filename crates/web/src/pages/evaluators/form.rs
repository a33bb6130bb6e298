//! Fields of an evaluator.

use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::{
    CodeLanguage, Evaluator, EvaluatorKind, EvaluatorVersion, MappingSource, OutputDefinition,
    PromptMessage,
};
use ratchet_core::catalog::evaluator::variables;

use super::variables as variable_fields;
use crate::components::field::{self, Entered, FormField};

pub(super) const NAME: FormField<'_> = FormField { name: "name", label: "Name", hint: "" };
pub(super) const DESCRIPTION: FormField<'_> =
    FormField { name: "description", label: "Description", hint: "" };
pub(super) const JUDGE: &str = "judge";
pub(super) const SHAPE: FormField<'_> = FormField { name: "shape", label: "Prompt type", hint: "" };
/// A prompt that is a list of messages.
pub(super) const MESSAGES: &str = "messages";
pub(super) const PROMPT: FormField<'_> = FormField {
    name: "prompt",
    label: "Prompt",
    hint: "Variables in double braces, such as {{input}}. Messages: a list of objects with role and \
           content.",
};
pub(super) const DATA_TYPE: FormField<'_> =
    FormField { name: "dataType", label: "Score type", hint: "" };
pub(super) const MIN: FormField<'_> = FormField { name: "min", label: "Min (numeric)", hint: "" };
pub(super) const MAX: FormField<'_> = FormField { name: "max", label: "Max (numeric)", hint: "" };
pub(super) const CATEGORIES: FormField<'_> =
    FormField { name: "categories", label: "Categories (categorical)", hint: "One per line." };
pub(super) const SEVERAL: FormField<'_> =
    FormField { name: "several", label: "A record may have several categories", hint: "" };
pub(super) const REASONING: FormField<'_> =
    FormField { name: "reasoning", label: "Instructions for the reason", hint: "" };
pub(super) const VALUE: FormField<'_> =
    FormField { name: "value", label: "Instructions for the score", hint: "" };
pub(super) const SCORE_NAME: FormField<'_> =
    FormField { name: "scoreName", label: "Score name", hint: "The evaluator's name if empty." };
pub(super) const CAP: FormField<'_> = FormField {
    name: "dailyCostCap",
    label: "Cost cap per day (USD, UTC)",
    hint: "10 if empty. Nothing is judged beyond it.",
};
pub(super) const LANGUAGE: FormField<'_> =
    FormField { name: "language", label: "Language", hint: "" };
pub(super) const SOURCE: FormField<'_> = FormField {
    name: "source",
    label: "Source",
    hint: "Defines evaluate(ctx), which returns an EvaluationResult with scores. It runs where the \
           operator has named an interpreter.",
};

const SHAPES: [(&str, &str); 2] = [("text", "Text"), (MESSAGES, "Messages as JSON")];
const TYPES: [(&str, &str); 3] =
    [("NUMERIC", "Numeric"), ("BOOLEAN", "Boolean"), ("CATEGORICAL", "Categorical")];
const LANGUAGES: [(&str, &str); 2] = [("python", "Python"), ("typescript", "TypeScript")];

const EXAMPLE: &str =
    "Does the answer do what was asked?\n\nAsked:\n{{input}}\n\nAnswer:\n{{output}}";
const EXAMPLE_CODE: &str = "def evaluate(ctx: EvaluationContext) -> EvaluationResult:\n    \
     said = str(ctx.observation.output)\n    \
     return EvaluationResult(scores=[Score(name=\"says sorry\", value=\"sorry\" in said, \
     data_type=\"BOOLEAN\")])\n";

/// A new evaluator, as the form begins.
pub(super) fn preset(kind: EvaluatorKind) -> Entered {
    match kind {
        EvaluatorKind::LlmAsJudge => Entered::preset(&[
            (PROMPT.name, EXAMPLE),
            (DATA_TYPE.name, "NUMERIC"),
            (MIN.name, "0"),
            (MAX.name, "1"),
        ]),
        EvaluatorKind::Code => {
            Entered::preset(&[(SOURCE.name, EXAMPLE_CODE), (LANGUAGE.name, "python")])
        }
    }
}

/// The fields of an evaluator as it is.
pub(super) fn of(evaluator: &Evaluator, latest: &EvaluatorVersion) -> Entered {
    let mut entered = Entered::default();
    let mut set = |field: &str, value: &str| entered.set(field, value);
    set(NAME.name, &evaluator.name);
    set(DESCRIPTION.name, evaluator.description.as_deref().unwrap_or_default());
    set(CAP.name, &evaluator.daily_cost_cap.map(|cap| cap.to_string()).unwrap_or_default());
    set(SCORE_NAME.name, latest.score_name.as_deref().unwrap_or_default());
    set(SOURCE.name, latest.source_code.as_deref().unwrap_or_default());
    set(LANGUAGE.name, latest.source_code_language.map_or("", CodeLanguage::as_str));
    if latest.kind == EvaluatorKind::LlmAsJudge {
        set(JUDGE, &latest.judge_name().unwrap_or_default());
        let (shape, prompt) = written(latest.prompt.as_deref().unwrap_or_default());
        set(SHAPE.name, shape);
        set(PROMPT.name, &prompt);
        for one in latest.variable_mapping.iter().flatten() {
            let names = variable_fields::names("", &one.variable);
            set(&names.source, one.source.as_str());
            set(&names.path, one.json_path.as_deref().unwrap_or_default());
        }
        if let Some(output) = &latest.output_definition {
            set_output(&mut entered, output);
        }
    }
    entered
}

fn set_output(entered: &mut Entered, output: &OutputDefinition) {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let several = output.should_allow_multiple_matches == Some(true);
    let categories = output.categories.as_deref().unwrap_or_default().join("\n");
    for (field, value) in [
        (DATA_TYPE.name, output.data_type.as_str()),
        (MIN.name, &number(output.min_value)),
        (MAX.name, &number(output.max_value)),
        (CATEGORIES.name, &categories),
        (SEVERAL.name, if several { "yes" } else { "" }),
        (REASONING.name, output.score_reasoning_instructions.as_deref().unwrap_or_default()),
        (VALUE.name, output.score_value_instructions.as_deref().unwrap_or_default()),
    ] {
        entered.set(field, value);
    }
}

/// A prompt as the form has it: its shape and its text.
pub(super) fn written(messages: &[PromptMessage]) -> (&'static str, String) {
    match messages {
        [] => ("text", String::new()),
        [one] if one.role == "user" => ("text", one.content.clone()),
        several => (MESSAGES, serde_json::to_string_pretty(several).unwrap_or_default()),
    }
}

/// The fields, with those of every variable in the prompt as it was entered.
pub(super) fn fields(kind: EvaluatorKind, (entered, connections): (&Entered, &[String])) -> Markup {
    html! {
        (field::problem(entered))
        (field::line(NAME, entered))
        (field::line(DESCRIPTION, entered))
        @match kind {
            EvaluatorKind::LlmAsJudge => (judge_fields(entered, connections)),
            EvaluatorKind::Code => {
                (field::choice(LANGUAGE, &LANGUAGES, entered))
                (field::area(SOURCE, 16, entered))
            },
        }
        (field::line(SCORE_NAME, entered))
        @if kind == EvaluatorKind::LlmAsJudge { (field::line(CAP, entered)) }
    }
}

fn judge_fields(entered: &Entered, connections: &[String]) -> Markup {
    let known = match connections {
        [] => "This project has no LLM connections.".to_owned(),
        some => format!("Connections: {}.", some.join(", ")),
    };
    let hint = format!(
        "offline: rules, no model calls, free, only for numbers from 0 to 1. Or connection:NAME:MODEL, \
         anthropic:MODEL, …: what the rules select is sent to that model. {known}"
    );
    let judge = FormField { name: JUDGE, label: "Judge", hint: &hint };
    let prompt = entered.raw(PROMPT.name);
    let rows = u32::try_from(prompt.lines().count()).unwrap_or(u32::MAX).clamp(10, 30);
    let names = variables([prompt]);
    html! {
        (field::line(judge, entered))
        (field::choice(SHAPE, &SHAPES, entered))
        (field::area(PROMPT, rows, entered))
        fieldset {
            legend { "Variables" }
            @if names.is_empty() { p.hint { "The prompt has none." } }
            @for name in &names {
                (variable_fields::fields("", (name, MappingSource::parse(name)), entered))
            }
            button.button type="submit" name="do" value="variables" formnovalidate { "Read variables from prompt" }
        }
        fieldset {
            legend { "Score" }
            (field::choice(DATA_TYPE, &TYPES, entered))
            (field::line(MIN, entered))
            (field::line(MAX, entered))
            (field::area(CATEGORIES, 3, entered))
            (field::tick(SEVERAL, entered))
            (field::area(REASONING, 2, entered))
            (field::area(VALUE, 2, entered))
        }
    }
}
