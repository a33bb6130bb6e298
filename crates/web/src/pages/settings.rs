//! What a project has settled: keys, members, how long telemetry is kept, what is taken out.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_store::catalog::{ApiKey, Membership};
use ratchet_store::query::PageNumber;

use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, figure};
use crate::frame::{Page, Section};
use crate::place::Place;
use crate::refusal::PageResult;
use crate::web::Web;

/// LLM connections that are shown; nobody has more.
const CONNECTIONS: PageNumber = PageNumber { page: 1, limit: 100 };

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/settings", get(show))
}

async fn show(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let id = || place.project_id();
    let rules = catalog.redaction_rules(id()).await?.len();
    let origins = catalog.page_origins(id()).await?.len();
    let models = catalog.models(id()).await?.len();
    let connections = catalog.llm_connections(id(), CONNECTIONS).await?.rows;
    let is_owner = place.visitor.can_own();
    let keys = if is_owner { catalog.keys(id()).await? } else { Vec::new() };
    let members = if is_owner { catalog.memberships(id()).await? } else { Vec::new() };
    let mut page = Page::new(Section::Settings, "Settings");
    page.summary = html! { "What " bdi { (place.project.name) } " has settled." };
    page.body = html! {
        (project(&place))
        @if is_owner { (drawn_keys(&keys, &place)) (drawn_members(&members, &place)) }
        section.settings {
            h2 { "Before anything is stored" }
            p { (rules) " redaction rules of its own; " (origins) " origins whose pages may call." }
            (copy::snippet("ratchet redaction list\nratchet projects set-origins --help"))
        }
        section.settings {
            h2 { "Models" }
            p { (models) " prices of its own; LLM connections: "
                @if connections.is_empty() { "none" }
                @for (index, connection) in connections.iter().enumerate() {
                    @if index > 0 { ", " } bdi { (connection.provider) }
                }
                "." }
        }
    };
    Ok(page.show(&place))
}

fn project(place: &Place) -> Markup {
    let project = &place.project;
    html! {
        section.settings {
            h2 { "Project" }
            dl.facts {
                dt { "Id" } dd { (copy::id(project.id.as_str())) }
                dt { "Made" } dd { (figure::moment(project.created_at)) }
                dt { "Telemetry is kept" }
                dd { @match project.retention_days {
                    Some(days) => { (days) " days" },
                    None => { "for ever" },
                } }
                dt { "You are" } dd { (place.visitor.role.as_str()) }
            }
            (copy::snippet("ratchet projects set-retention --help"))
        }
    }
}

fn drawn_keys(keys: &[ApiKey], place: &Place) -> Markup {
    let row = |key: &ApiKey| Row {
        id: key.id.clone(),
        link: None,
        cells: vec![
            html! { code { (key.public_key) } },
            html! { code { "…" (key.secret_hint) } },
            html! { (key.role.as_str()) },
            html! { (key.note.as_deref().unwrap_or_default()) },
            figure::ago(key.created_at, place.now),
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Public key"),
        Column::text("Secret ends"),
        Column::text("Role"),
        Column::wide("What for"),
        Column::text("Made"),
    ];
    let rows = keys.iter().map(row).collect();
    let table = Table { caption: "API keys".to_owned(), columns, rows, select_for: None };
    html! {
        section.settings {
            h2 { "API keys" }
            (table::table(&table))
            (copy::snippet("ratchet keys create --role member\nratchet keys revoke PUBLIC_KEY"))
        }
    }
}

fn drawn_members(members: &[Membership], place: &Place) -> Markup {
    let row = |member: &Membership| Row {
        id: member.user.id.clone(),
        link: None,
        cells: vec![
            html! { bdi { (member.user.email) } },
            html! { (member.role.as_str()) },
            figure::ago(member.user.created_at, place.now),
        ],
        failed: false,
    };
    let columns = vec![Column::text("Member"), Column::text("Role"), Column::text("Since")];
    let rows = members.iter().map(row).collect();
    let table = Table { caption: "Members".to_owned(), columns, rows, select_for: None };
    html! {
        section.settings {
            h2 { "Members" }
            @if members.is_empty() {
                p.muted { "Only the owners of the server, who see every project." }
            } @else { (table::table(&table)) }
            (copy::snippet("ratchet users create --help"))
        }
    }
}
