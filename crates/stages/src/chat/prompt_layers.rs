use std::io;
use std::path::{Path, PathBuf};

use ratchet_core::chat::config_layer::{Layer, Trust};
use ratchet_core::chat::mcp_servers::{self, McpFault, McpFile, McpPlan};
use ratchet_core::chat::system_prompt;

use super::confined_path::{ConfinedFolder, ConfinedPathError};
use super::work_folder::WorkFolder;

/// How long a file that names servers may be.
const MAX_MCP_BYTES: usize = 1_000_000;
/// How long the base prompt may be.
const MAX_BASE_BYTES: usize = 1_000_000;

/// The folders in which the platform and the user keep what every agent gets: `mcp.json`,
/// `skills/` and `prompts/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerFolders {
    /// The server's operator: the data folder by default.
    pub platform: Option<PathBuf>,
    pub user: Option<PathBuf>,
}

/// Error in the files of an agent's prompt, MCP servers or skills.
#[derive(Debug, thiserror::Error)]
pub enum AgentFilesError {
    /// Files of MCP servers are invalid.
    #[error("{}", fault_list(.0))]
    Servers(Vec<McpFault>),
    /// A file cannot be read.
    #[error("{}: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    /// Something in a folder cannot be had.
    #[error(transparent)]
    ConfinedFolder(#[from] ConfinedPathError),
}

fn fault_list(faults: &[McpFault]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl LayerFolders {
    /// Each folder that there is, with whose it is.
    pub fn iter(&self) -> impl Iterator<Item = (Layer, &Path)> {
        let platform = self.platform.iter().map(|path| (Layer::Platform, path.as_path()));
        platform.chain(self.user.iter().map(|path| (Layer::User, path.as_path())))
    }

    /// The base system prompt: the user's file, else the platform's, else the built-in one.
    ///
    /// # Errors
    /// There is a file, but it cannot be read.
    pub fn base_prompt(&self) -> Result<String, AgentFilesError> {
        let folders = [&self.user, &self.platform].into_iter().flatten();
        for folder in folders {
            let path = folder.join("prompts").join(system_prompt::FILE);
            if let Some(text) = read(&path, MAX_BASE_BYTES)? {
                return Ok(text);
            }
        }
        Ok(system_prompt::SHIPPED.to_owned())
    }

    /// The servers of tools that an agent gets in a workspace.
    ///
    /// # Errors
    /// Names each file that cannot be used, and where in it.
    pub fn servers(&self, work: &WorkFolder, trust: Trust) -> Result<McpPlan, AgentFilesError> {
        let mut files = Vec::new();
        for (layer, folder) in self.iter() {
            let path = folder.join(mcp_servers::FILE);
            if let Some(text) = read(&path, MAX_MCP_BYTES)? {
                files.push((layer, path.display().to_string(), text));
            }
        }
        let own = work.path().join(mcp_servers::WORKSPACE_FILE).display().to_string();
        match (work.files().read(mcp_servers::WORKSPACE_FILE, MAX_MCP_BYTES), trust) {
            (Ok(None), _) => {}
            (Ok(Some(bytes)), _) => {
                files.push((Layer::Workspace, own, String::from_utf8_lossy(&bytes).into_owned()));
            }
            // It is not read; only its existence is reported.
            (Err(_), Trust::Untrusted) => files.push((Layer::Workspace, own, String::new())),
            (Err(why), Trust::Trusted) => return Err(why.into()),
        }
        let files: Vec<McpFile<'_>> =
            files.iter().map(|(layer, path, text)| McpFile { layer: *layer, path, text }).collect();
        let workspace = work.path().display().to_string();
        McpPlan::merge(&files, &workspace, trust).map_err(AgentFilesError::Servers)
    }
}

/// A file of the platform's or the user's own; links are theirs to follow.
fn read(path: &Path, most: usize) -> Result<Option<String>, AgentFilesError> {
    let fail = |cause| AgentFilesError::File { path: path.to_owned(), cause };
    let resolved = match path.canonicalize() {
        Ok(path) => path,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(fail(cause)),
    };
    let name = resolved.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (resolved.parent(), name) else { return Ok(None) };
    let Some(bytes) = ConfinedFolder::open(folder)?.read(name, most)? else { return Ok(None) };
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| fail(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8")))
}

#[cfg(test)]
mod tests;
