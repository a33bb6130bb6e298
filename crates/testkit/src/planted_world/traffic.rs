use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use super::texts::{Slots, WorldTexts, filled};
use super::{AGENT, PlantedDefect, PlantedWorld};
use crate::seeded_random::SeededRandom;

/// Sessions of each topic in a week; each has one or two traces.
const SESSIONS: usize = 24;
const MINUTE: i64 = 60_000_000_000;
/// The model of all steps.
pub(super) const MODEL: &str = "small-fast-1";
const RELEASES: [&str; 3] = ["2.0.0", "2.1.0", "2.2.0"];

/// One recorded request with its hidden truth.
#[derive(Clone, Debug)]
pub struct PlantedTrace {
    pub id: String,
    pub session: String,
    pub user: String,
    /// From 0.
    pub week: usize,
    pub topic: String,
    /// The defect that it shows: it made the answer wrong, or the judge.
    pub defect: Option<PlantedDefect>,
    pub is_correct: bool,
    pub input: String,
    pub output: String,
    /// What a person says about it.
    pub comment: Option<String>,
    pub thumb: Option<bool>,
    /// The judge's score.
    pub quality: f64,
    /// Whether a person answered about it.
    pub is_reviewed: bool,
    pub(super) sub_agent: String,
    pub(super) call: Option<PlantedCall>,
    start: Timestamp,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct PlantedCall {
    pub(super) name: String,
    pub(super) error: Option<String>,
    arguments: Value,
    result: Value,
    millis: i64,
}

impl PlantedCall {
    pub(super) fn output(&self) -> Value {
        match &self.error {
            Some(error) => json!({ "error": error }),
            None => self.result.clone(),
        }
    }
}

/// Generates the traffic of a week, from 0.
pub(super) fn week(world: &PlantedWorld, week: usize) -> Vec<PlantedTrace> {
    let texts = WorldTexts::read(world.wording);
    let mut traces = Vec::new();
    for (at, topic) in texts.topics().enumerate() {
        for session in 0..SESSIONS {
            // Each session has numbers of its own: a twin world asks the same.
            let nth = ((week * 100 + at) * 1_000 + session) as u64;
            let mut random = SeededRandom::new(world.seed ^ nth.wrapping_mul(0x9e37_79b9));
            random.number();
            let story = SessionStory { world, texts: &texts, topic, week, nth };
            traces.extend(story.traces(&mut random));
        }
    }
    traces.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
    traces
}

struct SessionStory<'a> {
    world: &'a PlantedWorld,
    texts: &'a WorldTexts,
    topic: &'a str,
    week: usize,
    nth: u64,
}

