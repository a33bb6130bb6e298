use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Payload;
use ratchet_core::record::field::{Field, Stamp};
use ratchet_core::record::merge::{Earliest, Latest, Merge as _, Metadata};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch, PromptLink};
use ratchet_core::record::usage::{Cost, TOTAL, Usage};

use super::{INITIAL_STAMP, Patch, at, json, restamped, updating, word};

/// An empty patch of an observation, even without a trace.
pub fn observation(id: &str) -> ObservationBuilder {
    let patch = ObservationPatch::new(ObservationId::parse(id).unwrap(), None);
    ObservationBuilder { patch, stamp: INITIAL_STAMP }
}

/// An observation of type span.
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

/// A builder for a patch of an observation.
#[derive(Clone, Debug)]
#[must_use]
pub struct ObservationBuilder {
    patch: ObservationPatch,
    stamp: Stamp,
}

impl ObservationBuilder {
    /// Stamps the following fields with this time.
    pub fn said_at(mut self, millis: i64) -> Self {
        self.stamp = restamped(self.stamp, millis);
        self
    }

    /// Stamps the following fields as an update.
    pub fn as_update(mut self) -> Self {
        self.stamp = updating(self.stamp);
        self
    }

    /// Sets the trace.
    pub fn of(mut self, trace: &str) -> Self {
        self.patch.trace = Some(TraceId::parse(trace).unwrap());
        self
    }

    /// Sets the parent.
    pub fn under(mut self, parent: &str) -> Self {
        self.patch.parent = Field::new(ObservationId::parse(parent).unwrap(), self.stamp);
        self
    }

    /// Marks it as the application's root.
    pub fn as_app_root(mut self) -> Self {
        self.patch.app_root = true;
        self
    }

    pub fn kind(mut self, kind: ObservationKind) -> Self {
        self.patch.kind = Field::new(kind, self.stamp);
        self
    }

    pub fn named(mut self, name: &str) -> Self {
        self.patch.name = Field::new(name.to_owned(), self.stamp);
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

    /// Sets start and end.
    pub fn lasting(self, from: i64, to: i64) -> Self {
        self.beginning(from).ending(to)
    }

    /// Sets the time of the first token.
    pub fn first_token(mut self, millis: i64) -> Self {
        self.patch.completion_start = Field::new(at(millis), self.stamp);
        self
    }

    pub fn level(mut self, level: Level) -> Self {
        self.patch.level = Field::new(level, self.stamp);
        self
    }

    /// Sets the status message.
    pub fn because(mut self, message: &str) -> Self {
        self.patch.status_message = Field::new(message.to_owned(), self.stamp);
        self
    }

    /// Sets the version of the code.
    pub fn version(mut self, version: &str) -> Self {
        self.patch.version = Field::new(version.to_owned(), self.stamp);
        self
    }

    pub fn in_environment(mut self, name: &str) -> Self {
        self.patch.environment = Field::new(Environment::normalise(name), self.stamp);
        self
    }

    /// Sets the agent.
    pub fn agent(mut self, agent: &str) -> Self {
        self.patch.agent = Field::new(agent.to_owned(), self.stamp);
        self
    }

    /// Sets the model.
    pub fn calling(mut self, model: &str) -> Self {
        self.patch.model = Field::new(model.to_owned(), self.stamp);
        self
    }

    /// Sets the model's parameters, a JSON object.
    pub fn parameters(mut self, parameters: &str) -> Self {
        self.patch.model_parameters = Field::new(json(parameters), self.stamp);
        self
    }

    /// Sets input and output tokens.
    pub fn tokens(self, input: u64, output: u64) -> Self {
        self.using(&[("input", input), ("output", output)])
    }

    /// Sets the usage by kind.
    pub fn using(mut self, kinds: &[(&str, u64)]) -> Self {
        let kinds = kinds.iter().map(|(kind, units)| ((*kind).to_owned(), *units)).collect();
        self.patch.usage = Field::new(Usage::new(kinds), self.stamp);
        self
    }

    /// Sets the total cost in dollars.
    pub fn costing(mut self, dollars: f64) -> Self {
        let total = Money::from_dollars(dollars).unwrap();
        let cost = Cost::new([(TOTAL.to_owned(), total)].into());
        self.patch.cost = Field::new(cost, self.stamp);
        self
    }

    /// Clears the client's cost.
    pub fn without_cost(mut self) -> Self {
        self.patch.cost = Field::cleared(self.stamp);
        self
    }

    /// Sets the prompt version.
    pub fn prompted_by(mut self, name: &str, version: u32) -> Self {
        self.patch.prompt = Field::new(PromptLink { name: name.to_owned(), version }, self.stamp);
        self
    }

    pub fn input(mut self, input: Payload) -> Self {
        self.patch.input = Field::new(input, self.stamp);
        self
    }

    pub fn output(mut self, output: Payload) -> Self {
        self.patch.output = Field::new(output, self.stamp);
        self
    }

    pub fn without_output(mut self) -> Self {
        self.patch.output = Field::cleared(self.stamp);
        self
    }

    /// Sets a metadata key to a JSON text; `null` removes it.
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
