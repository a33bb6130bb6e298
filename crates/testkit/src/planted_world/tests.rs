use std::collections::{BTreeMap, BTreeSet};

use super::*;

const SEEDS: [u64; 3] = [1, 2, 77];

#[test]
fn the_same_settings_give_the_same_bytes_and_another_seed_other_ones() {
    let world = PlantedWorld::new(7).weeks(1);
    assert_eq!(world.ingestion_batches(), world.ingestion_batches());
    assert_ne!(world.ingestion_batches(), PlantedWorld::new(8).weeks(1).ingestion_batches());
}

#[test]
fn ids_are_unique() {
    for seed in SEEDS {
        let batches = PlantedWorld::new(seed).ingestion_batches();
        let events = batches.iter().flat_map(|batch| batch["batch"].as_array().unwrap());
        let ids: Vec<&str> = events.map(|event| event["id"].as_str().unwrap()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    }
}

#[test]
fn every_defect_has_reviewed_traces_of_several_sessions_and_none_in_its_twin() {
    for seed in SEEDS {
        let traces = PlantedWorld::new(seed).traces();
        for defect in PlantedDefect::ALL {
            let shown: Vec<_> = traces
                .iter()
                .filter(|it| it.defect == Some(defect) && it.week == 2 && it.is_reviewed)
                .filter(|it| it.comment.is_some())
                .collect();
            let sessions: BTreeSet<_> = shown.iter().map(|it| &it.session).collect();
            assert!(shown.len() >= 5 && sessions.len() >= 3, "{defect:?}: {}", shown.len());
            let twin = PlantedWorld::new(seed).with(DefectSet::all().without(defect));
            assert!(!twin.expected().iter().any(|it| it.defect == defect));
            let twin = twin.traces();
            assert!(twin.iter().all(|it| it.defect != Some(defect)));
            let asked = |traces: &[PlantedTrace]| -> Vec<String> {
                traces.iter().map(|it| it.input.clone()).collect()
            };
            assert_eq!(asked(&twin), asked(&traces), "the twin world asks the same");
        }
    }
}

#[test]
fn counting_repeated_sentences_finds_nothing() {
    for seed in SEEDS {
        let traces = PlantedWorld::new(seed).traces();
        for week in 0..3 {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            let failed = traces.iter().filter(|it| it.week == week && it.defect.is_some());
            for trace in failed {
                let comment = trace.comment.as_deref().filter(|_| trace.is_reviewed);
                let texts = [trace.input.as_str(), &trace.output, comment.unwrap_or_default()];
                for sentence in texts.iter().flat_map(|text| text.split(['.', '?', '!'])) {
                    let sentence = sentence.trim();
                    if sentence.split(' ').count() > 3 {
                        *counts.entry(sentence.to_owned()).or_default() += 1;
                    }
                }
            }
            let most = counts.iter().max_by_key(|(_, count)| **count).unwrap();
            assert!(*most.1 <= 6, "seed {seed}: {most:?}");
        }
    }
}

#[test]
fn defects_appear_are_fixed_and_come_back_in_the_given_weeks() {
    let defect = PlantedDefect::WrongStock;
    let world = PlantedWorld::new(3).with(DefectSet::none().in_weeks(defect, &[1, 3])).weeks(4);
    let weeks: BTreeSet<usize> = world
        .traces()
        .iter()
        .filter(|trace| trace.defect == Some(defect))
        .map(|trace| trace.week)
        .collect();
    assert_eq!(weeks, [1, 3].into());
    assert!(world.expected_in(2).is_empty() && world.expected_in(3).len() == 1);
}

#[test]
fn tools_fail_only_where_a_defect_makes_them_fail() {
    let traces = PlantedWorld::new(5).traces();
    for trace in traces.iter().filter(|trace| trace.tool().is_some_and(|(_, failed)| failed)) {
        let defect = trace.defect.unwrap();
        assert!(defect != PlantedDefect::TrackingError || trace.release() != "2.0.0");
        assert!(defect != PlantedDefect::PickupFormat || trace.release() == "2.2.0");
    }
    let healthy = PlantedWorld::new(5).with(DefectSet::none()).traces();
    assert!(healthy.iter().all(|trace| trace.tool().is_none_or(|(_, failed)| !failed)));
    let wrong = healthy.iter().filter(|trace| !trace.is_correct).count();
    assert!(wrong * 20 < healthy.len(), "{wrong} of {}", healthy.len());
}

#[test]
fn the_repository_has_every_expected_file_and_differs_where_the_defect_is() {
    let folder = tempfile::tempdir().unwrap();
    let world = PlantedWorld::new(1);
    world.write_repository(&folder.path().join("all"));
    assert_eq!(world.expected().len(), 12);
    for finding in world.expected() {
        let name = format!("{:?}", finding.defect);
        let twin = PlantedWorld::new(1).with(DefectSet::all().without(finding.defect));
        twin.write_repository(&folder.path().join(&name));
        for file in finding.files {
            let read = |of: &str| std::fs::read_to_string(folder.path().join(of).join(file));
            assert_ne!(read("all").unwrap(), read(&name).unwrap(), "{file}");
            assert!(!read("all").unwrap().contains("@defect"));
        }
    }
}
