//! A long session in pieces that a judge can read.
//!
//! All sizes are tokens with headroom: a count of which nobody is sure is taken for 15 % more. What
//! a plan bounds are the traces; instructions and what all pieces share come on top, and are small.

use std::ops::Range;

use crate::record::tokens::{Provenance, Tokens};

/// How many percent of an approximate count are planned for.
const APPROXIMATE_PERCENT: u64 = 115;

/// How large chunks are. Invariant: 0 < target ≤ plan line ≤ hard limit.
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
    /// Limits of one's own: a session of more than `plan_above` is split into chunks of about
    /// `target`, none over `hard`. `None` unless 0 < target ≤ `plan_above` ≤ hard.
    pub fn new(plan_above: u64, target: u64, hard: u64) -> Option<Self> {
        let is_ordered = 0 < target && target <= plan_above && plan_above <= hard;
        is_ordered.then_some(Self { plan_above, target, hard, ..Self::default() })
    }

    /// The same, with each chunk beginning with that many traces of the one before.
    #[must_use]
    pub const fn with_overlap(self, overlap: usize) -> Self {
        Self { overlap, ..self }
    }

    /// The most that a chunk may have.
    pub const fn hard(&self) -> u64 {
        self.hard
    }

    /// The most that the traces of the chunk before may take of a chunk: half of what it aims at,
    /// so that most of every chunk is new.
    const fn overlap_room(&self) -> u64 {
        self.target / 2
    }
}

/// A piece of a session: traces in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which traces, by their place in the list that was planned.
    pub traces: Range<usize>,
    /// How many of them, at the beginning, the chunk before has too.
    pub overlap: usize,
    /// Those that are too long even for a chunk of their own, and what must be left of them.
    pub elided: Vec<Elision>,
    /// All of them together, as far as they are left; without headroom.
    pub tokens: Tokens,
}

/// A trace that is too long for any chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elision {
    pub trace: usize,
    /// The most that may be left of it.
    pub to: Tokens,
}

impl Chunk {
    /// The traces that no chunk before it has.
    pub fn fresh(&self) -> Range<usize> {
        self.traces.start + self.overlap..self.traces.end
    }

    /// What must be left of a trace; `None` if all of it stays.
    pub fn elision(&self, trace: usize) -> Option<Tokens> {
        self.elided.iter().find(|elision| elision.trace == trace).map(|elision| elision.to)
    }
}

/// What a count is planned as: approximate ones get headroom.
pub fn planned(tokens: Tokens) -> u64 {
    match tokens.provenance {
        Provenance::Approximate => {
            let wide = u128::from(tokens.count) * u128::from(APPROXIMATE_PERCENT);
            u64::try_from(wide.div_ceil(100)).unwrap_or(u64::MAX)
        }
        Provenance::Verified | Provenance::Measured | Provenance::Computed => tokens.count,
    }
}

/// The greatest count of some provenance that is planned as no more than `room`.
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

/// Splits traces of these sizes into chunks, in order, each trace in at least one of them.
///
/// A session up to the plan line is one chunk. A chunk begins with the last traces of the one
/// before, fewer where they would take too much of it. A last chunk that adds less than half of
/// the one before is merged into it, or, where that would break the hard limit, the two share
/// evenly. A trace over the hard limit is cut to the target, which leaves room for its neighbours.
///
/// ```
/// use ratchet_core::judge::chunk::{self, ChunkLimits};
/// use ratchet_core::record::tokens::{Provenance, Tokens};
///
/// let sizes = [Tokens { count: 10_000, provenance: Provenance::Measured }; 20];
/// let chunks = chunk::plan(&sizes, &ChunkLimits::default());
/// let traces: Vec<_> = chunks.iter().map(|chunk| chunk.traces.clone()).collect();
/// // Three of 10,000 tokens are all that half of the target has room for.
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

/// A chunk in the making: traces `first..end`, those from `fresh` on in no chunk before.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: usize,
    fresh: usize,
    end: usize,
}

/// The sizes of all traces, and the sums over them.
struct Sizes<'a> {
    limits: &'a ChunkLimits,
    /// As far as they are left.
    left: Vec<Tokens>,
    elided: Vec<Elision>,
    /// What the traces before each are planned as, together.
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

    /// What some traces are planned as.
    fn of(&self, traces: Range<usize>) -> u64 {
        let at = |place: usize| self.before.get(place).copied().unwrap_or(u64::MAX);
        at(traces.end).saturating_sub(at(traces.start))
    }

    /// Where a chunk begins that follows another and whose first own trace is `fresh`.
    fn start(&self, before: Piece, fresh: usize) -> usize {
        let earliest = fresh.saturating_sub(self.limits.overlap).max(before.first);
        let fits = |first: &usize| {
            self.of(*first..fresh) <= self.limits.overlap_room()
                && self.of(*first..fresh + 1) <= self.limits.hard
        };
        (earliest..fresh).find(fits).unwrap_or(fresh)
    }

    /// Fills one chunk after the other up to the target.
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

    /// Merges a last chunk that adds little into the one before, or lets the two share evenly.
    fn settle_last(&self, pieces: &mut Vec<Piece>) {
        // Two that were merged may still be little beside the one before them.
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

    /// Splits what two chunks hold so that the larger of them is as small as can be.
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
        let sizes = self.left.get(traces.clone()).unwrap_or_default().iter().copied();
        let none = Tokens { count: 0, provenance: Provenance::Verified };
        let elided = self.elided.iter().filter(|elision| traces.contains(&elision.trace)).copied();
        Chunk {
            overlap: piece.fresh - piece.first,
            elided: elided.collect(),
            tokens: sizes.fold(none, |sum, size| sum + size),
            traces,
        }
    }
}

#[cfg(test)]
mod tests;
