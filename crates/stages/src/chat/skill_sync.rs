use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ratchet_core::catalog::skill::{MAIN_FILE, MAX_FILE_BYTES, MAX_FILES};
use ratchet_core::chat::config_layer::Layer;
use ratchet_core::chat::skills::{
    ContentHash, MANIFEST_FILE, OfferedSkill, SkillFiles, SkillManifest, SkillPlan, SkillStep,
    is_folder_name,
};

use super::confined_path::{ConfinedFolder, ConfinedPathError};
use super::prompt_layers::{AgentFilesError, LayerFolders};

/// What the folder of skills is called at the platform's and the user's place.
const OFFERS: &str = "skills";
/// How many files all skills of one place may have.
const MAX_ALL_FILES: usize = 5_000;
const MAX_MANIFEST_BYTES: usize = 4_000_000;

/// Copies the skills of the platform and the user into a folder, and removes those that are not
/// offered any more: only unmodified ones that Ratchet wrote.
///
/// # Errors
/// Fails if a file cannot be read or written. The manifest records the progress, so that the next call
/// goes on from there.
pub fn sync(
    layers: &LayerFolders,
    target: &ConfinedFolder,
    folder: &str,
) -> Result<SkillPlan, AgentFilesError> {
    let mut offers = Vec::new();
    for (layer, root) in layers.iter() {
        offers.extend(offered(layer, root)?);
    }
    let manifest_path = format!("{folder}/{MANIFEST_FILE}");
    let kept = target.read(&manifest_path, MAX_MANIFEST_BYTES)?.unwrap_or_default();
    let manifest = SkillManifest::read(&String::from_utf8_lossy(&kept));
    if offers.is_empty() && manifest == SkillManifest::default() {
        return Ok(SkillPlan::default());
    }
    let mut found = by_skill(target, folder)?;
    for link in target.links(folder)? {
        // A link was not created by Ratchet, wherever it leads.
        found.entry(link).or_default().insert(String::new(), ContentHash::of(b""));
    }
    let offered: Vec<OfferedSkill> = offers.iter().map(|(skill, _)| skill.clone()).collect();
    let plan = SkillPlan::new(&offered, &found, &manifest);
    let writes = plan.manifest != manifest;
    if plan.steps.is_empty() && !writes {
        return Ok(plan);
    }
    target.write(&manifest_path, manifest.with_added(&plan).write().as_bytes())?;
    for step in &plan.steps {
        match step {
            SkillStep::Remove { path } => target.remove(&format!("{folder}/{path}"))?,
            SkillStep::Write { path, from } => {
                let bytes = bytes_of(&offers, path, *from)?;
                target.write(&format!("{folder}/{path}"), &bytes)?;
            }
        }
    }
    target.write(&manifest_path, plan.manifest.write().as_bytes())?;
    Ok(plan)
}

/// The skills in a folder, with the hashes of their files.
fn by_skill(
    root: &ConfinedFolder,
    folder: &str,
) -> Result<BTreeMap<String, SkillFiles>, ConfinedPathError> {
    let mut skills: BTreeMap<String, SkillFiles> = BTreeMap::new();
    for path in root.files(folder, MAX_ALL_FILES)? {
        let Some((name, inside)) = path.split_once('/') else { continue };
        // Too large to be a skill's, so it is whatever it is, but not as we wrote it.
        let hash = match root.read(&format!("{folder}/{path}"), MAX_FILE_BYTES) {
            Ok(Some(bytes)) => ContentHash::of(&bytes),
            Ok(None) => continue,
            Err(ConfinedPathError::TooLarge { .. }) => ContentHash::of(b""),
            Err(why) => return Err(why),
        };
        skills.entry(name.to_owned()).or_default().insert(inside.to_owned(), hash);
    }
    Ok(skills)
}

/// The skills that a layer offers, with the folder that each is in. What has no `SKILL.md`, or
/// more files than a skill may have, is none.
fn offered(layer: Layer, root: &Path) -> Result<Vec<(OfferedSkill, PathBuf)>, AgentFilesError> {
    let Ok(root) = root.join(OFFERS).canonicalize() else { return Ok(Vec::new()) };
    let (Some(parent), Some(name)) = (root.parent(), root.file_name().and_then(|n| n.to_str()))
    else {
        return Ok(Vec::new());
    };
    let skills = by_skill(&ConfinedFolder::open(parent)?, name)?;
    let is_skill = |(name, files): &(String, SkillFiles)| {
        is_folder_name(name) && files.contains_key(MAIN_FILE) && files.len() <= MAX_FILES
    };
    let offer = |(name, files)| (OfferedSkill { layer, name, files }, root.clone());
    Ok(skills.into_iter().filter(is_skill).map(offer).collect())
}

fn bytes_of(
    offers: &[(OfferedSkill, PathBuf)],
    path: &str,
    from: Layer,
) -> Result<Vec<u8>, AgentFilesError> {
    let root = offers.iter().find(|(skill, _)| skill.layer == from).map(|(_, root)| root);
    let gone = || AgentFilesError::File {
        path: PathBuf::from(path),
        cause: std::io::Error::new(std::io::ErrorKind::NotFound, "it has just been taken away"),
    };
    let root = root.ok_or_else(gone)?;
    ConfinedFolder::open(root)?.read(path, MAX_FILE_BYTES)?.ok_or_else(gone)
}

#[cfg(test)]
mod tests;
