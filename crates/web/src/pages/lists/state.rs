use std::time::Duration;

use ratchet_core::judge::rubric::OVERALL;
use ratchet_store::query::{Detail, Direction, TimeRange};

use super::change::list_link;
use super::column::ListColumn;
use crate::filter::{Filter, ListKind, Parsed};
use crate::page_error::PageResult;
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;
use ratchet_store::project::ProjectId;

pub(super) const ROWS: u64 = 50;
/// Prefix of score columns in the URL.
pub(super) const SCORE: &str = "score:";
/// Scores that a list shows at most.
const MAX_SCORES: usize = 20;

/// List state from the URL.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListState {
    pub(super) on: ListKind,
    /// The filter as it was typed.
    pub(super) typed: String,
    /// The filter as it is understood.
    pub(super) parsed: Parsed,
    /// What is shown, the name first.
    pub(super) columns: Vec<ListColumn>,
    /// The names of the scores that are shown behind.
    pub(super) scores: Vec<String>,
    /// Ordered by what, and which way.
    pub(super) sort: (ListColumn, Direction),
    pub(super) cursor: Option<String>,
    /// The bookmarked sessions, of a list of sessions.
    bookmarked: Vec<String>,
}

impl ListState {
    /// Reads the address and what a list of sessions needs besides.
    pub(super) async fn load(web: &Web, ctx: &RequestContext, on: ListKind) -> PageResult<Self> {
        let bookmarked = match on {
            ListKind::Traces | ListKind::Observations => Vec::new(),
            ListKind::Sessions => web.store.catalog.bookmarked_sessions(ctx.project_id()).await?,
        };
        Ok(Self { bookmarked, ..Self::read(on, &ctx.params) })
    }

