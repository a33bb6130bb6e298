use std::collections::{BTreeMap, BTreeSet};

use super::language::is_answered_in_another;
use super::observed::{ObservedToolCall, ObservedTrace};
use super::phrases::{Blame, FailurePhrases, figures};
use super::terms::terms;
use crate::stats::float;

/// Traces with the same output of a tool from which on it may be one that fits no question.
const MIN_ALIKE: usize = 5;

/// What the failures of a group have in common: shares of its traces from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupFeatures {
    /// The tool that at least half of the traces are about.
    pub tool: Option<String>,
    /// Traces whose last call of that tool failed.
    pub failing: f64,
    /// Traces to which that tool returned nothing usable.
    pub empty: f64,
    /// Traces that did not call the tool that answers such questions; 0 if there is none.
    pub not_called: f64,
    /// The tool that answers such questions.
    pub usual: Option<String>,
    /// Traces whose answer says that the agent lacks the information.
    pub unknown: f64,
    /// Traces whose answer repeats the figures that a tool returned.
    pub repeats_data: f64,
    /// Traces whose answer has figures that no tool returned.
    pub differs_from_data: f64,
    /// Traces whose question has a language in which the answer has nothing.
    pub other_language: f64,
    /// Traces to which that tool returned the same as to most others, and nothing on their topic.
    pub generic: f64,
    /// Comments of people.
    pub comments: usize,
    /// What comments blame, with the number of comments.
    pub blamed: BTreeMap<Blame, usize>,
}

impl GroupFeatures {
    /// Computes the features of traces. `usual` is the tool that answers such questions.
    pub fn of(members: &[&ObservedTrace], usual: Option<&str>, phrases: &FailurePhrases) -> Self {
        let share = |is: &dyn Fn(&ObservedTrace) -> bool| {
            float(members.iter().filter(|trace| is(trace)).count()) / float(members.len().max(1))
        };
        let tool = most_frequent_tool(members);
        let named = |name: Option<&str>| name.is_some() && name == tool.as_deref();
        let data: Vec<DataUse> = members.iter().map(|trace| data_use(trace)).collect();
        let uses = |wanted: DataUse| {
            float(data.iter().filter(|one| **one == wanted).count()) / float(data.len().max(1))
        };
        let mut blamed = BTreeMap::new();
        let mut comments = 0;
        for comment in members.iter().flat_map(|trace| &trace.signals.comments) {
            comments += 1;
            if let Some(blame) = phrases.blame(comment) {
                *blamed.entry(blame).or_default() += 1;
            }
        }
        Self {
            failing: share(&|trace| named(trace.failing_tool().map(|call| call.name.as_str()))),
            empty: share(&|trace| trace.tools.last().is_some_and(ObservedToolCall::is_empty)),
            not_called: usual.map_or(0.0, |usual| share(&|trace| !trace.called(usual))),
            usual: usual.map(str::to_owned),
            unknown: share(&|trace| phrases.says_unknown(&trace.answer)),
            repeats_data: uses(DataUse::Repeats),
            differs_from_data: uses(DataUse::Differs),
            other_language: share(&|trace| is_answered_in_another(&trace.question, &trace.answer)),
            generic: generic_share(members, tool.as_deref()),
            comments,
            blamed,
            tool,
        }
    }

    /// Returns its numbers in a fixed order, for models.
    pub fn numbers(&self) -> Vec<f64> {
        let all = float(self.comments.max(1));
        let count = |is: fn(&Blame) -> bool| {
            let of_kind = self.blamed.iter().filter(|(blame, _)| is(blame));
            float(of_kind.map(|(_, count)| *count).sum()) / all
        };
        vec![
            self.failing,
            self.empty,
            self.not_called,
            self.unknown,
            self.repeats_data,
            self.differs_from_data,
            self.other_language,
            self.generic,
            f64::from(u8::from(self.tool.is_some())),
            count(|blame| *blame == Blame::NotCalled),
            count(|blame| *blame == Blame::MissingTool),
            count(|blame| *blame == Blame::MissingKnowledge),
            count(|blame| *blame == Blame::Invented),
            count(|blame| *blame == Blame::WrongData),
            count(|blame| matches!(blame, Blame::Behaviour(_))),
        ]
    }

    /// Returns what most comments blame: at least half of those that blame something known, and a
    /// quarter of all.
    pub fn blame(&self) -> Option<&Blame> {
        let all: usize = self.blamed.values().sum();
        let most = self.blamed.iter().max_by(|one, other| {
            // Of two the earlier kind: it says more.
            one.1.cmp(other.1).then(other.0.cmp(one.0))
        })?;
        (most.1 * 2 >= all && most.1 * 4 >= self.comments).then_some(most.0)
    }
}

/// Returns whether a name has the form of an identifier: other names are not repeated.
pub fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_part)
}

fn most_frequent_tool(members: &[&ObservedTrace]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in members.iter().filter_map(|trace| trace.main_tool()) {
        *counts.entry(name).or_default() += 1;
    }
    let (name, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (is_identifier(name) && count * 2 >= members.len()).then(|| name.to_owned())
}

/// The share of traces to which a tool returned what it returns most often, without a term of the
/// question: a tool that answers different questions alike does not do what was asked.
fn generic_share(members: &[&ObservedTrace], tool: Option<&str>) -> f64 {
    let Some(tool) = tool else { return 0.0 };
    let output = |trace: &ObservedTrace| {
        let called = trace.tools.iter().rev().find(|call| call.name == tool)?;
        (!called.is_empty() && !called.failed).then(|| called.output.clone())
    };
    let outputs: Vec<(&ObservedTrace, String)> =
        members.iter().filter_map(|trace| Some((*trace, output(trace)?))).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, output) in &outputs {
        *counts.entry(output).or_default() += 1;
    }
    let Some((usual, count)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
        return 0.0;
    };
    if count < MIN_ALIKE {
        return 0.0;
    }
    let returned: BTreeSet<String> =
        terms(usual).into_iter().chain(terms(&tool.replace('_', " "))).collect();
    let is_generic = |(trace, output): &&(&ObservedTrace, String)| {
        output == usual && !terms(&trace.question).iter().any(|term| returned.contains(term))
    };
    float(outputs.iter().filter(is_generic).count()) / float(members.len().max(1))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataUse {
    /// The figures of the answer, or of a correction, are those of the data.
    Repeats,
    Differs,
    Unclear,
}

/// Compares the figures of the answer with those that tools returned; a correction says whether the
/// data was right.
fn data_use(trace: &ObservedTrace) -> DataUse {
    if trace.tools.is_empty() {
        return DataUse::Unclear;
    }
    let outputs: Vec<&str> = trace.tools.iter().map(|call| call.output.as_str()).collect();
    let returned = figures(&outputs.join(" "));
    let expected = trace.signals.correction.as_deref().map(figures);
    if let Some(expected) = expected.filter(|all| !all.is_empty()) {
        return if expected.is_subset(&returned) { DataUse::Differs } else { DataUse::Repeats };
    }
    let asked = figures(&trace.question);
    let said: BTreeSet<String> =
        figures(&trace.answer).into_iter().filter(|figure| !asked.contains(figure)).collect();
    match said.is_empty() {
        true => DataUse::Unclear,
        false if said.is_subset(&returned) => DataUse::Repeats,
        false => DataUse::Differs,
    }
}
