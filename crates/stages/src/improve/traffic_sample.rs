use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::id::TraceId;
use ratchet_core::improve::observed::ObservedTrace;
use ratchet_core::improve::terms::terms;
use ratchet_core::improve::traffic_events::SessionActivity;
use ratchet_remote::langfuse::client::TraceRef;
use sha2::{Digest, Sha256};

use super::failure_source::{AgentNames, AgentTraces, WeekRecords, observe};
use crate::source::{Source, SourceResult};

/// Sessions that are read, for each agent: of the week, and of those before it.
const MAX_OF_WEEK: usize = 120;
const MAX_BEFORE: usize = 180;
/// Traces of a session that are read: its first ones.
const MAX_TRACES: usize = 5;

/// Sessions of an agent, in a random order that is the same in every run.
type RandomSessions<'a> = BTreeMap<[u8; 32], Vec<(usize, &'a TraceRef)>>;

/// Traces that were read for proposals, by id.
type ReadTraces<'a> = BTreeMap<&'a str, &'a ObservedTrace>;

/// Reads a random sample of the sessions of each agent. Which of them are read does not depend on what
/// people or judges said of them.
pub(super) async fn sample(
    source: &Source,
    (agent, names): (Option<&str>, &AgentNames),
    records: &WeekRecords,
    read: &BTreeMap<String, AgentTraces>,
) -> SourceResult<BTreeMap<String, Vec<SessionActivity>>> {
    let read: ReadTraces<'_> = read
        .values()
        .flat_map(|of_agent| &of_agent.traces)
        .map(|trace| (trace.id.as_str(), trace))
        .collect();
    let mut agents: BTreeMap<&str, RandomSessions<'_>> = BTreeMap::new();
    for (weeks_ago, trace) in &records.refs {
        let name = names.of_trace(trace);
        if agent.is_some_and(|agent| agent != name) {
            continue;
        }
        let session =
            trace.session.as_ref().map_or_else(|| trace.trace.to_string(), ToString::to_string);
        let key: [u8; 32] = Sha256::digest(session).into();
        agents.entry(name).or_default().entry(key).or_default().push((*weeks_ago, trace));
    }
    let mut sampled = BTreeMap::new();
    for (agent, sessions) in agents {
        let activities = read_some(source, sessions, (records, &read)).await?;
        sampled.insert(agent.to_owned(), activities);
    }
    Ok(sampled)
}

async fn read_some(
    source: &Source,
    sessions: RandomSessions<'_>,
    (records, read): (&WeekRecords, &ReadTraces<'_>),
) -> SourceResult<Vec<SessionActivity>> {
    let mut found = Vec::new();
    let (mut of_week, mut before) = (0, 0);
    for mut traces in sessions.into_values() {
        traces.sort_by_key(|(_, trace)| (trace.timestamp, &trace.trace));
        // A session belongs to the week in which it began.
        let is_of_week = traces.first().is_some_and(|(weeks_ago, _)| *weeks_ago == 0);
        let (count, most) =
            if is_of_week { (&mut of_week, MAX_OF_WEEK) } else { (&mut before, MAX_BEFORE) };
        *count += 1;
        if *count > most {
            continue;
        }
        let mut judged = Vec::new();
        for (_, trace) in traces.into_iter().take(MAX_TRACES) {
            let agreement = agreement(records, &trace.trace);
            let observed = match read.get(trace.trace.to_string().as_str()) {
                Some(known) => Some((*known).clone()),
                None => observe(source, &trace.trace).await?,
            };
            judged.extend(observed.map(|trace| (trace, agreement)));
        }
        found.push(SessionActivity { is_of_week, ..activity(&judged) });
    }
    Ok(found)
}

/// Whether the judge said what people said; `None` unless both said something.
fn agreement(records: &WeekRecords, trace: &TraceId) -> Option<f64> {
    let signals = records.said.get(trace)?;
    let people = signals.correct.or(signals.thumb)?;
    let judge = ratchet_core::review::category::GOOD_FROM <= signals.quality?;
    Some(f64::from(u8::from(people == judge)))
}

/// A trace, and whether the judge agreed with people on it.
type JudgedTrace = (ObservedTrace, Option<f64>);

fn activity(traces: &[JudgedTrace]) -> SessionActivity {
    let mut calls: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for call in traces.iter().flat_map(|(trace, _)| &trace.tools) {
        calls.entry(&call.name).or_default().push(f64::from(u8::from(call.failed)));
    }
    let mean_of = |value: &dyn Fn(&JudgedTrace) -> Option<f64>| {
        mean(&traces.iter().filter_map(value).collect::<Vec<_>>())
    };
    let errors = calls.into_iter();
    SessionActivity {
        is_of_week: false,
        latency_seconds: mean_of(&|(trace, _)| trace.latency_seconds),
        cost_dollars: mean_of(&|(trace, _)| trace.cost_dollars),
        agreement: mean_of(&|(_, agreement)| *agreement),
        tool_errors: errors
            .filter_map(|(tool, failed)| Some((tool.to_owned(), mean(&failed)?)))
            .collect(),
        terms: traces.iter().flat_map(|(trace, _)| terms(&trace.question)).collect::<BTreeSet<_>>(),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    let count = u32::try_from(values.len()).ok().filter(|count| *count > 0)?;
    Some(values.iter().sum::<f64>() / f64::from(count))
}
