//! SQL functions for columns with a custom encoding.

use ratchet_core::money::Money;
use ratchet_core::quality::synthesis::{JudgeVersion, SUPERSEDED_BY, is_superseded};
use ratchet_core::record::usage::Cost;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::observation_row::{decode_cost, has_counted_usage};
use super::score_row::metadata_of;
use super::stamps::Stamps;

/// Registers the functions `input_cost(costs)` and `output_cost(costs)`, in picodollars, NULL if
/// unknown; `is_counted(stamps)`, whether the usage of an observation was counted here;
/// `fold(text)`, lower case in any script; and of scores `judge_of(metadata)`, who judged in words,
/// and `is_superseded(metadata)`.
pub(super) fn register_functions(db: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("input_cost", 1, flags, |context| side(context, Cost::input))?;
    db.create_scalar_function("output_cost", 1, flags, |context| side(context, Cost::output))?;
    db.create_scalar_function("is_counted", 1, flags, |context| {
        Ok(has_counted_usage(&Stamps::decode(context.get_raw(0).as_blob()?)))
    })?;
    db.create_scalar_function("fold", 1, flags, |context| {
        Ok(context.get_raw(0).as_str_or_null()?.map(str::to_lowercase))
    })?;
    db.create_scalar_function("judge_of", 1, flags, |context| {
        let metadata = context.get_raw(0).as_blob_or_null()?;
        let judge = JudgeVersion::of_metadata(&metadata_of(naming(metadata, "judge")));
        Ok((!judge.judge.is_empty()).then(|| judge.exact_words()))
    })?;
    db.create_scalar_function("is_superseded", 1, flags, |context| {
        let metadata = context.get_raw(0).as_blob_or_null()?;
        Ok(is_superseded(&metadata_of(naming(metadata, SUPERSEDED_BY))))
    })
}

/// Metadata that may have a key: most scores have not, and are not parsed.
fn naming<'a>(metadata: Option<&'a [u8]>, key: &str) -> Option<&'a [u8]> {
    metadata.filter(|bytes| bytes.windows(key.len()).any(|part| part == key.as_bytes()))
}

fn side(context: &Context<'_>, of: fn(&Cost) -> Option<Money>) -> rusqlite::Result<Option<i64>> {
    let costs = context.get_raw(0).as_blob_or_null()?;
    Ok(costs.and_then(|bytes| of(&decode_cost(Some(bytes), Money::ZERO))).map(Money::pico))
}
