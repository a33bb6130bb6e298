//! An endless stream of new traces, cut into request bodies.

use std::sync::Arc;

use ratchet_core::time::Timestamp;

use crate::template::{Fresh, Pool, TRACE_LEN};
use crate::text::SeededRng;

const SESSION_LEN: u64 = 3;
/// Duration of a span in nanoseconds, before random variation.
const SPAN_NANOS: u64 = 40_000_000;

/// What one client sends.
#[derive(Debug)]
pub(crate) struct Stream {
    pool: Arc<Pool>,
    rng: SeededRng,
    current: Current,
    begun: u64,
    finished: Vec<[u8; 16]>,
}

/// The current trace, and the position in it.
#[derive(Debug)]
struct Current {
    template: usize,
    trace: [u8; 16],
    session: [u8; 32],
    spans: [[u8; 8]; TRACE_LEN],
    next: usize,
    at: u64,
}

/// Number of finished traces in the sample for reads.
const REMEMBERED: usize = 4_096;

impl Stream {
    /// A different stream for each seed.
    pub(crate) fn new(pool: Arc<Pool>, seed: u64) -> Self {
        let current = Current {
            template: 0,
            trace: [0; 16],
            session: [b'0'; 32],
            spans: [[0; 8]; TRACE_LEN],
            next: TRACE_LEN,
            at: 0,
        };
        Self { pool, rng: SeededRng::new(seed), current, begun: 0, finished: Vec::new() }
    }

    /// A sample of completely sent traces; at most a few thousand.
    pub(crate) fn finished(&self) -> &[[u8; 16]] {
        &self.finished
    }

    /// Number of started traces.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// A request body with that many spans; new traces start at that time.
    pub(crate) fn body(&mut self, spans: usize, at: Timestamp) -> Vec<u8> {
        let at = u64::try_from(at.nanos()).unwrap_or(0);
        let pool = Arc::clone(&self.pool);
        let mut inner = Vec::with_capacity(spans * (2_200));
        inner.extend_from_slice(&pool.scope);
        for _ in 0..spans {
            self.advance(at);
            self.write(&pool, &mut inner);
        }
        let mut middle = Vec::with_capacity(inner.len() + 128);
        middle.extend_from_slice(&pool.resource);
        // Field 2 of ResourceSpans, then field 1 of the request, both with a length prefix.
        middle.push(0x12);
        varint(inner.len(), &mut middle);
        middle.append(&mut inner);
        let mut body = Vec::with_capacity(middle.len() + 16);
        body.push(0x0a);
        varint(middle.len(), &mut body);
        body.append(&mut middle);
        body
    }

    /// Advances to the next span, and to the next trace at the end of one.
    fn advance(&mut self, at: u64) {
        if self.current.next < TRACE_LEN {
            return;
        }
        let current = &mut self.current;
        if self.begun.is_multiple_of(SESSION_LEN) {
            let digits = format!("{:016x}{:016x}", self.rng.roll(), self.rng.roll());
            current.session.copy_from_slice(digits.as_bytes());
        }
        let (high, low) = (self.rng.roll().to_be_bytes(), self.rng.roll().to_be_bytes());
        let (front, back) = current.trace.split_at_mut(8);
        front.copy_from_slice(&high);
        back.copy_from_slice(&low);
        current.spans.iter_mut().for_each(|id| *id = self.rng.roll().to_be_bytes());
        current.template = self.rng.below(self.pool.traces.len());
        current.next = 0;
        current.at = at;
        self.begun += 1;
    }

    fn write(&mut self, pool: &Pool, inner: &mut Vec<u8>) {
        let current = &mut self.current;
        let nth = current.next;
        current.next += 1;
        let template = pool.traces.get(current.template).and_then(|trace| trace.get(nth));
        let (Some(template), Some(span)) = (template, current.spans.get(nth)) else { return };
        let step = u64::try_from(nth).unwrap_or(0);
        let parent = template.within.and_then(|within| current.spans.get(within));
        let start = current.at + step * SPAN_NANOS;
        let fresh = Fresh {
            trace: current.trace,
            span: *span,
            parent: parent.copied().unwrap_or_default(),
            session: current.session,
            start,
            end: start + SPAN_NANOS + self.rng.roll() % SPAN_NANOS,
        };
        // Field 2 of ScopeSpans.
        inner.push(0x12);
        varint(template.len(), inner);
        template.write(&fresh, inner);
        if nth + 1 == TRACE_LEN {
            self.remember();
        }
    }

    /// Reservoir sample of finished traces: each has the same chance to stay.
    fn remember(&mut self) {
        if self.finished.len() < REMEMBERED {
            self.finished.push(self.current.trace);
            return;
        }
        let count = usize::try_from(self.begun).unwrap_or(usize::MAX);
        let place = self.rng.below(count);
        if let Some(kept) = self.finished.get_mut(place) {
            *kept = self.current.trace;
        }
    }
}

/// Writes a length as a protobuf varint.
fn varint(length: usize, body: &mut Vec<u8>) {
    let mut rest = length;
    loop {
        let low = u8::try_from(rest & 0x7f).unwrap_or(0);
        rest >>= 7;
        if rest == 0 {
            body.push(low);
            return;
        }
        body.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::Span;
    use prost::Message as _;

    use super::*;

    fn spans(stream: &mut Stream, count: usize) -> Vec<Span> {
        let body = stream.body(count, Timestamp::from_millis(1_000));
        let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        let mut resource_spans = request.resource_spans;
        assert_eq!(resource_spans.len(), 1);
        assert!(resource_spans[0].resource.is_some());
        resource_spans.remove(0).scope_spans.remove(0).spans
    }

    fn stream() -> Stream {
        Stream::new(Arc::new(Pool::write(20, 1)), 7)
    }

    #[test]
    fn bodies_are_requests_with_new_ids() {
        let mut stream = stream();
        let all: Vec<Span> =
            [1, 10, 100].iter().flat_map(|count| spans(&mut stream, *count)).collect();
        let ids: BTreeSet<_> = all.iter().map(|span| span.span_id.clone()).collect();
        let traces: BTreeSet<_> = all.iter().map(|span| span.trace_id.clone()).collect();
        assert_eq!((ids.len(), traces.len()), (111, 12));
        assert_eq!((stream.begun(), stream.finished().len()), (12, 11));
    }

    #[test]
    fn parents_are_in_the_trace_and_times_in_order() {
        let mut stream = stream();
        let trace = spans(&mut stream, TRACE_LEN);
        assert!(trace[0].parent_span_id.is_empty());
        for span in &trace[1..] {
            assert!(trace.iter().any(|other| other.span_id == span.parent_span_id));
            assert!(span.start_time_unix_nano < span.end_time_unix_nano);
        }
    }

    #[test]
    fn spans_have_two_kilobytes_and_fifteen_attributes() {
        let bytes = Pool::write(50, 3).span_bytes();
        assert!((1_900..2_300).contains(&bytes), "{bytes} bytes");
    }

    #[test]
    fn sessions_are_shared_by_a_few_traces() {
        let mut stream = stream();
        let trace = spans(&mut stream, 6 * TRACE_LEN);
        let session = |span: &Span| {
            let found = span.attributes.iter().find(|a| a.key == "gen_ai.conversation.id");
            format!("{:?}", found.unwrap().value)
        };
        let sessions: BTreeSet<_> = trace.iter().map(session).collect();
        assert_eq!(sessions.len(), 2);
    }
}
