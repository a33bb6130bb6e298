//! The `claude` program, real and fake.

use std::path::{Path, PathBuf};

use ratchet_core::secret::Secret;

use crate::scripted::ScriptedModel;

/// Where `scripts/setup` puts the real one, in the version that `tests/sdk/agents` pins.
const REAL: &str = ".setup/npm-agents/node_modules/.bin/claude";
/// Where the fake one is.
const FAKE: &str = "fixtures/claude/fake-claude";

/// The real program, or another version of it that `RATCHET_CLAUDE_BIN` names.
///
/// # Panics
/// If it is not installed; the message says what to do.
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

/// An environment in which the program asks a scripted model, with a home of its own: of what it
/// would see otherwise, neither another model nor anybody's home is left.
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

/// A script that speaks the program's protocol, without a model, and misbehaves when it is told to;
/// it says how at its head.
pub fn fake() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FAKE)
}

/// A server of tools over standard input and output, with one tool, `who`: it says the server's
/// first argument and `WORKSPACE_PATH`, or asks a person for a colour when its input says `form`.
pub fn fake_mcp() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude/fake-mcp")
}
