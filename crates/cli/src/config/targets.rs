use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use ratchet_core::experiment::target::Target;
use ratchet_stages::experiment::server_targets::OperatorTarget;

use super::layers::{NamedEntry, TARGETS};
use super::lookup::Lookup;

/// Targets that the server can run by itself, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetConfig(pub(crate) BTreeMap<String, OperatorTarget>);

impl TargetConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        of.named(TARGETS).into_iter().map(target).collect::<anyhow::Result<_>>().map(Self)
    }
}

/// An entry is a target, or names the file of one: `file = "agents/support.toml"`.
fn target(entry: NamedEntry) -> anyhow::Result<(String, OperatorTarget)> {
    let NamedEntry { name, value, file } = entry;
    let shown = format!("{}: targets.{name}", file.display());
    let toml::Value::Table(table) = value else { bail!("{shown} must be a table") };
    let folder = folder_of(&file)?;
    let Some(named) = table.get("file") else {
        let target = Target::from_table(table).with_context(|| shown)?;
        return Ok((name, OperatorTarget { target, folder }));
    };
    let Some(path) = named.as_str().filter(|_| table.len() == 1) else {
        bail!("{shown}.file must be a path, with no other field beside it")
    };
    let path = folder.join(path);
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("{shown}: cannot read {}", path.display()))?;
    let target = Target::parse(&text).with_context(|| format!("{shown}: {}", path.display()))?;
    let folder = folder_of(&path)?;
    Ok((name, OperatorTarget { target, folder }))
}

fn folder_of(file: &Path) -> anyhow::Result<std::path::PathBuf> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or_else(|| Path::new(".")).canonicalize();
    folder.with_context(|| format!("cannot find the folder of {}", file.display()))
}