    /// Reads the address. What makes no sense there is passed over.
    pub(super) fn read(on: ListKind, params: &Params) -> Self {
        let typed = params.get("q").unwrap_or_default().to_owned();
        let mut columns: Vec<ListColumn> = vec![ListColumn::first(on)];
        let asked = params.all("col").filter_map(|word| ListColumn::parse(on, word));
        for column in asked {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let says_columns = params.all("col").next().is_some();
        let mut scores: Vec<String> = Vec::new();
        for name in params.all("col").filter_map(|word| word.strip_prefix(SCORE)) {
            if !name.is_empty()
                && scores.len() < MAX_SCORES
                && !scores.iter().any(|known| known == name)
            {
                scores.push(name.to_owned());
            }
        }
        Self {
            on,
            parsed: Filter::parse(on, &typed),
            typed,
            columns: if says_columns { columns } else { ListColumn::defaults(on) },
            scores: if says_columns { scores } else { default_scores(on) },
            sort: params.get("sort").and_then(|word| sort(on, word)).unwrap_or(NEWEST),
            cursor: params.get("cursor").map(str::to_owned),
            bookmarked: Vec::new(),
        }
    }

    /// The store query of the list.
    pub(super) fn ask(&self, ctx: &RequestContext) -> ListQuery {
        let needs_content = self.columns.iter().any(|column| column.is_content());
        let (column, direction) = self.sort;
        ListQuery {
            project: ctx.project_id(),
            range: ctx.range(),
            environment: ctx.scope.environment.clone(),
            agent: ctx.scope.agent.clone(),
            filter: self.parsed.filter.clone(),
            bookmarked: self.bookmarked.clone(),
            order: (column, direction),
            cursor: self.cursor.clone(),
            limit: ROWS,
            detail: if needs_content { Detail::Content } else { Detail::Row },
            time: ctx.query_timeout,
        }
    }

    /// The same list, the newest first.
    pub(super) fn newest_first(self) -> Self {
        Self { sort: NEWEST, cursor: None, ..self }
    }

    /// Whether the newest rows come first, so that newer ones can come on top.
    pub(super) fn is_newest_first(&self) -> bool {
        self.sort == NEWEST
    }

    /// The same list with another filter.
    pub(super) fn with_filter(ctx: &RequestContext, on: ListKind, filter: &Filter) -> Link {
        let here = here(ctx, on);
        if filter.terms.is_empty() {
            return here.without("q");
        }
        here.with("q", filter.to_string())
    }
}

/// Names of the scores that a list shows by default.
fn default_scores(on: ListKind) -> Vec<String> {
    match on {
        ListKind::Traces | ListKind::Observations => Vec::new(),
        ListKind::Sessions => vec![OVERALL.to_owned()],
    }
}

/// The newest first.
pub(super) const NEWEST: (ListColumn, Direction) = (ListColumn::TIME, Direction::Descending);

/// Link to the first page of this list, without one-time parameters; also from what is served with
/// it.
pub(super) fn here(ctx: &RequestContext, on: ListKind) -> Link {
    let list = list_link(ctx, on);
    let said = ctx.params.pairs().filter(|(name, _)| !IN_PASSING.contains(name));
    said.fold(list, |link, (name, value)| link.and(name, value))
}

/// One-time and paging parameters.
const IN_PASSING: [&str; 7] =
    ["cursor", "done", "after", "format", "peek", "observation", "timestamp"];

/// The word for an order in the address: `cost_usd`, or `-cost_usd` for the greatest first.
pub(super) fn sort_word((column, direction): (ListColumn, Direction)) -> String {
    let minus = match direction {
        Direction::Ascending => "",
        Direction::Descending => "-",
    };
    format!("{minus}{}", column.word())
}

fn sort(on: ListKind, word: &str) -> Option<(ListColumn, Direction)> {
    let (word, direction) = match word.strip_prefix('-') {
        Some(word) => (word, Direction::Descending),
        None => (word, Direction::Ascending),
    };
    let column = ListColumn::parse(on, word).filter(|column| column.is_sortable(on))?;
    Some((column, direction))
}

/// Store query of a list.
#[derive(Clone, Debug)]
pub(in crate::pages) struct ListQuery {
    pub(super) project: ProjectId,
    pub(super) range: TimeRange,
    /// Only in this environment.
    pub(super) environment: Option<String>,
    /// Only by this agent.
    pub(super) agent: Option<String>,
    pub(super) filter: Filter,
    /// The bookmarked sessions, of a list of sessions.
    pub(super) bookmarked: Vec<String>,
    pub(super) order: (ListColumn, Direction),
    pub(super) cursor: Option<String>,
    /// Rows at most.
    pub(super) limit: u64,
    pub(super) detail: Detail,
    pub(super) time: Duration,
}

impl ListQuery {
    /// Whether anything but the time narrows it.
    pub(super) fn is_narrowed(&self) -> bool {
        self.environment.is_some() || self.agent.is_some() || !self.filter.terms.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::RecordField;

    #[track_caller]
    fn check(query: &str, columns: &[ListColumn], sort: (ListColumn, Direction)) {
        let state = ListState::read(ListKind::Traces, &Params::read(query));
        assert_eq!((state.columns.as_slice(), state.sort), (columns, sort), "{query}");
    }

    #[test]
    fn the_address_says_what_is_shown_and_how() {
        let [cost, name, tags] =
            [RecordField::Cost, RecordField::Name, RecordField::Tags].map(ListColumn);
        let usual = ListColumn::defaults(ListKind::Traces);
        check("", &usual, NEWEST);
        check("sort=-cost_usd", &usual, (cost, Direction::Descending));
        check(
            "col=tags&col=tags&col=cost_usd&sort=name",
            &[name, tags, cost],
            (name, Direction::Ascending),
        );
    }

    #[test]
    fn scores_are_columns_too() {
        let query = "col=name&col=score:quality&col=score:a:b&col=score:quality&col=score:";
        let state = ListState::read(ListKind::Traces, &Params::read(query));
        assert_eq!(state.columns, [ListColumn::first(ListKind::Traces)]);
        assert_eq!(state.scores, ["quality", "a:b"]);
    }

    #[test]
    fn nonsense_in_the_address_is_passed_over() {
        let usual = ListColumn::defaults(ListKind::Traces);
        check("sort=-colour", &usual, NEWEST);
        check("sort=tags", &usual, NEWEST);
        check("col=colour&col=model", &[ListColumn::first(ListKind::Traces)], NEWEST);
    }

    #[test]
    fn an_order_survives_the_address() {
        for on in [ListKind::Traces, ListKind::Observations, ListKind::Sessions] {
            for column in ListColumn::of(on).filter(|column| column.is_sortable(on)) {
                for direction in [Direction::Ascending, Direction::Descending] {
                    let word = sort_word((column, direction));
                    assert_eq!(super::sort(on, &word), Some((column, direction)));
                }
            }
        }
    }
}
