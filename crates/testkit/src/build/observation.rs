use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Payload;
use ratchet_core::record::field::{Field, Stamp};
use ratchet_core::record::merge::{Earliest, Latest, Merge as _, Metadata};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch, PromptLink};
use ratchet_core::record::usage::{Cost, TOTAL, Usage};

use super::{FIRST_WORD, Patch, at, json, restamped, updating, word};

/// A patch of an observation that says nothing yet, not even its trace.
pub fn observation(id: &str) -> ObservationBuilder {
    let patch = ObservationPatch::new(ObservationId::parse(id).unwrap(), None);
    ObservationBuilder { patch, stamp: FIRST_WORD }
}

/// A step of no particular kind.
pub fn span(id: &str) -> ObservationBuilder {
    observation(id).kind(ObservationKind::Span)
}

pub fn generation(id: &str) -> ObservationBuilder {
    observation(id).kind(ObservationKind::Generation)
}

pub fn tool(id: &str) -> ObservationBuilder {
    observation(id).kind(ObservationKind::Tool)
}

pub fn event(id: &str) -> ObservationBuilder {
    observation(id).kind(ObservationKind::Event)
}

/// A patch of an observation in the making.
#[derive(Clone, Debug)]
#[must_use]
pub struct ObservationBuilder {
    patch: ObservationPatch,
    stamp: Stamp,
}

impl ObservationBuilder {
    /// Says the rest at this time.
    pub fn said_at(mut self, millis: i64) -> Self {
        self.stamp = restamped(self.stamp, millis);
        self
    }

    /// Says the rest as an update.
    pub fn as_update(mut self) -> Self {
        self.stamp = updating(self.stamp);
        self
    }

    /// Says which trace it is part of.
    pub fn of(mut self, trace: &str) -> Self {
        self.patch.trace = Some(TraceId::parse(trace).unwrap());
        self
    }

    /// Says which observation it is part of.
    pub fn under(mut self, parent: &str) -> Self {
        self.patch.parent = Field::said(ObservationId::parse(parent).unwrap(), self.stamp);
        self
    }

    /// Says that the application begins here.
    pub fn as_app_root(mut self) -> Self {
        self.patch.app_root = true;
        self
    }

    pub fn kind(mut self, kind: ObservationKind) -> Self {
        self.patch.kind = Field::said(kind, self.stamp);
        self
    }

    pub fn named(mut self, name: &str) -> Self {
        self.patch.name = Field::said(name.to_owned(), self.stamp);
        self
    }

    pub fn without_name(mut self) -> Self {
        self.patch.name = Field::cleared(self.stamp);
        self
    }

    pub fn beginning(mut self, millis: i64) -> Self {
        self.patch.start = Earliest(Some(at(millis)));
        self
    }

    pub fn ending(mut self, millis: i64) -> Self {
        self.patch.end = Latest(Some(at(millis)));
        self
    }

    /// Says when it began and ended.
    pub fn lasting(self, from: i64, to: i64) -> Self {
        self.beginning(from).ending(to)
    }

    /// Says when the first token came.
    pub fn first_token(mut self, millis: i64) -> Self {
        self.patch.completion_start = Field::said(at(millis), self.stamp);
        self
    }

    pub fn level(mut self, level: Level) -> Self {
        self.patch.level = Field::said(level, self.stamp);
        self
    }

    /// Says why it has its level.
    pub fn because(mut self, message: &str) -> Self {
        self.patch.status_message = Field::said(message.to_owned(), self.stamp);
        self
    }

    /// Says the version of the code that ran.
    pub fn version(mut self, version: &str) -> Self {
        self.patch.version = Field::said(version.to_owned(), self.stamp);
        self
    }

    pub fn in_environment(mut self, name: &str) -> Self {
        self.patch.environment = Field::said(Environment::normalise(name), self.stamp);
        self
    }

    /// Says which agent was at work.
    pub fn agent(mut self, agent: &str) -> Self {
        self.patch.agent = Field::said(agent.to_owned(), self.stamp);
        self
    }

    /// Says which model it called.
    pub fn calling(mut self, model: &str) -> Self {
        self.patch.model = Field::said(model.to_owned(), self.stamp);
        self
    }

    /// Says the model's parameters, a JSON object.
    pub fn parameters(mut self, parameters: &str) -> Self {
        self.patch.model_parameters = Field::said(json(parameters), self.stamp);
        self
    }

    /// Says how many tokens went in and came out.
    pub fn tokens(self, input: u64, output: u64) -> Self {
        self.using(&[("input", input), ("output", output)])
    }

    /// Says the units used, by kind.
    pub fn using(mut self, kinds: &[(&str, u64)]) -> Self {
        let kinds = kinds.iter().map(|(kind, units)| ((*kind).to_owned(), *units)).collect();
        self.patch.usage = Field::said(Usage::new(kinds), self.stamp);
        self
    }

    /// Says what it cost in all, in dollars.
    pub fn costing(mut self, dollars: f64) -> Self {
        let total = Money::from_dollars(dollars).unwrap();
        let cost = Cost::new([(TOTAL.to_owned(), total)].into());
        self.patch.cost = Field::said(cost, self.stamp);
        self
    }

    /// Clears what the client said it cost.
    pub fn without_cost(mut self) -> Self {
        self.patch.cost = Field::cleared(self.stamp);
        self
    }

    /// Says which prompt version it used.
    pub fn prompted_by(mut self, name: &str, version: u32) -> Self {
        self.patch.prompt = Field::said(PromptLink { name: name.to_owned(), version }, self.stamp);
        self
    }

    pub fn input(mut self, input: Payload) -> Self {
        self.patch.input = Field::said(input, self.stamp);
        self
    }

    pub fn output(mut self, output: Payload) -> Self {
        self.patch.output = Field::said(output, self.stamp);
        self
    }

    pub fn without_output(mut self) -> Self {
        self.patch.output = Field::cleared(self.stamp);
        self
    }

    /// Says a key of its metadata, a JSON text; `null` removes it.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        let said = Metadata::new([(key.to_owned(), word(value, self.stamp))]);
        self.patch.metadata = self.patch.metadata.merge(said);
        self
    }

    pub fn build(self) -> ObservationPatch {
        self.patch
    }
}

impl From<ObservationBuilder> for Patch {
    fn from(builder: ObservationBuilder) -> Self {
        builder.build().into()
    }
}
