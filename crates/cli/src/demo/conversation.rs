//! Conversations with an agent, generated from its script.

mod tools;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::time::Timestamp;
use serde_json::json;

use super::agents::{self, Agent, Environment, Release};
use super::scene::{Dialogue, Memory, Scene};
use super::script::{Exchange, Facts, Script, Topic};
use super::seeded_random::Chance;
use super::story::{AskedBy, Course, Message, Outcome, Run, Step, Thumb, Work};
use super::timeline::MINUTE;
use super::words;

/// How likely a conversation fails that needs the tool which the bad release breaks.
const BROKEN: f64 = 0.78;
/// The same for other releases: services are down now and then.
const UNLUCKY: f64 = 0.05;
const ROCKY: f64 = 0.09;

/// How often another wording is tried where one was used in the session already.
pub(crate) const ATTEMPTS: usize = 8;

/// Where and when a conversation begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) chance: Chance,
    pub(crate) at: Timestamp,
    pub(crate) environment: Environment,
    pub(crate) release: &'static Release,
}

/// A conversation, with the thumbs it got.
#[derive(Debug, Default)]
pub(crate) struct SessionTraffic {
    pub(crate) runs: Vec<Run>,
    pub(crate) thumbs: Vec<Thumb>,
}

/// A question that every release is tried on.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) ask: String,
    pub(crate) expected: String,
    pub(crate) topic: &'static str,
    pub(crate) run: Run,
}

