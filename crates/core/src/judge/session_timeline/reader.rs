use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::item::{Item, MessageCall, ToolOutput, items, key_of};
use super::new_messages::Thread;
use super::sub_agents::{outer_generations, sub_agents};
use super::tool_calls;
use super::tool_calls::Observed;
use super::{Call, TimelineAction, TimelineEvent};
use crate::id::ObservationId;
use crate::judge::evidence::{Evidence, NumberedTrace};
use crate::judge::notations::{CallOutcome, Notations};
use crate::payload::Payload;
use crate::record::message_formats::MessageRole;
use crate::record::observation::{Observation, ObservationKind};
use crate::time::Timestamp;

/// The main conversation with the user. Sub-agents have conversations of their own.
const MAIN: usize = 0;
/// A question of this length does not occur in another text by chance.
const MIN_DISTINCTIVE_CHARS: usize = 12;

/// A prompt of this length that an agent wrote before is not written again by a user.
const MIN_PROMPT_CHARS: usize = 40;

/// Reads all traces of a session.
pub(super) fn read(evidence: &Evidence, notations: &Notations) -> Vec<TimelineEvent> {
    let mut reader = Reader {
        notations,
        observed: Observed::of(evidence),
        threads: vec![Thread::default()],
        by_first: HashMap::new(),
        by_agent: HashMap::new(),
        by_id: HashMap::new(),
        waiting: HashMap::new(),
        last_call: None,
        said: HashSet::new(),
        prompts: HashSet::new(),
        has_turns: false,
        is_question_shown: false,
        moves: Vec::new(),
    };
    let questions = evidence.traces.iter().filter(|trace| reader.read_question(trace).is_some());
    reader.has_turns = questions.count() > 1;
    for trace in &evidence.traces {
        reader.trace(trace);
    }
    without_re_prompts(reader.moves)
}

/// A message of this length is not sent three times by a person.
const MIN_RE_PROMPT_CHARS: usize = 20;
/// How often the same message is a program's.
const RE_PROMPTS: usize = 3;

/// Removes messages that a program sends whenever the agent stops: the same text, again and again.
/// The first message is the request, regardless of its sender.
fn without_re_prompts(moves: Vec<TimelineEvent>) -> Vec<TimelineEvent> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    let key = |event: &TimelineEvent| match &event.act {
        TimelineAction::UserSays(text) if text.trim().len() >= MIN_RE_PROMPT_CHARS => {
            Some(key_of(&text.trim()))
        }
        _ => None,
    };
    for key in moves.iter().filter_map(key) {
        *counts.entry(key).or_default() += 1;
    }
    let is_user = |event: &TimelineEvent| matches!(event.act, TimelineAction::UserSays(_));
    let first = moves.iter().position(is_user);
    let is_kept = |(place, event): &(usize, TimelineEvent)| {
        let count = key(event).and_then(|key| counts.get(&key)).copied().unwrap_or_default();
        count < RE_PROMPTS || Some(*place) == first
    };
    moves.into_iter().enumerate().filter(is_kept).map(|(_, event)| event).collect()
}

#[derive(Debug)]
struct Reader<'n> {
    notations: &'n Notations,
    observed: Observed,
    threads: Vec<Thread>,
    /// Conversations by their first item and by sub-agent.
    by_first: HashMap<u64, usize>,
    by_agent: HashMap<ObservationId, usize>,
    /// Tool calls in messages: their index by id, and by input while their result is pending.
    by_id: HashMap<String, usize>,
    waiting: HashMap<u64, usize>,
    /// The last call without a result.
    last_call: Option<usize>,
    /// What the user said, and long texts in the inputs of the agent's calls.
    said: HashSet<u64>,
    prompts: HashSet<u64>,
    /// Whether several traces have a question as their input. Then the user's words are these, and
    /// other messages in the same role are the framework's.
    has_turns: bool,
    /// Whether a generation of the current trace contained its question.
    is_question_shown: bool,
    moves: Vec<TimelineEvent>,
}

