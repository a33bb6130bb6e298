use std::collections::BTreeSet;

use ratchet_core::improve::group::{FailureGroup, GroupingContext, groups};
use ratchet_core::improve::observed::{ObservedTrace, Standing};
use serde::Deserialize;
use serde_json::{Value, json};

use super::specs::{MAX_CHARS, MAX_ROWS};
use super::{FeedbackTools, ToolAnswer, ToolFault};

/// Examples of a group.
const EXAMPLES: usize = 10;
const USUAL_ROWS: u64 = 20;
const USUAL_CHARS: u64 = 400;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceArguments {
    agent: Option<String>,
    standing: Option<AskedStanding>,
    tool: Option<String>,
    contains: Option<String>,
    ids: Option<BTreeSet<String>>,
    weeks_ago: Option<usize>,
    limit: Option<u64>,
    max_chars: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AskedStanding {
    Failed,
    Misjudged,
    ToolFailed,
    Fine,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArguments {
    agent: Option<String>,
    limit: Option<u64>,
    max_chars: Option<u64>,
}

impl AskedStanding {
    const fn standing(self) -> Standing {
        match self {
            Self::Failed => Standing::Failed,
            Self::Misjudged => Standing::Misjudged,
            Self::ToolFailed => Standing::ToolFailed,
            Self::Fine => Standing::Fine,
        }
    }
}

pub(super) fn traces(tools: &FeedbackTools, asked: &TraceArguments) -> ToolAnswer {
    let (agent, found) = tools.agent(asked.agent.as_deref())?;
    let (rows, chars) = bounds(asked.limit, asked.max_chars)?;
    let is_asked = |trace: &&ObservedTrace| {
        let has = |text: &String| trace.question.contains(text) || trace.answer.contains(text);
        trace.weeks_ago == asked.weeks_ago.unwrap_or(0)
            && asked.standing.is_none_or(|asked| trace.standing() == asked.standing())
            && asked.tool.as_ref().is_none_or(|tool| trace.called(tool))
            && asked.contains.as_ref().is_none_or(has)
            && asked.ids.as_ref().is_none_or(|ids| ids.contains(&trace.id))
    };
    let chosen: Vec<&ObservedTrace> = found.traces.iter().filter(is_asked).collect();
    let shown: Vec<Value> = chosen.iter().take(rows).map(|it| view(it, chars)).collect();
    Ok(json!({"agent": agent, "count": chosen.len(), "traces": shown}))
}

pub(super) fn annotations(tools: &FeedbackTools, asked: &ListArguments) -> ToolAnswer {
    let (agent, found) = tools.agent(asked.agent.as_deref())?;
    let (rows, chars) = bounds(asked.limit, asked.max_chars)?;
    let is_reviewed = |trace: &&ObservedTrace| trace.weeks_ago == 0 && trace.signals.is_reviewed();
    let mut reviewed: Vec<&ObservedTrace> = found.traces.iter().filter(is_reviewed).collect();
    // What people explained, and what is wrong, says most.
    reviewed.sort_by_key(|trace| {
        (trace.signals.comments.is_empty(), trace.signals.correct != Some(false))
    });
    let shown: Vec<Value> = reviewed.iter().take(rows).map(|it| view(it, chars)).collect();
    Ok(json!({"agent": agent, "count": reviewed.len(), "annotations": shown}))
}

pub(super) fn clusters(tools: &FeedbackTools, asked: &ListArguments) -> ToolAnswer {
    let (agent, found) = tools.agent(asked.agent.as_deref())?;
    let (rows, _) = bounds(asked.limit, asked.max_chars)?;
    let traces = &found.traces;
    let mut groups = groups(traces, GroupingContext::offline(&tools.week.phrases));
    let of_week = |group: &FailureGroup| {
        group.members.iter().filter(|at| traces[**at].weeks_ago == 0).count()
    };
    groups.sort_by_key(|group| std::cmp::Reverse(of_week(group)));
    let shown: Vec<Value> = groups.iter().take(rows).map(|group| cluster(group, traces)).collect();
    Ok(json!({"agent": agent, "count": groups.len(), "clusters": shown}))
}

fn cluster(group: &FailureGroup, traces: &[ObservedTrace]) -> Value {
    let members = || group.members.iter().map(|at| &traces[*at]);
    let weeks: Vec<usize> =
        (0..4).map(|week| members().filter(|trace| trace.weeks_ago == week).count()).collect();
    let examples = members().filter(|trace| trace.weeks_ago == 0).take(EXAMPLES);
    json!({
        "cause": group.cause.key(),
        "component": group.cause.component(),
        "sub_agent": group.sub_agent,
        "terms": group.terms,
        "failures_by_weeks_ago": weeks,
        "examples": examples.map(|trace| trace.id.as_str()).collect::<Vec<_>>(),
    })
}

fn view(trace: &ObservedTrace, chars: usize) -> Value {
    let cut = |text: &String| text.chars().take(chars).collect::<String>();
    let signals = &trace.signals;
    let tool = |call: &ratchet_core::improve::observed::ObservedToolCall| json!({"name": call.name, "output": cut(&call.output), "failed": call.failed});
    let standing = match trace.standing() {
        Standing::Failed => "failed",
        Standing::Misjudged => "misjudged",
        Standing::ToolFailed => "tool-failed",
        Standing::Fine => "fine",
    };
    json!({
        "id": trace.id,
        "session": trace.session,
        "standing": standing,
        "question": cut(&trace.question),
        "answer": cut(&trace.answer),
        "tools": trace.tools.iter().map(tool).collect::<Vec<_>>(),
        "correct": signals.correct,
        "thumb": signals.thumb,
        "judge": signals.quality,
        "comments": signals.comments.iter().map(cut).collect::<Vec<_>>(),
        "correction": signals.correction.as_ref().map(cut),
        "release": trace.release,
        "model": trace.model,
        "agents": trace.agents,
    })
}

fn bounds(limit: Option<u64>, chars: Option<u64>) -> Result<(usize, usize), ToolFault> {
    let within = |name: &str, given: Option<u64>, usual: u64, most: u64| {
        let count = given.unwrap_or(usual);
        let refused = || ToolFault(format!("{name} must be from 1 to {most}"));
        let count = (1..=most).contains(&count).then_some(count).ok_or_else(refused)?;
        usize::try_from(count).map_err(|_| refused())
    };
    let rows = within("limit", limit, USUAL_ROWS, MAX_ROWS)?;
    Ok((rows, within("max_chars", chars, USUAL_CHARS, MAX_CHARS)?))
}