/// The photo of a kettle, as messages carry it.
pub(crate) fn photo() -> String {
    let bytes = include_bytes!("data/plover.png");
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// Tells one conversation.
pub(crate) fn tell(
    agent: &'static Agent,
    script: &'static Script,
    begin: Beginning,
) -> SessionTraffic {
    let mut teller = Teller::new(agent, script, begin);
    let Some(topic) = teller.scene.chance.choose(&script.topics) else {
        return SessionTraffic::default();
    };
    teller.topic = Some(topic);
    let breaks_at = topic.turns.iter().position(|turn| teller.needs_broken_tool(turn));
    match (teller.course(breaks_at.is_some()), breaks_at) {
        (Course::Failing, Some(at)) => teller.failing(topic, at),
        (course, _) => teller.going(topic, course),
    }
    SessionTraffic { runs: teller.runs, thumbs: teller.thumbs }
}

/// Tells how a release answers the question that the seed has in store. The same seed gives the same
/// question in every release.
pub(crate) fn trial(
    agent: &'static Agent,
    script: &'static Script,
    begin: Beginning,
) -> Option<Trial> {
    let release = begin.release;
    let mut teller = Teller::new(agent, script, begin);
    let needing: Vec<&Topic> = script
        .topics
        .iter()
        .filter(|topic| topic.turns.first().is_some_and(|turn| teller.needs_broken_tool(turn)))
        .collect();
    let topic = *teller.scene.chance.choose(&needing)?;
    let opening = topic.turns.first()?;
    let ask = teller.facts.one(&mut teller.scene.chance, &opening.ask);
    let expected = teller.facts.one(&mut teller.scene.chance, &opening.say);
    teller.topic = Some(topic);
    teller.user = "release-check".to_owned();
    teller.tags = vec!["experiment"];
    // From here on each release goes its own way.
    teller.scene.chance = teller.scene.chance.fork(release.version);
    teller.session = format!("check-{}-{}", release.version, teller.scene.chance.hex(6));
    let course = if release.is_bad && teller.scene.chance.odds(BROKEN) {
        Course::Failing
    } else {
        Course::Good
    };
    let say = if course == Course::Failing { &script.failing.say } else { &opening.say };
    let say = teller.facts.one(&mut teller.scene.chance, say);
    teller.is_broken = course == Course::Failing;
    teller.turn(ask.clone(), &opening.tools, say, course);
    let run = teller.runs.pop()?;
    Some(Trial { ask, expected, topic: &topic.name, run })
}

/// A conversation in the making.
struct Teller {
    agent: &'static Agent,
    script: &'static Script,
    topic: Option<&'static Topic>,
    environment: Environment,
    release: &'static Release,
    user: String,
    session: String,
    tags: Vec<&'static str>,
    facts: Facts,
    scene: Scene,
    dialogue: Dialogue,
    /// Whether the tool that the script breaks fails in this turn.
    is_broken: bool,
    /// Runs of other agents that were asked in this turn.
    asked: Vec<Run>,
    runs: Vec<Run>,
    thumbs: Vec<Thumb>,
}

impl Teller {
    fn new(agent: &'static Agent, script: &'static Script, begin: Beginning) -> Self {
        let Beginning { mut chance, at, environment, release } = begin;
        let person = agents::person(&mut chance, agent);
        let facts = Facts::draw(script, &person, &mut chance);
        let session = format!("{}-{}", agent.name, chance.hex(10));
        Self {
            agent,
            script,
            topic: None,
            environment,
            release,
            user: person.id,
            session,
            tags: Vec::new(),
            facts,
            scene: Scene { chance, now: at },
            dialogue: Dialogue::new(agent.model, &script.system, 840, Memory::Whole),
            is_broken: false,
            asked: Vec::new(),
            runs: Vec::new(),
            thumbs: Vec::new(),
        }
    }

    fn course(&mut self, needs_broken_tool: bool) -> Course {
        let failing = match (needs_broken_tool, self.release.is_bad) {
            (true, true) => BROKEN,
            (true, false) => UNLUCKY,
            (false, _) => 0.0,
        };
        let chance = &mut self.scene.chance;
        match () {
            () if chance.odds(failing) => Course::Failing,
            () if chance.odds(ROCKY) => Course::Rocky,
            () => Course::Good,
        }
    }

    /// Returns whether a turn uses the tool that the script breaks, itself or through an agent.
    fn needs_broken_tool(&self, turn: &Exchange) -> bool {
        let broken = &self.script.failing.tool;
        turn.tools.iter().any(|name| {
            let tool = self.script.tools.get(name);
            name == broken || tool.is_some_and(|tool| tool.uses.contains(broken))
        })
    }

    /// Tells a conversation that arrives somewhere.
    fn going(&mut self, topic: &'static Topic, course: Course) {
        let mut happened = Vec::new();
        for (nth, turn) in topic.turns.iter().enumerate() {
            let has_ground = turn.needs.is_none_or(|needed| happened.contains(&needed));
            if !has_ground || !self.scene.chance.odds(turn.odds) {
                continue;
            }
            happened.push(nth);
            self.exchange(turn, course);
            if nth == 0 && course == Course::Rocky {
                self.exchange(&self.script.rocky, course);
            }
        }
        let closing = &self.script.closing;
        if course == Course::Good && self.scene.chance.odds(closing.odds) {
            self.exchange(closing, course);
        }
    }

    /// Tells a conversation that breaks at a turn and is given up.
    fn failing(&mut self, topic: &'static Topic, at: usize) {
        for turn in topic.turns.iter().take(at) {
            self.exchange(turn, Course::Failing);
        }
        let Some(broken) = topic.turns.get(at) else { return };
        let failing = &self.script.failing;
        let (ask, say) = (self.another(&broken.ask), self.another(&failing.say));
        self.is_broken = true;
        self.turn(ask, &broken.tools, say, Course::Failing);
        for _ in 0..self.scene.chance.between(1, 2) {
            let (ask, say) = (self.another(&failing.ask), self.another(&failing.end));
            self.turn(ask, std::slice::from_ref(&failing.tool), say, Course::Failing);
        }
    }

    /// Says something that was not yet said in the session.
    fn another(&mut self, templates: &[String]) -> String {
        let is_new = |text: &String| {
            self.runs.iter().all(|run| match &run.root.work {
                Work::Agent { input, output, .. } => input != text && output != text,
                _ => true,
            })
        };
        let attempts: Vec<String> =
            (0..ATTEMPTS).map(|_| self.facts.one(&mut self.scene.chance, templates)).collect();
        let new = attempts.iter().find(|text| is_new(text));
        new.or(attempts.first()).cloned().unwrap_or_default()
    }

    fn exchange(&mut self, turn: &Exchange, course: Course) {
        // The question decides which of the answers fits, where there are as many.
        let nth = usize::try_from(self.scene.chance.between(0, 99)).unwrap_or(0);
        let pick =
            |texts: &[String]| texts.get(nth % texts.len().max(1)).cloned().unwrap_or_default();
        let ask = self.facts.fill(&mut self.scene.chance, &pick(&turn.ask));
        let say = if turn.ask.len() == turn.say.len() {
            self.facts.fill(&mut self.scene.chance, &pick(&turn.say))
        } else {
            self.facts.one(&mut self.scene.chance, &turn.say)
        };
        self.turn(ask, &turn.tools, say, course);
    }

    /// Tells one turn: a trace.
    fn turn(&mut self, ask: String, tools: &[String], say: String, course: Course) {
        self.facts.set("ask", ask.clone());
        let (id, start) = (self.scene.chance.bytes(), self.scene.now);
        self.scene.pass_ms(2.0);
        let mut steps: Vec<Step> = self.triage(&ask).into_iter().collect();
        let is_first = self.runs.is_empty();
        self.dialogue.hear(self.message(&ask, is_first));
        for tool in tools {
            steps.extend(self.use_tool(tool));
        }
        steps.push(self.dialogue.answer(&mut self.scene, say.clone(), Vec::new()));
        steps.extend(self.guard(&say, course));
        self.scene.pass_ms(3.0);
        let end = self.scene.now;
        let work = Work::Agent { name: self.agent.name, input: ask, output: say };
        let root = Step { id, start, end, work, outcome: Outcome::Fine, children: steps };
        let run = self.run(self.agent, root, course);
        self.thumb(&run);
        for mut other in std::mem::take(&mut self.asked) {
            other.asked_by = other.asked_by.map(|asked_by| AskedBy { trace: run.id, ..asked_by });
            self.runs.push(other);
        }
        self.runs.push(run);
        self.scene.pass_ms(95_000.0);
    }

    fn message(&self, ask: &str, is_first: bool) -> Message {
        let shows = |topic: &Topic| {
            self.script.photo.as_ref().is_some_and(|photo| {
                topic.name == photo.topic && self.facts.get("sku") == photo.sku
            })
        };
        if is_first && self.topic.is_some_and(shows) {
            return Message::Photo(ask.to_owned());
        }
        Message::User(ask.to_owned())
    }

    fn run(&mut self, agent: &'static Agent, root: Step, course: Course) -> Run {
        let topic = self.topic.map_or("", |topic| topic.name.as_str());
        let spread = (self.scene.chance.unit() - 0.5) * 0.12;
        let mut tags = self.tags.clone();
        tags.push(topic);
        Run {
            id: self.scene.chance.bytes(),
            name: format!("{}: {topic}", agent.name),
            agent,
            environment: self.environment,
            release: self.release,
            user: self.user.clone(),
            session: self.session.clone(),
            tags,
            root,
            asked_by: None,
            quality: course.quality() + spread,
            course,
        }
    }

    /// A small model sorts the message.
    fn triage(&mut self, ask: &str) -> Option<Step> {
        let system = self.script.triage.as_ref()?;
        let mut dialogue = Dialogue::new(self.agent.helper, system, 0, Memory::Whole);
        dialogue.hear(Message::User(ask.to_owned()));
        let topic = self.topic.map_or("", |topic| topic.name.as_str());
        let urgent = self.scene.chance.odds(0.12);
        let verdict = json!({ "topic": topic, "language": "en", "urgent": urgent });
        Some(dialogue.answer(&mut self.scene, verdict.to_string(), Vec::new()))
    }

    /// The answer is checked before it goes out.
    fn guard(&mut self, say: &str, course: Course) -> Option<Step> {
        let name = self.script.guard.as_deref()?;
        let (verdict, outcome) = if course == Course::Failing && self.is_broken {
            let why = "answer sends the customer away".to_owned();
            ("flagged: sends the customer away", Outcome::Warned(why))
        } else {
            ("passed", Outcome::Fine)
        };
        let work = Work::Guard { name, input: say.to_owned(), verdict };
        Some(self.scene.step(work, 24.0, outcome))
    }

    /// The thumb a run got, if its user gave one: unhappy people press the button more often.
    fn thumb(&mut self, run: &Run) {
        let chance = &mut self.scene.chance;
        if !chance.odds(if run.quality < 0.5 { 0.4 } else { 0.14 }) {
            return;
        }
        let up = chance.odds(run.quality.clamp(0.03, 0.97));
        let (remarks, talkative) =
            if up { (&self.script.praise, 0.3) } else { (&self.script.blame, 0.65) };
        let comment = chance.odds(talkative).then(|| self.facts.one(chance, &remarks.say));
        let id = format!("thumb-{}", chance.hex(24));
        let at = run.root.end.plus_nanos(MINUTE / 4);
        let environment = run.environment;
        self.thumbs.push(Thumb { trace: run.id, id, up, comment, at, environment });
    }
}

/// Tokens of a text, for steps outside a dialogue.
fn tokens(text: &str) -> u64 {
    words::tokens(text)
}
