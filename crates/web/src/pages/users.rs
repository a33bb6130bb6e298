//! Users: whom agents served, with what that took.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_store::StoreResult;
use ratchet_store::user::{ServedUser, UserOrder, UserQuery, UserScope, Users};

use super::lists::{CellValue, errors};
use super::table_export::{self, TableRows};
use crate::components::table::{self, Column, Order, Row, Sort, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const ROWS: u64 = 100;

const ORDERS: [(UserOrder, &str, &str); 5] = [
    (UserOrder::Traces, "traces", "Traces"),
    (UserOrder::Errors, "errors", "Errors"),
    (UserOrder::Tokens, "tokens", "Tokens"),
    (UserOrder::Cost, "cost", "Cost"),
    (UserOrder::LastSeen, "seen", "Last seen"),
];

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/users", get(show))
        .route("/project/{project}/list/users/export", get(export))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let word = ctx.params.get("order").unwrap_or_default();
    let order = ORDERS.into_iter().find(|(_, known, _)| *known == word);
    let order = order.map_or(UserOrder::default(), |(order, _, _)| order);
    let containing: String = ctx.params.get("q").unwrap_or_default().chars().take(200).collect();
    let question =
        UserQuery { scope: scope(&ctx), containing: containing.clone(), order, limit: ROWS };
    let users = web.store.telemetry.users(question).await?;
    let file = ctx.to(&["list", "users", "export"]);
    let file = if containing.is_empty() { file } else { file.with("q", containing.clone()) };
    let mut page = Page::new(Section::Users, "Users");
    page.summary = summary(&users, &ctx);
    page.action = table_export::export_menu(&file);
    page.body = if users.total == 0 && containing.is_empty() {
        nothing(&ctx)
    } else {
        html! {
            (search(&containing, &ctx))
            @if users.total == 0 { p { "No matching users in this time range" } }
            @else { (list(&users.rows, order, &ctx)) }
            @if users.total > ROWS {
                p.muted { "Showing the first " (ROWS) " of " (figure::grouped(users.total))
                    ". Sort or search to see others." }
            }
        }
    };
    Ok(page.show(&ctx))
}

/// Users of one file.
const EXPORTED: u64 = 10_000;

/// `GET …/list/users/export`: the users of the page's scope, those with the most traces first.
async fn export(State(web): State<Web>, ctx: RequestContext) -> PageResult<Response> {
    let question = UserQuery {
        scope: scope(&ctx),
        containing: ctx.params.get("q").unwrap_or_default().chars().take(200).collect(),
        order: UserOrder::Traces,
        limit: EXPORTED,
    };
    let users = web.store.telemetry.users(question).await?.rows;
    table_export::file(&ctx, "users", UserRows(Some(users)))
}

struct UserRows(Option<Vec<ServedUser>>);

impl TableRows for UserRows {
    const COLUMNS: &'static [&'static str] =
        &["user", "traces", "errors", "tokens", "cost_usd", "last_seen"];

    async fn next(&mut self) -> StoreResult<Option<Vec<Vec<CellValue>>>> {
        let cells = |ServedUser { id, sums }: ServedUser| {
            vec![
                CellValue::Text(Some(id)),
                CellValue::Whole(sums.traces),
                CellValue::Whole(sums.errors),
                CellValue::Whole(sums.total_tokens),
                CellValue::Number(sums.cost.map(Money::dollars)),
                CellValue::Time(sums.last_at),
            ]
        };
        Ok(self.0.take().map(|users| users.into_iter().map(cells).collect()))
    }
}

/// What is summed for the users of a place.
pub(super) fn scope(ctx: &RequestContext) -> UserScope {
    UserScope {
        project: ctx.project_id(),
        range: ctx.range(),
        environments: ctx.scope.environment.clone().into_iter().collect(),
    }
}

fn summary(users: &Users, ctx: &RequestContext) -> Markup {
    html! {
        (figure::counted(users.total, "user"))
        " " (ctx.scope.span.within()) ", daily data (UTC)."
    }
}

fn search(containing: &str, ctx: &RequestContext) -> Markup {
    let here = ctx.here().without("q");
    html! {
        form.search method="get" action=(here.path()) role="search" {
            @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
            label for="user-search" { "Name contains" }
            input #user-search type="search" name="q" value=(containing) maxlength="200";
            button.button { "Search" }
        }
    }
}

fn list(users: &[ServedUser], order: UserOrder, ctx: &RequestContext) -> Markup {
    let sorted = |(by, word, name): (UserOrder, &str, &str)| {
        let now = (by == order).then_some(Order::Descending);
        let link = ctx.here().with("order", word);
        Column::number(name).sorted_by(Sort { link, now })
    };
    let columns =
        std::iter::once(Column::text("User")).chain(ORDERS.into_iter().map(sorted)).collect();
    let rows = users.iter().map(|user| row(user, ctx)).collect();
    table::table(&Table { caption: "Users".to_owned(), columns, rows, select_for: None })
}

fn row(user: &ServedUser, ctx: &RequestContext) -> Row {
    let sums = &user.sums;
    Row {
        id: user.id.clone(),
        link: Some(ctx.to(&["users", &user.id])),
        cells: vec![
            html! { bdi title=(user.id) { (ratchet_core::record::limit::elide(&user.id, 120)) } },
            html! { (figure::grouped(sums.traces)) },
            errors(sums.errors),
            figure::tokens_in_part(sums.total_tokens, sums.approximate_cost),
            figure::cost_in_part(sums.cost, sums.approximate_cost),
            figure::ago(sums.last_at, &ctx.time),
        ],
        failed: sums.errors > 0,
    }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "Set a user ID on your traces to see usage by user." }
        (copy::snippet(&ctx.sdk_code("from langfuse import get_client, propagate_attributes\n\nlangfuse = get_client()\nwith langfuse.start_as_current_observation(name=\"answer\"):\n    with propagate_attributes(user_id=\"ann\"):\n        ...")))
        p.muted { "OpenTelemetry spans with " code { "user.id" } " do the same." }
        p { a.button href=(ctx.here().with("range", "all")) { "Show all time" } }
    };
    empty::empty("No users in this time range", &how)
}
