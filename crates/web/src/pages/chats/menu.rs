//! Menus of a chat: settings, title, fork, close.

use maud::{Markup, html};
use ratchet_agent::claude::options::PermissionMode;
use ratchet_core::chat::state::ChatStateName;
use ratchet_stages::chat::{ChatSettings, MAX_TITLE_CHARS};
use ratchet_store::catalog::Chat;

use super::toggles::Toggles;
use crate::components::icon::{Icon, icon};
use crate::request_context::RequestContext;

pub(super) fn menu(chat: &Chat, toggles: &Toggles, ctx: &RequestContext) -> Markup {
    let id = chat.id.to_string();
    let is_open = chat.status.state != ChatStateName::Closed;
    html! {
        (fold("Show", &toggles.form(ctx)))
        @if ctx.viewer.can_change() {
            (fold("Chat", &html! {
                div.chat-menu {
                    (naming(chat, ctx, &id))
                    @if is_open { (setup(chat, ctx, &id)) }
                    (plain_form(ctx, &id, ("fork", "Fork: continue in a copy")))
                    @if is_open { (plain_form(ctx, &id, ("close", "Close chat"))) }
                    p.muted { "Works in " code { bdi { (chat.workspace) } } }
                }
            }))
        }
    }
}

fn naming(chat: &Chat, ctx: &RequestContext, id: &str) -> Markup {
    html! {
        form method="post" data-inline-errors action=(ctx.to(&["chats", id, "title"])) {
            (ctx.viewer.form_token.field())
            div.form-row {
                label for="chat-title" { "Title" }
                input #chat-title type="text" name="title" maxlength=(MAX_TITLE_CHARS)
                      autocomplete="off" value=(chat.title.as_deref().unwrap_or_default());
            }
            button.button type="submit" { "Rename" }
        }
    }
}

fn setup(chat: &Chat, ctx: &RequestContext, id: &str) -> Markup {
    let settings = ChatSettings::read(&chat.settings).unwrap_or_default();
    html! {
        form method="post" data-inline-errors action=(ctx.to(&["chats", id, "mode"])) {
            (ctx.viewer.form_token.field())
            div.form-row {
                label for="chat-mode" { "Permission mode" }
                (mode_choice("chat-mode", settings.mode.as_deref()))
            }
            div.form-row {
                label for="chat-model" { "Model" }
                input #chat-model type="text" name="model" maxlength="200" autocomplete="off"
                      value=(settings.model.as_deref().unwrap_or_default())
                      placeholder="Default model";
            }
            div.form-row {
                label for="chat-budget" { "Budget (USD)" }
                input #chat-budget type="text" inputmode="decimal" name="budget" autocomplete="off"
                      value=(settings.max_budget.map(|dollars| dollars.to_string()).unwrap_or_default())
                      placeholder="no limit";
            }
            div.form-row {
                label for="chat-trust" { "Workspace trust" }
                select #chat-trust name="trust" {
                    option value="server" selected[!settings.distrusts_workspace] {
                        "as set on the server"
                    }
                    option value="none" selected[settings.distrusts_workspace] {
                        "withdrawn: its hooks and MCP servers do not run"
                    }
                }
            }
            button.button type="submit" { "Set" }
        }
    }
}

/// A menu that works without JavaScript.
fn fold(word: &str, inside: &Markup) -> Markup {
    html! {
        details.menu.chat-fold {
            summary { span { (word) } (icon(Icon::Down)) }
            div.menu-list { (inside) }
        }
    }
}

/// A form with one button.
fn plain_form(ctx: &RequestContext, id: &str, (what, words): (&str, &str)) -> Markup {
    html! {
        form method="post" action=(ctx.to(&["chats", id, what])) {
            (ctx.viewer.form_token.field())
            button type="submit" { (words) }
        }
    }
}

/// Select box of permission modes.
pub(super) fn mode_choice(id: &str, chosen: Option<&str>) -> Markup {
    let modes = [
        (PermissionMode::Default, "default"),
        (PermissionMode::AcceptEdits, "accept edits"),
        (PermissionMode::Plan, "plan only"),
        (PermissionMode::DontAsk, "deny instead of asking"),
        (PermissionMode::Auto, "auto: a model decides"),
    ];
    html! {
        select id=(id) name="mode" {
            @for (mode, words) in modes {
                option value=(mode.as_str()) selected[chosen == Some(mode.as_str())] { (words) }
            }
        }
    }
}
