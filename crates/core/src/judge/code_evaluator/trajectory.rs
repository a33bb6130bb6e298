use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_match::is_subset;
use super::{CodeVerdict, EvaluatedCall, EvaluatedCase, NotApplicable};

/// How many calls are compared at most: the time grows with the product of both numbers.
const MAX_CALLS: usize = 1_000;

/// Which order of calls is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOrder {
    /// The expected calls in their order; others may be among them.
    #[default]
    InOrder,
    /// The expected calls in any order; others may be among them.
    AnyOrder,
    /// The expected calls in their order, and no other.
    Only,
}

/// Which choice of a sub-agent is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingRule {
    /// The expected one was chosen before any other.
    #[default]
    First,
    /// The expected one was chosen at some time.
    Any,
}

/// A call of a tool that should be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "CallNotation")]
pub struct ExpectedCall {
    pub name: String,
    /// What the call's arguments must contain; any will do if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CallNotation {
    Name(String),
    Call {
        #[serde(alias = "tool")]
        name: String,
        #[serde(alias = "args", alias = "input")]
        arguments: Option<Value>,
    },
}

impl From<CallNotation> for ExpectedCall {
    fn from(notation: CallNotation) -> Self {
        match notation {
            CallNotation::Name(name) => Self { name, arguments: None },
            CallNotation::Call { name, arguments } => Self { name, arguments },
        }
    }
}

impl ExpectedCall {
    fn is(&self, call: &EvaluatedCall) -> bool {
        let has_arguments = |wanted: &Value| {
            call.arguments.is_some_and(|given| is_subset(wanted, &parsed_arguments(given)))
        };
        self.name == call.name && self.arguments.as_ref().is_none_or(has_arguments)
    }
}

/// Some providers send arguments as a text of JSON.
fn parsed_arguments(given: &Value) -> Cow<'_, Value> {
    let text = given.as_str();
    let parsed = text.and_then(|text| serde_json::from_str(text).ok());
    parsed.map_or(Cow::Borrowed(given), Cow::Owned)
}

pub(super) fn compare(
    case: &EvaluatedCase,
    order: CallOrder,
    own: &[ExpectedCall],
) -> Result<CodeVerdict, NotApplicable> {
    let expected = match own {
        [] => Cow::Owned(expected_calls(case.expected()?).ok_or(NotApplicable::ExpectedNoTools)?),
        own => Cow::Borrowed(own),
    };
    let calls = case.tool_calls;
    let count = expected.len().max(calls.len());
    if count > MAX_CALLS {
        return Err(NotApplicable::TooManyCalls { count, max: MAX_CALLS });
    }
    let found = match order {
        CallOrder::AnyOrder => matched(&expected, calls),
        CallOrder::InOrder | CallOrder::Only => longest_common(&expected, calls),
    };
    let has_others = order == CallOrder::Only && calls.len() > expected.len();
    let rationale = rationale(&expected, calls, (found, has_others));
    Ok(match order {
        CallOrder::Only => {
            let is_all = found == expected.len() && calls.len() == expected.len();
            CodeVerdict::correct(is_all, rationale)
        }
        CallOrder::InOrder | CallOrder::AnyOrder => {
            CodeVerdict::new(share(found, expected.len()), rationale)
        }
    })
}

/// A list of calls, or an object that has one in its field `tools`.
fn expected_calls(expected: &Value) -> Option<Vec<ExpectedCall>> {
    let list = expected.get("tools").unwrap_or(expected);
    list.is_array().then(|| serde_json::from_value(list.clone()).ok())?
}

fn share(found: usize, of: usize) -> f64 {
    if of == 0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "both are at most a thousand")]
    let share = found as f64 / of as f64;
    share
}

