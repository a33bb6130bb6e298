use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::{
    AssignedEvaluator, EvaluationRule, EvaluationTarget, Evaluator, EvaluatorVersion,
};
use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_stages::score::evaluators::edit::{self, RuleDraft};
use ratchet_store::query::PageNumber;
use serde_json::{Value, json};

use super::has_variables;
use crate::components::field::{self, Entered, FormField};
use crate::filter::saved::{Counted, in_words};
use crate::filter::{Filter, ListKind};
use crate::page_error::PageResult;
use crate::pages::evaluators::{reading, variables};
use crate::request_context::RequestContext;
use crate::web::Web;

const NAME: FormField<'_> = FormField { name: "name", label: "Name", hint: "" };
const ENABLED: FormField<'_> = FormField {
    name: "enabled",
    label: "On",
    hint: "Judges what is recorded from now on. A backfill judges what was recorded before.",
};
const TARGET: FormField<'_> = FormField { name: "target", label: "Records", hint: "" };
const FILTER: FormField<'_> = FormField {
    name: "filter",
    label: "Filter",
    hint: "As above lists, such as env:production -tag:test. All records if empty. Sessions and \
           experiment runs are chosen by their traces.",
};
const DATASETS: FormField<'_> = FormField {
    name: "datasets",
    label: "Datasets (experiment runs)",
    hint: "One name per line; all if empty.",
};
const SAMPLING: FormField<'_> = FormField {
    name: "sampling",
    label: "Sampling (%)",
    hint: "Share of the records that match, chosen by a hash of their id.",
};
const DELAY: FormField<'_> = FormField {
    name: "delay",
    label: "Delay (seconds)",
    hint: "How long a record must have been still. Empty: 10 s, sessions 1800 s.",
};
/// Checkboxes of evaluators.
const EVALUATOR: &str = "evaluator";
/// Conditions that the filter language cannot express.
const OTHERS: &str = "others";
/// The column of a rule's condition on datasets.
const DATASET_COLUMN: &str = "datasetId";

const TARGETS: [(EvaluationTarget, &str); 4] = [
    (EvaluationTarget::Trace, "traces"),
    (EvaluationTarget::Observation, "observations"),
    (EvaluationTarget::Session, "sessions"),
    (EvaluationTarget::Experiment, "experiment runs"),
];
/// Datasets that can be named.
const DATASET_PAGE: PageNumber = PageNumber { page: 1, limit: 1_000 };

/// What a rule may refer to.
pub(super) struct RuleMaterial {
    evaluators: Vec<Evaluator>,
    pub(super) rules: Vec<EvaluationRule>,
    /// Id and name.
    datasets: Vec<(String, String)>,
}

impl RuleMaterial {
    pub(super) async fn read(web: &Web, ctx: &RequestContext) -> PageResult<Self> {
        let (evaluators, rules) = edit::all(&web.store.catalog, ctx.project_id()).await?;
        let datasets = web.store.catalog.datasets(ctx.project_id(), DATASET_PAGE).await?.rows;
        let datasets = datasets.into_iter().map(|one| (one.id, one.name)).collect();
        Ok(Self { evaluators, rules, datasets })
    }
}

pub(super) fn target_label(target: EvaluationTarget) -> &'static str {
    TARGETS.iter().find(|(one, _)| *one == target).map_or("", |(_, label)| label)
}

const fn counted(target: EvaluationTarget) -> (Counted, ListKind) {
    match target {
        EvaluationTarget::Observation => (Counted::Observations, ListKind::Observations),
        EvaluationTarget::Trace | EvaluationTarget::Session | EvaluationTarget::Experiment => {
            (Counted::Traces, ListKind::Traces)
        }
    }
}

/// A new rule, as the form begins.
pub(super) fn preset(evaluator: Option<&str>, material: &RuleMaterial) -> Entered {
    let chosen = evaluator.and_then(|id| material.evaluators.iter().find(|one| one.id == id));
    let name = chosen.map_or("", |one| one.name.as_str());
    let mut entered = Entered::preset(&[
        (NAME.name, name),
        (ENABLED.name, "yes"),
        (TARGET.name, "traces"),
        (SAMPLING.name, "100"),
    ]);
    if let Some(chosen) = chosen {
        entered.set(&ticked(&chosen.id), "yes");
    }
    entered
}

