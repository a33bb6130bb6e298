//! Fields of the variables of a prompt: what fills each, and which part of it.

use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::{MappedVariable, MappingSource};
use ratchet_core::catalog::evaluator::json_path;

use crate::components::field::{self, Entered, FormField};

/// Sources and what people call them.
const SOURCES: [(MappingSource, &str); 6] = [
    (MappingSource::Input, "Input"),
    (MappingSource::Output, "Output"),
    (MappingSource::Metadata, "Metadata"),
    (MappingSource::ToolCalls, "Tool calls"),
    (MappingSource::ExpectedOutput, "Expected output (experiments)"),
    (MappingSource::ExperimentItemMetadata, "Item metadata (experiments)"),
];
/// Said where nothing fills a variable.
const OPEN: &str = "choose what fills it";

/// Names of the fields of a variable.
pub(super) struct VariableNames {
    pub(super) source: String,
    pub(super) path: String,
}

/// The field names of a variable of an evaluator, which is empty for the one that is edited.
pub(super) fn names(evaluator: &str, variable: &str) -> VariableNames {
    let name = |kind: &str| format!("{kind}.{evaluator}.{variable}");
    VariableNames { source: name("source"), path: name("path") }
}

/// What was said of a source, and the path, of a variable. An empty source is the `usual` one.
pub(super) fn fields(
    evaluator: &str,
    (variable, usual): (&str, Option<MappingSource>),
    entered: &Entered,
) -> Markup {
    let VariableNames { source, path } = names(evaluator, variable);
    let said = SOURCES.iter().find(|(source, _)| Some(*source) == usual).map(|(_, label)| *label);
    let unset = match (evaluator.is_empty(), said) {
        (true, Some(said)) => said.to_owned(),
        (true, None) => "Choose…".to_owned(),
        (false, _) => "As in the evaluator".to_owned(),
    };
    let mut options = vec![("", unset.as_str())];
    options.extend(SOURCES.iter().map(|(source, label)| (source.as_str(), *label)));
    let label = format!("{{{{{variable}}}}}");
    let of_source = FormField { name: &source, label: &label, hint: "" };
    let path_label = format!("JSON path in it for {label}");
    let of_path = FormField { name: &path, label: &path_label, hint: "" };
    html! {
        div.variable-fields {
            (field::choice(of_source, &options, entered))
            (field::line(of_path, entered))
        }
    }
}

/// The mapping of an evaluator's variables; what is wrong with it is noted.
pub(super) fn read(variables: &[String], entered: &mut Entered) -> Vec<MappedVariable> {
    let mut mapping = Vec::with_capacity(variables.len());
    for variable in variables {
        let names = names("", variable);
        let said = MappingSource::parse(entered.text(&names.source));
        match said.or_else(|| MappingSource::parse(variable)) {
            Some(source) => mapping.push(mapped(variable, source, (&names.path, entered))),
            None => entered.wrong(&names.source, OPEN),
        }
    }
    mapping
}

/// The mapping of a rule for an evaluator: what differs from the evaluator's own.
pub(super) fn read_override(
    evaluator: &str,
    (variables, usual): (&[String], &[MappedVariable]),
    entered: &mut Entered,
) -> Option<Vec<MappedVariable>> {
    let mut mapping = Vec::with_capacity(variables.len());
    for variable in variables {
        let names = names(evaluator, variable);
        let own = usual.iter().find(|one| one.variable == *variable);
        match (MappingSource::parse(entered.text(&names.source)), own) {
            (Some(source), _) => mapping.push(mapped(variable, source, (&names.path, entered))),
            (None, Some(own)) => mapping.push(own.clone()),
            (None, None) => entered.wrong(&names.source, OPEN),
        }
    }
    (mapping != usual).then_some(mapping)
}

fn mapped(
    variable: &str,
    source: MappingSource,
    (path, entered): (&str, &mut Entered),
) -> MappedVariable {
    let json_path = entered.filled(path).map(str::to_owned);
    if json_path.as_ref().is_some_and(|path| !json_path::is_path(path)) {
        entered.wrong(path, "must be a path such as $.messages[-1].content");
    }
    MappedVariable { variable: variable.to_owned(), source, json_path }
}
