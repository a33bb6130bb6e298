use std::collections::BTreeSet;

use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Level;
use ratchet_core::record::trace::Trace;
use ratchet_store::StoreError;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, PageNumber, Paging,
    ScoreColumn, ScoreQuery, ScoresOn, SessionQuery, TallyQuery, Test, TextTest, TimeRange,
    TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::telemetry::Telemetry;
use ratchet_store::trace_stream::{ObservationCursor, ScoreCursor};

use super::Behaviour;
use crate::ask;
use crate::build::{BatchBuilder, at, batch, generation, project, score, span, text, trace};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("numbered pages add up to the whole", |s| Box::pin(numbered_pages(s))),
    ("a page beyond the end is empty", |s| Box::pin(beyond_the_end(s))),
    ("pages follow every order", |s| Box::pin(every_order(s))),
    ("cursors visit every trace once", |s| Box::pin(trace_cursors(s))),
    ("cursors visit every observation, session and score once", |s| Box::pin(other_cursors(s))),
    ("rows that arrive meanwhile neither hide nor repeat others", |s| Box::pin(arrivals(s))),
    ("the newest records are counted, and no more", |s| Box::pin(counts_of_the_newest(s))),
    ("walks give what lists give, once and in order", |s| Box::pin(walks(s))),
    ("a range includes its start and excludes its end", |s| Box::pin(ranges(s))),
    ("a malformed cursor is rejected", |s| Box::pin(foreign_cursors(s))),
];

const ORDERS: [TraceOrder; 12] = [
    TraceOrder::Timestamp,
    TraceOrder::Id,
    TraceOrder::Name,
    TraceOrder::User,
    TraceOrder::Session,
    TraceOrder::Release,
    TraceOrder::Version,
    TraceOrder::Public,
    TraceOrder::Bookmarked,
    TraceOrder::Latency,
    TraceOrder::Cost,
    TraceOrder::TotalTokens,
];

const DIRECTIONS: [Direction; 2] = [Direction::Ascending, Direction::Descending];

/// Twenty-three traces: some share a timestamp, a name or a user, and some have none.
fn story(project: &ProjectId) -> BatchBuilder {
    let mut recorded = batch(project);
    for n in 0..23 {
        let id = format!("t{n:02}");
        let mut about = trace(&id).beginning(n / 3 * 1_000).public(n % 2 == 0);
        if n % 4 != 0 {
            about = about.named(["a", "b", "B"][usize::try_from(n).unwrap() % 3]).version("1");
        }
        if n % 3 != 0 {
            about = about.for_user("ann").in_session(&format!("s{}", n % 5)).release("r");
        }
        recorded = recorded.with(about.bookmarked(n % 5 == 0));
        if n % 5 != 0 {
            let cost = f64::from(u8::try_from(n).unwrap() % 4);
            let call = generation(&format!("g{n:02}")).of(&id).lasting(n * 10, n * 20);
            recorded = recorded.with(call.tokens(n.unsigned_abs() % 6, 1).costing(cost));
        }
        recorded = recorded
            .with(score(&format!("q{n:02}")).on("q").of_trace(&id).number(1.0).given(n / 4));
    }
    recorded
}

fn page(page: u64, limit: u64) -> Paging {
    Paging::Numbered(PageNumber { page, limit })
}

fn after(cursor: Option<String>, limit: u64) -> Paging {
    Paging::After { cursor, limit }
}

fn unique(ids: &[String]) -> BTreeSet<&String> {
    let unique: BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "a row came twice: {ids:?}");
    unique
}

async fn numbered_pages(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    let whole = ask::traces(&store, &shop).await;
    let mut joined = Vec::new();
    for number in 1..=5 {
        let query = TraceQuery { paging: page(number, 5), ..ask::all_traces(&shop) };
        let answer = store.traces(query).await.unwrap();
        assert_eq!((answer.total, answer.cursor), (Some(23), None));
        joined.extend(answer.rows);
    }
    assert_eq!(joined, whole);
}

async fn beyond_the_end(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    for paging in [page(6, 5), page(u64::MAX, 10_000), page(u64::MAX, 1), page(2, 23)] {
        let answer = store.traces(TraceQuery { paging, ..ask::all_traces(&shop) }).await.unwrap();
        assert_eq!((answer.rows.len(), answer.total), (0, Some(23)));
    }
    let empty = store.traces(ask::all_traces(&project("nobody"))).await.unwrap();
    assert_eq!((empty.rows.len(), empty.total), (0, Some(0)));
}