/// The fields of a rule as it is.
pub(super) fn of(rule: &EvaluationRule, material: &RuleMaterial) -> Entered {
    let (datasets, rest): (Vec<_>, Vec<_>) =
        rule.filter.iter().cloned().partition(|one| is_of_datasets(one, rule.target));
    let (filter, others) = Filter::from_stored(&rest, counted(rule.target).0);
    let name = |id: &Value| {
        let known = material.datasets.iter().find(|(known, _)| id == known);
        known.map_or_else(|| id.as_str().unwrap_or_default().to_owned(), |(_, name)| name.clone())
    };
    let names = datasets.iter().filter_map(|one| one.value.as_array()).flatten().map(name);
    let names: Vec<String> = names.collect();
    let percent = (rule.sampling * 1e8).round() / 1e6;
    let delay = rule.delay_seconds.map(|seconds| seconds.to_string()).unwrap_or_default();
    let mut entered = Entered::preset(&[
        (NAME.name, &rule.name),
        (ENABLED.name, if rule.enabled { "yes" } else { "" }),
        (TARGET.name, target_label(rule.target)),
        (FILTER.name, &filter.to_string()),
        (DATASETS.name, &names.join("\n")),
        (SAMPLING.name, &percent.to_string()),
        (DELAY.name, &delay),
    ]);
    if !others.is_empty() {
        entered.set(OTHERS, &serde_json::to_string(&others).unwrap_or_default());
    }
    for assigned in &rule.evaluator_assignments {
        entered.set(&ticked(&assigned.evaluator_id), "yes");
        for one in assigned.variable_mapping.iter().flatten() {
            let names = variables::names(&assigned.evaluator_id, &one.variable);
            entered.set(&names.source, one.source.as_str());
            entered.set(&names.path, one.json_path.as_deref().unwrap_or_default());
        }
    }
    entered
}

/// A condition of the one form that the field for datasets has.
fn is_of_datasets(one: &FilterCondition, target: EvaluationTarget) -> bool {
    let is_list = one.kind == FilterKind::StringOptions && one.operator == Operator::AnyOf;
    target == EvaluationTarget::Experiment && one.column == DATASET_COLUMN && is_list
}

/// The box of an evaluator.
fn ticked(evaluator: &str) -> String {
    format!("{EVALUATOR}.{evaluator}")
}

fn others(entered: &Entered) -> Vec<FilterCondition> {
    serde_json::from_str(entered.raw(OTHERS)).unwrap_or_default()
}

pub(super) fn fields(entered: &Entered, material: &RuleMaterial, ctx: &RequestContext) -> Markup {
    let targets = TARGETS.map(|(_, label)| (label, label));
    let others = others(entered);
    html! {
        (field::problem(entered))
        (field::line(NAME, entered))
        (field::tick(ENABLED, entered))
        (evaluators(entered, material, ctx))
        (field::choice(TARGET, &targets, entered))
        (field::line(FILTER, entered))
        @if !others.is_empty() {
            input type="hidden" name=(OTHERS) value=(entered.raw(OTHERS));
            p.muted {
                "Conditions set with the API, which stay: "
                @for other in &others { code { (in_words(other)) } " " }
            }
        }
        (field::area(DATASETS, 2, entered))
        (field::line(SAMPLING, entered))
        (field::number(DELAY, entered))
    }
}

fn evaluators(entered: &Entered, material: &RuleMaterial, ctx: &RequestContext) -> Markup {
    html! {
        fieldset {
            legend { "Evaluators" }
            @if material.evaluators.is_empty() {
                p.hint { a href=(ctx.to(&["evaluators", "new"])) { "Create an evaluator" } " first." }
            }
            @for one in &material.evaluators {
                (field::tick(FormField { name: &ticked(&one.id), label: &one.name, hint: "" }, entered))
                @if has_variables(one) { (overrides(one, entered)) }
            }
            (field::said(EVALUATOR, entered))
        }
    }
}

