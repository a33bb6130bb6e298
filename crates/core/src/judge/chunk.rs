//! Chunking of a long session to fit the context window of a judge.
//!
//! All sizes are tokens with headroom: an approximate count is increased by 15 %. A plan limits the
//! traces; instructions and text shared by all chunks are added to that, and are small.

use std::ops::Range;

use crate::record::tokens::{Provenance, Tokens};

/// The percentage at which an approximate count is planned.
const APPROXIMATE_PERCENT: u64 = 115;

/// Chunk size limits in tokens. Invariant: 0 < target ≤ plan line ≤ hard limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimits {
    plan_above: u64,
    target: u64,
    hard: u64,
    overlap: usize,
}

impl Default for ChunkLimits {
    fn default() -> Self {
        Self { plan_above: 80_000, target: 70_000, hard: 100_000, overlap: 4 }
    }
}

impl ChunkLimits {
    /// Creates limits: a session of more than `plan_above` is split into chunks of about `target`,
    /// none over `hard`. `None` unless 0 < target ≤ `plan_above` ≤ hard.
    pub fn new(plan_above: u64, target: u64, hard: u64) -> Option<Self> {
        let is_ordered = 0 < target && target <= plan_above && plan_above <= hard;
        is_ordered.then_some(Self { plan_above, target, hard, ..Self::default() })
    }

    /// Sets the overlap: each chunk starts with this many traces of the previous one.
    #[must_use]
    pub const fn with_overlap(self, overlap: usize) -> Self {
        Self { overlap, ..self }
    }

    /// Returns the size above which a session is split.
    pub const fn plan_above(&self) -> u64 {
        self.plan_above
    }

    /// Returns the hard limit of a chunk.
    pub const fn hard(&self) -> u64 {
        self.hard
    }

    /// Returns the maximum size of the overlap: half of the target, so that most of every chunk is
    /// new.
    const fn overlap_room(&self) -> u64 {
        self.target / 2
    }
}

/// A chunk of a session: consecutive traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Indices into the planned list.
    pub traces: Range<usize>,
    /// The number of leading traces that the previous chunk has too.
    pub overlap: usize,
    /// Traces too long for any chunk, with their truncated size.
    pub elided: Vec<Elision>,
    /// Total size after truncation, without headroom.
    pub tokens: Tokens,
    /// The part of it that no earlier chunk has: the weight of the chunk in a mean.
    pub new_tokens: Tokens,
}

/// A trace that is truncated because no chunk can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elision {
    pub trace: usize,
    /// The maximum size after truncation.
    pub to: Tokens,
}

impl Chunk {
    /// Returns the traces that no earlier chunk has.
    pub fn fresh(&self) -> Range<usize> {
        self.traces.start + self.overlap..self.traces.end
    }

    /// Returns the truncated size of a trace; `None` if it is complete.
    pub fn elision(&self, trace: usize) -> Option<Tokens> {
        self.elided.iter().find(|elision| elision.trace == trace).map(|elision| elision.to)
    }
}

/// Returns the planned size of a count: approximate ones get headroom.
pub fn planned(tokens: Tokens) -> u64 {
    match tokens.provenance {
        Provenance::Approximate => {
            let wide = u128::from(tokens.count) * u128::from(APPROXIMATE_PERCENT);
            u64::try_from(wide.div_ceil(100)).unwrap_or(u64::MAX)
        }
        Provenance::Verified | Provenance::Measured | Provenance::Computed => tokens.count,
    }
}

/// Returns the greatest count of a provenance whose planned size is at most `room`.
pub fn fitting(room: u64, provenance: Provenance) -> Tokens {
    let count = match provenance {
        Provenance::Approximate => {
            let wide = u128::from(room) * 100 / u128::from(APPROXIMATE_PERCENT);
            u64::try_from(wide).unwrap_or(room)
        }
        Provenance::Verified | Provenance::Measured | Provenance::Computed => room,
    };
    Tokens { count, provenance }
}

/// Splits traces of these sizes into chunks, in order, each trace in at least one chunk.
///
/// A session up to the plan line is one chunk. A chunk starts with the last traces of the previous
/// one, fewer where they would take too much of it. A last chunk that adds less than half of the
/// previous one is merged into it, or, where that would exceed the hard limit, the two are
/// balanced. A trace over the hard limit is truncated to the target, which leaves room for its
/// neighbours.
///
/// ```
/// use ratchet_core::judge::chunk::{self, ChunkLimits};
/// use ratchet_core::record::tokens::{Provenance, Tokens};
///
/// let sizes = [Tokens { count: 10_000, provenance: Provenance::Measured }; 20];
/// let chunks = chunk::plan(&sizes, &ChunkLimits::default());
/// let traces: Vec<_> = chunks.iter().map(|chunk| chunk.traces.clone()).collect();
/// // Half of the target has room for three traces of 10,000 tokens.
/// assert_eq!(traces, [0..7, 4..11, 8..15, 12..20]);
/// ```
pub fn plan(sizes: &[Tokens], limits: &ChunkLimits) -> Vec<Chunk> {
    if sizes.is_empty() {
        return Vec::new();
    }
    let session = Sizes::new(sizes, limits);
    if session.of(0..sizes.len()) <= limits.plan_above {
        return vec![session.chunk(Piece { first: 0, fresh: 0, end: sizes.len() })];
    }
    let mut pieces = session.cut();
    session.settle_last(&mut pieces);
    pieces.into_iter().map(|piece| session.chunk(piece)).collect()
}

