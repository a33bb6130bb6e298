use std::ffi::OsString;
use std::path::Path;

use uuid::Uuid;

use crate::claude::command::{ClaudeFolders, MCP_FILE};
use crate::claude::error::ClaudeError;
use crate::claude::options::{
    BypassSwitch, ChatThread, ClaudeOptions, McpScope, PermissionMode, SettingSource, SystemPrompt,
    TranscriptMirror,
};

/// Makes the program exchange lines of JSON over pipes instead of using a terminal.
const ALWAYS: [&str; 6] = [
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
    "--include-partial-messages",
    "--print",
];

/// The arguments for these options. Every value stands behind a `=`, so that none can pass for an
/// option; documents lie in files, where `ps` does not show them.
pub(super) fn of(
    options: &ClaudeOptions,
    folders: &ClaudeFolders,
) -> Result<Vec<OsString>, ClaudeError> {
    let mut arguments = Arguments(ALWAYS.map(OsString::from).into());
    arguments.conversation(options.conversation);
    if let SystemPrompt::Replace(_) = options.system_prompt {
        // What it says by itself; `initialize` brings what comes in its place.
        arguments.word("system-prompt", "");
    }
    arguments.some("model", options.model.as_deref());
    arguments.list("fallback-model", &options.fallback_models);
    arguments.some("permission-mode", options.permission_mode.map(PermissionMode::as_str));
    if options.bypass == BypassSwitch::Possible {
        arguments.switch("allow-dangerously-skip-permissions");
    }
    arguments.some("max-turns", options.max_turns.map(|turns| turns.to_string()).as_deref());
    let budget = options.max_budget.map(|budget| budget.dollars().to_string());
    arguments.some("max-budget-usd", budget.as_deref());
    arguments.some("tools", options.tools.as_ref().map(|tools| tools.join(",")).as_deref());
    arguments.list("allowedTools", &options.allowed_tools);
    arguments.list("disallowedTools", &options.disallowed_tools);
    if let Some(config) = &options.mcp_config {
        arguments.path("mcp-config", &folders.write_private(MCP_FILE, config)?);
    }
    if options.mcp_scope == McpScope::Given {
        arguments.switch("strict-mcp-config");
    }
    let sources: Vec<&str> =
        options.effective_sources().into_iter().map(SettingSource::as_str).collect();
    arguments.word("setting-sources", &sources.join(","));
    if let Some(settings) = &options.settings {
        arguments.path("settings", &folders.write_private("settings.json", settings)?);
    }
    options.plugin_dirs.iter().for_each(|folder| arguments.path("plugin-dir", folder));
    options.add_dirs.iter().for_each(|folder| arguments.path("add-dir", folder));
    let autocompact = options.autocompact.map(|tokens| tokens.to_string());
    arguments.some("autocompact", autocompact.as_deref());
    if options.kept_lines == TranscriptMirror::On {
        arguments.switch("session-mirror");
    }
    Ok(arguments.0)
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn switch(&mut self, name: &str) {
        self.0.push(format!("--{name}").into());
    }

    fn word(&mut self, name: &str, value: &str) {
        self.0.push(format!("--{name}={value}").into());
    }

    fn some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.word(name, value);
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.word(name, &values.join(","));
        }
    }

    fn path(&mut self, name: &str, path: &Path) {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(path);
        self.0.push(argument);
    }

    fn id(&mut self, name: &str, id: Uuid) {
        self.word(name, &id.to_string());
    }

    fn conversation(&mut self, conversation: ChatThread) {
        let (resumed, at, named) = match conversation {
            ChatThread::Unnamed => (None, None, None),
            ChatThread::New(id) => (None, None, Some(id)),
            ChatThread::Resume { id, at } => (Some(id), at, None),
            ChatThread::Fork { of, at, id } => {
                self.switch("fork-session");
                (Some(of), at, Some(id))
            }
        };
        for (name, id) in [("resume", resumed), ("resume-session-at", at), ("session-id", named)] {
            if let Some(id) = id {
                self.id(name, id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_core::chat::config_layer::Trust;
    use ratchet_core::money::Money;
    use serde_json::json;

    #[track_caller]
    fn check(options: &ClaudeOptions, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let temp = folder.path().to_path_buf();
        let folders = ClaudeFolders { workspace: temp.clone(), config: temp.clone(), temp };
        let arguments = of(options, &folders).unwrap();
        let here = format!("{}/", folder.path().display());
        let words = arguments.iter().map(|word| word.to_str().unwrap().replace(&here, ""));
        let special: Vec<String> = words.skip(ALWAYS.len()).collect();
        assert_eq!(special, expected);
    }

    #[test]
    fn nothing_said_is_nobodys_settings_and_servers() {
        check(&ClaudeOptions::default(), &["--strict-mcp-config", "--setting-sources="]);
    }

    #[test]
    fn a_workspace_that_is_not_trusted_sets_nothing() {
        let setting_sources =
            vec![SettingSource::User, SettingSource::Project, SettingSource::Local];
        let options = ClaudeOptions { setting_sources, ..ClaudeOptions::default() };
        check(&options, &["--strict-mcp-config", "--setting-sources=user"]);
        let trust = Trust::Trusted;
        let options = ClaudeOptions { trust, mcp_scope: McpScope::Settings, ..options };
        check(&options, &["--setting-sources=user,project,local"]);
    }

    #[test]
    fn a_fork_names_its_original_and_itself() {
        let (of, at, id) = (Uuid::from_u128(1), Some(Uuid::from_u128(2)), Uuid::from_u128(3));
        let conversation = ChatThread::Fork { of, at, id };
        check(
            &ClaudeOptions { conversation, ..ClaudeOptions::default() },
            &[
                "--fork-session",
                "--resume=00000000-0000-0000-0000-000000000001",
                "--resume-session-at=00000000-0000-0000-0000-000000000002",
                "--session-id=00000000-0000-0000-0000-000000000003",
                "--strict-mcp-config",
                "--setting-sources=",
            ],
        );
    }

    #[test]
    fn values_cannot_pass_for_options() {
        let options = ClaudeOptions {
            model: Some("--dangerously-skip-permissions".to_owned()),
            permission_mode: Some(PermissionMode::Plan),
            max_turns: Some(3),
            max_budget: Money::from_dollars(0.25),
            tools: Some(vec![]),
            allowed_tools: vec!["Read".to_owned(), "Bash(git log:*)".to_owned()],
            mcp_config: Some(json!({"mcpServers": {}})),
            ..ClaudeOptions::default()
        };
        check(
            &options,
            &[
                "--model=--dangerously-skip-permissions",
                "--permission-mode=plan",
                "--max-turns=3",
                "--max-budget-usd=0.25",
                "--tools=",
                "--allowedTools=Read,Bash(git log:*)",
                "--mcp-config=mcp.json",
                "--strict-mcp-config",
                "--setting-sources=",
            ],
        );
    }
}
