use std::sync::LazyLock;

use regex::Regex;

use super::tests_and_edits::{PATHS, command};
use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::Call;
use crate::record::redact::preset;

/// The redaction presets that find secrets, not personal data.
const SECRETS: [&str; 3] = ["api-key", "bearer", "private-key"];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let presets = SECRETS.iter().filter_map(|name| preset::find(name).ok());
    presets.filter_map(|preset| Regex::new(&preset.pattern).ok()).collect()
});

/// Detects dangerous commands and secrets that the agent itself writes. Tool outputs are not the
/// agent's doing.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    for (trace, text) in input.agents() {
        if has_secret(text) {
            detections.count(Signal::Secret, trace);
        }
    }
    for (trace, call) in input.calls() {
        let command = command(input.set, call).filter(|_| !call.failed());
        let is_danger = |command: &str| input.set.dangers.iter().any(|it| it.is_match(command));
        if command.is_some_and(is_danger) {
            detections.count(Signal::Danger, trace);
        }
        if shows_secret(input.set, call) {
            detections.count(Signal::NearLeak, trace);
        }
        if has_secret(&call.input.to_string()) {
            detections.count(Signal::Secret, trace);
        }
    }
}

/// Returns whether a call makes a secret part of the conversation, or of what is shared: by a command
/// or by the file that it reads. Outputs are not examined, because anyone may write into them.
fn shows_secret(set: &SignalSet, call: &Call) -> bool {
    let file = PATHS.iter().find_map(|key| call.input.get(*key)?.as_str());
    let file =
        file.filter(|_| set.has(Phrases::ToolLook, &call.tool)).map(|file| format!("cat {file}"));
    let ran = command(set, call).map(str::to_owned).or(file).filter(|_| !call.failed());
    ran.is_some_and(|ran| set.near_leaks.iter().any(|pattern| pattern.is_match(&ran)))
}

fn has_secret(text: &str) -> bool {
    PATTERNS.iter().any(|pattern| pattern.is_match(text))
}
