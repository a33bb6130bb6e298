use ratchet_remote::ratchet::RatchetClient;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::client::ChatInfo;
use super::sanitize::plain_line;

/// Number of chats that are searched, and of those that an error lists.
const SEARCHED: &str = "100";
const LISTED: usize = 10;

#[derive(Deserialize)]
struct ChatList {
    chats: Vec<ChatInfo>,
}

/// Returns the id of a chat, by its id or the start of it; without a name, the last changed one in
/// this workspace.
pub(crate) async fn chat_id(
    server: &RatchetClient,
    named: &str,
    workspace: &Path,
) -> anyhow::Result<String> {
    let is_whole = named.len() == 36;
    if is_whole {
        let chat = server.get::<ChatInfo>(&["v1", "chats", named]).await;
        if let Ok(chat) = chat {
            return Ok(chat.id);
        }
    }
    let query = [("limit", SEARCHED.to_owned())];
    let all: ChatList = server.get_with(&["v1", "chats"], &query).await?;
    let here = workspace.canonicalize().context("cannot find the workspace")?;
    let is_meant = |chat: &&ChatInfo| match named {
        "" => Path::new(&chat.workspace) == here,
        named => chat.id.starts_with(named),
    };
    let mut meant = all.chats.iter().filter(is_meant);
    match (meant.next(), meant.next(), named) {
        (Some(last), _, "") => Ok(last.id.clone()),
        (Some(only), None, _) => Ok(only.id.clone()),
        (Some(_), Some(_), _) => {
            bail!("several chats begin with {named}:\n{}", list(&all.chats))
        }
        (None, _, "") => {
            bail!("there is no chat in {} yet; {}", here.display(), list(&all.chats))
        }
        (None, _, named) => {
            bail!("there is no chat {}; {}", plain_line(named), list(&all.chats))
        }
    }
}

fn list(chats: &[ChatInfo]) -> String {
    if chats.is_empty() {
        return "there are no chats".to_owned();
    }
    let line = |chat: &ChatInfo| {
        let title = chat.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
        let (day, turns) = (chat.updated_at.get(..16).unwrap_or_default(), chat.turns);
        let line = format!("  {}  {day}  turns: {turns}  {}{title}", chat.id, chat.workspace);
        plain_line(&line)
    };
    let lines: Vec<String> = chats.iter().take(LISTED).map(line).collect();
    format!("there are:\n{}", lines.join("\n"))
}