/// The context of a payload: trace, time and conversation.
#[derive(Clone, Copy, Debug)]
struct PayloadContext<'a> {
    trace: u32,
    at: Timestamp,
    thread: usize,
    /// The input of the trace.
    question: Option<&'a str>,
    source: Source,
}

/// What a payload can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The input of a trace: words of the user.
    TraceInput,
    /// The input of a model: the conversation so far, or anything that a program asks a model.
    ModelInput,
    /// The output of a model or a trace. Whatever it quotes, nobody but the agent says it.
    Output,
}

impl Reader<'_> {
    fn trace(&mut self, trace: &NumberedTrace) {
        let first_move = self.moves.len();
        self.is_question_shown = false;
        let content = trace.trace.content.as_ref();
        let question = self.read_question(trace);
        let thread = self.thread_of_trace(question.as_deref());
        let context = PayloadContext {
            trace: trace.number,
            at: trace.trace.timestamp,
            thread,
            question: None,
            source: Source::TraceInput,
        };
        if let Some(input) = content.and_then(|content| content.input.as_ref()) {
            let items = items(input, &MessageRole::User, self.notations);
            // A single question is new, even if it was asked before.
            match question {
                Some(_) => self.add_all(items, context),
                None => self.add_new(items, context),
            }
        }
        let context = PayloadContext { question: question.as_deref(), ..context };
        let outer = outer_generations(trace);
        let sub_agents = sub_agents(trace);
        let calls = tool_calls::calls(trace);
        for step in &trace.steps {
            if step.kind == ObservationKind::Generation && !outer.contains(&step.id) {
                self.generation(step, context, sub_agents.get(&step.id));
            } else if calls.contains(&step.id) {
                let mut call = tool_calls::call(step, self.notations);
                self.observed.add_input(trace.number, &mut call);
                self.remember_prompts(&call.input);
                let act = TimelineAction::Calls(call);
                self.moves.push(TimelineEvent { trace: trace.number, at: step.start, act });
            }
        }
        if let Some(answer) = content.and_then(|content| content.output.as_ref()) {
            let at = trace.steps.iter().filter_map(|step| step.end).max().unwrap_or(context.at);
            let context = PayloadContext { at, source: Source::Output, ..context };
            self.answer(answer, context, first_move);
        }
    }

    /// Returns the text of a trace's input, if it is a single question.
    fn read_question(&self, trace: &NumberedTrace) -> Option<String> {
        let input = trace.trace.content.as_ref()?.input.as_ref()?;
        match items(input, &MessageRole::User, self.notations).as_slice() {
            [Item::User(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the conversation of a trace: the user's, unless its question is a prompt that the
    /// agent wrote. Then it is a sub-agent's.
    fn thread_of_trace(&mut self, question: Option<&str>) -> usize {
        let Some(question) = question else { return MAIN };
        let key = key_of(&question.trim());
        if self.said.contains(&key) || !self.prompts.contains(&key) {
            return MAIN;
        }
        self.threads.push(Thread::default());
        self.threads.len() - 1
    }

    /// Remembers the long texts in the input of a call: they may be prompts of sub-agents.
    fn remember_prompts(&mut self, input: &Value) {
        let mut waiting = vec![input];
        while let Some(value) = waiting.pop() {
            match value {
                Value::String(text) if text.trim().len() >= MIN_PROMPT_CHARS => {
                    self.prompts.insert(key_of(&text.trim()));
                }
                Value::Array(list) => waiting.extend(list),
                Value::Object(object) => waiting.extend(object.values()),
                _ => {}
            }
        }
    }

    /// Reads the output of a trace, unless its observations have shown it.
    fn answer(&mut self, answer: &Payload, context: PayloadContext<'_>, first_move: usize) {
        let items = items(answer, &MessageRole::Assistant, self.notations);
        if let [Item::Agent(text)] = items.as_slice() {
            let last_answer =
                self.moves[first_move..].iter().rev().find_map(|event| match &event.act {
                    TimelineAction::AgentSays(outputs) => Some(outputs),
                    TimelineAction::UserSays(_) | TimelineAction::Calls(_) => None,
                });
            let is_data = answer.to_json().as_str().starts_with(['{', '[']);
            let is_listed =
                last_answer.is_some_and(|outputs| is_data || outputs.trim().contains(text.trim()));
            if !is_listed {
                self.add_all(items, context);
            }
            return;
        }
        self.add_new(items, context);
    }

    fn generation(
        &mut self,
        step: &Observation,
        context: PayloadContext<'_>,
        agent: Option<&ObservationId>,
    ) {
        let content = step.content.as_ref();
        let inputs = content.and_then(|content| content.input.as_ref());
        let read = |inputs| items(inputs, &MessageRole::User, self.notations);
        let inputs = inputs.map(read).unwrap_or_default();
        let thread = self.thread(&inputs, agent, context);
        let source = Source::ModelInput;
        let context = PayloadContext { at: step.start, thread, source, ..context };
        self.add_new(inputs, context);
        let Some(outputs) = content.and_then(|content| content.output.as_ref()) else { return };
        let outputs = items(outputs, &MessageRole::Assistant, self.notations);
        let at = step.end.unwrap_or(step.start);
        let context = PayloadContext { at, source: Source::Output, ..context };
        // Frameworks return the whole conversation; then only its last part is the output.
        let is_history = outputs.iter().any(|item| matches!(item, Item::User(_)));
        if is_history {
            self.add_new(outputs, context);
        } else {
            self.add_all(outputs, context);
        }
    }

    /// Returns the conversation that a generation belongs to.
    fn thread(
        &mut self,
        inputs: &[Item],
        agent: Option<&ObservationId>,
        context: PayloadContext<'_>,
    ) -> usize {
        let first = inputs.iter().find_map(Item::key);
        let is_question = |item: &Item| match (item, context.question) {
            (Item::User(text), Some(question)) => text.contains(question),
            _ => false,
        };
        self.is_question_shown |= agent.is_none() && inputs.iter().any(is_question);
        if let Some(thread) = first.and_then(|first| self.by_first.get(&first)) {
            return *thread;
        }
        let Some(agent) = agent else { return self.thread_by_question(inputs, context) };
        let next = self.threads.len();
        let thread = *self.by_agent.entry(agent.clone()).or_insert(next);
        if thread == next {
            self.threads.push(Thread::default());
        }
        thread
    }

    /// Returns the conversation of a generation that starts with unknown messages: the trace's, or
    /// one of its own if others of the trace contain the question and it does not. Programs ask
    /// models to summarise a page or to rate an answer, in the role of the user.
    fn thread_by_question(&mut self, inputs: &[Item], context: PayloadContext<'_>) -> usize {
        let Some(question) = context.question else { return context.thread };
        let mut users = inputs.iter().filter_map(|item| match item {
            Item::User(text) => Some(text),
            _ => None,
        });
        let is_main = users.clone().any(|text| text.contains(question));
        if is_main || users.next().is_none() || !self.is_question_shown {
            return context.thread;
        }
        self.threads.push(Thread::default());
        self.threads.len() - 1
    }

    /// Adds the new items of a list that may repeat earlier ones.
    fn add_new(&mut self, list: Vec<Item>, context: PayloadContext<'_>) {
        let keys: Vec<u64> = list.iter().filter_map(Item::key).collect();
        let mut newness = self.threads[context.thread].find_new(&keys).into_iter();
        for item in list {
            let is_new = item.key().is_none() || newness.next().unwrap_or_default();
            if is_new {
                self.add(item, context);
            } else if let Item::Call(call) = item {
                self.complete(call);
            }
        }
    }

    fn add_all(&mut self, list: Vec<Item>, context: PayloadContext<'_>) {
        for item in list {
            self.add(item, context);
        }
    }

    fn add(&mut self, item: Item, context: PayloadContext<'_>) {
        let key = item.key();
        if let Some(key) = key {
            self.by_first.entry(key).or_insert(context.thread);
            self.threads[context.thread].add(key);
        }
        let act = match item {
            // Messages between agents are neither the user's nor addressed to the user.
            Item::User(_) | Item::Agent(_) if context.thread != MAIN => return,
            Item::User(text) if !self.is_of_user(&text, context) => return,
            Item::User(text) => {
                self.said.insert(key_of(&text.trim()));
                TimelineAction::UserSays(text)
            }
            Item::Agent(text) => TimelineAction::AgentSays(text),
            Item::Result(id, output) => return self.add_result(id.as_deref(), output),
            Item::Call(call) => match self.call(call, key, context.trace) {
                Some(call) => TimelineAction::Calls(call),
                None => return,
            },
        };
        self.moves.push(TimelineEvent { trace: context.trace, at: context.at, act });
    }

    /// Returns whether a user wrote a message of the main conversation in the role of the user.
    fn is_of_user(&self, text: &str, context: PayloadContext<'_>) -> bool {
        let is_turn = context.question.is_some() && self.has_turns;
        // Applications embed a question in a longer prompt.
        let is_wrapped = context.question.is_some_and(|question| {
            question.len() >= MIN_DISTINCTIVE_CHARS && text.contains(question)
        });
        let key = key_of(&text.trim());
        let is_prompt = self.prompts.contains(&key) && !self.said.contains(&key);
        match context.source {
            Source::TraceInput => !is_prompt,
            Source::ModelInput => !is_turn && !is_wrapped && !is_prompt,
            Source::Output => false,
        }
    }

    /// Converts a call in a message; `None` if it is also an observation.
    fn call(&mut self, call: MessageCall, key: Option<u64>, trace: u32) -> Option<Call> {
        let MessageCall { id, tool, input, output } = call;
        self.remember_prompts(&input);
        if self.observed.matches_observation(trace, id.as_deref(), &tool, &input) {
            return None;
        }
        let index = self.moves.len();
        if let Some(id) = id {
            self.by_id.insert(id, index);
        } else if let (Some(key), None) = (key, &output) {
            self.waiting.insert(key, index);
        }
        self.last_call = output.is_none().then_some(index);
        let mut event = Call { tool, input, output: None, outcome: CallOutcome::Unknown };
        if let Some(output) = output {
            complete(&mut event, output);
        }
        Some(event)
    }

    /// Adds the result of an earlier call.
    fn complete(&mut self, call: MessageCall) {
        let key = Item::Call(MessageCall { output: None, ..call.clone() }).key();
        let Some(output) = call.output else { return };
        let index = match &call.id {
            Some(id) => self.by_id.get(id).copied(),
            None => key.and_then(|key| self.waiting.remove(&key)),
        };
        // Some models give several calls the same id.
        let is_same = |index: &usize| {
            matches!(self.moves.get(*index), Some(TimelineEvent { act: TimelineAction::Calls(known), .. })
                if known.tool == call.tool && known.input == call.input)
        };
        self.complete_at(index.filter(is_same), output);
    }

    /// Adds a tool result that is separate from its call.
    fn add_result(&mut self, id: Option<&str>, output: ToolOutput) {
        let index = match id {
            Some(id) => self.by_id.get(id).copied(),
            None => self.last_call.take(),
        };
        self.complete_at(index, output);
    }

    fn complete_at(&mut self, index: Option<usize>, output: ToolOutput) {
        let event = index.and_then(|index| self.moves.get_mut(index));
        if let Some(TimelineEvent { act: TimelineAction::Calls(call), .. }) = event
            && call.output.is_none()
        {
            complete(call, output);
        }
    }
}

fn complete(call: &mut Call, output: ToolOutput) {
    if output.is_error {
        call.outcome = CallOutcome::Failed;
    }
    call.output = Some(output.text);
}
