//! What opens the project to programs.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::validation;
use ratchet_store::catalog::{ApiKey, KeyPair, NewKey, Permission, Permissions, Role};

use super::{ConfirmDialog, Done, Tab, once, page, question, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, figure};
use crate::cookie::Channel;
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

const ROLE: FormField<'_> = FormField {
    name: "role",
    label: "Role",
    hint: "What it may do in this project. Use the least privilege: an agent that only records \
           needs ingest-only.",
};
const PERSON: FormField<'_> = FormField {
    name: "person",
    label: "Person",
    hint: "With the role reviewer only: the key sees the queues that this person is assigned to.",
};
const NOTE: FormField<'_> =
    FormField { name: "note", label: "Description", hint: "Helps you identify the key later." };

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/keys", get(show).post(make))
        .route("/project/{project}/settings/keys/{key}/permissions", post(permit))
        .route("/project/{project}/settings/keys/{key}/revoke", post(revoke))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_own()?;
    drawn(&web, &ctx, &preset(), &Markup::default()).await
}

fn preset() -> Entered {
    Entered::preset(&[("role", Role::Member.as_str())])
}

/// Descriptions of permissions. Owners of the project may run agents, and so may its keys;
/// permissions beyond the project need an owner of the server.
fn grantable(
    ctx: &RequestContext,
) -> impl Iterator<Item = (Permission, FormField<'static>)> + use<> {
    let owns_server = ctx.viewer.owns_server();
    let may = move |permission: &Permission| match permission {
        Permission::Chat => true,
        Permission::Backup | Permission::Administration => owns_server,
    };
    Permission::ALL.into_iter().filter(may).map(|permission| {
        let (label, hint) = match permission {
            Permission::Chat => ("Chat", "Run agents on the server. Not for SDKs."),
            Permission::Backup => ("Backup", "Download all data of all projects."),
            Permission::Administration => {
                ("Administration", "Manage all projects, keys and users.")
            }
        };
        (permission, FormField { name: permission.as_str(), label, hint })
    })
}

/// The permissions that a form leaves a key with: those that the visitor may not give stay as they
/// are.
fn ticked(ctx: &RequestContext, entered: &Entered, before: Permissions) -> Permissions {
    grantable(ctx).fold(before, |all, (permission, _)| {
        match entered.is_ticked(permission.as_str()) {
            true => all.with(permission),
            false => all.without(permission),
        }
    })
}

/// Role that a permission requires, if the key lacks it.
fn misfit(permissions: Permissions, role: Role) -> Option<(&'static str, String)> {
    let misfit = permissions.misfit(role)?;
    Some((misfit.as_str(), format!("does not fit the role {}", role.as_str())))
}

/// Descriptions of roles. A key of an owner may administer the whole server, so that only its
/// owners may make one.
fn roles(ctx: &RequestContext) -> Vec<(&'static str, &'static str)> {
    let all = [
        (Role::IngestOnly, "ingest-only: write telemetry only"),
        (Role::Reviewer, "reviewer: queues of a person, and the traces in them"),
        (Role::Viewer, "viewer: read only"),
        (Role::Member, "member: read and write, for SDKs"),
        (Role::Owner, "owner: read, write and project settings"),
    ];
    let may = |role: Role| role != Role::Owner || ctx.viewer.owns_server();
    all.into_iter()
        .filter(|(role, _)| may(*role))
        .map(|(role, words)| (role.as_str(), words))
        .collect()
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    entered: &Entered,
    above: &Markup,
) -> PageResult<Markup> {
    let keys = web.store.catalog.keys(ctx.project_id()).await?;
    let members = web.store.catalog.memberships(ctx.project_id()).await?;
    let mut people = vec![("", "none")];
    people.extend(members.iter().map(|one| (one.user.id.as_str(), one.user.email.as_str())));
    let body = html! {
        (above)
        section.settings {
            h2 { "Keys" }
            @if keys.is_empty() {
                p.muted { "No API keys yet. Create one below." }
            } @else { (list(&keys, ctx)) }
        }
        section.settings {
            h2 { "Create key" }
            form method="post" action=(Tab::Keys.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                (field::choice(ROLE, &roles(ctx), entered))
                (field::choice(PERSON, &people, entered))
                fieldset {
                    legend { "Server-wide permissions" }
                    @for (_, named) in grantable(ctx) { (field::tick(named, entered)) }
                }
                (field::line(NOTE, entered))
                button.button.primary type="submit" { "Create key" }
            }
        }
    };
    let count = keys.len();
    let summary = html! { (count) " active " (if count == 1 { "key" } else { "keys" }) "." };
    Ok(page(ctx, Tab::Keys, summary, &body))
}

fn list(keys: &[ApiKey], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Public key"),
        Column::text("Secret"),
        Column::text("Role"),
        Column::text("Permissions"),
        Column::wide("Description"),
        Column::text("Created"),
        Column::text("Actions"),
    ];
    let rows = keys.iter().map(|key| row(key, ctx)).collect();
    table::table(&Table { caption: "API keys".to_owned(), columns, rows, select_for: None })
}

