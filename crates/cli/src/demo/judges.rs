//! What judges say of it: a model reads many runs, people read a few.

use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use super::people;
use super::people::Place;
use super::rhythm::MINUTE;
use super::seeded_random::Chance;
use super::story::Run;
use super::wire;

/// One verdict.
#[derive(Debug)]
pub(crate) struct Verdict {
    id: String,
    /// The name of what is judged, and its id: a trace or a session.
    of: (&'static str, String),
    /// By what it is judged.
    name: &'static str,
    /// How the value reads, in the words of the API.
    data_type: &'static str,
    value: Value,
    /// Who says so, in the words of the API.
    source: &'static str,
    comment: Option<&'static str>,
    at: Timestamp,
    place: Place,
}

impl Verdict {
    /// The body of a score, as the API takes it.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "id": self.id,
            "name": self.name,
            "dataType": self.data_type,
            "value": self.value,
            "source": self.source,
            "environment": self.place.name(),
            "timestamp": self.at.to_string(),
        });
        body[self.of.0] = json!(self.of.1);
        if let Some(comment) = self.comment {
            body["comment"] = json!(comment);
        }
        body
    }
}

/// What a reader of a run says in words.
const PRAISE: [&str; 3] = [
    "Answers the question asked, with the next step.",
    "Everything it says can be found in what the tools gave back.",
    "Short, correct, and in the right tone.",
];
const BLAME: [&str; 3] = [
    "Sends the customer away although the order is there.",
    "The tool call failed and the answer hides it.",
    "Promises something that no tool confirmed.",
];

/// All verdicts on some runs, in no order.
pub(crate) fn verdicts<'a>(
    chance: &Chance,
    runs: impl Iterator<Item = &'a Run>,
    end: Timestamp,
) -> Vec<Verdict> {
    let mut bench = Bench { chance: chance.fork("judges"), given: Vec::new() };
    for run in runs {
        if run.agent.name == people::CODING.name {
            bench.judge_session(run);
        } else if run.asked_by.is_none() {
            bench.judge(run);
        }
    }
    bench.given.retain(|verdict| verdict.at <= end);
    bench.given
}

struct Bench {
    chance: Chance,
    given: Vec<Verdict>,
}

impl Bench {
    fn judge(&mut self, run: &Run) {
        if !self.chance.odds(0.6) {
            return;
        }
        let helpful = self.near(run.quality, 0.16);
        self.give(run, ("helpfulness", "NUMERIC", "EVAL"), json!(helpful));
        if run.agent.name == people::SUPPORT.name {
            let outcome = match helpful {
                good if good > 0.62 => "solved",
                fair if fair > 0.3 => "handed over",
                _ => "unsolved",
            };
            self.give(run, ("outcome", "CATEGORICAL", "EVAL"), json!(outcome));
        } else {
            let grounded = u8::from(self.chance.odds(run.quality.clamp(0.1, 0.96)));
            self.give(run, ("grounded", "BOOLEAN", "EVAL"), json!(grounded));
        }
        if self.chance.odds(0.18) {
            let by_a_person = self.near(run.quality, 0.1);
            self.give(run, ("helpfulness", "NUMERIC", "ANNOTATION"), json!(by_a_person));
        }
    }

    /// A developer says once in a while whether a session got where it should.
    fn judge_session(&mut self, run: &Run) {
        if self.chance.odds(0.25) {
            let reached = u8::from(run.quality > 0.5);
            self.give(run, ("goal_reached", "BOOLEAN", "ANNOTATION"), json!(reached));
            if let Some(verdict) = self.given.last_mut() {
                verdict.id = format!("goal-{}", run.session);
                verdict.of = ("sessionId", run.session.clone());
            }
        }
    }

    fn give(&mut self, run: &Run, form: (&'static str, &'static str, &'static str), value: Value) {
        let (name, data_type, source) = form;
        let went_well = run.quality > 0.5;
        let words = if went_well { &PRAISE } else { &BLAME };
        let talks = self.chance.odds(if went_well { 0.15 } else { 0.7 });
        let comment = if talks { self.chance.choose(words).copied() } else { None };
        self.given.push(Verdict {
            id: format!("verdict-{}", self.chance.hex(24)),
            of: ("traceId", wire::hex(&run.id)),
            name,
            data_type,
            value,
            source,
            comment,
            at: run.root.end.plus_nanos(2 * MINUTE),
            place: run.place,
        });
    }

    /// A mark near the truth, with two digits.
    fn near(&mut self, quality: f64, spread: f64) -> f64 {
        let mark = quality + (self.chance.unit() + self.chance.unit() - 1.0) * spread;
        (mark.clamp(0.0, 1.0) * 100.0).round() / 100.0
    }
}