/// What fills the variables of an evaluator in this rule.
fn overrides(one: &Evaluator, entered: &Entered) -> Markup {
    let names = one.latest().map(EvaluatorVersion::variables).unwrap_or_default();
    let is_set = names.iter().any(|name| {
        let names = variables::names(&one.id, name);
        entered.filled(&names.source).is_some() || entered.problem(&names.source).is_some()
    });
    html! {
        details.overrides open[is_set] {
            summary { "Variables of " bdi { (one.name) } " in this rule" }
            @for name in &names { (variables::fields(&one.id, (name, None), entered)) }
        }
    }
}

/// The rule that was entered; what is wrong with it is noted.
pub(super) fn draft(entered: &mut Entered, material: &RuleMaterial) -> RuleDraft {
    let target = TARGETS.iter().find(|(_, label)| *label == entered.text(TARGET.name));
    let target = target.map_or(EvaluationTarget::Trace, |(target, _)| *target);
    let percent = reading::number(SAMPLING.name, entered);
    let delay = entered.filled(DELAY.name).map(str::parse::<u64>);
    if matches!(delay, Some(Err(_))) {
        entered.wrong(DELAY.name, "must be a whole number of seconds");
    }
    if percent.is_none_or(|percent| percent <= 0.0 || percent > 100.0) {
        entered.wrong(SAMPLING.name, "must be more than 0 and at most 100");
    }
    RuleDraft {
        name: entered.text(NAME.name).to_owned(),
        enabled: entered.is_ticked(ENABLED.name),
        sampling: percent.unwrap_or_default() / 100.0,
        filter: conditions(target, entered, material),
        evaluators: assigned(entered, material),
        target,
        delay_seconds: delay.and_then(Result::ok),
    }
}

fn assigned(entered: &mut Entered, material: &RuleMaterial) -> Vec<AssignedEvaluator> {
    let mut assigned = Vec::new();
    for one in &material.evaluators {
        let Some(latest) = one.latest().filter(|_| entered.is_ticked(&ticked(&one.id))) else {
            continue;
        };
        let (names, usual) = (latest.variables(), latest.variable_mapping.as_deref());
        let usual = usual.unwrap_or_default();
        let variable_mapping = match has_variables(one) {
            true => variables::read_override(&one.id, (&names, usual), entered),
            false => None,
        };
        assigned.push(AssignedEvaluator { evaluator_id: one.id.clone(), variable_mapping });
    }
    assigned
}

fn conditions(
    target: EvaluationTarget,
    entered: &mut Entered,
    material: &RuleMaterial,
) -> Vec<FilterCondition> {
    let (on, list) = counted(target);
    let parsed = Filter::parse(list, entered.text(FILTER.name));
    let problems = parsed.problems.into_iter().map(|problem| problem.message);
    let mut problems: Vec<String> = problems.collect();
    let mut kept = parsed.filter.to_stored(on).unwrap_or_else(|why| {
        problems.extend(why);
        Vec::new()
    });
    if !problems.is_empty() {
        entered.wrong(FILTER.name, problems.join("; "));
    }
    kept.extend(others(entered));
    kept.extend(datasets(target, entered, material));
    kept
}

fn datasets(
    target: EvaluationTarget,
    entered: &mut Entered,
    material: &RuleMaterial,
) -> Option<FilterCondition> {
    let named = entered.lines(DATASETS.name);
    if named.is_empty() {
        return None;
    }
    if target != EvaluationTarget::Experiment {
        entered.wrong(DATASETS.name, "only rules for experiment runs choose datasets");
    }
    let mut ids = Vec::with_capacity(named.len());
    for name in named {
        match material.datasets.iter().find(|(id, known)| *known == name || *id == name) {
            Some((id, _)) => ids.push(id.clone()),
            None => entered.wrong(DATASETS.name, format!("there is no dataset {name}")),
        }
    }
    Some(FilterCondition {
        column: DATASET_COLUMN.to_owned(),
        operator: Operator::AnyOf,
        kind: FilterKind::StringOptions,
        value: json!(ids),
        key: None,
    })
}
