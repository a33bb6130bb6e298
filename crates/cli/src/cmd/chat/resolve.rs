use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::client::Known;
use super::sanitize::plain_line;
use crate::target::Remote;

/// How many sessions are looked through, and how many of them are told.
const LOOKED_AT: &str = "100";
const TOLD_OF: usize = 10;

#[derive(Deserialize)]
struct Sessions {
    sessions: Vec<Known>,
}

/// The id of the session that is meant: by its id or the beginning of it; or, when it is not named,
/// the one in this workspace that changed last.
pub(crate) async fn session(
    server: &Remote,
    named: &str,
    workspace: &Path,
) -> anyhow::Result<String> {
    let is_whole = named.len() == 36;
    if is_whole {
        let known: anyhow::Result<Known> = server.get_from(&["sessions", named]).await;
        if let Ok(known) = known {
            return Ok(known.id);
        }
    }
    let query = [("limit", LOOKED_AT.to_owned())];
    let all: Sessions = server.get_with("/api/v1/sessions", &query).await?;
    let here = workspace.canonicalize().context("cannot find the workspace")?;
    let is_meant = |known: &&Known| match named {
        "" => Path::new(&known.workspace) == here,
        named => known.id.starts_with(named),
    };
    let mut meant = all.sessions.iter().filter(is_meant);
    match (meant.next(), meant.next(), named) {
        (Some(last), _, "") => Ok(last.id.clone()),
        (Some(only), None, _) => Ok(only.id.clone()),
        (Some(_), Some(_), _) => {
            bail!("several sessions begin with {named}:\n{}", list(&all.sessions))
        }
        (None, _, "") => {
            bail!("there is no session in {} yet; {}", here.display(), list(&all.sessions))
        }
        (None, _, named) => {
            bail!("there is no session {}; {}", plain_line(named), list(&all.sessions))
        }
    }
}

fn list(sessions: &[Known]) -> String {
    if sessions.is_empty() {
        return "there is none at all".to_owned();
    }
    let line = |known: &Known| {
        let title = known.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
        let (day, turns) = (known.updated_at.get(..16).unwrap_or_default(), known.turns);
        let line = format!("  {}  {day}  turns: {turns}  {}{title}", known.id, known.workspace);
        plain_line(&line)
    };
    let lines: Vec<String> = sessions.iter().take(TOLD_OF).map(line).collect();
    format!("there are:\n{}", lines.join("\n"))
}
