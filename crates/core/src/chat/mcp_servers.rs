//! Which tool servers an agent gets: files of three layers, merged by name, later ones winning.
//!
//! Each file has the form that Claude Code knows as `.mcp.json`. Entries pass through as they
//! are; servers that are programs also get the path of the workspace.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::config_layer::{Layer, Trust};

/// What such a file is called in a workspace.
pub const WORKSPACE_FILE: &str = ".mcp.json";
/// What such a file is called at the platform's and the user's place.
pub const FILE: &str = "mcp.json";
/// The variable that tells a server where the workspace is.
pub const PATH_VARIABLE: &str = "WORKSPACE_PATH";

const MAX_NAME_BYTES: usize = 100;
const MAX_SERVERS: usize = 100;

/// A file that names servers.
#[derive(Clone, Copy, Debug)]
pub struct McpFile<'a> {
    pub layer: Layer,
    pub path: &'a str,
    pub text: &'a str,
}

/// Something in a file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct McpFault {
    pub path: String,
    /// Where in it, and what is wrong.
    pub what: String,
}

/// The servers an agent gets, and where each came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpPlan {
    servers: BTreeMap<String, PlannedServer>,
    ignored: Vec<(Layer, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct PlannedServer {
    entry: Value,
    from: (Layer, String),
    overrode: Vec<(Layer, String)>,
    is_told: bool,
}

impl McpPlan {
    /// Merges files, in order of their layers whatever order they come in. That of a workspace
    /// counts only if the workspace is trusted, since its entries are programs to run.
    ///
    /// # Errors
    /// Lists everything that cannot be used, with its place. One bad entry refuses all: an agent
    /// that silently lacks a tool does something else instead.
    ///
    /// ```
    /// use ratchet_core::chat::config_layer::{Layer, Trust};
    /// use ratchet_core::chat::mcp_servers::{McpFile, McpPlan};
    ///
    /// let text = r#"{"mcpServers": {"lake": {"command": "batou"}}}"#;
    /// let file = McpFile { layer: Layer::Platform, path: "/etc/mcp.json", text };
    /// let plan = McpPlan::merge(&[file], "/work/a", Trust::Untrusted).unwrap();
    /// assert_eq!(plan.config()["mcpServers"]["lake"]["env"]["WORKSPACE_PATH"], "/work/a");
    /// ```
    pub fn merge(
        files: &[McpFile<'_>],
        workspace: &str,
        trust: Trust,
    ) -> Result<Self, Vec<McpFault>> {
        let mut files = files.to_vec();
        files.sort_by_key(|file| file.layer);
        let (mut plan, mut faults) = (Self::default(), Vec::new());
        for file in files {
            if file.layer == Layer::Workspace && trust == Trust::Untrusted {
                plan.ignored.push((file.layer, file.path.to_owned()));
                continue;
            }
            match read(&file) {
                Ok(servers) => servers.into_iter().for_each(|(name, entry)| {
                    plan.add(name, entry, &file, workspace);
                }),
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(plan) } else { Err(faults) }
    }

    fn add(&mut self, name: String, mut entry: Value, file: &McpFile<'_>, workspace: &str) {
        let is_program = entry.get("command").is_some();
        if is_program && let Some(entry) = entry.as_object_mut() {
            let env = entry.entry("env").or_insert_with(|| json!({}));
            // Whatever a file says: a server works where the agent works.
            if let Some(env) = env.as_object_mut() {
                env.insert(PATH_VARIABLE.to_owned(), workspace.into());
            }
        }
        let from = (file.layer, file.path.to_owned());
        let mut overrode = Vec::new();
        if let Some(earlier) = self.servers.remove(&name) {
            overrode = earlier.overrode;
            overrode.push(earlier.from);
        }
        self.servers.insert(name, PlannedServer { entry, from, overrode, is_told: is_program });
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The names of the servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// What `claude --mcp-config` takes.
    pub fn config(&self) -> Value {
        let entries =
            self.servers.iter().map(|(name, server)| (name.clone(), server.entry.clone()));
        json!({"mcpServers": entries.collect::<Map<_, _>>()})
    }

    /// Tells, a line for each server, where it came from and what it overrode. Entries themselves
    /// are not shown: they hold keys.
    pub fn explanation(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| text.push_str(&(line + "\n"));
        for (name, server) in &self.servers {
            let (layer, path) = &server.from;
            let mut description = format!("{name}: from {path} ({layer})");
            let overrode = server.overrode.iter().rev();
            let overrode: Vec<_> =
                overrode.map(|(layer, path)| format!("{path} ({layer})")).collect();
            if !overrode.is_empty() {
                description.push_str(&format!(", instead of {}", overrode.join(" and ")));
            }
            if server.is_told {
                description.push_str(&format!("; {PATH_VARIABLE} set"));
            }
            line(description);
        }
        for (layer, path) in &self.ignored {
            line(format!("{path} ({layer}) is not read: the workspace is not trusted"));
        }
        text
    }
}

/// The servers that a file names.
fn read(file: &McpFile<'_>) -> Result<Vec<(String, Value)>, Vec<McpFault>> {
    let fault = |what: String| McpFault { path: file.path.to_owned(), what };
    let all: Value = serde_json::from_str(file.text).map_err(|why| vec![fault(why.to_string())])?;
    let servers = match all.get("mcpServers") {
        Some(Value::Object(servers)) => servers,
        None if all.is_object() => return Ok(Vec::new()),
        _ => return Err(vec![fault("mcpServers must be an object".to_owned())]),
    };
    if servers.len() > MAX_SERVERS {
        return Err(vec![fault(format!("mcpServers may name {MAX_SERVERS} servers at most"))]);
    }
    let wrong = servers.iter().filter_map(|(name, entry)| {
        let why = check(name, entry).err()?;
        Some(fault(format!("mcpServers.{}: {why}", name.escape_debug())))
    });
    let wrong: Vec<McpFault> = wrong.collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(servers.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect())
}

fn check(name: &str, entry: &Value) -> Result<(), &'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.chars().all(is_plain) {
        return Err("a name has 1 to 100 of A-Z a-z 0-9 . _ -");
    }
    let entry = entry.as_object().ok_or("must be an object")?;
    let kind = entry.get("type").map_or(Some("stdio"), Value::as_str).ok_or("type: a text")?;
    let is_text = |key: &str| entry.get(key).and_then(Value::as_str).is_some_and(|t| !t.is_empty());
    match kind {
        "stdio" if is_text("command") && !entry.contains_key("url") => {}
        "http" | "sse" | "ws" if is_text("url") && !entry.contains_key("command") => {}
        "stdio" => return Err("needs a command, or a type (http, sse, ws) and a url"),
        "http" | "sse" | "ws" => return Err("needs a url, and no command"),
        _ => return Err("type must be stdio, http, sse or ws"),
    }
    let are_texts = |key: &str| match entry.get(key) {
        None => true,
        Some(Value::Object(map)) => map.values().all(Value::is_string),
        Some(_) => false,
    };
    if !are_texts("env") || !are_texts("headers") {
        return Err("env and headers must be objects of texts");
    }
    match entry.get("args") {
        None => Ok(()),
        Some(Value::Array(args)) if args.iter().all(Value::is_string) => Ok(()),
        Some(_) => Err("args must be a list of texts"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLATFORM: &str = r#"{"mcpServers": {
        "lake": {"command": "batou", "args": ["--stdio"], "env": {"KEY": "k", "WORKSPACE_PATH": "/"}},
        "web": {"type": "http", "url": "https://tools.example/mcp", "headers": {"a": "b"}}}}"#;
    const USER: &str = r#"{"mcpServers": {"lake": {"command": "my-batou", "timeout": 5}}}"#;
    const WORKSPACE: &str =
        r#"{"mcpServers": {"lake": {"command": "./run"}, "own": {"command": "x"}}}"#;

    fn files() -> [McpFile<'static>; 3] {
        [
            McpFile { layer: Layer::Workspace, path: "/w/.mcp.json", text: WORKSPACE },
            McpFile { layer: Layer::User, path: "/u/mcp.json", text: USER },
            McpFile { layer: Layer::Platform, path: "/p/mcp.json", text: PLATFORM },
        ]
    }

    #[test]
    fn later_layers_win_and_it_is_said_over_what() {
        let plan = McpPlan::merge(&files(), "/w", Trust::Trusted).unwrap();
        assert_eq!(plan.config()["mcpServers"]["lake"]["command"], "./run");
        insta::assert_snapshot!(plan.explanation(), @r"
        lake: from /w/.mcp.json (workspace), instead of /u/mcp.json (user) and /p/mcp.json (platform); WORKSPACE_PATH set
        own: from /w/.mcp.json (workspace); WORKSPACE_PATH set
        web: from /p/mcp.json (platform)
        ");
    }

    #[test]
    fn a_workspace_that_is_not_trusted_runs_nothing() {
        let plan = McpPlan::merge(&files(), "/w", Trust::Untrusted).unwrap();
        assert_eq!(plan.names().collect::<Vec<_>>(), ["lake", "web"]);
        insta::assert_snapshot!(plan.explanation(), @r"
        lake: from /u/mcp.json (user), instead of /p/mcp.json (platform); WORKSPACE_PATH set
        web: from /p/mcp.json (platform)
        /w/.mcp.json (workspace) is not read: the workspace is not trusted
        ");
        // Nor can its file be in the way.
        let [mut bad, user, platform] = files();
        bad.text = "no JSON";
        assert!(McpPlan::merge(&[bad, user, platform], "/w", Trust::Untrusted).is_ok());
    }

    #[test]
    fn programs_are_told_where_the_workspace_is_and_keep_the_rest() {
        let [_, _, platform] = files();
        let plan = McpPlan::merge(&[platform], "/w", Trust::Untrusted).unwrap();
        let lake = &plan.config()["mcpServers"]["lake"];
        assert_eq!(lake["env"], json!({"KEY": "k", "WORKSPACE_PATH": "/w"}));
        assert_eq!(lake["args"], json!(["--stdio"]));
        assert!(plan.config()["mcpServers"]["web"].get("env").is_none());
        assert!(!plan.explanation().contains("KEY"));
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let file = McpFile { layer: Layer::User, path: "/u/mcp.json", text };
        let faults = McpPlan::merge(&[file], "/w", Trust::Untrusted).unwrap_err();
        let description: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let description = description.join("\n");
        assert!(
            description.starts_with("/u/mcp.json: ") && description.contains(expected),
            "{description}"
        );
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_place() {
        refused("{", "line 1 column 1");
        refused("[]", "mcpServers must be an object");
        refused(r#"{"mcpServers": []}"#, "mcpServers must be an object");
        let entry = |entry: &str| format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        refused(&entry("7"), "mcpServers.a: must be an object");
        refused(&entry("{}"), "mcpServers.a: needs a command");
        refused(&entry(r#"{"url": "x"}"#), "needs a command, or a type");
        refused(&entry(r#"{"type": "http"}"#), "needs a url");
        refused(&entry(r#"{"type": "sdk", "name": "x"}"#), "type must be");
        refused(&entry(r#"{"command": "x", "args": "y"}"#), "args must be");
        refused(&entry(r#"{"command": "x", "env": {"A": 1}}"#), "env and headers");
        refused(r#"{"mcpServers": {"a b": {"command": "x"}}}"#, "mcpServers.a b: a name has");
        let two = r#"{"mcpServers": {"a": 1, "b": 2}}"#;
        refused(two, "mcpServers.a: must be an object\n/u/mcp.json: mcpServers.b");
    }

    #[test]
    fn a_file_without_servers_is_fine() {
        let file = McpFile { layer: Layer::User, path: "/u/mcp.json", text: "{}" };
        assert!(McpPlan::merge(&[file], "/w", Trust::Untrusted).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[{}\\[\\]\":,a-z]{0,60}") {
            let file = McpFile { layer: Layer::User, path: "p", text: &text };
            let _merged = McpPlan::merge(&[file], "/w", Trust::Trusted);
        }
    }
}
