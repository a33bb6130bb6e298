//! Disks that are full, cannot be written, or were cut off in the middle of a word.

use std::fs::{self, File};
use std::path::Path;

use ratchet_testkit::http::{self, Answer, Request};
use ratchet_testkit::mount::SmallDisk;
use ratchet_testkit::otlp;
use ratchet_testkit::process::{PROJECT, Ratchet};
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::soak::scaled;

use crate::doctor::assert_sound;
use crate::server;

/// One trace with one span of noise that does not compress.
fn noise(number: u128, kilobytes: usize, chance: &mut SeededRandom) -> Request {
    let words: String = (0..kilobytes * 64).map(|_| format!("{:016x}", chance.number())).collect();
    let span = otlp::span(number, 1).saying("langfuse.observation.input", words.as_str());
    http::post("/v1/traces").protobuf(otlp::request("disks").with(span).to_protobuf())
}

fn traces(running: &Ratchet) -> u64 {
    let answer = running.send(http::get("/api/public/traces?limit=1"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["meta"]["totalItems"].as_u64().unwrap()
}

/// Records until the server refuses; returns how many it took and how it refused.
fn fill(running: &Ratchet, from: u128, chance: &mut SeededRandom) -> (u64, Answer) {
    let mut taken = 0;
    for number in from.. {
        let answer = running.send(noise(number, 100, chance));
        if answer.status != 200 {
            return (taken, answer);
        }
        taken += 1;
        assert!(taken < 1_000, "the disk never fills");
    }
    unreachable!("numbers do not end");
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount(8 * 1024) else { return };
    let mut chance = SeededRandom::from_environment("full disk");
    let running = server(&disk.folder()).start();
    let (taken, refusal) = fill(&running, 1, &mut chance);
    assert_eq!(refusal.status, 503, "{}", refusal.text());
    assert!(refusal.text().contains("the disk is full up to its reserve"), "{}", refusal.text());
    assert!(refusal.text().contains("1.0 MB are kept free"), "{}", refusal.text());
    assert!(refusal.header("retry-after").is_some());
    assert!(taken > 5, "only {taken} requests fit");
    assert_eq!(traces(&running), taken, "what was acknowledged can be read");
    let ready = running.send(http::get("/api/public/ready"));
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert!(ready.text().contains("ratchet compact"), "{}", ready.text());
    assert_eq!(running.send(http::get("/api/public/health")).status, 200);

    // Someone makes room: no restart is needed.
    disk.remount("size=8g");
    let answer = running.send(noise(1_000_000, 100, &mut chance));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(traces(&running), taken + 1);
    assert_eq!(running.send(http::get("/api/public/ready")).status, 200);

    running.kill_hard();
    assert_sound(&disk.folder());
    assert_eq!(traces(&server(&disk.folder()).start()), taken + 1);
}

#[test]
fn a_server_killed_on_a_full_disk_starts_again_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(6 * 1024) else { return };
    let mut chance = SeededRandom::from_environment("killed on a full disk");
    let running = server(&disk.folder()).start();
    let (taken, _) = fill(&running, 1, &mut chance);
    running.kill_hard();
    disk.remount("size=8g");
    let running = server(&disk.folder()).start();
    assert_eq!(traces(&running), taken);
    assert_eq!(running.send(noise(1_000_000, 1, &mut chance)).status, 200);
    assert_sound(&disk.folder());
}

fn delete(running: &Ratchet, numbers: std::ops::RangeInclusive<u64>) {
    let ids: Vec<String> = numbers.map(|number| otlp::trace_id(number.into())).collect();
    let body = serde_json::json!({ "traceIds": ids }).to_string();
    let answer = running.send(http::request("DELETE", "/api/public/traces").json(body));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn compact(running: &Ratchet) -> serde_json::Value {
    let answer = running.send(http::post("/api/v1/compact"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn deleting_and_compacting_work_on_a_full_disk_and_make_room() {
    let Some(disk) = SmallDisk::mount(16 * 1024) else { return };
    let mut chance = SeededRandom::from_environment("room on a full disk");
    let mut running = server(&disk.folder()).start();
    let mut kept = 0;
    for round in 0..scaled(2_u64, 20) {
        let from = 1_000 * round + 1;
        let (taken, refusal) = fill(&running, from.into(), &mut chance);
        assert_eq!(refusal.status, 503, "{}", refusal.text());
        // A restart opens, on a disk as full as recording makes it.
        running.kill_hard();
        running = server(&disk.folder()).start();
        kept += taken;
        assert_eq!(traces(&running), kept);
        assert_eq!(running.send(noise(9_000_000, 100, &mut chance)).status, 503, "still full");
        // One trace of each round stays. With half of them the disk would be full of older rounds
        // after a few, and nothing of the newest left to delete.
        assert!(taken > 5, "only {taken} requests fit in round {round}");
        delete(&running, from..=from + taken - 2);
        kept -= taken - 1;
        assert_eq!(traces(&running), kept);
        let report = compact(&running);
        let [before, after] =
            ["bytesBefore", "bytesAfter"].map(|key| report[key].as_u64().unwrap());
        assert!(after < before, "{report}");
        assert_eq!(running.send(http::get("/api/public/ready")).status, 200);
    }
    running.kill_hard();
    assert_sound(&disk.folder());
}

#[test]
fn content_stops_at_the_reserve_and_settings_and_deleting_do_not() {
    let Some(disk) = SmallDisk::mount(16 * 1024) else { return };
    let mut chance = SeededRandom::from_environment("content on a full disk");
    let running = server(&disk.folder()).start();
    let dataset = http::post("/api/public/v2/datasets").json(r#"{"name":"d"}"#.to_owned());
    assert_eq!(running.send(dataset).status, 200);
    let mut item = |id: u32, kilobytes: usize| {
        let input: String =
            (0..kilobytes * 64).map(|_| format!("{:016x}", chance.number())).collect();
        let body = serde_json::json!({"datasetName": "d", "id": format!("i{id}"), "input": input});
        running.send(http::post("/api/public/dataset-items").json(body.to_string()))
    };
    // A refusal truncates the WAL, which may make room for a retry.
    let mut answers = (0..1_000).map(|id| [item(id, 100), item(id, 100)]);
    let full = answers.find(|both| both.iter().all(|answer| answer.status != 200));
    let [refused, _] = full.unwrap();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("disk.reserve"), "{}", refused.text());
    let prompt = serde_json::json!({"name": "p", "prompt": "x".repeat(200_000)});
    let prompt = http::post("/api/public/v2/prompts").json(prompt.to_string());
    assert_eq!(running.send(prompt).status, 503, "all content is refused");
    let key = http::post(&format!("/api/v1/projects/{PROJECT}/keys"));
    let key = running.send(key.json(r#"{"role":"viewer"}"#.to_owned()));
    assert_eq!(key.status, 201, "{}", key.text());
    let gone = running.send(http::request("DELETE", "/api/public/dataset-items/i0"));
    assert_eq!(gone.status, 200, "{}", gone.text());
    running.kill_hard();
    assert_sound(&disk.folder());
}

#[test]
fn a_restart_opens_on_a_disk_that_others_have_filled() {
    let Some(disk) = SmallDisk::mount(16 * 1024) else { return };
    let mut chance = SeededRandom::from_environment("filled by others");
    let running = server(&disk.folder()).start();
    for number in 1..=20 {
        assert_eq!(running.send(noise(number, 100, &mut chance)).status, 200);
    }
    running.kill_hard();
    // Not one byte is left.
    let ballast = disk.path().join("ballast");
    let filled = fs::write(&ballast, vec![1; 64 * 1024 * 1024]);
    assert!(filled.is_err(), "the disk is larger than it should be");
    let running = server(&disk.folder()).start();
    assert_eq!(traces(&running), 20, "what was acknowledged can be read");
    assert_eq!(running.send(noise(100, 1, &mut chance)).status, 503);
    assert_eq!(running.send(http::get("/api/public/ready")).status, 503);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(running.send(noise(100, 1, &mut chance)).status, 200);
    running.kill_hard();
    assert_sound(&disk.folder());
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_by_name() {
    let Some(disk) = SmallDisk::mount(8 * 1024) else { return };
    let mut chance = SeededRandom::from_environment("read-only folder");
    let running = server(&disk.folder()).start();
    assert_eq!(running.send(noise(1, 1, &mut chance)).status, 200);
    running.kill_hard();
    disk.remount("ro");
    let log = server(&disk.folder()).try_start().unwrap_err();
    assert!(log.contains("cannot be written"), "{log}");
    assert!(log.contains(disk.folder().to_str().unwrap()), "{log}");
    disk.remount("rw");
    assert_eq!(traces(&server(&disk.folder()).start()), 1, "nothing was lost");
}

/// Copies the files of a data folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// A folder whose server was killed with a log that had not been folded into the database, and how
/// many traces were recorded, one after the other.
fn killed_with_a_log(data: &Path, chance: &mut SeededRandom) -> u64 {
    let recorded = 40;
    let running = server(data).start();
    for number in 1..=recorded {
        assert_eq!(running.send(noise(number.into(), 2, chance)).status, 200);
    }
    running.kill_hard();
    recorded
}

/// The numbers of the traces in a folder, least first.
fn numbers(running: &Ratchet) -> Vec<u64> {
    let answer = running.send(http::get("/api/public/traces?limit=100")).json();
    let ids = answer["data"].as_array().unwrap().iter();
    let mut numbers: Vec<_> =
        ids.map(|trace| u64::from_str_radix(trace["id"].as_str().unwrap(), 16).unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

/// Damages the log of a copy of the folder, starts a server on it, and expects the first of the
/// traces to be there and the rest not: the log counts up to its last whole word.
fn check_log(folder: &Path, scratch: &Path, recorded: u64, damage: &dyn Fn(&Path)) {
    copy(folder, scratch);
    damage(&scratch.join("telemetry.db-wal"));
    let running = server(scratch).start();
    let found = numbers(&running);
    let expected: Vec<u64> = (1..=recorded).take(found.len()).collect();
    assert_eq!(found, expected, "a gap in what is left");
    let mut chance = SeededRandom::new(1);
    assert_eq!(running.send(noise(1_000_000, 1, &mut chance)).status, 200);
    running.kill_hard();
    assert_sound(scratch);
}

#[test]
fn a_log_that_was_cut_off_counts_up_to_its_last_whole_word() {
    let mut chance = SeededRandom::from_environment("cut log");
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data");
    let recorded = killed_with_a_log(&folder, &mut chance);
    let length = fs::metadata(folder.join("telemetry.db-wal")).unwrap().len();
    assert!(length > 100_000, "the log has only {length} bytes");
    let length = usize::try_from(length).unwrap();
    let cuts = (0..8).map(|_| chance.below(length)).chain([0, 1, 31, 32, length - 1]);
    for (number, cut) in cuts.enumerate() {
        let scratch = home.path().join(format!("cut-{number}"));
        check_log(&folder, &scratch, recorded, &|log| {
            let file = File::options().write(true).open(log).unwrap();
            file.set_len(cut as u64).unwrap();
        });
    }
}

#[test]
fn a_log_with_a_wrong_byte_counts_up_to_it() {
    let mut chance = SeededRandom::from_environment("damaged log");
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data");
    let recorded = killed_with_a_log(&folder, &mut chance);
    for number in 0..5 {
        let scratch = home.path().join(format!("flip-{number}"));
        let place = chance.number();
        check_log(&folder, &scratch, recorded, &|log| {
            let mut bytes = fs::read(log).unwrap();
            let at = usize::try_from(place % bytes.len() as u64).unwrap();
            bytes[at] ^= 0x40;
            fs::write(log, bytes).unwrap();
        });
    }
}

#[test]
fn two_servers_on_one_folder_do_not_harm_each_other() {
    let data = tempfile::tempdir().unwrap();
    let mut chance = SeededRandom::new(7);
    let first = server(data.path()).start();
    assert_eq!(first.send(noise(1, 1, &mut chance)).status, 200);
    for _ in 0..3 {
        let log = server(data.path()).try_start().unwrap_err();
        assert!(log.contains(&format!("process {}", first.pid())), "{log}");
    }
    assert_eq!(first.send(noise(2, 1, &mut chance)).status, 200);
    assert_eq!(traces(&first), 2);
    first.kill_hard();
    // The lock of a dead process is no lock.
    let second = server(data.path()).start();
    assert_eq!(traces(&second), 2);
}