/// A chunk under construction: traces `first..end`, those from `fresh` on in no earlier chunk.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: usize,
    fresh: usize,
    end: usize,
}

/// The sizes of all traces, with prefix sums.
struct Sizes<'a> {
    limits: &'a ChunkLimits,
    /// After truncation.
    left: Vec<Tokens>,
    elided: Vec<Elision>,
    /// Prefix sums of the planned sizes.
    before: Vec<u64>,
}

impl<'a> Sizes<'a> {
    fn new(sizes: &[Tokens], limits: &'a ChunkLimits) -> Self {
        let mut left = sizes.to_vec();
        let mut elided = Vec::new();
        let mut before = vec![0];
        let mut sum = 0_u64;
        for (trace, size) in left.iter_mut().enumerate() {
            if planned(*size) > limits.hard {
                *size = fitting(limits.target, size.provenance);
                elided.push(Elision { trace, to: *size });
            }
            sum = sum.saturating_add(planned(*size));
            before.push(sum);
        }
        Self { limits, left, elided, before }
    }

    /// Returns the planned size of a range of traces.
    fn of(&self, traces: Range<usize>) -> u64 {
        let at = |place: usize| self.before.get(place).copied().unwrap_or(u64::MAX);
        at(traces.end).saturating_sub(at(traces.start))
    }

    /// Returns the first trace, overlap included, of a chunk whose first new trace is `fresh`.
    fn start(&self, before: Piece, fresh: usize) -> usize {
        let earliest = fresh.saturating_sub(self.limits.overlap).max(before.first);
        let fits = |first: &usize| {
            self.of(*first..fresh) <= self.limits.overlap_room()
                && self.of(*first..fresh + 1) <= self.limits.hard
        };
        (earliest..fresh).find(fits).unwrap_or(fresh)
    }

    /// Fills chunks greedily up to the target.
    fn cut(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut fresh = 0;
        while fresh < self.left.len() {
            let first = pieces.last().map_or(fresh, |before| self.start(*before, fresh));
            let mut end = fresh + 1;
            while end < self.left.len() && self.of(first..end + 1) <= self.limits.target {
                end += 1;
            }
            pieces.push(Piece { first, fresh, end });
            fresh = end;
        }
        pieces
    }

    /// Merges a small last chunk into the previous one, or balances the two.
    fn settle_last(&self, pieces: &mut Vec<Piece>) {
        // The merged chunk may still be small compared to the one before.
        while let Some([before, last]) = pieces.last_chunk().copied() {
            let adds_little = self.of(last.fresh..last.end) < self.of(before.first..before.end) / 2;
            if !adds_little {
                return;
            }
            pieces.truncate(pieces.len() - 2);
            if self.of(before.first..last.end) > self.limits.hard {
                pieces.extend(self.share(before, last.end));
                return;
            }
            pieces.push(Piece { end: last.end, ..before });
        }
    }

    /// Splits the traces of two chunks so that the larger one is minimal.
    fn share(&self, before: Piece, end: usize) -> [Piece; 2] {
        let split = |fresh: usize| {
            let one = Piece { end: fresh, ..before };
            [one, Piece { first: self.start(one, fresh), fresh, end }]
        };
        let larger = |pieces: &[Piece; 2]| {
            pieces.iter().map(|piece| self.of(piece.first..piece.end)).max().unwrap_or_default()
        };
        let splits = (before.fresh + 1..end).map(split);
        splits.min_by_key(larger).unwrap_or([before, Piece { first: end, fresh: end, end }])
    }

    fn chunk(&self, piece: Piece) -> Chunk {
        let traces = piece.first..piece.end;
        let none = Tokens { count: 0, provenance: Provenance::Verified };
        let sum = |traces: Range<usize>| {
            let sizes = self.left.get(traces).unwrap_or_default().iter().copied();
            sizes.fold(none, |sum, size| sum + size)
        };
        let elided = self.elided.iter().filter(|elision| traces.contains(&elision.trace)).copied();
        Chunk {
            overlap: piece.fresh - piece.first,
            elided: elided.collect(),
            tokens: sum(traces.clone()),
            new_tokens: sum(piece.fresh..piece.end),
            traces,
        }
    }
}

#[cfg(test)]
mod tests;
