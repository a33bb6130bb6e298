//! Coding sessions in the format of Claude Code: several prompts by a developer, each a run with
//! many model calls and tools. Some go well, some do not, and later scoring has to tell which.

mod beats;
mod files;
mod script;
mod sub_agent;
mod tasks;

use crate::demo::people::{self, Crowd, OPUS, Place, Release, SONNET};
use crate::demo::scene::{Dialogue, Memory, Scene};
use crate::demo::story::Run;

use super::{Beginning, Visit};
use beats::Desk;
pub(crate) use script::Arc;
use script::{MORE, Prompt};
use tasks::TASKS;

/// The fewest and the most steps of a session.
pub(crate) const STEPS: std::ops::RangeInclusive<usize> = 40..=200;

const SYSTEM: &str = "You are a coding agent in a terminal. Read before you write, keep changes \
    small, run the tests, and say plainly what you did and what is left.";

/// Tells one coding session.
pub(crate) fn session(beginning: Beginning, arc: Arc) -> Option<Visit> {
    let Beginning { mut scene, place, release, .. } = beginning;
    let task = scene.chance.choose(&TASKS)?;
    let person = people::person(&mut scene.chance, Crowd::Developers);
    let model = if scene.chance.odds(0.6) { &OPUS } else { &SONNET };
    let dialogue = Dialogue::new(model, SYSTEM, 14_200, Memory::Tail);
    let about = About {
        place,
        release,
        user: person.id,
        session: session_id(&mut scene),
        arc,
        project: task.repository.name,
    };
    let mut desk = Desk::new(scene, dialogue, task);
    let mut runs = Vec::new();
    for prompt in arc.prompts() {
        runs.push(about.run(&mut desk, prompt));
    }
    while desk.steps() < *STEPS.start() {
        runs.push(about.run(&mut desk, &MORE));
    }
    Some(Visit { runs })
}

fn session_id(scene: &mut Scene) -> String {
    let hex = scene.chance.hex(32);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// What all runs of a session share.
struct About {
    place: Place,
    release: &'static Release,
    user: String,
    session: String,
    arc: Arc,
    project: &'static str,
}

impl About {
    fn run(&self, desk: &mut Desk, prompt: &Prompt) -> Run {
        let root = desk.play(prompt);
        Run {
            id: desk.scene.chance.bytes(),
            name: format!("claude-code: {}", self.project),
            agent: &people::CODING,
            place: self.place,
            release: self.release,
            user: self.user.clone(),
            session: self.session.clone(),
            tags: vec!["coding", self.project],
            root,
            asked_by: None,
            quality: self.arc.quality(),
        }
    }
}
