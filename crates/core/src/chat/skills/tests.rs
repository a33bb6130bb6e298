use proptest::prelude::*;

use super::*;

type SkillFolder = BTreeMap<String, SkillFiles>;

fn files(files: &[(&str, &str)]) -> SkillFiles {
    let hash = |(path, text): &(&str, &str)| ((*path).to_owned(), ContentHash::of(text.as_bytes()));
    files.iter().map(hash).collect()
}

fn offered(layer: Layer, name: &str, text: &str) -> OfferedSkill {
    OfferedSkill { layer, name: name.to_owned(), files: files(&[("SKILL.md", text)]) }
}

/// Does what a plan says.
fn carry_out(plan: &SkillPlan, offers: &[OfferedSkill], folder: &mut SkillFolder) {
    for step in &plan.steps {
        match step {
            SkillStep::Write { path, from } => {
                let (name, file) = path.split_once('/').unwrap();
                let offer = offers.iter().find(|o| o.layer == *from && o.name == name).unwrap();
                let hash = offer.files[file].clone();
                folder.entry(name.to_owned()).or_default().insert(file.to_owned(), hash);
            }
            SkillStep::Remove { path } => {
                let (name, file) = path.split_once('/').unwrap();
                let there = folder.get_mut(name).unwrap();
                there.remove(file).unwrap();
                if there.is_empty() {
                    folder.remove(name);
                }
            }
        }
    }
}

#[test]
fn what_is_missing_is_added_and_users_win_over_the_platform() {
    let offers = [offered(Layer::User, "a", "mine"), offered(Layer::Platform, "a", "theirs")];
    let plan = SkillPlan::new(&offers, &SkillFolder::new(), &SkillManifest::default());
    let step = SkillStep::Write { path: "a/SKILL.md".to_owned(), from: Layer::User };
    assert_eq!(plan.steps, [step]);
    assert_eq!(plan.fates["a"], SkillAction::Added(Layer::User));
}

#[test]
fn a_skill_of_the_workspace_wins() {
    let offers = [offered(Layer::User, "a", "mine")];
    let found = SkillFolder::from([("a".to_owned(), files(&[("SKILL.md", "mine")]))]);
    let plan = SkillPlan::new(&offers, &found, &SkillManifest::default());
    assert!(plan.steps.is_empty(), "even one with the same bytes was not written by us");
    assert_eq!(plan.fates["a"], SkillAction::WorkspaceOwn);
    assert_eq!(plan.manifest, SkillManifest::default());
}

#[test]
fn ours_follow_what_is_offered() {
    let mut folder = SkillFolder::new();
    let old = OfferedSkill {
        files: files(&[("SKILL.md", "1"), ("old.py", "x"), ("same.py", "y")]),
        ..offered(Layer::Platform, "a", "")
    };
    let first = SkillPlan::new(std::slice::from_ref(&old), &folder, &SkillManifest::default());
    carry_out(&first, &[old], &mut folder);

    let new = OfferedSkill {
        files: files(&[("SKILL.md", "2"), ("same.py", "y")]),
        ..offered(Layer::Platform, "a", "")
    };
    let second = SkillPlan::new(std::slice::from_ref(&new), &folder, &first.manifest);
    let remove = SkillStep::Remove { path: "a/old.py".to_owned() };
    let write = SkillStep::Write { path: "a/SKILL.md".to_owned(), from: Layer::Platform };
    assert_eq!(second.steps, [remove, write]);
    assert_eq!(second.fates["a"], SkillAction::Updated(Layer::Platform));
    carry_out(&second, &[new], &mut folder);

    let third = SkillPlan::new(&[], &folder, &second.manifest);
    assert_eq!(third.fates["a"], SkillAction::Removed);
    carry_out(&third, &[], &mut folder);
    assert!(folder.is_empty());
}

