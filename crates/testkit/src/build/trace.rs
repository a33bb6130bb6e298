use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::field::{Authority, Field, Stamp};
use ratchet_core::record::merge::{Earliest, Merge as _, Metadata};
use ratchet_core::record::trace::TracePatch;

use super::{INITIAL_STAMP, Patch, at, restamped, spoken_by, updating, word};

/// An empty patch of a trace.
pub fn trace(id: &str) -> TraceBuilder {
    TraceBuilder { patch: TracePatch::new(TraceId::parse(id).unwrap()), stamp: INITIAL_STAMP }
}

/// A builder for a patch of a trace.
#[derive(Clone, Debug)]
#[must_use]
pub struct TraceBuilder {
    patch: TracePatch,
    stamp: Stamp,
}

impl TraceBuilder {
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

    /// Stamps the following fields with this authority.
    pub fn by(mut self, authority: Authority) -> Self {
        self.stamp = spoken_by(self.stamp, authority);
        self
    }

    pub fn beginning(mut self, millis: i64) -> Self {
        self.patch.timestamp = Earliest(Some(at(millis)));
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

    pub fn for_user(mut self, user: &str) -> Self {
        self.patch.user = Field::new(user.to_owned(), self.stamp);
        self
    }

    pub fn without_user(mut self) -> Self {
        self.patch.user = Field::cleared(self.stamp);
        self
    }

    pub fn in_session(mut self, session: &str) -> Self {
        self.patch.session = Field::new(SessionId::parse(session).unwrap(), self.stamp);
        self
    }

    pub fn without_session(mut self) -> Self {
        self.patch.session = Field::cleared(self.stamp);
        self
    }

    pub fn release(mut self, release: &str) -> Self {
        self.patch.release = Field::new(release.to_owned(), self.stamp);
        self
    }

    pub fn version(mut self, version: &str) -> Self {
        self.patch.version = Field::new(version.to_owned(), self.stamp);
        self
    }

    pub fn in_environment(mut self, name: &str) -> Self {
        self.patch.environment = Field::new(Environment::normalise(name), self.stamp);
        self
    }

    pub fn agent(mut self, agent: &str) -> Self {
        self.patch.agent = Field::new(agent.to_owned(), self.stamp);
        self
    }

    pub fn tagged(mut self, tag: &str) -> Self {
        self.patch.tags.insert(tag.to_owned());
        self
    }

    /// Sets whether it is public.
    pub fn public(mut self, is_public: bool) -> Self {
        self.patch.public = Field::new(is_public, self.stamp);
        self
    }

    /// Sets whether it is bookmarked.
    pub fn bookmarked(mut self, is_bookmarked: bool) -> Self {
        self.patch.bookmarked = Field::new(is_bookmarked, self.stamp);
        self
    }

    /// Sets a metadata key to a JSON text; `null` removes it.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        let said = Metadata::new([(key.to_owned(), word(value, self.stamp))]);
        self.patch.metadata = self.patch.metadata.merge(said);
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

    /// Sets the root observation.
    pub fn rooted_in(mut self, observation: &str) -> Self {
        self.patch.root = Field::new(ObservationId::parse(observation).unwrap(), self.stamp);
        self
    }

    pub fn build(self) -> TracePatch {
        self.patch
    }
}

impl From<TraceBuilder> for Patch {
    fn from(builder: TraceBuilder) -> Self {
        builder.build().into()
    }
}
