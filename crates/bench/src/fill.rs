//! Fills a folder with millions of observations, directly through the store.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ratchet_core::time::Timestamp;
use ratchet_server::clock::Clock;
use ratchet_stages::record;

use crate::child::folder_bytes;
use crate::split::{Preparer, open};
use crate::stream::Stream;
use crate::template::{Pool, TRACE_LEN};

/// Age of the oldest observation.
const DAYS: i64 = 30;
const DAY_NANOS: i64 = 86_400 * 1_000_000_000;
/// Spans per batch: whole traces.
const BATCH: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Filled {
    /// A sample of its traces, for reads.
    pub(crate) traces: Vec<[u8; 16]>,
    pub(crate) rows: u64,
    /// Bytes on disk.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

/// Fills a new folder with that many observations, spread evenly over the last thirty days and
/// arriving in order.
///
/// # Errors
/// Fails if the folder cannot be written.
pub(crate) async fn fill(data: &Path, pool: Arc<Pool>, rows: u64) -> anyhow::Result<Filled> {
    let began = Instant::now();
    let folder = open(data)?;
    let mut preparer = Preparer::new(folder.clone())?;
    let mut stream = Stream::new(pool, rows);
    let batches = i64::try_from(rows)? / i64::try_from(BATCH)?;
    let end = Clock::System.now();
    let mut writing = None;
    for nth in 0..batches {
        let at = moment(end, nth, batches);
        let body = stream.body(BATCH, at);
        let prepared = preparer.prepare(&body, at)?;
        // One batch is written while the next is prepared.
        let (telemetry, catalog) = (folder.telemetry.clone(), folder.catalog.clone());
        let next = tokio::task::JoinSet::from_iter([async move {
            record::commit(&telemetry, &catalog, prepared).await
        }]);
        if let Some(last) = writing.replace(next) {
            finish(last).await?;
        }
        if nth % 500 == 499 {
            eprintln!("  {} of {rows} observations", (nth + 1) * i64::try_from(BATCH)?);
        }
    }
    if let Some(last) = writing {
        finish(last).await?;
    }
    folder.close().await?;
    Ok(Filled {
        traces: stream.finished().to_vec(),
        rows: stream.begun() * u64::try_from(TRACE_LEN)?,
        bytes: folder_bytes(data)?,
        seconds: began.elapsed().as_secs_f64(),
    })
}

async fn finish(
    mut writing: tokio::task::JoinSet<Result<(), ratchet_store::StoreError>>,
) -> anyhow::Result<()> {
    while let Some(ended) = writing.join_next().await {
        ended??;
    }
    Ok(())
}

fn moment(end: Timestamp, nth: i64, of: i64) -> Timestamp {
    let age = DAYS * (DAY_NANOS / of.max(1)) * (of - nth);
    end.plus_nanos(-age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_fill_thirty_days() {
        let end = Timestamp::from_millis(100 * 86_400_000);
        assert_eq!(moment(end, 0, 10).millis(), 70 * 86_400_000);
        assert!(moment(end, 9, 10) < end);
    }
}
