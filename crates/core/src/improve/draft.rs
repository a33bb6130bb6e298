/// Checks of a draft's texts.
mod texts;

use std::collections::BTreeSet;

use serde::Deserialize;

use super::affected::AffectedUsers;
use super::code::{CodeFile, CodeLine};
use super::diagnosis::{Cause, Component};
use super::group::FailureGroup;
use super::insertion::inserted;
use super::observed::{ObservedTrace, Standing};
use super::proposal::{
    Effort, MAX_EVIDENCE, MIN_SESSIONS, MIN_TRACES, Proposal, Trend, id, impact, recorded_prompt,
};
use crate::stats::float;
use texts::text_faults;

/// A proposal as a model hands it in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalDraft {
    pub agent: String,
    pub component: Component,
    pub title: String,
    /// The cause.
    pub reason: String,
    pub change: String,
    /// Ids of failed traces.
    pub evidence: Vec<String>,
    /// `path:line`; the first one is where the change belongs.
    #[serde(default)]
    pub files: Vec<String>,
    /// A line to add below the first file's line.
    #[serde(default)]
    pub insert: Option<String>,
    #[serde(default)]
    pub effort: Option<Effort>,
}

/// What a draft is checked against.
#[derive(Clone, Copy, Debug)]
pub struct DraftContext<'a> {
    pub agent: &'a str,
    /// The agent's own traces.
    pub traces: &'a [ObservedTrace],
    /// Traces of the week, also those that were not read.
    pub traffic: usize,
    pub code: &'a [CodeFile],
    /// Proposals that there are already.
    pub known: &'a [Proposal],
    /// The model.
    pub author: &'a str,
}

/// Checks a draft: evidence that is there, is the agent's and failed; files and lines that exist; texts
/// that neither repeat traces nor weaken safeguards. It becomes a proposal with the impact of its
/// evidence, or of the known proposal that it is about.
///
/// # Errors
/// Says everything that is wrong.
pub fn check(draft: &ProposalDraft, context: DraftContext<'_>) -> Result<Proposal, Vec<String>> {
    let mut faults = text_faults(draft, context.traces);
    let cited = cited(draft, context, &mut faults);
    let lines = lines(draft, context.code, &mut faults);
    let diff = match (&draft.insert, lines.first()) {
        (Some(added), Some(line)) => {
            let diff = inserted(line, added.trim_end());
            if diff.is_none() {
                faults.push("insert: it has to be one line below a line of a text file".to_owned());
            }
            diff
        }
        (Some(_), None) => {
            faults.push("insert: files has to name the line above it".to_owned());
            None
        }
        (None, _) => None,
    };
    if faults.is_empty() {
        Ok(proposal(draft, context, &cited, (diff, &lines)))
    } else {
        Err(faults)
    }
}

fn proposal(
    draft: &ProposalDraft,
    context: DraftContext<'_>,
    cited: &[usize],
    (diff, lines): (Option<String>, &[CodeLine<'_>]),
) -> Proposal {
    let group = group_of(draft, context.traces, cited);
    let of_week: Vec<&ObservedTrace> = cited.iter().map(|at| &context.traces[*at]).collect();
    let own_impact = impact(&of_week, context.traffic);
    let effort = draft.effort.unwrap_or(Effort::of(draft.component));
    let known = same_as(draft, context.known);
    let impact = known.map_or(own_impact, |known| known.impact);
    Proposal {
        id: known.map_or_else(|| id(context.agent, &group, Some("written")), |it| it.id.clone()),
        component: draft.component,
        agent: context.agent.to_owned(),
        title: draft.title.trim().to_owned(),
        reason: draft.reason.trim().to_owned(),
        change: draft.change.trim().to_owned(),
        instruction: None,
        prompt: recorded_prompt(draft.component, &of_week),
        diff,
        evidence: of_week.iter().take(MAX_EVIDENCE).map(|trace| trace.id.clone()).collect(),
        failures: known.map_or(of_week.len(), |known| known.failures),
        affected: known.map_or_else(
            || AffectedUsers::of(&group, context.traces),
            |known| known.affected.clone(),
        ),
        impact,
        effort,
        priority: impact.value / effort.number(),
        trend: known.map_or(Trend::New, |known| known.trend),
        files: lines.iter().map(CodeLine::cited).collect(),
        written_by: Some(context.author.to_owned()),
        features: known.map_or_else(Vec::new, |known| known.features.clone()),
    }
}

/// The known proposal for the same component whose evidence is mostly this one's, or the reverse.
fn same_as<'a>(draft: &ProposalDraft, known: &'a [Proposal]) -> Option<&'a Proposal> {
    let of_draft: BTreeSet<&str> = draft.evidence.iter().map(String::as_str).collect();
    let likeness = |one: &Proposal| {
        let shared = one.evidence.iter().filter(|id| of_draft.contains(id.as_str())).count();
        float(shared) / float(one.evidence.len().min(of_draft.len()).max(1))
    };
    let same = known
        .iter()
        .filter(|one| one.component == draft.component && one.agent == draft.agent)
        .map(|one| (likeness(one), one));
    let best = same.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(likeness, _)| *likeness >= 0.5).map(|(_, one)| one)
}

