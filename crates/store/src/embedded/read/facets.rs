//! Counts the values of columns among the newest matching records.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params_from_iter};

use super::narrow::JoinOrder;
use crate::agent_aliases::{AgentColumn, AgentNames, own_name};
use crate::embedded::filter::{FacetForm, Kind, Where, observation_kind, session, trace_kind};
use crate::embedded::load::project_number;
use crate::facets::{FacetQuery, Facets};
use crate::query::{ObservationColumn, SessionColumn, TraceColumn};
use crate::{StoreError, StoreResult};

pub(in crate::embedded) fn traces(
    db: &Connection,
    query: &FacetQuery<TraceColumn>,
    agents: &AgentNames,
) -> StoreResult<Facets> {
    let mut tests = Where::default();
    tests.traces(&query.of.conditions)?;
    let kinds = query.columns.iter().map(|column| trace_kind(*column)).collect();
    let source = Source { from: "FROM trace t", project: "t.project", time: "t.timestamp" };
    count(db, query, (tests, kinds), (&source, agents))
}

pub(in crate::embedded) fn observations(
    db: &Connection,
    query: &FacetQuery<ObservationColumn>,
    agents: &AgentNames,
) -> StoreResult<Facets> {
    let mut tests = Where::default();
    tests.observations(&query.of.conditions)?;
    let kinds = query.columns.iter().map(|column| observation_kind(*column)).collect();
    let from = JoinOrder::ByObservation.from();
    let source = Source { from, project: "o.project", time: "o.start" };
    count(db, query, (tests, kinds), (&source, agents))
}

pub(in crate::embedded) fn sessions(
    db: &Connection,
    query: &FacetQuery<SessionColumn>,
    agents: &AgentNames,
) -> StoreResult<Facets> {
    let mut tests = Where::default();
    tests.sessions(&query.of.conditions)?;
    let kinds = query.columns.iter().map(|column| session::kind(*column));
    let kinds = kinds.collect::<StoreResult<Vec<Kind>>>()?;
    let source = Source { from: "FROM session s", project: "s.project", time: "s.created_at" };
    count(db, query, (tests, kinds), (&source, agents))
}

struct Source {
    from: &'static str,
    project: &'static str,
    time: &'static str,
}

fn count<C: AgentColumn>(
    db: &Connection,
    query: &FacetQuery<C>,
    (tests, kinds): (Where, Vec<Kind>),
    (source, agents): (&Source, &AgentNames),
) -> StoreResult<Facets> {
    let bad = |why: &str| StoreError::BadQuery(why.to_owned());
    if !tests.content.is_empty() {
        return Err(bad("conditions on input, output or metadata cannot be counted; use search"));
    }
    let columns = kinds.into_iter().map(Kind::facet).collect::<Option<Vec<_>>>();
    let columns = columns.ok_or_else(|| bad("only columns of texts have values to count"))?;
    let mut facets = Facets { values: vec![BTreeMap::new(); columns.len()], ..Facets::default() };
    let project = project_number(db, &query.of.project).map_err(StoreError::database)?;
    let Some(project) = project else { return Ok(facets) };
    let mut filter = Where::default();
    filter.and(format!("{} = ?", source.project), [project.into()]);
    filter.within(source.time, query.of.range);
    filter.clauses.extend(tests.clauses);
    filter.params.extend(tests.params);
    let select: Vec<&str> = columns.iter().map(|(sql, _)| sql.as_str()).collect();
    let limit = query.of.at_most;
    let sql = format!(
        "SELECT {} {} {} ORDER BY {} DESC LIMIT {}",
        select.join(", "),
        source.from,
        filter.sql(),
        source.time,
        limit.saturating_add(1)
    );
    let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
    let params = params_from_iter(filter.params.iter());
    let mut rows = statement.query(params).map_err(StoreError::database)?;
    while let Some(row) = rows.next().map_err(StoreError::database)? {
        facets.is_cut = facets.counted >= limit;
        if facets.is_cut {
            break;
        }
        facets.counted += 1;
        for (at, ((_, form), counts)) in columns.iter().zip(&mut facets.values).enumerate() {
            let text: Option<String> = row.get(at).map_err(StoreError::database)?;
            let is_agent = query.columns.get(at).is_some_and(AgentColumn::is_agent);
            let mut words = words(text, *form);
            if is_agent && !agents.is_empty() {
                words = words.into_iter().map(|word| own_name(agents, word)).collect();
            }
            for word in words {
                *counts.entry(word).or_default() += 1;
            }
        }
    }
    Ok(facets)
}

/// The values of one record, each once.
fn words(text: Option<String>, form: FacetForm) -> BTreeSet<String> {
    let Some(text) = text else { return BTreeSet::new() };
    match form {
        FacetForm::One => BTreeSet::from([text]),
        FacetForm::Many => {
            let words: Vec<Option<String>> = serde_json::from_str(&text).unwrap_or_default();
            words.into_iter().flatten().collect()
        }
    }
}