/// Follows cursors to the end and returns all rows.
async fn all_pages(store: &Telemetry, query: &TraceQuery, limit: u64) -> Vec<Trace> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let query = TraceQuery { paging: after(cursor, limit), ..query.clone() };
        let answer = store.traces(query).await.unwrap();
        assert!(answer.rows.len() as u64 <= limit);
        rows.extend(answer.rows);
        assert!(rows.len() < 1_000, "the cursor never ends");
        cursor = answer.cursor;
        if cursor.is_none() {
            return rows;
        }
    }
}

fn ids(rows: &[Trace]) -> Vec<String> {
    rows.iter().map(|trace| trace.id.to_string()).collect()
}

async fn every_order(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    for order in ORDERS {
        for direction in DIRECTIONS {
            let query = TraceQuery { order: (order, direction), ..ask::all_traces(&shop) };
            let whole = store.traces(query.clone()).await.unwrap().rows;
            assert_eq!(whole.len(), 23, "{order:?} {direction:?}");
            check_sorted(&whole, order, direction);
            let mut joined = Vec::new();
            for number in 1..=6 {
                let query = TraceQuery { paging: page(number, 4), ..query.clone() };
                joined.extend(store.traces(query).await.unwrap().rows);
            }
            assert_eq!(ids(&joined), ids(&whole), "{order:?} {direction:?}");
        }
    }
}

async fn trace_cursors(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    for order in ORDERS {
        for direction in DIRECTIONS {
            let query = TraceQuery { order: (order, direction), ..ask::all_traces(&shop) };
            let whole = store.traces(query.clone()).await.unwrap().rows;
            for limit in [1, 4, 23, 100] {
                let joined = all_pages(&store, &query, limit).await;
                assert_eq!(ids(&joined), ids(&whole), "{order:?} {direction:?} by {limit}");
            }
        }
    }
}

/// A sort key: texts and numbers become texts that sort alike.
fn sort_key(trace: &Trace, order: TraceOrder) -> Option<String> {
    let number = |value: i64| format!("{value:020}");
    match order {
        TraceOrder::Timestamp => Some(number(trace.timestamp.nanos())),
        TraceOrder::Id => Some(trace.id.to_string()),
        TraceOrder::Name => trace.name.clone(),
        TraceOrder::User => trace.user.clone(),
        TraceOrder::Session => trace.session.as_ref().map(ToString::to_string),
        TraceOrder::Release => trace.release.clone(),
        TraceOrder::Version => trace.version.clone(),
        TraceOrder::Public => Some(number(i64::from(trace.public))),
        TraceOrder::Bookmarked => Some(number(i64::from(trace.bookmarked))),
        TraceOrder::Latency => trace.summary.latency().map(number),
        TraceOrder::Cost => trace.summary.cost.map(|cost| number(cost.pico())),
        TraceOrder::TotalTokens => Some(number(trace.summary.total_tokens.cast_signed())),
    }
}

/// Rows without a value are together, at either end; the others are in order.
#[track_caller]
fn check_sorted(rows: &[Trace], order: TraceOrder, direction: Direction) {
    let keys: Vec<_> = rows.iter().map(|trace| sort_key(trace, order)).collect();
    let is_missing = |key: &Option<String>| key.is_none();
    let missing = keys.iter().filter(|key| is_missing(key)).count();
    let together = keys
        .iter()
        .take_while(|key| is_missing(key))
        .count()
        .max(keys.iter().rev().take_while(|key| is_missing(key)).count());
    assert_eq!(missing, together, "rows without {order:?} are scattered: {keys:?}");
    let mut present: Vec<_> = keys.iter().flatten().collect();
    if direction == Direction::Descending {
        present.reverse();
    }
    assert!(present.is_sorted(), "not in order of {order:?}: {keys:?}");
}

