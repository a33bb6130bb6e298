use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ratchet_agent::claude::environment::EnvNames;
use ratchet_core::chat::system_prompt;
use ratchet_core::chat::workspace::Roots;
use ratchet_stages::chat::ChatLimits;

use super::lookup::Lookup;
use super::value::{ConfigPath, Count, HumanDuration};

#[derive(Clone, Debug)]
pub(crate) struct ChatConfig {
    /// The program that agents run on.
    pub(crate) program: PathBuf,
    /// Folders under which agents may work.
    pub(crate) roots: Roots,
    /// Workspaces whose own settings may run programs.
    pub(crate) trusted: Vec<PathBuf>,
    /// Which variables of the environment agents see.
    pub(crate) env: EnvNames,
    /// How many agents run at once.
    pub(crate) processes: usize,
    /// How long an agent without work keeps its process.
    pub(crate) idle: Duration,
    /// How long a question waits for a person.
    pub(crate) answers: Duration,
    /// How long the system prompt may be, in tokens.
    pub(crate) prompt_tokens: u64,
    /// Platform folder with MCP servers, skills and prompts; default: the data folder.
    pub(crate) platform: Option<PathBuf>,
    pub(crate) user: Option<PathBuf>,
}

/// Folders, with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Folders(Vec<PathBuf>);

impl FromStr for Folders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let folders: Vec<PathBuf> = names.map(PathBuf::from).collect();
        // The rules for roots are the rules for all folders that are matched against others.
        match Roots::new(folders.clone()) {
            Ok(_) => Ok(Self(folders)),
            Err(_) => Err("absolute paths without '.' and '..', comma-separated".to_owned()),
        }
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(none)");
        }
        let names: Vec<String> = self.0.iter().map(|path| path.display().to_string()).collect();
        f.write_str(&names.join(","))
    }
}

impl ChatConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        let program = ConfigPath(PathBuf::from("claude"));
        let usual = ChatLimits::default();
        let budget = Count(usize::try_from(system_prompt::DEFAULT_BUDGET).unwrap_or(usize::MAX));
        let roots: Folders =
            of.value("chat.roots", Folders::default(), "workspace roots for agents")?;
        let trusted: Folders = of.value(
            "chat.trusted",
            Folders::default(),
            "trusted workspaces, whose hooks and MCP servers may run",
        )?;
        let env =
            of.value("chat.env", EnvNames::default(), "environment variables passed to agents")?;
        let processes = of.value("chat.processes", Count(usual.processes), "concurrent agents")?;
        let tokens =
            of.value("chat.prompt_tokens", budget, "maximum system prompt length, in tokens")?;
        Ok(Self {
            program: of.value("claude_bin", program, "path of the claude CLI")?.0,
            roots: Roots::new(roots.0)?,
            trusted: trusted.0,
            env,
            processes: processes.0,
            idle: of.value("chat.idle", HumanDuration(usual.idle), "idle timeout of agents")?.0,
            answers: of
                .value(
                    "chat.answers",
                    HumanDuration(usual.answer),
                    "timeout of permission requests",
                )?
                .0,
            prompt_tokens: u64::try_from(tokens.0).unwrap_or(u64::MAX),
            platform: folder(
                of.optional("chat.platform", "shared folder with mcp.json, skills/, prompts/")?,
            ),
            user: folder(of.optional("chat.user", "personal folder with the same")?)
                .or_else(own_folder),
        })
    }

    pub(crate) fn platform_in(&self, data: &Path) -> PathBuf {
        self.platform.clone().unwrap_or_else(|| data.to_owned())
    }
}

fn folder(path: Option<ConfigPath>) -> Option<PathBuf> {
    path.map(|ConfigPath(path)| path)
}

/// `ratchet` in the folder where people keep their configuration.
fn own_folder() -> Option<PathBuf> {
    let is_said = |text: &OsString| !text.is_empty();
    let configured = std::env::var_os("XDG_CONFIG_HOME").filter(is_said).map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME").filter(is_said)?).join(".config"));
    configured.or_else(home).map(|folder| folder.join("ratchet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_absolute() {
        assert_eq!("/a, /b/c".parse::<Folders>().unwrap().to_string(), "/a,/b/c");
        assert_eq!("".parse::<Folders>().unwrap().to_string(), "(none)");
        for bad in ["a", "/a,b", "/a/../b"] {
            assert!(bad.parse::<Folders>().is_err(), "{bad}");
        }
    }
}
