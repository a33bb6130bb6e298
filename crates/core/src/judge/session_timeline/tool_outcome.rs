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