/// How many of the expected calls were made in their order: the longest common subsequence.
fn longest_common(expected: &[ExpectedCall], calls: &[EvaluatedCall]) -> usize {
    let mut above = vec![0; calls.len() + 1];
    for wanted in expected {
        let mut row = Vec::with_capacity(above.len());
        row.push(0);
        let (mut left, mut diagonal) = (0, 0);
        for (call, over) in calls.iter().zip(above.iter().skip(1).copied()) {
            let longest: usize = if wanted.is(call) { diagonal + 1 } else { left.max(over) };
            row.push(longest);
            (left, diagonal) = (longest, over);
        }
        above = row;
    }
    above.last().copied().unwrap_or_default()
}

/// How many of the expected calls were made, each call counted once: a maximum matching, because
/// one call can be what several entries expect.
fn matched(expected: &[ExpectedCall], calls: &[EvaluatedCall]) -> usize {
    let edges: Vec<Vec<usize>> = expected
        .iter()
        .map(|wanted| (0..calls.len()).filter(|at| calls.get(*at).is_some_and(|it| wanted.is(it))))
        .map(Iterator::collect)
        .collect();
    let mut taken = vec![None; calls.len()];
    let is_placed = |at: &usize| place(*at, &edges, &mut taken);
    (0..expected.len()).filter(is_placed).count()
}

/// Finds a call for an expected one by a breadth-first search; those that have one may move.
fn place(start: usize, edges: &[Vec<usize>], taken: &mut [Option<usize>]) -> bool {
    // For each call, the expected one that the search came from.
    let mut came_from: Vec<Option<usize>> = vec![None; taken.len()];
    let mut waiting = vec![start];
    let mut at = 0;
    while let Some(wanted) = waiting.get(at).copied() {
        at += 1;
        for call in edges.get(wanted).into_iter().flatten().copied() {
            let Some(origin @ None) = came_from.get_mut(call) else { continue };
            *origin = Some(wanted);
            match taken.get(call).copied().flatten() {
                Some(holder) => waiting.push(holder),
                None => {
                    exchange(start, call, &came_from, taken);
                    return true;
                }
            }
        }
    }
    false
}

/// Gives the calls along the path that the search found to those that it came from.
fn exchange(start: usize, free: usize, came_from: &[Option<usize>], taken: &mut [Option<usize>]) {
    let mut call = free;
    while let Some(wanted) = came_from.get(call).copied().flatten() {
        let before = taken.iter().position(|holder| *holder == Some(wanted));
        if let Some(place) = taken.get_mut(call) {
            *place = Some(wanted);
        }
        match before {
            Some(before) if wanted != start => call = before,
            _ => return,
        }
    }
}

fn rationale(expected: &[ExpectedCall], calls: &[EvaluatedCall], found: (usize, bool)) -> String {
    let (found, has_others) = found;
    let others = if has_others { ", and other calls" } else { "" };
    let wanted: Vec<&str> = expected.iter().map(|call| call.name.as_str()).collect();
    let called: Vec<&str> = calls.iter().map(|call| call.name).collect();
    format!(
        "{found} of {} expected calls{others}; expected: {}; called: {}.",
        expected.len(),
        listed(&wanted),
        listed(&called)
    )
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

pub(super) fn routing(
    case: &EvaluatedCase,
    rule: RoutingRule,
    own: Option<&str>,
) -> Result<CodeVerdict, NotApplicable> {
    let expected = match own {
        Some(agent) => agent,
        None => {
            let value = case.expected()?;
            let agent = value.get("agent").unwrap_or(value).as_str();
            agent.ok_or(NotApplicable::ExpectedNoAgent)?
        }
    };
    let chosen = case.sub_agents;
    let is_right = match rule {
        RoutingRule::First => chosen.first().is_some_and(|first| *first == expected),
        RoutingRule::Any => chosen.contains(&expected),
    };
    let when = if rule == RoutingRule::First { " first" } else { "" };
    let rationale = format!("Expected{when}: {expected}; chosen: {}.", listed(chosen));
    Ok(CodeVerdict::correct(is_right, rationale))
}
