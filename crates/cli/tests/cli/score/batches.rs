use ratchet_testkit::scripted::{Reply, ScriptedModel};
use ratchet_testkit::wait;
use serde_json::json;

use super::models::{judged, verdict, verdict_citing};
use super::runs::{started, until_asked};
use super::sessions::{Story, folder_of};
use super::{ids, report};

const BATCH: [&str; 3] = ["--batch", "--poll", "0"];

fn model() -> ScriptedModel {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict(0.5)));
    model
}

/// How many batches were handed in, and how many questions outside of them.
fn handed_in(model: &ScriptedModel) -> (usize, usize) {
    let heard = model.heard();
    let batches: Vec<_> =
        heard.iter().filter_map(|asked| asked.body["requests"].as_array()).collect();
    let together: usize = batches.iter().map(|batch| batch.len()).sum();
    (batches.len(), model.requests().len() - together)
}

#[test]
fn a_long_session_is_a_batch_for_each_chunk_at_half_the_price() {
    let long = Story { output_bytes: 16_000, ..Story::new("long", 30) };
    let data = folder_of(&[Story::new("a", 3), long]);
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::document(verdict_citing(0.9, &[])));
    let found = report(judged(data.path(), &model, &BATCH), 0);
    assert_eq!(ids(&found, "sessions"), ["a", "long"], "{found}");
    assert_eq!(handed_in(&model), (2, 0), "the second part waits for what is said of the first");
    assert_eq!(found["counts"]["calls"], 3);
    let plain = report(judged(data.path(), &model, &["--rescore"]), 0);
    let [batch, plain] = [&found, &plain].map(|report| report["cost"].as_f64().unwrap());
    assert!((plain - 2.0 * batch).abs() < 1e-9, "{plain} {batch}");
}

#[test]
fn a_batch_of_a_lost_run_is_waited_for_and_not_handed_in_again() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 4)]);
    let model = model();
    model.batches_take(1_000_000);
    let lost = started(judged(data.path(), &model, &BATCH));
    // Its name is known once it is looked at.
    wait::until("the batch is looked at", || model.heard().len() > 3);
    lost.kill();
    model.finish_batches();
    let found = report(judged(data.path(), &model, &BATCH), 0);
    assert_eq!(ids(&found, "sessions"), ["a", "b"], "{found}");
    assert_eq!(handed_in(&model), (1, 0));
}

#[test]
fn a_batch_whose_name_nobody_heard_is_found_by_its_questions() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 4)]);
    let model = model();
    model.hold_after(0);
    let lost = started(judged(data.path(), &model, &BATCH));
    until_asked(&model, 2);
    lost.kill();
    model.go_on();
    model.finish_batches();
    let found = report(judged(data.path(), &model, &BATCH), 0);
    assert_eq!(ids(&found, "sessions"), ["a", "b"], "{found}");
    assert_eq!(handed_in(&model), (1, 0));
}

#[test]
fn what_a_batch_says_of_others_is_left_to_them() {
    let data = folder_of(&[Story::new("a", 3), Story::new("b", 4)]);
    let model = model();
    model.batches_take(1_000_000);
    let lost = started(judged(data.path(), &model, &BATCH));
    wait::until("the batch is looked at", || model.heard().len() > 3);
    lost.kill();
    model.finish_batches();
    let min_traces = [&BATCH[..], &["--min-traces", "4"]].concat();
    let found = report(judged(data.path(), &model, &min_traces), 0);
    assert_eq!(ids(&found, "sessions"), ["b"], "{found}");
    let found = report(judged(data.path(), &model, &BATCH), 0);
    assert_eq!(ids(&found, "sessions"), ["a"], "{found}");
    assert_eq!(handed_in(&model), (1, 0), "both were paid for once");
}

#[test]
fn the_same_questions_can_be_handed_in_again() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = model();
    report(judged(data.path(), &model, &BATCH), 0);
    let again = [&BATCH[..], &["--rescore"]].concat();
    let found = report(judged(data.path(), &model, &again), 0);
    assert_eq!(found["sessions"][0]["generation"], 2, "{found}");
    assert_eq!(handed_in(&model), (2, 0));
}

#[test]
fn a_provider_that_is_busy_is_asked_about_its_batch_again() {
    let data = folder_of(&[Story::new("a", 3)]);
    let model = model();
    model.fail_batches(1);
    let found = report(judged(data.path(), &model, &BATCH), 0);
    assert_eq!(ids(&found, "sessions"), ["a"], "{found}");
    assert_eq!(found["failed"], json!([]));
}
