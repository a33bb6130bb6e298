use std::collections::{HashMap, HashSet};

use super::item::{Item, MessageCall, ToolOutput, items};
use super::new_messages::Thread;
use super::tool_calls;
use super::tool_calls::Observed;
use super::{Call, TimelineAction, TimelineEvent, tool_outcome};
use crate::id::ObservationId;
use crate::judge::evidence::{Evidence, NumberedTrace};
use crate::payload::Payload;
use crate::record::message_formats::Role;
use crate::record::observation::{Observation, ObservationKind};
use crate::time::Timestamp;

/// The main conversation with the user. Sub-agents have conversations of their own.
const MAIN: usize = 0;
/// A question of this length does not occur in another text by chance.
const MIN_DISTINCTIVE_CHARS: usize = 12;

/// Reads all traces of a session.
pub(super) fn read(evidence: &Evidence) -> Vec<TimelineEvent> {
    let mut reader = Reader { observed: Observed::of(evidence), ..Reader::default() };
    reader.threads.push(Thread::default());
    for trace in &evidence.traces {
        reader.trace(trace);
    }
    reader.moves
}

#[derive(Debug, Default)]
struct Reader {
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
}

impl Reader {
    fn trace(&mut self, trace: &NumberedTrace) {
        let first_move = self.moves.len();
        let content = trace.trace.content.as_ref();
        let start = PayloadContext {
            trace: trace.number,
            at: trace.trace.timestamp,
            thread: MAIN,
            question: None,
        };
        let input = content.and_then(|content| content.input.as_ref());
        let question = input.and_then(|input| self.question(input, start));
        let context = PayloadContext { question: question.as_deref(), ..start };
        let outer = outer_generations(trace);
        let sub_agents = sub_agents(trace);
        let calls = tool_calls::calls(trace);
        for step in &trace.steps {
            if step.kind == ObservationKind::Generation && !outer.contains(&step.id) {
                let agent = sub_agents.get(&step.id);
                self.generation(step, context, agent);
            } else if calls.contains(&step.id) {
                let act = TimelineAction::Calls(tool_calls::call(step));
                self.moves.push(TimelineEvent { trace: trace.number, at: step.start, act });
            }
        }
        if let Some(answer) = content.and_then(|content| content.output.as_ref()) {
            let at = trace.steps.iter().filter_map(|step| step.end).max().unwrap_or(context.at);
            self.answer(answer, PayloadContext { at, ..context }, first_move);
        }
    }

    /// Reads the input of a trace; returns the text of a single question.
    fn question(&mut self, input: &Payload, context: PayloadContext<'_>) -> Option<String> {
        let items = items(input, &Role::User);
        // A single question is new, even if it was asked before.
        if let [Item::User(text)] = items.as_slice() {
            let text = text.clone();
            self.add_all(items, context);
            return Some(text);
        }
        self.add_new(items, context);
        None
    }

    /// Reads the output of a trace, unless its observations have shown it.
    fn answer(&mut self, answer: &Payload, context: PayloadContext<'_>, first_move: usize) {
        let items = items(answer, &Role::Assistant);
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
        let inputs = inputs.map(|inputs| items(inputs, &Role::User)).unwrap_or_default();
        let thread = self.thread(&inputs, agent);
        let context = PayloadContext { at: step.start, thread, ..context };
        self.add_new(inputs, context);
        let Some(outputs) = content.and_then(|content| content.output.as_ref()) else { return };
        let outputs = items(outputs, &Role::Assistant);
        let context = PayloadContext { at: step.end.unwrap_or(step.start), ..context };
        // Frameworks return the whole conversation; then only its last part is the output.
        let is_history = outputs.iter().any(|item| matches!(item, Item::User(_)));
        if is_history {
            self.add_new(outputs, context);
        } else {
            self.add_all(outputs, context);
        }
    }

    /// Returns the conversation that a generation belongs to.
    fn thread(&mut self, inputs: &[Item], agent: Option<&ObservationId>) -> usize {
        let first = inputs.iter().find_map(Item::key);
        if let Some(thread) = first.and_then(|first| self.by_first.get(&first)) {
            return *thread;
        }
        let Some(agent) = agent else { return MAIN };
        let next = self.threads.len();
        let thread = *self.by_agent.entry(agent.clone()).or_insert(next);
        if thread == next {
            self.threads.push(Thread::default());
        }
        thread
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
            Item::User(text) => {
                // Applications embed a question in a longer prompt.
                let is_wrapped = context.question.is_some_and(|question| {
                    question.len() >= MIN_DISTINCTIVE_CHARS && text.contains(question)
                });
                if is_wrapped {
                    return;
                }
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

    /// Converts a call in a message; `None` if it is also an observation.
    fn call(&mut self, call: MessageCall, key: Option<u64>, trace: u32) -> Option<Call> {
        let MessageCall { id, tool, input, output } = call;
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
        let mut event = Call { tool, input, output: None, failed: false };
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
        self.complete_at(index, output);
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
    call.failed = output.is_error || tool_outcome::is_failure_output(&output.text);
    call.output = Some(output.text);
}

/// Returns generations that only wrap another one.
fn outer_generations(trace: &NumberedTrace) -> HashSet<&ObservationId> {
    let generations = trace.steps.iter().filter(|step| step.kind == ObservationKind::Generation);
    generations.filter_map(|step| step.parent.as_ref()).collect()
}

/// Maps observations to the sub-agent they belong to: an agent within another one or within a tool.
fn sub_agents(trace: &NumberedTrace) -> HashMap<&ObservationId, ObservationId> {
    let steps: HashMap<&ObservationId, &Observation> =
        trace.steps.iter().map(|step| (&step.id, step)).collect();
    let mut known: HashMap<&ObservationId, Ancestors<'_>> = HashMap::new();
    for step in &trace.steps {
        let mut path = Vec::new();
        let mut next = Some(step);
        // Guards against cycles: an observation is recorded before its parents are visited.
        while let Some(step) = next.filter(|step| !known.contains_key(&step.id)) {
            known.insert(&step.id, Ancestors::default());
            path.push(step);
            next = step.parent.as_ref().and_then(|parent| steps.get(parent).copied());
        }
        let mut ancestors = next.and_then(|step| known.get(&step.id)).copied().unwrap_or_default();
        for step in path.into_iter().rev() {
            let is_agent = step.kind == ObservationKind::Agent;
            if is_agent && ancestors.is_working {
                ancestors.sub_agent = Some(&step.id);
            }
            ancestors.is_working |= is_agent || step.kind == ObservationKind::Tool;
            known.insert(&step.id, ancestors);
        }
    }
    known
        .into_iter()
        .filter_map(|(id, ancestors)| Some((id, ancestors.sub_agent?.clone())))
        .collect()
}

/// The ancestors of an observation.
#[derive(Clone, Copy, Debug, Default)]
struct Ancestors<'a> {
    /// Whether an ancestor is an agent or a tool.
    is_working: bool,
    sub_agent: Option<&'a ObservationId>,
}