#[test]
fn what_people_changed_is_theirs_from_then_on() {
    let offers = [offered(Layer::Platform, "a", "1")];
    let mut folder = SkillFolder::new();
    let first = SkillPlan::new(&offers, &folder, &SkillManifest::default());
    carry_out(&first, &offers, &mut folder);
    folder.get_mut("a").unwrap().insert("notes.md".to_owned(), ContentHash::of(b"mine"));

    let second = SkillPlan::new(&offers, &folder, &first.manifest);
    assert!(second.steps.is_empty());
    assert_eq!(second.fates["a"], SkillAction::WorkspaceEdited);
    let gone = SkillPlan::new(&[], &folder, &first.manifest);
    assert!(gone.steps.is_empty());
}

#[test]
fn a_manifest_that_points_elsewhere_is_not_ours() {
    let good = SkillPlan::new(
        &[offered(Layer::User, "a", "1")],
        &SkillFolder::new(),
        &SkillManifest::default(),
    );
    assert_eq!(SkillManifest::read(&good.manifest.write()), good.manifest);
    for bad in [
        r#"{"version":1,"skills":{"..":{"x":"h"}}}"#,
        r#"{"version":1,"skills":{"a":{"../../x":"h"}}}"#,
        r#"{"version":1,"skills":{"a/b":{"x":"h"}}}"#,
        r#"{"version":2,"skills":{"a":{"x":"h"}}}"#,
        "no JSON",
    ] {
        assert_eq!(SkillManifest::read(bad), SkillManifest::default(), "{bad}");
    }
}

fn arbitrary_folder() -> impl Strategy<Value = SkillFolder> {
    let files_of = prop::collection::btree_map("[xy]", "[12]", 1..3);
    prop::collection::btree_map("[abc]", files_of, 0..4).prop_map(|all| {
        let hashed = |files: BTreeMap<String, String>| {
            files.into_iter().map(|(path, text)| (path, ContentHash::of(text.as_bytes()))).collect()
        };
        all.into_iter().map(|(name, files)| (name, hashed(files))).collect()
    })
}

fn offers(folder: &SkillFolder) -> Vec<OfferedSkill> {
    let offer = |(name, files): (&String, &SkillFiles)| OfferedSkill {
        layer: Layer::User,
        name: name.clone(),
        files: files.clone(),
    };
    folder.iter().map(offer).collect()
}

proptest! {
    #[test]
    fn nothing_that_others_wrote_is_touched(
        theirs in arbitrary_folder(), first in arbitrary_folder(), second in arbitrary_folder(),
        edits in arbitrary_folder(), crash in 0_usize..6,
    ) {
        let mut folder = theirs.clone();
        let mut manifest = SkillManifest::default();
        for (round, offer) in [&first, &second].into_iter().enumerate() {
            let before = folder.clone();
            let plan = SkillPlan::new(&offers(offer), &folder, &manifest);
            let half = SkillPlan { steps: plan.steps.iter().take(crash).cloned().collect(), ..plan.clone() };
            let mut broken = folder.clone();
            carry_out(&half, &offers(offer), &mut broken);
            carry_out(&plan, &offers(offer), &mut folder);
            // After a crash between any two steps, the next time ends where this one would have.
            let mended = SkillPlan::new(&offers(offer), &broken, &manifest.with_added(&plan));
            carry_out(&mended, &offers(offer), &mut broken);
            prop_assert_eq!(&broken, &folder);
            prop_assert_eq!(&mended.manifest, &plan.manifest);
            for (name, files) in &before {
                let none = SkillFiles::new();
                let offered = offer.get(name).unwrap_or(&none);
                if !is_ours(files, manifest.skills.get(name), offered) {
                    prop_assert_eq!(folder.get(name), Some(files));
                }
            }
            // Once it is done there is nothing left to do.
            let again = SkillPlan::new(&offers(offer), &folder, &plan.manifest);
            prop_assert!(again.steps.is_empty());
            prop_assert_eq!(&again.manifest, &plan.manifest);
            manifest = plan.manifest;
            if round == 0 {
                folder.extend(edits.clone());
            }
        }
    }
}
