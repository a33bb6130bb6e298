//! Which skills are put into a folder that an agent finds them in, and which are left alone.
//!
//! The folder is someone else's. What we wrote is written down in a manifest with its hashes, and
//! only what is still as we wrote it is ever changed or taken away; the rest is the workspace's.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::config_layer::Layer;
use crate::catalog::skill;

/// The folder of skills in a workspace.
pub const FOLDER: &str = ".claude/skills";
/// What the manifest is called there.
pub const MANIFEST_FILE: &str = ".ratchet.json";

const MANIFEST_VERSION: u32 = 1;

/// The hash of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hashes some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The files of one skill, by their paths inside it.
pub type SkillFiles = BTreeMap<String, ContentHash>;

/// A skill of the platform or the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedSkill {
    pub layer: Layer,
    /// The name of its folder.
    pub name: String,
    pub files: SkillFiles,
}

/// What we have put into a folder. Users see it as a file there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillManifest {
    version: u32,
    skills: BTreeMap<String, SkillFiles>,
}

impl Default for SkillManifest {
    fn default() -> Self {
        Self { version: MANIFEST_VERSION, skills: BTreeMap::new() }
    }
}

impl SkillManifest {
    /// Reads a manifest. One that is not ours, or names files outside the folder, counts as none:
    /// then everything there is the workspace's.
    pub fn read(text: &str) -> Self {
        let read = serde_json::from_str::<Self>(text).unwrap_or_default();
        let is_good = |(name, files): (&String, &SkillFiles)| {
            is_folder_name(name) && files.keys().all(|path| skill::check_path(path).is_ok())
        };
        let is_ours = read.version == MANIFEST_VERSION && read.skills.iter().all(is_good);
        if is_ours { read } else { Self::default() }
    }

    /// What is written down before a plan is carried out: that skills which it adds are ours, so
    /// that what is half done is known for that after a crash.
    #[must_use]
    pub fn with_added(&self, plan: &SkillPlan) -> Self {
        let mut skills = plan.manifest.skills.clone();
        skills.extend(self.skills.clone());
        Self { version: MANIFEST_VERSION, skills }
    }

    /// The text of it.
    pub fn write(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        text + "\n"
    }
}

/// Whether a name can be that of a skill's folder.
pub fn is_folder_name(name: &str) -> bool {
    !name.contains('/') && !name.starts_with('.') && skill::check_path(name).is_ok()
}

/// Something to be done in the folder. Paths begin with the skill's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillStep {
    /// Writes a file, taken from that layer.
    Write {
        path: String,
        /// Whose skill it belongs to.
        from: Layer,
    },
    /// Takes a file away that we wrote, and folders that are then empty.
    Remove { path: String },
}

/// What happens to a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillAction {
    /// It was not there.
    Added(Layer),
    /// It was ours, and is now as that layer has it.
    Updated(Layer),
    /// It is as it should be.
    Unchanged(Layer),
    /// It was ours, and is no longer offered.
    Removed,
    /// The workspace has one of that name, which wins.
    WorkspaceOwn,
    /// It was ours, but someone has changed it, so that it is the workspace's now.
    WorkspaceEdited,
}

impl fmt::Display for SkillAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(layer) => write!(f, "added from {layer}"),
            Self::Updated(layer) => write!(f, "updated from {layer}"),
            Self::Unchanged(layer) => write!(f, "as {layer} has it"),
            Self::Removed => f.write_str("removed"),
            Self::WorkspaceOwn => f.write_str("the workspace's own"),
            Self::WorkspaceEdited => f.write_str("changed in the workspace, left alone"),
        }
    }
}

/// What is to be done so that a folder has the skills it should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillPlan {
    /// What is done, in order.
    pub steps: Vec<SkillStep>,
    /// What happens to each skill, by name.
    pub fates: BTreeMap<String, SkillAction>,
    /// What we shall have written then.
    pub manifest: SkillManifest,
}

impl SkillPlan {
    /// Decides from what is offered, what is in the folder, and what we wrote there earlier.
    pub fn new(
        offered: &[OfferedSkill],
        found: &BTreeMap<String, SkillFiles>,
        manifest: &SkillManifest,
    ) -> Self {
        let mut wanted: BTreeMap<&str, &OfferedSkill> = BTreeMap::new();
        for skill in offered.iter().filter(|skill| is_folder_name(&skill.name)) {
            let earlier = wanted.get(skill.name.as_str());
            if earlier.is_none_or(|earlier| earlier.layer <= skill.layer) {
                wanted.insert(&skill.name, skill);
            }
        }
        let mut plan = Self::default();
        let forgotten = manifest.skills.keys().filter(|name| !wanted.contains_key(name.as_str()));
        for name in forgotten {
            plan.leave(name, found.get(name), manifest);
        }
        for (name, skill) in wanted {
            plan.bring(name, skill, found.get(name), manifest.skills.get(name));
        }
        plan
    }

    /// A skill that is no longer offered.
    fn leave(&mut self, name: &str, found: Option<&SkillFiles>, manifest: &SkillManifest) {
        match found {
            None => {}
            Some(files) if is_ours(files, manifest.skills.get(name), &SkillFiles::new()) => {
                self.remove(name, files.keys());
                self.fates.insert(name.to_owned(), SkillAction::Removed);
            }
            Some(_) => {
                self.fates.insert(name.to_owned(), SkillAction::WorkspaceEdited);
            }
        }
    }

    /// A skill that is offered.
    fn bring(
        &mut self,
        name: &str,
        skill: &OfferedSkill,
        found: Option<&SkillFiles>,
        ours: Option<&SkillFiles>,
    ) {
        let fate = match (found, ours) {
            (None, _) => SkillAction::Added(skill.layer),
            (Some(_), None) => SkillAction::WorkspaceOwn,
            (Some(found), Some(_)) if *found == skill.files => SkillAction::Unchanged(skill.layer),
            (Some(found), ours) if is_ours(found, ours, &skill.files) => {
                SkillAction::Updated(skill.layer)
            }
            (Some(_), Some(_)) => SkillAction::WorkspaceEdited,
        };
        self.fates.insert(name.to_owned(), fate);
        if matches!(fate, SkillAction::WorkspaceOwn | SkillAction::WorkspaceEdited) {
            return;
        }
        self.manifest.skills.insert(name.to_owned(), skill.files.clone());
        let none = SkillFiles::new();
        let there = found.unwrap_or(&none);
        self.remove(name, there.keys().filter(|path| !skill.files.contains_key(*path)));
        let changed = skill.files.iter().filter(|(path, hash)| there.get(*path) != Some(hash));
        for (path, _) in changed {
            self.steps.push(SkillStep::Write { path: format!("{name}/{path}"), from: skill.layer });
        }
    }

    fn remove<'a>(&mut self, name: &str, paths: impl Iterator<Item = &'a String>) {
        self.steps.extend(paths.map(|path| SkillStep::Remove { path: format!("{name}/{path}") }));
    }
}

/// Whether a skill has no foreign changes: each file is as we wrote it, or already as we
/// were about to write it when something came in between.
fn is_ours(found: &SkillFiles, ours: Option<&SkillFiles>, offered: &SkillFiles) -> bool {
    let Some(ours) = ours else { return false };
    found.iter().all(|(path, hash)| [ours, offered].iter().any(|all| all.get(path) == Some(hash)))
}

#[cfg(test)]
mod tests;
