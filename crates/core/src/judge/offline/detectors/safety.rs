use std::sync::LazyLock;

use regex::Regex;

use super::tests_and_edits::command;
use super::{Detections, DetectorInput};
use crate::judge::offline::signals::Signal;
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
        let command = command(input.set, call).filter(|_| !call.failed);
        let is_danger = |command: &str| input.set.dangers.iter().any(|it| it.is_match(command));
        if command.is_some_and(is_danger) {
            detections.count(Signal::Danger, trace);
        }
        if has_secret(&call.input.to_string()) {
            detections.count(Signal::Secret, trace);
        }
    }
}

fn has_secret(text: &str) -> bool {
    PATTERNS.iter().any(|pattern| pattern.is_match(text))
}