fn group_of(draft: &ProposalDraft, traces: &[ObservedTrace], cited: &[usize]) -> FailureGroup {
    let sub_agents: BTreeSet<Option<&str>> =
        cited.iter().map(|at| traces[*at].sub_agent()).collect();
    let cause = match draft.component {
        Component::Judge => Cause::Misjudged,
        Component::Knowledge => Cause::Unanswered,
        Component::Tool => Cause::MissingTool(None),
        Component::Prompt | Component::Model => Cause::Behaviour(None),
    };
    FailureGroup {
        cause,
        sub_agent: match sub_agents.first() {
            Some(Some(only)) if sub_agents.len() == 1 => Some((*only).to_owned()),
            _ => None,
        },
        members: cited.to_vec(),
        terms: Vec::new(),
        topic: None,
        features: Vec::new(),
    }
}

/// The indexes of the evidence.
fn cited(draft: &ProposalDraft, context: DraftContext<'_>, faults: &mut Vec<String>) -> Vec<usize> {
    let ids: BTreeSet<&str> = draft.evidence.iter().map(String::as_str).collect();
    let mut cited = Vec::new();
    for id in ids {
        let found = context.traces.iter().position(|it| it.id == id && it.weeks_ago == 0);
        let Some(at) = found else {
            let shown: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
            faults.push(format!(
                "evidence: {shown} is no trace of {} in this week that was read",
                context.agent
            ));
            continue;
        };
        match (context.traces.get(at), draft.component) {
            (Some(trace), component) if !shows(trace, component) => {
                faults.push(format!("evidence: {id} did not fail in that way"));
            }
            _ => cited.push(at),
        }
    }
    let sessions: BTreeSet<&str> = cited
        .iter()
        .map(|at| &context.traces[*at])
        .map(|trace| trace.session.as_deref().unwrap_or(&trace.id))
        .collect();
    if faults.is_empty() && (cited.len() < MIN_TRACES || sessions.len() < MIN_SESSIONS) {
        faults.push(format!(
            "evidence: it takes {MIN_TRACES} failed traces of {MIN_SESSIONS} sessions"
        ));
    }
    cited
}

/// Whether a trace is evidence against a component.
fn shows(trace: &ObservedTrace, component: Component) -> bool {
    match (trace.standing(), component) {
        (Standing::Misjudged, Component::Judge) => true,
        (Standing::Failed, Component::Judge) => trace.judged_good() == Some(true),
        (Standing::Failed | Standing::ToolFailed, _) => true,
        (Standing::Misjudged | Standing::Fine, _) => false,
    }
}

fn lines<'a>(
    draft: &ProposalDraft,
    code: &'a [CodeFile],
    faults: &mut Vec<String>,
) -> Vec<CodeLine<'a>> {
    let mut found = Vec::new();
    for cited in &draft.files {
        let parts = cited.rsplit_once(':').and_then(|(path, line)| {
            let line: usize = line.parse().ok()?;
            let file = code.iter().find(|file| file.path == path)?;
            (1..=file.text.lines().count()).contains(&line).then_some(CodeLine { file, line })
        });
        match parts {
            Some(line) => found.push(line),
            None => {
                let shown: String = cited.chars().filter(|c| !c.is_control()).take(200).collect();
                faults.push(format!("files: there is no {shown}; it has to be path:line"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
