use std::collections::{BTreeSet, HashSet};

use ratchet_core::chat::event::{ChatEvent, EventKind, UnorderedEvent};
use ratchet_core::chat::reader::LineReader;
use ratchet_core::chat::recovered::RecoveredLine;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_store::telemetry::Telemetry;
use serde_json::Value;

use super::super::super::chat_handle::ChatHandle;
use super::super::super::error::ChatError;
use super::super::super::launch::turn_lines::TurnFile;
use super::super::super::turn_recorder::{Beginning, TurnRecorder};

/// Number of events in one read.
const PAGE: u32 = 500;

/// Events of a turn that was running.
#[derive(Debug)]
pub(super) struct Replay {
    /// Open prompts.
    pub(super) open: BTreeSet<String>,
    /// Whether a message started it.
    pub(super) has_message: bool,
    /// Ids of lines with events.
    events: HashSet<String>,
    /// Knows which text has events.
    reader: LineReader,
}

impl Replay {
    /// Reads the stored events of a turn into the recorder.
    pub(super) async fn read(
        telemetry: &Telemetry,
        handle: &ChatHandle,
        turn: &TraceId,
        recorder: &mut TurnRecorder,
    ) -> Result<Self, ChatError> {
        let mut replay = Self {
            open: BTreeSet::new(),
            has_message: false,
            events: HashSet::new(),
            reader: LineReader::new(Money::ZERO),
        };
        let Some(mut after) = beginning(telemetry, handle, turn).await? else { return Ok(replay) };
        loop {
            let (project, chat_id) = (handle.project.clone(), handle.chat_id.clone());
            let events = telemetry.chat_events(project, chat_id, after, PAGE).await?;
            let Some(last) = events.last() else { return Ok(replay) };
            after = last.seq;
            for event in events {
                replay.take(&event, turn, recorder);
            }
        }
    }

    fn take(&mut self, event: &ChatEvent, turn: &TraceId, recorder: &mut TurnRecorder) {
        let said: Value = serde_json::from_str(&event.body).unwrap_or_default();
        let id = said["id"].as_str().unwrap_or_default();
        match event.kind {
            EventKind::Raw => {
                recorder.agent_output(&event.body);
                // The events that follow from it were written with it.
                drop(self.reader.take(&event.body, None));
                self.events.extend(said["uuid"].as_str().map(str::to_owned));
            }
            EventKind::Message => {
                self.has_message = true;
                let content = said["content"].to_string();
                let by = said["by"].as_str();
                let beginning = Beginning::Person { by, message: id, content: &content };
                recorder.turn_started(turn, event.at, beginning);
            }
            EventKind::Question | EventKind::Permission => {
                recorder.prompt_restored(id, turn, event.at);
                self.open.insert(id.to_owned());
            }
            EventKind::Answered => drop(self.open.remove(id)),
            _ => {}
        }
    }

    /// Events for transcript lines that have none yet.
    pub(super) fn unrecorded(&mut self, file: &TurnFile) -> Vec<UnorderedEvent> {
        let call = file.call();
        let lines =
            file.lines.iter().filter_map(|line| RecoveredLine::of_kept(line, call.as_deref()));
        let new: Vec<RecoveredLine> =
            lines.filter(|line| !self.events.contains(&line.id)).collect();
        new.iter().flat_map(|line| self.reader.take(&line.line, None).events).collect()
    }
}

/// Sequence number before the first event of a turn: a message, or the agent's own start.
async fn beginning(
    telemetry: &Telemetry,
    handle: &ChatHandle,
    turn: &TraceId,
) -> Result<Option<u64>, ChatError> {
    let turn = turn.to_string();
    for kind in [EventKind::Message, EventKind::State] {
        let (project, chat_id) = (handle.project.clone(), handle.chat_id.clone());
        let newest = telemetry.newest_events(project, chat_id, kind, PAGE).await?;
        let is_of_turn = |body: &str| {
            let said: Value = serde_json::from_str(body).unwrap_or_default();
            said["turn"] == turn.as_str()
        };
        let first = newest.into_iter().filter(|event| is_of_turn(&event.body)).last();
        if let Some(first) = first {
            return Ok(Some(first.seq.saturating_sub(1)));
        }
    }
    Ok(None)
}
