//! Top errors and cost by model, with links to the lists.

use maud::{Markup, html};
use ratchet_store::aggregate::{AggregateDimension, Group, Step};

use crate::components::figure;
use crate::components::table::{Column, Row, Table, table};
use crate::filter::{Pattern, RecordField, Term, TermCondition};
use crate::frame::Section;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::sums::{self, float, natural};
use crate::web::Web;

const LINES: usize = 5;

/// Observations with the most errors; empty without errors.
pub(super) async fn failures(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let groups =
        sums::groups(web, ctx, ctx.range(), Step::Whole, &[AggregateDimension::Name]).await?;
    let all = sums::list_without(&sums::left_out(web, ctx, ctx.range()).await?);
    let failed = greatest(groups, |group| float(group.sums.errors));
    let columns = vec![
        Column::text("Observation"),
        Column::number("Errors"),
        Column::number("Total"),
        Column::number("Error rate"),
    ];
    let row = |(name, group): &(String, Group)| {
        let mut filter = all.clone();
        filter.terms.push(exactly(RecordField::Name, name));
        filter.terms.push(exactly(RecordField::Level, "error"));
        let share = float(group.sums.errors) / float(group.sums.count).max(1.0);
        Row {
            id: name.clone(),
            link: Some(Section::Observations.link(ctx).with("q", filter.to_string())),
            cells: vec![
                html! { bdi { (name) } },
                html! { (figure::grouped(natural(group.sums.errors))) },
                html! { (figure::grouped(natural(group.sums.count))) },
                html! { (figure::percent(share)) },
            ],
            failed: false,
        }
    };
    Ok(section("Top errors", columns, failed.iter().map(row).collect()))
}

/// Models with the highest cost; empty without known costs.
pub(super) async fn spending(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let groups =
        sums::groups(web, ctx, ctx.range(), Step::Whole, &[AggregateDimension::Model]).await?;
    let all = sums::list_without(&sums::left_out(web, ctx, ctx.range()).await?);
    let dear = greatest(groups, |group| group.sums.cost.dollars());
    let columns = vec![
        Column::text("Model"),
        Column::number("Calls"),
        Column::number("Tokens"),
        Column::number("Cost"),
    ];
    let row = |(name, group): &(String, Group)| {
        let mut filter = all.clone();
        filter.terms.push(exactly(RecordField::Model, name));
        Row {
            id: name.clone(),
            link: Some(Section::Observations.link(ctx).with("q", filter.to_string())),
            cells: vec![
                html! { bdi { (name) } },
                html! { (figure::grouped(natural(group.sums.count))) },
                figure::tokens_in_part(
                    natural(group.sums.total_tokens),
                    group.sums.approximate_cost,
                ),
                figure::cost_in_part(Some(group.sums.cost), group.sums.approximate_cost),
            ],
            failed: false,
        }
    };
    Ok(section("Cost by model", columns, dear.iter().map(row).collect()))
}

fn section(title: &str, columns: Vec<Column>, rows: Vec<Row>) -> Markup {
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (title) }
                (table(&Table { caption: title.to_owned(), columns, rows, select_for: None }))
            }
        }
    }
}

fn exactly(field: RecordField, word: &str) -> Term {
    Term {
        negated: false,
        what: TermCondition::Word(field, Pattern::Exactly(vec![word.to_owned()])),
    }
}

/// Named groups in descending order of a value.
fn greatest(groups: Vec<Group>, of: impl Fn(&Group) -> f64) -> Vec<(String, Group)> {
    let mut named: Vec<(String, Group)> = groups
        .into_iter()
        .filter(|group| of(group) > 0.0)
        .filter_map(|group| Some((group.key.first().cloned().flatten()?, group)))
        .collect();
    named.sort_by(|(_, one), (_, other)| of(other).total_cmp(&of(one)));
    named.truncate(LINES);
    named
}
