use super::SubAgentMetadata;
use super::context::{LineContext, Side};
use crate::id::{ObservationId, TraceId};
use crate::payload::Json;
use crate::record::claude_code::id;
use crate::record::field::Field;
use crate::record::observation::{ObservationKind, ObservationPatch};
use crate::time::Timestamp;

/// The maximum size of pending input messages.
const MAX_PENDING_BYTES: usize = 16_000_000;

/// The state of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct TranscriptConversation {
    /// The turn whose fields were set last.
    described_turn: Option<TraceId>,
    /// Messages since the model's last answer, as JSON, and the time of the last one.
    inputs: Vec<Json>,
    inputs_at: Option<Timestamp>,
    /// The prompt of a turn that may never reach the model, as with most commands.
    prompt: Option<Json>,
    /// The message being read, and its blocks so far.
    message: Option<(ObservationId, Vec<Json>)>,
}

impl TranscriptConversation {
    /// Adds an input message.
    pub(super) fn add_input(&mut self, content: &Json, at: Timestamp) {
        let pending: usize = self.inputs.iter().map(|message| message.as_str().len()).sum();
        if pending + content.as_str().len() <= MAX_PENDING_BYTES {
            let message = format!(r#"{{"role":"user","content":{}}}"#, content.as_str());
            self.inputs.extend(Json::parse(&message));
        }
        self.inputs_at = Some(at);
    }

    /// Stores the prompt of a turn until the model answers.
    pub(super) fn store_prompt(&mut self, content: Json) {
        self.prompt = Some(content);
    }

    /// Takes the input messages since the last answer, and their time.
    pub(super) fn inputs(&mut self) -> (Option<Json>, Option<Timestamp>) {
        let inputs = std::mem::take(&mut self.inputs);
        (list(&inputs), self.inputs_at.take())
    }

    /// Adds blocks to a message; returns all of its blocks so far, and their number.
    pub(super) fn add_blocks(&mut self, id: &ObservationId, blocks: Vec<Json>) -> (Json, i64) {
        let so_far = match self.message.take() {
            Some((known, so_far)) if known == *id => so_far,
            _ => Vec::new(),
        };
        let all: Vec<Json> = so_far.into_iter().chain(blocks).collect();
        let content = list(&all).unwrap_or_else(|| Json::from_value(&serde_json::json!([])));
        let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
        self.message = Some((id.clone(), all));
        (content, count)
    }

    /// Returns whether the message is the current one.
    pub(super) fn is_current(&self, id: &ObservationId) -> bool {
        self.message.as_ref().is_some_and(|(known, _)| known == id)
    }

    /// Sets, once per turn, the fields that every line contains.
    pub(super) fn describe_turn(
        &mut self,
        context: &mut LineContext<'_>,
        about: Option<&SubAgentMetadata>,
    ) {
        context.extend_end();
        if self.described_turn.as_ref() == Some(&context.turn) {
            return;
        }
        self.described_turn = Some(context.turn.clone());
        if context.line.agent.is_some() {
            add_agent(context, about);
        } else {
            context.set_turn_fields();
        }
        if let Some(prompt) = self.prompt.take() {
            context.set_turn_content(Side::Input, &prompt, context.stamp());
        }
    }
}

fn list(items: &[Json]) -> Option<Json> {
    let items: Vec<&str> = items.iter().map(Json::as_str).collect();
    if items.is_empty() { None } else { Json::parse(&format!("[{}]", items.join(","))) }
}

/// Adds the observation of a sub-agent and its parent tool call.
fn add_agent(context: &mut LineContext<'_>, about: Option<&SubAgentMetadata>) {
    let stamp = context.stamp();
    let name = about.and_then(|about| about.kind.clone());
    let name = name.or_else(|| context.line.text("attributionAgent"));
    let parent = about.and_then(|about| id::own(about.tool_use.as_deref()?));
    let agent = ObservationPatch {
        kind: Field::new(ObservationKind::Agent, stamp),
        agent: Field::if_some(name.clone(), stamp),
        name: Field::if_some(name, stamp),
        parent: Field::if_some(parent, stamp),
        ..context.observation(context.enclosing())
    };
    context.patches.observations.push(agent);
}
