use sha2::{Digest, Sha256};

use crate::id::{IdError, ObservationId, SessionId, TraceId};

/// The number of digits of an item's position in the id of its trial, so that ids sort by position.
const POSITION_DIGITS: usize = 8;
/// Bytes of a trace id in the W3C Trace Context.
const TRACE_BYTES: usize = 16;
/// Bytes of a span id in the W3C Trace Context.
const SPAN_BYTES: usize = 8;

/// Returns the id of a trial within its run. Ids of a run sort in the order of the trials: all items
/// once, then all items a second time.
pub fn trial_id(run: &str, repeat: u32, position: usize) -> String {
    format!("{run}/{repeat:03}/{position:0POSITION_DIGITS$}")
}

/// Returns the half-open range of the ids of a run's trials.
pub fn trial_ids(run: &str) -> (String, String) {
    // '0' follows '/'.
    (format!("{run}/"), format!("{run}0"))
}

/// The trace of one call of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTrace {
    pub trace: TraceId,
    /// The root of the trace, below which the target's own spans are.
    pub root: ObservationId,
    /// The session id that targets with sessions get: a new one for each call of an experiment,
    /// the same one for all turns of a chat.
    pub session: String,
}

impl CallTrace {
    /// Returns the trace of a call. Every call has its own, so that spans of a call that failed are
    /// not taken for those of its retry.
    ///
    /// # Errors
    /// Fails only if the digest is all zeros, which is no id.
    pub fn of(trial: &str, lease: u64, call: u32) -> Result<Self, IdError> {
        let own = Self::digested(&format!("ratchet-trial\n{trial}\n{lease}\n{call}"))?;
        Ok(Self { session: own.trace.to_string(), ..own })
    }

    /// Returns the trace of a turn of a chat, which began at a time in nanoseconds.
    ///
    /// # Errors
    /// Fails only if the digest is all zeros, which is no id.
    pub fn of_turn(chat: &str, turn: u64, started_nanos: i64) -> Result<Self, IdError> {
        let own = Self::digested(&format!("ratchet-turn\n{chat}\n{turn}\n{started_nanos}"))?;
        Ok(Self { session: chat.to_owned(), ..own })
    }

    fn digested(words: &str) -> Result<Self, IdError> {
        let digest = Sha256::digest(words);
        let (trace, rest) = digest.split_at(TRACE_BYTES);
        let root = rest.get(..SPAN_BYTES).unwrap_or_default();
        let (trace, root) = (TraceId::from_otel(trace)?, ObservationId::from_otel(root)?);
        Ok(Self { trace, root, session: String::new() })
    }

    /// Returns the id of the observation of a call that the target reports.
    ///
    /// # Errors
    /// Fails only if the digest is all zeros, which is no id.
    pub fn step(&self, call: &str) -> Result<ObservationId, IdError> {
        let digest = Sha256::digest(format!("ratchet-step\n{}\n{call}", self.trace));
        ObservationId::from_otel(digest.get(..SPAN_BYTES).unwrap_or_default())
    }

    /// Returns the sessions that a target can name its traces by: that which it was given, also as
    /// agents of AgentCore get it.
    pub fn sessions(&self) -> Vec<SessionId> {
        let given = [self.session.clone(), self.agentcore_session()];
        given.iter().filter_map(|session| SessionId::parse(session).ok()).collect()
    }

    /// Returns the session as AgentCore wants it, with at least 33 characters.
    pub fn agentcore_session(&self) -> String {
        format!("ratchet-{}", self.session)
    }

    /// Returns the `traceparent` header that makes spans of a target join the trace.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.root)
    }
}

/// Returns the key under which an answer is cached: the same version of a target answered the same
/// input in the same repeat.
pub fn cache_key(target_version: &str, input: &str, repeat: u32) -> String {
    let words = serde_json::json!([target_version, input, repeat]);
    let digest = Sha256::digest(words.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_repeat_and_position() {
        let ids = [trial_id("r", 1, 2), trial_id("r", 1, 10), trial_id("r", 2, 0)];
        assert!(ids.is_sorted());
        let (from, to) = trial_ids("r");
        assert!(ids.iter().all(|id| *id >= from && *id < to));
        assert!(trial_id("r0", 1, 1) >= to);
    }

    #[test]
    fn each_call_has_its_own_trace() {
        let first = CallTrace::of("r/001/00000001", 1, 1).unwrap();
        assert_eq!(first, CallTrace::of("r/001/00000001", 1, 1).unwrap());
        assert_ne!(first.trace, CallTrace::of("r/001/00000001", 1, 2).unwrap().trace);
        assert_eq!(first.session, first.trace.to_string(), "trials share no session");
        let turns = [1, 2].map(|turn| CallTrace::of_turn("c", turn, 5).unwrap());
        assert_ne!(turns[0].trace, turns[1].trace);
        assert_eq!(turns.map(|turn| turn.session), ["c", "c"]);
        let parent = first.traceparent();
        assert_eq!(parent.len(), 55);
        assert!(parent.starts_with("00-") && parent.ends_with("-01"), "{parent}");
    }
}
