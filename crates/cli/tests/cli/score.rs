//! Scoring of sessions: from a folder, from a server, by every kind of judge.

pub(crate) mod sessions;
/// The whole way with the offline judge.
mod offline;
pub(crate) mod models;
/// Runs that are lost, at the same time, or in the way of something that goes on.
mod runs;
/// Questions that are handed in together.
mod batches;
/// Judges who are not asked but hand their verdict in.
mod outside;
/// Who speaks, by the user's own notations.
mod speakers;
mod sizes;
/// One judge for each dimension.
mod critics;
/// Budgets, and what calls cost.
mod costs;
/// Scores on the first traces of sessions.
mod attach;

use std::path::Path;

use ratchet_testkit::process::{Finished, Launch};
use serde_json::Value;

use crate::ratchet;

/// `ratchet score …` on a folder; sessions of any age.
fn score(data: &Path, args: &[&str]) -> Launch {
    ratchet(&["score"]).args(args).arg("--data").arg(data)
}

/// The same for all sessions there are, however old.
fn score_all(data: &Path, args: &[&str]) -> Launch {
    score(data, args).args(["--days", "36500"])
}

/// The report of a command that ended with this code.
#[track_caller]
fn report(launch: Launch, expected_code: i32) -> Value {
    let Finished { code, stdout, stderr } = launch.arg("--json").run();
    assert_eq!(code, Some(expected_code), "stdout: {stdout}\nstderr: {stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in: {stdout}"))
}

/// The ids of sessions in a list of a report.
fn ids(report: &Value, list: &str) -> Vec<String> {
    let rows = report[list].as_array().unwrap();
    rows.iter().map(|row| row["session_id"].as_str().unwrap().to_owned()).collect()
}

/// Why a session was left out.
#[track_caller]
fn reason<'a>(report: &'a Value, list: &str, session: &str) -> &'a str {
    let rows = report[list].as_array().unwrap();
    let row = rows.iter().find(|row| row["session_id"] == session);
    row.unwrap_or_else(|| panic!("{session} is not among {list}: {report}"))["reason"]
        .as_str()
        .unwrap()
}
