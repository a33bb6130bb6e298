use super::AgentAbout;
use super::context::{Scene, Side};
use crate::id::{ObservationId, TraceId};
use crate::payload::Json;
use crate::record::claude_code::id;
use crate::record::field::Field;
use crate::record::observation::{ObservationKind, ObservationPatch};
use crate::time::Timestamp;

/// The maximum size of pending input messages.
const MAX_HEARD_BYTES: usize = 16_000_000;

/// The state of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Talk {
    /// The turn whose fields were set last.
    announced: Option<TraceId>,
    /// Messages since the model's last answer, as JSON, and the time of the last one.
    heard: Vec<Json>,
    heard_at: Option<Timestamp>,
    /// The prompt of a turn that may never reach the model, as with most commands.
    prompt: Option<Json>,
    /// The message being read, and its blocks so far.
    message: Option<(ObservationId, Vec<Json>)>,
}

impl Talk {
    /// Adds an input message.
    pub(super) fn hear(&mut self, content: &Json, at: Timestamp) {
        let kept: usize = self.heard.iter().map(|message| message.as_str().len()).sum();
        if kept + content.as_str().len() <= MAX_HEARD_BYTES {
            let message = format!(r#"{{"role":"user","content":{}}}"#, content.as_str());
            self.heard.extend(Json::parse(&message));
        }
        self.heard_at = Some(at);
    }

    /// Stores the prompt of a turn until the model answers.
    pub(super) fn keep_prompt(&mut self, content: Json) {
        self.prompt = Some(content);
    }

    /// Takes the input messages since the last answer, and their time.
    pub(super) fn heard(&mut self) -> (Option<Json>, Option<Timestamp>) {
        let heard = std::mem::take(&mut self.heard);
        (list(&heard), self.heard_at.take())
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
    pub(super) fn has_begun(&self, id: &ObservationId) -> bool {
        self.message.as_ref().is_some_and(|(known, _)| known == id)
    }

    /// Sets, once per turn, the fields that every line contains.
    pub(super) fn announce(&mut self, scene: &mut Scene<'_>, about: Option<&AgentAbout>) {
        scene.reach();
        if self.announced.as_ref() == Some(&scene.turn) {
            return;
        }
        self.announced = Some(scene.turn.clone());
        if scene.line.agent.is_some() {
            tell_agent(scene, about);
        } else {
            scene.announce_turn();
        }
        if let Some(prompt) = self.prompt.take() {
            scene.tell_turn(Side::Input, &prompt, scene.stamp());
        }
    }
}

fn list(items: &[Json]) -> Option<Json> {
    let items: Vec<&str> = items.iter().map(Json::as_str).collect();
    if items.is_empty() { None } else { Json::parse(&format!("[{}]", items.join(","))) }
}

/// Adds the observation of a sub-agent and its parent tool call.
fn tell_agent(scene: &mut Scene<'_>, about: Option<&AgentAbout>) {
    let stamp = scene.stamp();
    let name = about.and_then(|about| about.kind.clone());
    let name = name.or_else(|| scene.line.text("attributionAgent"));
    let parent = about.and_then(|about| id::own(about.tool_use.as_deref()?));
    let agent = ObservationPatch {
        kind: Field::said(ObservationKind::Agent, stamp),
        agent: Field::if_some(name.clone(), stamp),
        name: Field::if_some(name, stamp),
        parent: Field::if_some(parent, stamp),
        ..scene.observation(scene.enclosing())
    };
    scene.patches.observations.push(agent);
}
