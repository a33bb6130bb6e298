use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, TimeWindow, TraceRefFilter};

use super::sample::SampleRate;
use super::{Skip, attach};
use crate::source::{Source, SourceResult};

/// Which sessions are to be scored.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionFilter {
    /// Those that were at work in some time and pass a sieve.
    Active(SessionCriteria),
    /// Exactly these, however short and recent.
    These(Vec<SessionId>),
}

/// What sessions must be like.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionCriteria {
    /// Time range of the session's last trace.
    pub between: TimeWindow,
    /// Of so many traces at least, or else of so many observations: a long task may be one trace.
    pub min_traces: u64,
    pub min_observations: u64,
    /// Without a new trace for so many nanoseconds.
    pub idle_nanos: i64,
    pub agent: Option<String>,
    pub release: Option<String>,
    pub user: Option<String>,
    pub environment: Option<String>,
    pub tag: Option<String>,
    pub sample: Option<SampleRate>,
}

/// The observations that make a session of few traces long enough.
pub const MIN_OBSERVATIONS: u64 = 10;

/// How long a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLength {
    /// How many traces it has.
    pub traces: u64,
    /// How many observations; `None` before they are counted.
    pub observations: Option<u64>,
    /// When its last one began.
    pub last_at: Timestamp,
}

impl SessionFilter {
    /// Whether a session of that length is to be scored now, or why not. One whose observations are
    /// not counted may be long enough.
    ///
    /// # Errors
    /// Why not.
    pub fn is_fit(&self, length: &SessionLength, now: Timestamp) -> Result<(), Skip> {
        let SessionLength { traces, observations, last_at } = *length;
        let Self::Active(sieve) = self else { return Ok(()) };
        if now.since(last_at) < sieve.idle_nanos {
            return Err(Skip::GoingOn(last_at));
        }
        if !sieve.between.holds(last_at) {
            return Err(Skip::Later(last_at));
        }
        match observations {
            Some(observations)
                if traces < sieve.min_traces && observations < sieve.min_observations =>
            {
                let wanted = [sieve.min_traces, sieve.min_observations];
                Err(Skip::TooShort { has: [traces, observations], wanted })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// How likely a session was to be looked at, where that was left to chance.
    pub fn sampled(&self) -> Option<f64> {
        match self {
            Self::Active(sieve) => sieve.sample.map(SampleRate::rate),
            Self::These(_) => None,
        }
    }

    /// Whether a session is in the sample.
    pub(super) fn holds(&self, session: &SessionId) -> bool {
        match self {
            Self::Active(sieve) => sieve.sample.is_none_or(|sample| sample.holds(session)),
            Self::These(_) => true,
        }
    }
}

/// Finds the sessions with a trace in the time range, least recently active
/// first.
pub(super) async fn find(source: &Source, wanted: &SessionFilter) -> SourceResult<Vec<SessionId>> {
    let sieve = match wanted {
        SessionFilter::These(sessions) => return Ok(sessions.clone()),
        SessionFilter::Active(sieve) => sieve,
    };
    let asked = TraceRefFilter {
        between: sieve.between,
        session: None,
        agent: sieve.agent.clone(),
        release: sieve.release.clone(),
        user: sieve.user.clone(),
        environment: sieve.environment.clone(),
        tag: sieve.tag.clone(),
    };
    let mut last: BTreeMap<SessionId, Timestamp> = BTreeMap::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.trace_refs(&asked, &at).await?;
        for trace_ref in slice.rows {
            let Some(session) = trace_ref.session else { continue };
            let known = last.entry(session).or_insert(trace_ref.timestamp);
            *known = trace_ref.timestamp.max(*known);
        }
        next = slice.next;
    }
    let mut found: Vec<(Timestamp, SessionId)> =
        last.into_iter().map(|(id, at)| (at, id)).collect();
    found.sort();
    Ok(found.into_iter().map(|(_, session)| session).collect())
}

/// Adds the number of observations where the number of traces does not decide, from stored counts.
/// A server has none: there they are counted as they are read.
pub(super) async fn count_observations(
    source: &Source,
    session: &SessionId,
    wanted: &SessionFilter,
    length: SessionLength,
) -> SourceResult<SessionLength> {
    let is_decided = match wanted {
        SessionFilter::Active(sieve) => length.traces >= sieve.min_traces,
        SessionFilter::These(_) => true,
    };
    if is_decided {
        return Ok(length);
    }
    Ok(SessionLength { observations: source.observation_count(session).await?, ..length })
}

/// Says how long a session is; `None` if it is not there.
pub(crate) async fn span(
    source: &Source,
    session: &SessionId,
) -> SourceResult<Option<SessionLength>> {
    if let Source::Local(_, _) = source {
        let found = source.session(session).await?;
        return Ok(found.map(|found| SessionLength {
            traces: found.traces,
            observations: None,
            last_at: found.last_at,
        }));
    }
    // A server's own list would read every trace whole.
    let traces = attach::traces(source, session).await?;
    let last_at = traces.values().max().copied();
    let traces = traces.len() as u64;
    Ok(last_at.map(|last_at| SessionLength { traces, observations: None, last_at }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_nanos(minute * MINUTE)
    }

    #[track_caller]
    fn check(traces: u64, observations: Option<u64>, last_at: i64, expected: &Result<(), Skip>) {
        let wanted = SessionFilter::Active(SessionCriteria {
            between: TimeWindow { from: Some(minute(0)), to: Some(minute(960)) },
            min_traces: 3,
            min_observations: MIN_OBSERVATIONS,
            idle_nanos: 30 * MINUTE,
            agent: None,
            release: None,
            user: None,
            environment: None,
            tag: None,
            sample: None,
        });
        let length = SessionLength { traces, observations, last_at: minute(last_at) };
        assert_eq!(wanted.is_fit(&length, minute(1_000)), *expected);
        assert_eq!(SessionFilter::These(Vec::new()).is_fit(&length, minute(1_000)), Ok(()));
    }

    #[test]
    fn a_session_is_ready_once_it_is_long_enough_and_quiet() {
        let short = Skip::TooShort { has: [2, 9], wanted: [3, 10] };
        let why =
            "too short: 2 traces and 9 observations; at least 3 traces or 10 observations needed";
        assert_eq!(short.to_string(), why);
        check(3, Some(0), 959, &Ok(()));
        check(2, Some(9), 959, &Err(short));
        check(1, Some(10), 959, &Ok(()));
        check(2, None, 959, &Ok(()));
        check(3, None, 960, &Err(Skip::Later(minute(960))));
        check(3, None, 971, &Err(Skip::GoingOn(minute(971))));
        check(2, None, 1_001, &Err(Skip::GoingOn(minute(1_001))));
    }
}