fn row(key: &ApiKey, ctx: &RequestContext) -> Row {
    Row {
        id: key.id.clone(),
        link: None,
        cells: vec![
            html! { button.id type="button" data-copy=(key.public_key) title={ "Copy " (key.public_key) } {
            code { (key.public_key) } } },
            html! { code { "…" (key.secret_hint) } },
            html! {
                (key.role.as_str())
                @if let Some(person) = &key.person { " of " bdi { (person.email) } }
            },
            permissions(key, ctx),
            html! { bdi { (key.note.as_deref().unwrap_or_default()) } },
            figure::ago(key.created_at, &ctx.time),
            html! {
                form.inline method="post" action=(Tab::Keys.action(ctx, &[&key.id, "revoke"])) {
                    (ctx.viewer.form_token.field())
                    button.quiet type="submit" { "Revoke" span.sr { " " (key.public_key) } }
                }
            },
        ],
        failed: false,
    }
}

/// What a key may do beyond its project, with a form that changes it.
fn permissions(key: &ApiKey, ctx: &RequestContext) -> Markup {
    html! {
        details {
            summary {
                @if key.permissions == Permissions::NONE { "None" } @else { (key.permissions) }
                span.sr { " of " (key.public_key) }
            }
            form method="post" action=(Tab::Keys.action(ctx, &[&key.id, "permissions"])) {
                (ctx.viewer.form_token.field())
                @for (permission, named) in grantable(ctx).filter(|(one, _)| one.fits(key.role)) {
                    label title=(named.hint) {
                        input type="checkbox" name=(named.name) value="yes"
                              checked[key.permissions.has(permission)];
                        " " (named.label)
                    } " "
                }
                button.quiet type="submit" { "Save" }
            }
        }
    }
}

/// What is wrong with the person of a key.
fn wrong_person(person: Option<&str>, role: Role) -> Option<&'static str> {
    match (role, person) {
        (Role::Reviewer, None) => Some("select whose queues the key sees"),
        (Role::Reviewer, Some(_)) | (_, None) => None,
        (_, Some(_)) => Some("only a key with the role reviewer belongs to a person"),
    }
}

async fn permit(
    State(web): State<Web>,
    Path((_, key)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let found = find(&web, &ctx, &key).await?;
    let wanted = ticked(&ctx, &Entered::new(form), found.permissions);
    if let Some((permission, why)) = misfit(wanted, found.role) {
        return Err(PageError::Bad(format!("{permission} {why}")));
    }
    let catalog = ctx.viewer.catalog(&web);
    catalog.set_permissions(ctx.project_id(), found.id, wanted, ctx.now).await?;
    Ok(Done::Saved.back(&ctx, Tab::Keys))
}

/// A key of the project; one of another project is not there.
async fn find(web: &Web, ctx: &RequestContext, key: &str) -> PageResult<ApiKey> {
    let keys = web.store.catalog.keys(ctx.project_id()).await?;
    let found = keys.into_iter().find(|known| known.id == key);
    found.ok_or_else(|| PageError::not_there("key"))
}

async fn make(
    State(web): State<Web>,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let mut entered = Entered::new(form);
    let role = Role::parse(entered.raw("role"));
    let role = role.filter(|role| *role != Role::Owner || ctx.viewer.owns_server());
    if role.is_none() {
        entered.wrong("role", "select one of the options");
    }
    let note = validation::key_note(entered.filled("note").map(str::to_owned));
    if let Err(why) = &note {
        entered.wrong("note", why.problem.clone());
    }
    let permissions = ticked(&ctx, &entered, Permissions::NONE);
    if let Some((permission, why)) = role.and_then(|role| misfit(permissions, role)) {
        entered.wrong(permission, why);
    }
    let person = entered.filled("person").map(str::to_owned);
    if let Some(why) = role.and_then(|role| wrong_person(person.as_deref(), role)) {
        entered.wrong("person", why);
    }
    let (Some(role), Ok(note), true) = (role, note, entered.is_fine()) else {
        return Ok(wrong(drawn(&web, &ctx, &entered, &Markup::default()).await?));
    };
    let new = NewKey { project: ctx.project_id(), role, permissions, note, person, pair: None };
    let (_, pair) = ctx.viewer.catalog(&web).create_key(new, ctx.now).await?;
    let new_key_notice = new_key_notice(&pair, &headers);
    Ok(once(drawn(&web, &ctx, &preset(), &new_key_notice).await?))
}

/// The new key pair, as SDK settings.
fn new_key_notice(pair: &KeyPair, headers: &HeaderMap) -> Markup {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:3000");
    let scheme = match Channel::of(headers) {
        Channel::Secure => "https",
        Channel::Clear => "http",
    };
    let (public, secret) = (&pair.public_key, pair.secret_key.expose());
    let snippet = format!(
        "export LANGFUSE_BASE_URL={scheme}://{host}\n\
         export LANGFUSE_PUBLIC_KEY={public}\n\
         export LANGFUSE_SECRET_KEY={secret}"
    );
    html! {
        section.settings.shown-once role="status" {
            h2 { "New key created: copy the secret now" }
            p { "Only a hash is stored; the secret cannot be shown again." }
            (copy::snippet(&snippet))
        }
    }
}

async fn revoke(
    State(web): State<Web>,
    Path((_, key)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let found = find(&web, &ctx, &key).await?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: format!("Revoke {}?", found.public_key),
            lost: html! {
                "Requests with this key will be rejected"
                @if let Some(note) = &found.note { ": " bdi { (note) } }
                ". This cannot be undone."
            },
            action: Tab::Keys.action(&ctx, &[&key, "revoke"]),
            verb: "Revoke",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Keys, &ask).into_response());
    }
    ctx.viewer.catalog(&web).revoke_key(ctx.project_id(), found.id, ctx.now).await?;
    Ok(Done::Revoked.back(&ctx, Tab::Keys))
}
