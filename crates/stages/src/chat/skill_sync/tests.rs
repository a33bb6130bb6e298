use std::fs;
use std::os::unix::fs::symlink;

use ratchet_core::chat::skills::{FOLDER, SkillAction};
use tempfile::{TempDir, tempdir};

use super::*;

struct World {
    top: TempDir,
    layers: LayerFolders,
    target: ConfinedFolder,
}

fn world() -> World {
    let top = tempdir().unwrap();
    let real = top.path().canonicalize().unwrap();
    fs::create_dir(real.join("work")).unwrap();
    let layers =
        LayerFolders { platform: Some(real.join("platform")), user: Some(real.join("user")) };
    let target = ConfinedFolder::open(&real.join("work")).unwrap();
    World { top, layers, target }
}

impl World {
    fn write(&self, path: &str, text: &str) {
        let path = self.top.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, skill: &str) -> Option<String> {
        fs::read_to_string(self.top.path().join("work").join(FOLDER).join(skill)).ok()
    }

    #[track_caller]
    fn synced(&self, expected: &[(&str, &str)]) {
        let plan = sync(&self.layers, &self.target, FOLDER).unwrap();
        let fates: Vec<_> =
            plan.fates.iter().map(|(name, fate)| (name.clone(), fate.to_string())).collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, fate)| ((*name).to_owned(), (*fate).to_owned())).collect();
        assert_eq!(fates, expected);
    }
}

#[test]
fn nothing_offered_leaves_no_trace() {
    let world = world();
    world.synced(&[]);
    assert!(!world.top.path().join("work/.claude").exists());
}

#[test]
fn skills_come_follow_and_go() {
    let world = world();
    world.write("platform/skills/pdf/SKILL.md", "1");
    world.write("platform/skills/pdf/scripts/run.py", "x");
    world.write("platform/skills/both/SKILL.md", "platform");
    world.write("user/skills/both/SKILL.md", "user");
    world.write("user/skills/notes.txt", "no skill");
    world.write("user/skills/empty/README.md", "no skill either");
    world.write("work/.claude/skills/own/SKILL.md", "own");
    world.write("platform/skills/own/SKILL.md", "theirs");
    world.synced(&[
        ("both", "added from user"),
        ("own", "the workspace's own"),
        ("pdf", "added from platform"),
    ]);
    assert_eq!(world.read("both/SKILL.md").unwrap(), "user");
    assert_eq!(world.read("pdf/scripts/run.py").unwrap(), "x");
    assert_eq!(world.read("own/SKILL.md").unwrap(), "own");

    fs::remove_dir_all(world.top.path().join("user/skills/both")).unwrap();
    fs::remove_dir_all(world.top.path().join("platform/skills/own")).unwrap();
    fs::remove_file(world.top.path().join("platform/skills/pdf/scripts/run.py")).unwrap();
    world.write("platform/skills/pdf/SKILL.md", "2");
    world.synced(&[("both", "updated from platform"), ("pdf", "updated from platform")]);
    assert_eq!(world.read("both/SKILL.md").unwrap(), "platform");
    assert_eq!(world.read("pdf/SKILL.md").unwrap(), "2");
    assert_eq!(world.read("pdf/scripts/run.py"), None);

    fs::remove_dir_all(world.top.path().join("platform")).unwrap();
    world.write("work/.claude/skills/pdf/SKILL.md", "edited");
    world.synced(&[("both", "removed"), ("pdf", "changed in the workspace, left alone")]);
    assert_eq!(world.read("both/SKILL.md"), None);
    assert_eq!(world.read("pdf/SKILL.md").unwrap(), "edited");
    assert_eq!(world.read("own/SKILL.md").unwrap(), "own");
    world.synced(&[]);
}

#[test]
fn a_folder_of_skills_that_leads_elsewhere_is_refused() {
    let world = world();
    world.write("platform/skills/pdf/SKILL.md", "1");
    world.write("elsewhere/keep", "x");
    symlink("../elsewhere", world.top.path().join("work/.claude")).unwrap();
    let why = sync(&world.layers, &world.target, FOLDER).unwrap_err().to_string();
    assert!(why.contains("symbolic link"), "{why}");
    assert!(!world.top.path().join("elsewhere/skills").exists());
}

#[test]
fn a_skill_that_is_a_link_is_the_workspaces_own() {
    let world = world();
    world.write("platform/skills/pdf/SKILL.md", "platform");
    world.write("elsewhere/SKILL.md", "shared");
    let skills = world.top.path().join("work").join(FOLDER);
    fs::create_dir_all(&skills).unwrap();
    symlink(world.top.path().join("elsewhere"), skills.join("pdf")).unwrap();
    world.synced(&[("pdf", "the workspace's own")]);
    assert_eq!(world.read("pdf/SKILL.md").as_deref(), Some("shared"));
    let shared = fs::read_to_string(world.top.path().join("elsewhere/SKILL.md")).unwrap();
    assert_eq!(shared, "shared");
}

#[test]
fn a_skill_without_changes_is_not_written_again() {
    let world = world();
    world.write("user/skills/a/SKILL.md", "1");
    world.synced(&[("a", "added from user")]);
    let plan = sync(&world.layers, &world.target, FOLDER).unwrap();
    assert_eq!(plan.fates["a"], SkillAction::Unchanged(Layer::User));
    assert!(plan.steps.is_empty());
}
