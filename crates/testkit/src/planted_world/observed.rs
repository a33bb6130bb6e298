use ratchet_core::improve::code::CodeFile;
use ratchet_core::improve::observed::{ObservedToolCall, ObservedTrace};
use ratchet_core::improve::signals::Signals;

use super::traffic::MODEL;
use super::{AGENT, PlantedTrace, PlantedWorld};

impl PlantedWorld {
    /// Returns the traces of all weeks as proposals see them in the last week, and the number of that
    /// week's traces, as if they had been recorded and read.
    pub fn observed(&self) -> (Vec<ObservedTrace>, usize) {
        let last = self.weeks.saturating_sub(1);
        let traces: Vec<ObservedTrace> =
            self.traces().iter().map(|trace| trace.observed(last - trace.week)).collect();
        let traffic = traces.iter().filter(|trace| trace.weeks_ago == 0).count();
        (traces, traffic)
    }

    /// Returns the repository's files in the last week, as a reader of code sees them: by path.
    pub fn code(&self) -> Vec<CodeFile> {
        let mut files: Vec<CodeFile> =
            self.files().into_iter().map(|(path, text)| CodeFile { path, text }).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }
}

impl PlantedTrace {
    fn observed(&self, weeks_ago: usize) -> ObservedTrace {
        let comment = self.comment.clone().filter(|_| self.is_reviewed);
        let call = self.call.as_ref().map(|call| ObservedToolCall {
            name: call.name.clone(),
            output: call.output().to_string(),
            failed: call.error.is_some(),
        });
        ObservedTrace {
            id: self.id.clone(),
            session: Some(self.session.clone()),
            user: Some(self.user.clone()),
            weeks_ago,
            question: self.input.clone(),
            answer: self.output.clone(),
            tools: call.into_iter().collect(),
            signals: Signals {
                correct: self.is_reviewed.then_some(self.is_correct),
                thumb: self.thumb,
                quality: Some(self.quality),
                comments: comment.into_iter().collect(),
                correction: None,
            },
            release: Some(self.release().to_owned()),
            model: Some(MODEL.to_owned()),
            agents: vec![AGENT.to_owned(), self.sub_agent.clone()],
            prompts: Vec::new(),
            latency_seconds: None,
            cost_dollars: None,
            weight: 1.0,
        }
    }
}
