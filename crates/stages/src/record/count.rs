//! Counts the tokens of model calls that came without usage, soon after they were recorded. The
//! count is approximate, and is replaced by usage that the client sends later.

use ratchet_core::record::tokens::{Tokens, approximate_payload};
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;
use ratchet_store::token_count::{TokenCount, Uncounted};
use ratchet_store::{Store, StoreResult};

/// How long a call must have been still: clients often send usage a moment later.
const SETTLED_NANOS: i64 = 5_000_000_000;
/// Calls of one slice: a short transaction, so that recording never waits for long.
const SLICE: u32 = 32;
/// Calls that are given up at once, where nothing is to be counted.
const FORGOTTEN: u32 = 1_000;

/// What to do about model calls without usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// Count their tokens.
    #[default]
    On,
    /// Leave them without.
    Off,
}

/// Reads the next slice of calls to count; empty when all is done.
///
/// # Errors
/// Fails only when the database does.
pub async fn next(store: &Store, now: Timestamp) -> StoreResult<Vec<Uncounted>> {
    store.telemetry.uncounted(now.plus_nanos(-SETTLED_NANOS), SLICE).await
}

/// Drops some calls without usage; returns how many. Their texts are not read.
///
/// # Errors
/// On any error nothing has changed.
pub async fn forget(store: &Store, now: Timestamp) -> StoreResult<usize> {
    store.telemetry.drop_uncounted(now.plus_nanos(-SETTLED_NANOS), FORGOTTEN).await
}

/// Roughly how many bytes there are to count.
pub fn bytes(slice: &[Uncounted]) -> usize {
    let payloads = slice.iter().flat_map(|call| call.input.iter().chain(&call.output));
    payloads.map(|payload| payload.as_str().len()).sum()
}

/// Counts. Takes real CPU time: keep it off the async runtime.
pub fn count(slice: Vec<Uncounted>) -> Vec<TokenCount> {
    slice.into_iter().map(|of| TokenCount { usage: usage(&of), of }).collect()
}

/// Stores counts. They hold numbers and no text, so there is nothing to redact.
///
/// # Errors
/// On any error nothing has changed.
pub async fn write(store: &Store, counts: Vec<TokenCount>, now: Timestamp) -> StoreResult<()> {
    store.telemetry.write_counts(counts, now).await
}

fn usage(call: &Uncounted) -> Option<Usage> {
    let sides = [("input", &call.input), ("output", &call.output)];
    let counted = sides.into_iter().filter_map(|(kind, payload)| {
        let Tokens { count, provenance: _ } = approximate_payload(payload.as_ref()?);
        Some((kind.to_owned(), count))
    });
    Some(Usage::new(counted.collect())).filter(|usage| !usage.is_empty())
}
