//! What a run consists of, before anyone writes it down in a convention.

use ratchet_core::time::Timestamp;
use serde_json::Value;

use super::people::{Agent, Model, Place, Release};

/// One agent run: a trace.
#[derive(Debug)]
pub(crate) struct Run {
    /// Names the trace.
    pub(crate) id: [u8; 16],
    /// What it is about, for the list of traces.
    pub(crate) name: String,
    /// Who ran.
    pub(crate) agent: &'static Agent,
    /// Where.
    pub(crate) place: Place,
    /// In which release.
    pub(crate) release: &'static Release,
    /// Whom it served.
    pub(crate) user: String,
    /// Which conversation it belongs to.
    pub(crate) session: String,
    /// What to find it by.
    pub(crate) tags: Vec<&'static str>,
    /// The step that holds all others.
    pub(crate) root: Step,
    /// The tool call of another agent that asked for it.
    pub(crate) asked_by: Option<AskedBy>,
    /// How well it went, from 0 to 1. Nobody sees it; thumbs follow from it.
    pub(crate) quality: f64,
}

/// A step of another run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedBy {
    /// The other trace.
    pub(crate) trace: [u8; 16],
    /// The step in it.
    pub(crate) step: [u8; 8],
}

/// One step of a run.
#[derive(Debug)]
pub(crate) struct Step {
    /// Names the span.
    pub(crate) id: [u8; 8],
    /// When it began.
    pub(crate) start: Timestamp,
    /// When it ended.
    pub(crate) end: Timestamp,
    /// What was done.
    pub(crate) work: Work,
    /// How it went.
    pub(crate) outcome: Outcome,
    /// The steps within.
    pub(crate) children: Vec<Step>,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Work {
    /// An agent or sub-agent takes a request and gives an answer.
    Agent {
        /// Who.
        name: &'static str,
        /// The request.
        input: String,
        /// The answer.
        output: String,
    },
    /// A model is called.
    Model(Box<Completion>),
    /// A tool is called.
    Tool(ToolCall),
    /// Documents are looked for.
    Retrieval {
        /// Where.
        name: &'static str,
        /// What for.
        query: String,
        /// What was found.
        documents: Value,
    },
    /// A text becomes a vector.
    Embedding {
        /// By which model.
        model: &'static Model,
        /// The text.
        input: String,
        /// What it took.
        tokens: u64,
    },
    /// A text is checked before it goes on.
    Guard {
        /// The check.
        name: &'static str,
        /// The text.
        input: String,
        /// The verdict.
        verdict: &'static str,
    },
}

/// A model call.
#[derive(Debug)]
pub(crate) struct Completion {
    /// The model.
    pub(crate) model: &'static Model,
    /// What it was told to be.
    pub(crate) system: String,
    /// What was said so far, or only since its last call.
    pub(crate) messages: Vec<Message>,
    /// What it said.
    pub(crate) reply: Message,
    /// What that took.
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
    /// From the model.
    Assistant {
        /// What it says.
        text: String,
        /// The tools it wants.
        calls: Vec<ToolCall>,
    },
    /// From a tool.
    Tool(ToolCall),
}

/// A tool, what it was given and what it gave.
#[derive(Clone, Debug)]
pub(crate) struct ToolCall {
    /// The tool.
    pub(crate) name: &'static str,
    /// Ties the result to the request.
    pub(crate) id: String,
    /// What it was given.
    pub(crate) arguments: Value,
    /// What it gave.
    pub(crate) result: Value,
}

/// Tokens of one model call; the kinds do not overlap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens {
    /// Read fresh.
    pub(crate) input: u64,
    /// Read from the prompt cache.
    pub(crate) cached: u64,
    /// Written to the prompt cache.
    pub(crate) written: u64,
    /// Answered.
    pub(crate) output: u64,
    /// Thought.
    pub(crate) reasoning: u64,
}

/// How a step went.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// As it should.
    Fine,
    /// It worked, but somebody should look.
    Warned(String),
    /// It failed.
    Failed {
        /// The kind of error, as code would name it.
        kind: &'static str,
        /// What it says.
        message: String,
    },
}

/// A thumb, up or down.
#[derive(Debug)]
pub(crate) struct Thumb {
    /// The run that was judged.
    pub(crate) trace: [u8; 16],
    /// Names the score.
    pub(crate) id: String,
    /// Up or down.
    pub(crate) up: bool,
    /// What the person added.
    pub(crate) comment: Option<String>,
    /// When.
    pub(crate) at: Timestamp,
    /// Where the run ran.
    pub(crate) place: Place,
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