impl SessionStory<'_> {
    fn traces(&self, random: &mut SeededRandom) -> Vec<PlantedTrace> {
        let slots = self.texts.slots(random);
        let minutes = (self.week * 7 * 24 * 60 + random.below(7 * 24 * 60 - 60)) as i64;
        let start = self.world.monday.plus_nanos(minutes * MINUTE);
        let user = format!("user-{:03}", random.below(180));
        let turns = 1 + random.below(2);
        let one = |turn: usize| {
            // A fork for each turn, so that one turn's truth does not change the next one.
            let fork = random.number();
            let mut random = SeededRandom::new(fork);
            let start = start.plus_nanos(turn as i64 * 4 * MINUTE);
            self.trace((turn, start, &user), &slots, &mut random)
        };
        (0..turns).map(one).collect()
    }

    fn defect(&self) -> Option<PlantedDefect> {
        let is_it = |defect: &PlantedDefect| {
            defect.topic() == self.topic && self.world.is_active(*defect, self.week)
        };
        PlantedDefect::ALL.into_iter().find(is_it)
    }

    fn trace(
        &self,
        (turn, start, user): (usize, Timestamp, &str),
        slots: &Slots,
        random: &mut SeededRandom,
    ) -> PlantedTrace {
        let input = self.texts.question(self.topic, slots, random);
        let (is_hit, is_slip) = (random.below(100) < 70, random.below(100) < 2);
        let defect = self.defect().filter(|_| is_hit);
        let is_strict = defect == Some(PlantedDefect::StrictJudge);
        let is_correct = if defect.is_some() { is_strict } else { !is_slip };
        let kind = if is_correct { "good" } else { "bad" };
        let output = self.texts.answer((self.topic, kind), slots, random);
        let comment = self.texts.comment(self.topic, slots, random);
        let chances = [random.below(100), random.below(100), random.below(100), random.below(100)];
        let judged_good = match defect {
            Some(PlantedDefect::StrictJudge) => chances[0] < 15,
            Some(PlantedDefect::LenientJudge) => chances[0] < 90,
            _ if is_correct => chances[0] < 96,
            _ => chances[0] < 12,
        };
        let is_pleased = if is_correct { chances[2] < 95 } else { chances[2] < 6 };
        let thumb = (chances[1] < 35).then_some(is_pleased);
        let is_reviewed = thumb.is_some() || chances[3] < if judged_good { 5 } else { 50 };
        let is_judge_wrong = judged_good != is_correct;
        PlantedTrace {
            id: format!("{:016x}{:014x}{turn:02x}", self.world.seed, self.nth),
            session: format!("session-{}-{}", self.week, self.nth),
            user: user.to_owned(),
            week: self.week,
            topic: self.topic.to_owned(),
            defect,
            is_correct,
            input,
            output,
            comment: (!is_correct || (is_strict && is_judge_wrong)).then_some(comment),
            thumb,
            quality: if judged_good { 1.0 } else { 0.0 },
            is_reviewed,
            start,
            sub_agent: self.texts.of_topic(self.topic, "agent").to_owned(),
            call: self.call(defect, slots, random),
        }
    }

    fn call(
        &self,
        defect: Option<PlantedDefect>,
        slots: &Slots,
        random: &mut SeededRandom,
    ) -> Option<PlantedCall> {
        let millis = 80 + random.below(400) as i64;
        let mut name = self.texts.of_topic(self.topic, "tool");
        if name.is_empty() || defect == Some(PlantedDefect::ReturnsFromMemory) {
            return None;
        }
        if self.topic == "warranty" && !self.has(PlantedDefect::MissingWarrantyTool) {
            name = "check_warranty_status";
        }
        let slot = |key: &str| {
            let found = slots.iter().find(|(slot, _)| slot == key);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let broken =
            [PlantedDefect::TrackingError, PlantedDefect::SlowInvoice, PlantedDefect::PickupFormat];
        let error = defect
            .filter(|defect| broken.contains(defect))
            .map(|_| filled(self.texts.of_topic(self.topic, "error"), slots));
        let is_slow = defect == Some(PlantedDefect::SlowInvoice);
        let result = match name {
            "get_technical_support" => json!({"steps": ["unplug it", "clean it", "try again"]}),
            "check_stock" => json!({"product": slot("product"), "available": slot("number")}),
            "get_product" => json!({"product": slot("product"), "watts": slot("number") + "0"}),
            "get_cart" => json!({"order": slot("order"), "lines": slot("number")}),
            _ => json!({"order": slot("order"), "state": "ok", "city": slot("city")}),
        };
        Some(PlantedCall {
            name: name.to_owned(),
            arguments: json!({
                "order": slot("order"), "product": slot("product"), "date": slot("date"),
            }),
            result,
            error,
            millis: if is_slow { 30_000 } else { millis },
        })
    }

    fn has(&self, defect: PlantedDefect) -> bool {
        self.world.is_active(defect, self.week)
    }
}

