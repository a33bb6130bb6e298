//! What a run consists of, before anyone writes it down in a convention.

use ratchet_core::time::Timestamp;
use serde_json::Value;

use super::agents::{Agent, Environment, Model, Release};

/// One agent run: a trace.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: [u8; 16],
    /// What it is about, for the list of traces.
    pub(crate) name: String,
    pub(crate) agent: &'static Agent,
    pub(crate) environment: Environment,
    pub(crate) release: &'static Release,
    pub(crate) user: String,
    /// Which conversation it belongs to.
    pub(crate) session: String,
    /// What to find it by.
    pub(crate) tags: Vec<&'static str>,
    /// The step that holds all others.
    pub(crate) root: Step,
    /// The tool call of another agent that asked for it.
    pub(crate) asked_by: Option<AskedBy>,
    /// Hidden quality from 0 to 1, from which thumbs follow.
    pub(crate) quality: f64,
    pub(crate) course: Course,
}

/// How a conversation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Course {
    Good,
    /// The user has to correct the agent.
    Rocky,
    /// A tool fails and the agent gives up.
    Failing,
}

impl Course {
    pub(crate) const fn quality(self) -> f64 {
        match self {
            Self::Good => 0.92,
            Self::Rocky => 0.55,
            Self::Failing => 0.12,
        }
    }
}

/// A step of another run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedBy {
    pub(crate) trace: [u8; 16],
    pub(crate) step: [u8; 8],
}

/// One step of a run.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) id: [u8; 8],
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) work: Work,
    pub(crate) outcome: Outcome,
    pub(crate) children: Vec<Step>,
}

#[derive(Debug)]
pub(crate) enum Work {
    /// An agent or sub-agent takes a request and gives an answer.
    Agent {
        name: &'static str,
        input: String,
        output: String,
    },
    Model(Box<Completion>),
    Tool(ToolCall),
    Retrieval {
        name: &'static str,
        query: String,
        documents: Value,
    },
    /// A text becomes a vector.
    Embedding {
        model: &'static Model,
        input: String,
        tokens: u64,
    },
    /// A text is checked before it goes on.
    Guard {
        name: &'static str,
        input: String,
        verdict: &'static str,
    },
}

#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) model: &'static Model,
    /// The system prompt.
    pub(crate) system: String,
    /// What was said so far, or only since its last call.
    pub(crate) messages: Vec<Message>,
    pub(crate) reply: Message,
    pub(crate) tokens: Tokens,
    /// When the first token came.
    pub(crate) first_token: Timestamp,
}

/// A line in a dialogue with a model.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// From the person or the calling agent.
    User(String),
    /// From a person, with a picture of what they mean.
    Photo(String),
    Assistant {
        text: String,
        calls: Vec<ToolCall>,
    },
    Tool(ToolCall),
}

/// A tool, what it was given and what it gave.
#[derive(Clone, Debug)]
pub(crate) struct ToolCall {
    pub(crate) name: &'static str,
    /// Ties the result to the request.
    pub(crate) id: String,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
}

/// Tokens of one model call; the kinds do not overlap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    /// Read from the prompt cache.
    pub(crate) cached: u64,
    /// Written to the prompt cache.
    pub(crate) written: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Fine,
    /// It worked, but somebody should look.
    Warned(String),
    Failed {
        /// The kind of error, as code would name it.
        kind: &'static str,
        message: String,
    },
}

/// A thumb, up or down.
#[derive(Debug)]
pub(crate) struct Thumb {
    /// The run that was judged.
    pub(crate) trace: [u8; 16],
    pub(crate) id: String,
    /// Up or down.
    pub(crate) up: bool,
    pub(crate) comment: Option<String>,
    pub(crate) at: Timestamp,
    pub(crate) environment: Environment,
}

impl Run {
    /// Moves the whole run earlier.
    pub(crate) fn move_back(&mut self, nanos: i64) {
        self.root.move_back(nanos);
    }
}

impl Step {
    fn move_back(&mut self, nanos: i64) {
        self.start = self.start.plus_nanos(-nanos);
        self.end = self.end.plus_nanos(-nanos);
        if let Work::Model(call) = &mut self.work {
            call.first_token = call.first_token.plus_nanos(-nanos);
        }
        for child in &mut self.children {
            child.move_back(nanos);
        }
    }

    /// This step and all within it, parents first.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let mut steps = vec![self];
        steps.extend(self.children.iter().flat_map(Self::all));
        steps
    }

    /// Whether this step itself failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }
}
