use std::time::Instant;

use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Content;
use rusqlite::{Connection, params_from_iter};

use super::observations::{read, select, with_content};
use crate::embedded::cursor;
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::query::{TextHits, TextQuery};
use crate::{StoreError, StoreResult};

/// Full-text search, newest first, until the budget or the limit is used up.
pub(in crate::embedded) fn search(
    db: &Connection,
    query: &TextQuery,
) -> StoreResult<TextHits<Observation>> {
    let mut hits =
        TextHits { rows: Vec::new(), cursor: None, searched_back_to: None, rows_read: 0 };
    let project = project_number(db, &query.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(hits) };
    let mut filter = Where::default();
    filter.and("o.project = ?", [project.into()]);
    filter.within("o.start", query.range);
    if let Some(cursor) = &query.cursor {
        filter.and("(o.start, o.trace, o.id) < (?, ?, ?)", cursor::decode::<3>(cursor)?);
    }
    let order = "ORDER BY o.start DESC, o.trace DESC, o.id DESC";
    let sql = format!("{} {} {order}", select(), filter.sql());
    let needle = query.text.to_lowercase();
    let started = Instant::now();
    let mut look = || -> rusqlite::Result<()> {
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
        let mut blocks = Blocks::new(db);
        while let Some(row) = rows.next()? {
            let keys = [row.get(3)?, row.get(0)?, row.get(1)?];
            let observation = with_content(&mut blocks, read(row)?)?;
            hits.rows_read += 1;
            hits.searched_back_to = Some(observation.start);
            if contains(&observation, &needle) {
                hits.rows.push(observation);
            }
            let is_full = hits.rows.len() as u64 >= query.limit;
            if is_full || started.elapsed() >= query.budget {
                hits.cursor = Some(cursor::encode(&keys));
                break;
            }
        }
        Ok(())
    };
    look().map_err(StoreError::database)?;
    Ok(hits)
}

fn contains(observation: &Observation, needle: &str) -> bool {
    let content = observation.content.as_ref();
    let texts = [observation.name.as_deref(), observation.status_message.as_deref()];
    let names = texts.into_iter().flatten();
    names
        .chain(content.into_iter().flat_map(texts_of))
        .any(|text| text.len() >= needle.len() && text.to_lowercase().contains(needle))
}

fn texts_of(content: &Content) -> impl Iterator<Item = &str> {
    let payloads = [content.input.as_ref(), content.output.as_ref()].into_iter().flatten();
    let metadata = content.metadata.iter().flat_map(|(key, json)| [key.as_str(), json.as_str()]);
    payloads.map(ratchet_core::payload::Payload::as_str).chain(metadata)
}
