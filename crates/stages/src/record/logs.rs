//! Claude Code's events, which come as log records.

use std::collections::HashMap;

use ratchet_core::id::TraceId;
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::claude_code::event::Event;
use ratchet_core::record::log::LogRecord;
use ratchet_store::StoreResult;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Prepared;
use ratchet_store::telemetry::{Batch, Telemetry};

use super::{Arrival, OtlpBatch, redacted};

/// The events of a request, and the turns they belong to.
#[derive(Debug, Default)]
pub struct Events {
    events: Vec<Event>,
    /// The turn of each prompt, as far as it is known.
    turns: HashMap<String, TraceId>,
    /// How many log records are of programs whose logs are not recorded.
    pub foreign: u64,
}

impl Events {
    /// Takes the events out of log records.
    pub fn read(parcels: Vec<OtlpBatch<LogRecord>>) -> Self {
        let mut read = Self::default();
        for OtlpBatch { origin, items } in parcels {
            for record in items {
                match Event::read(record, &origin) {
                    Some(event) => read.events.push(event),
                    None => read.foreign += 1,
                }
            }
        }
        for event in &read.events {
            if let (Some(prompt), Some(turn)) = (event.prompt(), event.turn()) {
                read.turns.insert(prompt.to_owned(), turn);
            }
        }
        read
    }

    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Asks the store for the turns of prompts that came in earlier requests.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn locate(&mut self, store: &Telemetry, project: &ProjectId) -> StoreResult<()> {
        for event in &self.events {
            let Some(prompt) = event.prompt() else { continue };
            if self.turns.contains_key(prompt) || event.turn().is_some() {
                continue;
            }
            for id in event.known_by() {
                if let Some(known) = store.observation(project.clone(), id).await? {
                    self.turns.insert(prompt.to_owned(), known.trace);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Works out what the events say, ready for [`commit`](super::commit).
    ///
    /// Takes real CPU time and does no IO.
    pub fn prepare(self, telemetry: &Telemetry, arrival: Arrival) -> Prepared {
        let mut patches = Patches::default();
        for event in &self.events {
            let known = || self.turns.get(event.prompt()?).cloned();
            let turn = event.turn().or_else(known).or_else(|| event.fallback_turn());
            // What no prompt set off is about the program itself: plugins, settings, sign-in.
            if let Some(turn) = turn {
                patches.extend(event.patches(turn));
            }
        }
        let batch = Batch {
            traces: patches.traces,
            observations: patches.observations,
            ..Batch::new(arrival.project, arrival.received_at)
        };
        telemetry.prepare(redacted(batch, &arrival.settings, arrival.text_bytes))
    }
}
