use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ratchet_core::observation::Observation;
use ratchet_core::payload::Payload;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::query::TextQuery;
use ratchet_store::telemetry::Telemetry;

use super::row::ListedRow;
use super::state::Ask;

/// How long a page may look for a text.
const BUDGET: Duration = Duration::from_secs(2);
/// Observations that are taken up at a time.
const HITS: u64 = 200;

/// What a search found, and how far it came.
#[derive(Debug)]
pub(super) struct Searched<R> {
    /// The rows, newest first.
    pub(super) rows: Vec<R>,
    /// Where to go on; `None` when everything was searched.
    pub(super) cursor: Option<String>,
    /// The start of the oldest observation looked at.
    pub(super) back_to: Option<Timestamp>,
    /// How many observations were looked at.
    pub(super) steps: u64,
}

/// Searches for the texts of a filter, within a time; `None` if there is nothing to search for.
pub(super) async fn search<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &Ask,
) -> StoreResult<Option<Searched<R>>> {
    let texts: Vec<(String, bool)> =
        ask.filter.texts().map(|(text, wanted)| (text.to_lowercase(), wanted)).collect();
    let longest = texts.iter().filter(|(_, wanted)| *wanted).max_by_key(|(text, _)| text.len());
    let Some((text, _)) = longest else { return Ok(None) };
    let started = Instant::now();
    let mut seen = BTreeSet::new();
    let mut found =
        Searched { rows: Vec::new(), cursor: ask.cursor.clone(), back_to: None, steps: 0 };
    loop {
        let query = TextQuery {
            project: ask.project.clone(),
            range: ask.range,
            text: text.clone(),
            cursor: found.cursor.take(),
            limit: HITS,
            budget: BUDGET.saturating_sub(started.elapsed()),
        };
        let hits = telemetry.search(query).await?;
        found.steps += hits.rows_read;
        found.back_to = hits.searched_back_to.or(found.back_to);
        found.cursor = hits.cursor;
        let all_hold =
            |hit: &Observation| texts.iter().all(|(text, wanted)| contains(hit, text) == *wanted);
        let kept = hits.rows.into_iter().filter(all_hold).collect();
        let rows = R::found(telemetry, ask, kept).await?;
        found.rows.extend(rows.into_iter().filter(|row| seen.insert(row.facts().id)));
        let is_over = found.cursor.is_none() || started.elapsed() >= BUDGET;
        if is_over || found.rows.len() as u64 >= ask.limit {
            return Ok(Some(found));
        }
    }
}

/// Whether an observation holds a text, which is in lower case, anywhere.
fn contains(observation: &Observation, text: &str) -> bool {
    let content = observation.content.as_ref();
    let payloads = content.into_iter().flat_map(|content| [&content.input, &content.output]);
    let payloads = payloads.flatten().map(Payload::as_str);
    let metadata = content.into_iter().flat_map(|content| &content.metadata);
    let metadata = metadata.flat_map(|(key, json)| [key.as_str(), json.as_str()]);
    let names = [observation.name.as_deref(), observation.status_message.as_deref()];
    let mut all = names.into_iter().flatten().chain(payloads).chain(metadata);
    all.any(|there| there.to_lowercase().contains(text))
}