async fn other_cursors(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    for direction in DIRECTIONS {
        let (mut ids, mut cursor, mut starts) = (Vec::new(), None, Vec::new());
        loop {
            let paging = after(cursor, 4);
            let query = ObservationQuery { direction, paging, ..ask::all_observations(&shop) };
            let answer = store.observations(query).await.unwrap();
            ids.extend(answer.rows.iter().map(|seen| seen.id.to_string()));
            starts.extend(answer.rows.iter().map(|seen| seen.start));
            cursor = answer.cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(unique(&ids).len(), 18);
        if direction == Direction::Descending {
            starts.reverse();
        }
        assert!(starts.is_sorted());
    }
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let query = SessionQuery { paging: after(cursor, 2), ..ask::all_sessions(&shop) };
        let answer = store.sessions(query).await.unwrap();
        ids.extend(answer.rows.iter().map(|session| session.id.to_string()));
        cursor = answer.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(unique(&ids).len(), 5);
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let query = ScoreQuery { paging: after(cursor, 3), ..ask::all_scores(&shop) };
        let answer = store.scores(query).await.unwrap();
        ids.extend(answer.rows.iter().map(|score| score.id.to_string()));
        cursor = answer.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(unique(&ids).len(), 23);
}

async fn arrivals(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    let (mut ids, mut cursor, mut round) = (Vec::new(), None, 0);
    loop {
        let query = TraceQuery { paging: after(cursor, 4), ..ask::all_traces(&shop) };
        let answer = store.traces(query).await.unwrap();
        ids.extend(answer.rows.iter().map(|trace| trace.id.to_string()));
        cursor = answer.cursor;
        if cursor.is_none() {
            break;
        }
        round += 1;
        let newer = trace(&format!("newer{round}")).beginning(1_000_000 + round);
        let older = trace(&format!("older{round}")).beginning(-round);
        let middle = trace(&format!("middle{round}")).beginning(2_000);
        let recorded = batch(&shop).with(newer).with(older).with(middle);
        store.record(recorded.build()).await.unwrap();
    }
    let seen = unique(&ids);
    let expected: Vec<String> = (0..23).map(|n| format!("t{n:02}")).collect();
    assert!(expected.iter().all(|id| seen.contains(id)), "a row was lost: {ids:?}");
}

async fn counts_of_the_newest(store: Telemetry) {
    let shop = project("shop");
    let mut recorded = story(&shop);
    for n in [1, 2, 3, 22] {
        let failed = span(&format!("f{n}")).of(&format!("t{n:02}")).beginning(n * 10);
        recorded = recorded.with(failed.level(Level::Error));
    }
    store.record(recorded.build()).await.unwrap();
    let all = TallyQuery {
        project: shop.clone(),
        range: TimeRange::default(),
        conditions: Vec::new(),
        at_most: 100,
    };
    let count = async |query: TallyQuery<TraceColumn>| {
        let found = store.matching_traces(query).await.unwrap();
        (found.looked_at, found.matching, found.failed)
    };
    assert_eq!(count(all.clone()).await, (23, 23, 4));
    assert_eq!(count(TallyQuery { at_most: 2, ..all.clone() }).await, (2, 2, 1));
    let of_ann = Test::Text(TextTest::Equals, "ann".to_owned());
    let of_ann = vec![Condition { column: TraceColumn::User, test: of_ann }];
    assert_eq!(count(TallyQuery { conditions: of_ann, ..all.clone() }).await, (23, 15, 3));
    let nowhere = TallyQuery { project: project("nobody"), ..all.clone() };
    assert_eq!(count(nowhere).await, (0, 0, 0));
    let content = Condition { column: TraceColumn::Input, test: Test::IsNull };
    let refused = store.matching_traces(TallyQuery { conditions: vec![content], ..all }).await;
    assert!(matches!(refused, Err(StoreError::BadQuery(_))));
    let scores = TallyQuery {
        project: shop.clone(),
        range: TimeRange::default(),
        conditions: Vec::<Condition<ScoreColumn>>::new(),
        at_most: 1,
    };
    let found = store.matching_scores(scores).await.unwrap();
    assert_eq!((found.looked_at, found.matching, found.failed), (1, 1, 0), "no more than told to");
    let steps = TallyQuery {
        project: shop,
        range: TimeRange { from: Some(at(20)), to: None },
        conditions: vec![Condition { column: ObservationColumn::Cost, test: Test::IsNull }],
        at_most: 100,
    };
    let steps = store.matching_observations(steps).await.unwrap();
    assert_eq!((steps.looked_at, steps.matching, steps.failed), (20, 3, 3));
}

/// Ids that are texts and ids that are bytes, starts that are the same and starts that are not, and
/// texts so long that a slice ends with one.
async fn walks(store: Telemetry) {
    let ours = project("ours");
    let mut recorded = batch(&ours).with(trace("t").beginning(0));
    for n in 0..2_500_i64 {
        let id = if n % 2 == 0 { format!("o{n}") } else { format!("{:016x}", n + 1) };
        let mut step = span(&id).of("t").lasting(n * 7 % 100, n * 7 % 100 + 1);
        if n % 500 == 0 {
            step = step.input(text(&"long ".repeat(500_000)));
        }
        recorded = recorded.with(step);
        recorded = recorded
            .with(score(&format!("q{n}")).on("good").of_trace("t").number(1.0).given(n % 9));
    }
    recorded = recorded.with(span("other").of("u").lasting(0, 1));
    recorded = recorded.with(score("other").on("good").of_trace("u").number(1.0).given(0));
    store.record(recorded.build()).await.unwrap();
    let id = TraceId::parse("t").unwrap();

    let mut next = Some(ObservationCursor::new(ours.clone(), id.clone(), Detail::Content));
    let (mut walked, mut slices) = (Vec::new(), 0);
    while let Some(walk) = next {
        let slice = store.observations_after(walk).await.unwrap();
        assert!(slice.rows.len() <= 1_000);
        walked.extend(slice.rows);
        next = slice.rest;
        slices += 1;
    }
    let query = ObservationQuery { trace: Some(id.clone()), ..ask::all_observations(&ours) };
    let listed = store.observations(query).await.unwrap().rows;
    assert_eq!(listed.len(), 2_500);
    assert!(walked == listed, "a walk through observations differs from their list");
    assert!(slices > 5, "{slices} slices are too few for texts that long");

    let mut next = Some(ScoreCursor::new(ours.clone(), id.clone()));
    let mut walked = Vec::new();
    while let Some(walk) = next {
        let slice = store.scores_after(walk).await.unwrap();
        walked.extend(slice.rows);
        next = slice.rest;
    }
    let query = ScoreQuery { on: ScoresOn::Trace(id.clone()), ..ask::all_scores(&ours) };
    let listed = store.scores(query).await.unwrap().rows;
    assert!(walked == listed, "a walk through scores differs from their list");

    let foreign = ObservationCursor::new(project("theirs"), id, Detail::Row);
    let slice = store.observations_after(foreign).await.unwrap();
    assert!(slice.rows.is_empty() && slice.rest.is_none());
}

async fn ranges(store: Telemetry) {
    let shop = project("shop");
    let recorded = [1_000, 2_000, 3_000].map(|t| {
        let id = format!("t{t}");
        batch(&shop)
            .with(trace(&id).beginning(t).in_session(&format!("s{t}")))
            .with(span(&format!("o{t}")).of(&id).lasting(t, t + 5))
            .with(score(&format!("q{t}")).on("q").of_trace(&id).number(0.0).given(t))
    });
    for batch in recorded {
        store.record(batch.build()).await.unwrap();
    }
    let range = TimeRange { from: Some(at(2_000)), to: Some(at(3_000)) };
    let traces = store.traces(TraceQuery { range, ..ask::all_traces(&shop) }).await.unwrap();
    assert_eq!(traces.rows.iter().map(|t| t.timestamp).collect::<Vec<_>>(), [at(2_000)]);
    assert_eq!(traces.total, Some(1));
    let query = ObservationQuery { range, ..ask::all_observations(&shop) };
    let observations = store.observations(query).await.unwrap().rows;
    assert_eq!(observations.iter().map(|o| o.start).collect::<Vec<_>>(), [at(2_000)]);
    let sessions =
        store.sessions(SessionQuery { range, ..ask::all_sessions(&shop) }).await.unwrap();
    assert_eq!(sessions.rows.iter().map(|s| s.created_at).collect::<Vec<_>>(), [at(2_000)]);
    let scores = store.scores(ScoreQuery { range, ..ask::all_scores(&shop) }).await.unwrap().rows;
    assert_eq!(scores.iter().map(|s| s.timestamp).collect::<Vec<_>>(), [at(2_000)]);
    let backward = TimeRange { from: Some(at(3_000)), to: Some(at(1_000)) };
    let none = store.traces(TraceQuery { range: backward, ..ask::all_traces(&shop) }).await;
    assert_eq!(none.unwrap().rows, []);
}

async fn foreign_cursors(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop).build()).await.unwrap();
    let of_trace = Some(TraceId::parse("t01").unwrap());
    for cursor in ["", "x", "0", "////", "e30=", "{}", "eyJhIjoxfQ", "日本", "a\0b"] {
        let paging = after(Some(cursor.to_owned()), 3);
        let traces = TraceQuery { paging: paging.clone(), ..ask::all_traces(&shop) };
        refused(&store.traces(traces).await.map(drop), cursor);
        let within = ObservationQuery { paging: paging.clone(), ..ask::all_observations(&shop) };
        refused(&store.observations(within.clone()).await.map(drop), cursor);
        let within = ObservationQuery { trace: of_trace.clone(), ..within };
        refused(&store.observations(within).await.map(drop), cursor);
        let sessions = SessionQuery { paging: paging.clone(), ..ask::all_sessions(&shop) };
        refused(&store.sessions(sessions).await.map(drop), cursor);
        let scores = ScoreQuery { paging: paging.clone(), ..ask::all_scores(&shop) };
        refused(&store.scores(scores).await.map(drop), cursor);
    }
}

#[track_caller]
fn refused(answer: &Result<(), StoreError>, cursor: &str) {
    assert!(matches!(answer, Err(StoreError::BadQuery(_))), "{cursor:?}: {answer:?}");
}
