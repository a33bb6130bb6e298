//! The `claude` program, real and fake.

use std::path::{Path, PathBuf};

use ratchet_core::secret::Secret;

use crate::scripted::ScriptedModel;

/// Where `scripts/setup` installs the real program, in the version that `tests/sdk/agents` pins.
const REAL: &str = ".setup/npm-agents/node_modules/.bin/claude";
/// Path of the fake program.
const FAKE: &str = "fixtures/claude/fake-claude";

/// The real program, or another version of it from `RATCHET_CLAUDE_BIN`.
///
/// # Panics
/// If it is not installed; the message explains what to do.
#[track_caller]
pub fn real() -> PathBuf {
    if let Some(another) = std::env::var_os("RATCHET_CLAUDE_BIN") {
        return another.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join(REAL);
    assert!(program.exists(), "{REAL} is not there: `make setup` installs it");
    program
}

/// An environment in which the program calls a scripted model, with an own home folder: it sees
/// neither another model nor the user's home.
pub fn surroundings(
    environment: Vec<(String, Secret)>,
    home: &Path,
    model: &ScriptedModel,
) -> Vec<(String, Secret)> {
    let is_ours = |name: &str| name.starts_with("ANTHROPIC_") || name == "HOME";
    let others = environment.into_iter().filter(|(name, _)| !is_ours(name));
    let ours = [
        ("HOME", home.display().to_string()),
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", "none".to_owned()),
    ];
    let ours = ours.map(|(name, value)| (name.to_owned(), Secret::new(value)));
    others.chain(ours).collect()
}

/// A script with the program's protocol, without a model, which misbehaves on demand; see its head
/// comment.
pub fn fake() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FAKE)
}

/// An MCP server over standard input and output, with one tool, `who`: it returns the server's
/// first argument and `WORKSPACE_PATH`, or elicits a colour when its input is `form`.
pub fn fake_mcp() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude/fake-mcp")
}
