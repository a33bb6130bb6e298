//! Cost and length of other sessions of the same agent.
//!
//! The peers of a session depend on recorded data alone: every run
//! compares it with the same ones. They ended before it did, so that those
//! that come later change nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratchet_core::id::SessionId;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::notations::Notations;
use ratchet_core::judge::offline::{Peers, Size};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, TimeWindow, TraceRefFilter};
use tokio::sync::Mutex;

use super::evidence;
use crate::source::{Source, SourceResult};

const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
/// So many days before a session's end its peers may have ended.
const DAYS: i64 = 14;
/// A session is held against so many.
const MOST: usize = 12;
/// So many sessions are looked at for them: some are of other agents.
const LOOKED_AT: usize = 36;

/// What a run knows of the sessions around those it scores. Each is read once.
#[derive(Debug, Default)]
pub(super) struct PeerCache(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    /// Traces of a day, latest first.
    days: HashMap<i64, Arc<[(Timestamp, SessionId)]>>,
    sessions: HashMap<SessionId, Entry>,
}

/// What is known of a session.
#[derive(Clone, Debug)]
struct Entry {
    agent: Option<String>,
    last_at: Timestamp,
    size: Size,
}

impl PeerCache {
    /// The peers of a session: the last sessions of the same agent that ended before it.
    ///
    /// One cache is for one judge: it counts calls by that judge's notations.
    pub(super) async fn of(
        &self,
        (source, notations): (&Source, &Notations),
        evidence: &Evidence,
    ) -> SourceResult<Peers> {
        let mut book = self.0.lock().await;
        let own = Entry::of(evidence, notations);
        book.sessions.insert(evidence.session.clone(), own.clone());
        let mut met = HashSet::from([evidence.session.clone()]);
        let mut peers = Vec::new();
        let today = own.last_at.nanos().div_euclid(DAY);
        for day in (today - DAYS..=today).rev() {
            let day = book.day(source, day).await?;
            for (_, session) in day.iter().filter(|(at, _)| *at < own.last_at) {
                if !met.insert(session.clone()) {
                    continue;
                }
                let other = book.session((source, notations), session).await?;
                if other.last_at < own.last_at && other.agent == own.agent {
                    peers.push(other.size);
                }
                if peers.len() == MOST || met.len() > LOOKED_AT {
                    return Ok(Peers::new(peers));
                }
            }
        }
        Ok(Peers::new(peers))
    }
}

impl Book {
    async fn day(
        &mut self,
        source: &Source,
        day: i64,
    ) -> SourceResult<Arc<[(Timestamp, SessionId)]>> {
        if let Some(known) = self.days.get(&day) {
            return Ok(Arc::clone(known));
        }
        let (from, to) = (day.saturating_mul(DAY), day.saturating_add(1).saturating_mul(DAY));
        let [from, to] = [from, to].map(|nanos| Some(Timestamp::from_nanos(nanos)));
        let asked =
            TraceRefFilter { between: TimeWindow { from, to }, ..TraceRefFilter::default() };
        let mut trace_refs = Vec::new();
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let slice = source.trace_refs(&asked, &at).await?;
            let rows = slice.rows.into_iter();
            trace_refs.extend(
                rows.filter_map(|trace_ref| Some((trace_ref.timestamp, trace_ref.session?))),
            );
            next = slice.next;
        }
        trace_refs.sort_by(|(one, its), (other, another)| other.cmp(one).then(its.cmp(another)));
        let trace_refs: Arc<[_]> = trace_refs.into();
        self.days.insert(day, Arc::clone(&trace_refs));
        Ok(trace_refs)
    }

    async fn session(
        &mut self,
        (source, notations): (&Source, &Notations),
        session: &SessionId,
    ) -> SourceResult<Entry> {
        if let Some(known) = self.sessions.get(session) {
            return Ok(known.clone());
        }
        let entry = Entry::of(&evidence::evidence(source, session).await?, notations);
        self.sessions.insert(session.clone(), entry.clone());
        Ok(entry)
    }
}

impl Entry {
    fn of(evidence: &Evidence, notations: &Notations) -> Self {
        let last = evidence.traces.last();
        Self {
            agent: evidence.traces.first().and_then(|first| first.trace.agent.clone()),
            last_at: last.map(|last| last.trace.timestamp).unwrap_or_default(),
            size: Size::of_with(evidence, notations),
        }
    }
}
