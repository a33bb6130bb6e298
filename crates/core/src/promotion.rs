//! Promotion: a version of an agent reaches production with six criteria met, a person's approval,
//! and a way back.
//!
//! The state machine is pure. The caller that stores a promotion applies an action to it, and carries out
//! the effects that the action returns in the same transaction.

/// Agent versions: what is promoted.
pub mod agent_version;
/// Who may do what, per agent.
pub mod policy;
/// What a promotion rests on.
pub mod evidence;
/// The six criteria and what is missing.
pub mod criteria;
/// The state machine.
pub mod state;
/// What each action does.
mod transitions;
/// Redaction of what people and programs say in an action.
mod redaction;
/// Results of tool tests, from JUnit XML.
pub mod junit;
/// Agent runtimes of AgentCore, by the operator's file.
pub mod runtime;
/// Production before and after a promotion.
pub mod watch;
/// Two versions of a prompt, with users assigned at random.
pub mod ab_test;

#[cfg(test)]
mod histories;

/// Timestamps in documents, as nanoseconds: evidence is compared exactly.
pub mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::Timestamp;

    /// # Errors
    /// Fails only when the serializer does.
    pub fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.nanos())
    }

    /// # Errors
    /// Fails if it is not a whole number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_nanos)
    }
}