impl PlantedTrace {
    /// The release that answered.
    pub fn release(&self) -> &'static str {
        RELEASES[self.week.min(RELEASES.len() - 1)]
    }

    /// The name of the tool that was called, and whether the call failed.
    pub fn tool(&self) -> Option<(&str, bool)> {
        self.call.as_ref().map(|call| (call.name.as_str(), call.error.is_some()))
    }

    /// Returns the ingestion events: trace, observations and scores.
    pub(super) fn events(&self, config: Option<&str>) -> Vec<Value> {
        let mut events = self.observations();
        let quality = json!({"name": "quality", "value": self.quality, "source": "EVAL"});
        events.push(self.score(quality, 1));
        if let Some(is_up) = self.thumb {
            let value = u8::from(is_up);
            events.push(self.score(json!({"name": "thumbs_feedback", "value": value}), 5));
        }
        if self.is_reviewed {
            let value = u8::from(self.is_correct);
            let mut said = json!({
                "name": "correctness", "value": value, "dataType": "BOOLEAN",
                "comment": self.comment,
            });
            if let Some(config) = config {
                said["configId"] = json!(config);
                said["source"] = json!("ANNOTATION");
            }
            events.push(self.score(said, 60));
        }
        events
    }

    fn score(&self, mut body: Value, minutes: i64) -> Value {
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        body["id"] = json!(format!("{}-{name}", self.id));
        body["traceId"] = json!(self.id);
        body["environment"] = json!("production");
        event("score-create", self.start.plus_nanos(minutes * MINUTE), &body)
    }

    fn observations(&self) -> Vec<Value> {
        let millis = self.call.as_ref().map_or(0, |call| call.millis);
        let at = |millis: i64| self.start.plus_nanos(millis * 1_000_000);
        let (called, done) = (at(300 + millis), at(1_500 + millis));
        let trace = json!({
            "id": self.id, "name": self.topic_of_name(), "userId": self.user,
            "sessionId": self.session, "release": self.release(), "environment": "production",
            "input": self.input, "output": self.output, "timestamp": self.start.to_string(),
            "metadata": {"agent": AGENT},
        });
        let root = json!({
            "id": self.part("agent"), "traceId": self.id, "name": AGENT,
            "startTime": self.start.to_string(), "endTime": done.to_string(),
            "input": self.input, "output": self.output, "environment": "production",
        });
        let sub_agent = json!({
            "id": self.part("sub"), "traceId": self.id, "name": self.sub_agent,
            "parentObservationId": self.part("agent"), "input": self.input,
            "output": self.output, "startTime": at(100).to_string(), "endTime": done.to_string(),
            "environment": "production",
        });
        let generation = json!({
            "id": self.part("generation"), "traceId": self.id, "name": "answer",
            "parentObservationId": self.part("sub"), "model": MODEL,
            "input": [{"role": "user", "content": self.input}], "output": self.output,
            "startTime": called.to_string(), "endTime": done.to_string(),
            "environment": "production",
            "usage": {"input": 300 + self.input.len(), "output": self.output.len() / 4},
        });
        let mut events = vec![
            event("trace-create", self.start, &trace),
            event("agent-create", self.start, &root),
            event("agent-create", at(100), &sub_agent),
        ];
        events.extend(self.call.as_ref().map(|call| self.tool_event(call, (at(200), called))));
        events.push(event("generation-create", called, &generation));
        events
    }

    fn tool_event(&self, call: &PlantedCall, (start, end): (Timestamp, Timestamp)) -> Value {
        let mut body = json!({
            "id": self.part("tool"), "traceId": self.id, "name": call.name,
            "parentObservationId": self.part("sub"), "input": call.arguments,
            "output": call.output(), "startTime": start.to_string(), "endTime": end.to_string(),
            "environment": "production",
        });
        if let Some(error) = &call.error {
            body["level"] = json!("ERROR");
            body["statusMessage"] = json!(error);
        }
        event("tool-create", start, &body)
    }

    fn part(&self, name: &str) -> String {
        format!("{}-{name}", self.id)
    }

    /// The name says who answered: a topic in it would tell the defect.
    fn topic_of_name(&self) -> String {
        format!("{AGENT}/{}", self.sub_agent)
    }
}

fn event(kind: &str, at: Timestamp, body: &Value) -> Value {
    let id = format!("event-{kind}-{}", body["id"].as_str().unwrap_or_default());
    json!({"id": id, "timestamp": at.to_string(), "type": kind, "body": body})
}
