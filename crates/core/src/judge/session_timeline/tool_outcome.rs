use std::collections::HashMap;

use serde_json::Value;

use super::{Call, TimelineAction, TimelineEvent};
use crate::judge::notations::{CallOutcome, Notations, ReadResult};

/// Argument keys of tools that run commands.
const COMMAND_KEYS: [&str; 6] = ["command", "cmd", "commands", "script", "code", "input"];

/// Determines the outcomes that no recorded level or flag states, by the notations of the outputs.
///
/// A status line at the end of an output may be the end of a file that a command printed. It counts
/// only where most commands of the session end with a line of the same family.
pub(super) fn settle(events: &mut [TimelineEvent], notations: &Notations) {
    let read: Vec<ReadResult<'_>> = events.iter().map(|event| read(event, notations)).collect();
    let mut endings: HashMap<&str, usize> = HashMap::new();
    let mut commands = 0;
    for (event, read) in events.iter().zip(&read) {
        commands += usize::from(
            matches!(&event.act, TimelineAction::Calls(call) if is_command(call) && call.output.is_some()),
        );
        if let Some(family) = read.ends_as {
            *endings.entry(family).or_default() += 1;
        }
    }
    for (event, read) in events.iter_mut().zip(read) {
        let TimelineAction::Calls(call) = &mut event.act else { continue };
        let is_usual = read.ends_as.is_none_or(|family| {
            is_command(call) && endings.get(family).is_some_and(|count| count * 2 > commands)
        });
        if call.outcome == CallOutcome::Unknown && is_usual {
            call.outcome = read.outcome;
        }
    }
}

/// Removes calls from the agent's text that are events of their own: they are no words of the agent.
pub(super) fn separate_calls(events: &mut Vec<TimelineEvent>, notations: &Notations) {
    let next = events.iter().skip(1).map(Some).chain([None]);
    let starts: Vec<Option<usize>> = events
        .iter()
        .zip(next)
        .map(|(event, next)| call_in_text(event, next?, notations))
        .collect();
    add_last_call(events, notations, starts.iter().any(Option::is_some));
    for (event, start) in events.iter_mut().zip(starts) {
        if let (TimelineAction::AgentSays(text), Some(start)) = (&mut event.act, start) {
            text.truncate(start);
        }
    }
    let is_blank = |event: &TimelineEvent| matches!(&event.act, TimelineAction::AgentSays(text) if text.trim().is_empty());
    events.retain(|event| !is_blank(event));
}

/// Adds the call at the end of a session whose calls are text: nobody recorded its result.
fn add_last_call(events: &mut Vec<TimelineEvent>, notations: &Notations, is_usual: bool) {
    let Some(TimelineEvent { trace, at, act: TimelineAction::AgentSays(text) }) = events.last_mut()
    else {
        return;
    };
    let found = notations.text_call(text).filter(|found| found.is_sure || is_usual);
    let Some(found) = found else { return };
    text.truncate(found.start);
    let outcome = CallOutcome::Unknown;
    let act = Call { tool: found.tool, input: found.input, output: None, outcome };
    let call = TimelineEvent { trace: *trace, at: *at, act: TimelineAction::Calls(act) };
    events.push(call);
}

/// Returns where an agent's text contains the call that is the next event.
fn call_in_text(
    event: &TimelineEvent,
    next: &TimelineEvent,
    notations: &Notations,
) -> Option<usize> {
    let (TimelineAction::AgentSays(text), TimelineAction::Calls(call)) = (&event.act, &next.act)
    else {
        return None;
    };
    let found = notations.text_call(text)?;
    (found.tool == call.tool && found.input == call.input).then_some(found.start)
}

fn read<'a>(event: &TimelineEvent, notations: &'a Notations) -> ReadResult<'a> {
    match &event.act {
        TimelineAction::Calls(Call { output: Some(output), .. }) => notations.read_result(output),
        _ => ReadResult::default(),
    }
}

fn is_command(call: &Call) -> bool {
    match &call.input {
        Value::Object(object) => COMMAND_KEYS.iter().any(|key| object.contains_key(*key)),
        Value::String(_) => true,
        _ => false,
    }
}
