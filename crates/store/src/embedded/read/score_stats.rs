use std::collections::BTreeSet;

use ratchet_core::id::{ObservationId, ScoreId, TraceId};
use ratchet_core::quality::synthesis::{JudgeVersion, is_superseded};
use ratchet_core::record::score::public::is_public;
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::embedded::column::{Column, column_value, to_i64, to_u64};
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::score_row;
use crate::score_stats::{
    MAX_COUNTED, Pair, PairQuery, Pairs, Sample, SampleQuery, ScoreScope, ScoreValueRow, Side,
};

/// Maximum number of score names in a result.
const MAX_NAMES: u32 = 500;
/// Minimum number of scores read per name, however many names share the limit.
const MIN_PER_NAME: u64 = 100;

/// The newest scores of each name, by name.
pub(in crate::embedded) fn samples(
    db: &Connection,
    query: &SampleQuery,
) -> rusqlite::Result<Vec<Sample>> {
    let Some(project) = project_number(db, &query.scope.project)? else { return Ok(Vec::new()) };
    let names = match &query.name {
        Some(name) => vec![name.clone()],
        None => names(db, project)?,
    };
    let share = (query.at_most / names.len().max(1) as u64).max(MIN_PER_NAME);
    let mut samples = Vec::with_capacity(names.len());
    for name in names {
        let sample = sample(db, &of_name(project, &query.scope, &name), name, share)?;
        if sample.total > 0 {
            samples.push(sample);
        }
    }
    Ok(samples)
}

/// All score names, each found by one index seek, whatever the number of scores.
fn names(db: &Connection, project: i64) -> rusqlite::Result<Vec<String>> {
    let sql = "WITH RECURSIVE found(name) AS ( \
                   SELECT (SELECT name FROM score INDEXED BY score_by_name \
                           WHERE project = ?1 AND no > 0 ORDER BY name LIMIT 1) \
                   UNION ALL \
                   SELECT (SELECT name FROM score INDEXED BY score_by_name \
                           WHERE project = ?1 AND no > 0 AND name > found.name \
                           ORDER BY name LIMIT 1) \
                   FROM found WHERE found.name IS NOT NULL) \
               SELECT name FROM found WHERE name IS NOT NULL LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params![project, MAX_NAMES], |row| row.get(0))?;
    rows.collect()
}

fn of_name(project: i64, scope: &ScoreScope, name: &str) -> Where {
    let mut filter = Where::default();
    filter.and("s.no > 0 AND s.project = ?", [project.into()]);
    filter.and("s.name = ?", [name.to_owned().into()]);
    filter.within("s.timestamp", scope.range);
    if !scope.environments.is_empty() {
        filter.any_environment("s.environment", &scope.environments);
    }
    filter
}

fn sample(db: &Connection, filter: &Where, name: String, most: u64) -> rusqlite::Result<Sample> {
    let (from, filter_sql) = ("FROM score s INDEXED BY score_by_name", filter.sql());
    let count = format!("SELECT count(*) FROM (SELECT 1 {from} {filter_sql} LIMIT {MAX_COUNTED})");
    let params = || params_from_iter(filter.params.iter());
    let total = db.prepare_cached(&count)?.query_row(params(), |row| row.get(0))?;
    let sql = format!(
        "SELECT s.data_type, s.number, s.text, s.source, s.timestamp, s.metadata, \
         s.id, s.author IS NOT NULL OR s.queue IS NOT NULL {from} {filter_sql} \
         ORDER BY s.timestamp DESC, s.no DESC LIMIT {}",
        to_i64(most),
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params(), |row| {
        let Some(value) = value(row)? else { return Ok(None) };
        let source: String = row.get(3)?;
        let source = ScoreSource::parse(&source).unwrap_or_default();
        let metadata = score_row::metadata_of(row.get_ref(5)?.as_blob_or_null()?);
        Ok(Some(ScoreValueRow {
            value,
            source,
            judge: JudgeVersion::of_metadata(&metadata),
            is_superseded: is_superseded(&metadata),
            names_a_person: row.get(7)? || is_public(&row.get::<_, Column<ScoreId>>(6)?.0),
            timestamp: row.get::<_, Column<_>>(4)?.0,
        }))
    })?;
    let judgements = rows.filter_map(Result::transpose).collect::<rusqlite::Result<_>>()?;
    Ok(Sample { name, total: to_u64(total), judgements })
}

fn value(row: &Row<'_>) -> rusqlite::Result<Option<ScoreValue>> {
    Ok(score_row::value_of(row.get_ref(0)?.as_str()?, row.get(1)?, row.get(2)?))
}

/// Paired values of two score names on the same traces.
pub(in crate::embedded) fn pairs(db: &Connection, query: &PairQuery) -> rusqlite::Result<Pairs> {
    let Some(project) = project_number(db, &query.scope.project)? else {
        return Ok(Pairs::default());
    };
    let mut filter = of_name(project, &query.scope, &query.left.name);
    filter.and("s.trace IS NOT NULL", []);
    if let Some(source) = query.left.source {
        filter.and("s.source = ?", [source.as_str().to_owned().into()]);
    }
    let sql = format!(
        "SELECT s.data_type, s.number, s.text, s.trace, s.observation \
         FROM score s INDEXED BY score_by_name {} ORDER BY s.timestamp DESC, s.no DESC LIMIT {}",
        filter.sql(),
        to_i64(query.at_most.saturating_add(1)),
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
    let (mut pairs, mut seen) = (Pairs::default(), BTreeSet::new());
    while let Some(row) = rows.next()? {
        if pairs.looked_at == query.at_most {
            pairs.is_cut = true;
            break;
        }
        pairs.looked_at += 1;
        let trace: TraceId = row.get::<_, Column<_>>(3)?.0;
        let observation: Option<ObservationId> = column_value(row.get(4)?);
        let Some(left) = value(row)? else { continue };
        if !seen.insert((trace.clone(), observation.clone())) {
            continue;
        }
        let right = other_side(db, project, &query.right, (&trace, observation.as_ref()))?;
        pairs.rows.extend(right.map(|right| Pair { trace, observation, left, right }));
    }
    Ok(pairs)
}

/// The other score of a trace: on the same observation if there is one, else the newest.
fn other_side(
    db: &Connection,
    project: i64,
    side: &Side,
    (trace, observation): (&TraceId, Option<&ObservationId>),
) -> rusqlite::Result<Option<ScoreValue>> {
    let sql = "SELECT s.data_type, s.number, s.text FROM score s INDEXED BY score_by_trace \
               WHERE s.project = ?1 AND s.trace = ?2 AND s.name = ?3 \
               AND (?4 IS NULL OR s.source = ?4) \
               ORDER BY s.observation IS ?5 DESC, s.timestamp DESC, s.no DESC LIMIT 1";
    let (source, observation) = (side.source.map(ScoreSource::as_str), observation.map(Column));
    let params = params![project, Column(trace), side.name, source, observation];
    let found = db.prepare_cached(sql)?.query_row(params, value).optional()?;
    Ok(found.flatten())
}
