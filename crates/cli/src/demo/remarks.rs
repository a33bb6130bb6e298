//! What people say of answers and sessions, from templates.

use std::sync::LazyLock;

use serde::Deserialize;

use super::script::parse;
use super::seeded_random::Chance;
use super::words::{Slots, say};

static REMARKS: LazyLock<ReviewRemarks> = LazyLock::new(|| parse(include_str!("data/review.toml")));

/// Templates of remarks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewRemarks {
    right_run: String,
    wrong_run: String,
    too_kind: String,
    too_strict: String,
    corrected: String,
    unfinished: String,
    wrong: Vec<WrongAnswer>,
}

/// What is wrong with an answer, and what the right one would have been.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrongAnswer {
    why: String,
    right: String,
}

/// A remark's occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    RightRun,
    WrongRun,
    JudgeTooKind,
    JudgeTooStrict,
    Corrected,
    Unfinished,
}

/// Says something of an occasion; the same words for the same `about`.
pub(crate) fn remark(occasion: Occasion, about: &str, slots: Slots<'_>) -> String {
    let remarks = &*REMARKS;
    let template = match occasion {
        Occasion::RightRun => &remarks.right_run,
        Occasion::WrongRun => &remarks.wrong_run,
        Occasion::JudgeTooKind => &remarks.too_kind,
        Occasion::JudgeTooStrict => &remarks.too_strict,
        Occasion::Corrected => &remarks.corrected,
        Occasion::Unfinished => &remarks.unfinished,
    };
    say(&mut Chance::new(0).fork(about), template.trim(), slots)
}

/// Says what is wrong with an answer, and what the right one would have been.
pub(crate) fn wrong(about: &str, slots: Slots<'_>) -> (String, String) {
    let mut chance = Chance::new(0).fork(about);
    let Some(WrongAnswer { why, right }) = chance.choose(&REMARKS.wrong) else {
        return Default::default();
    };
    let why = say(&mut chance, why.trim(), slots);
    (why, say(&mut chance, right.trim(), slots))
}
