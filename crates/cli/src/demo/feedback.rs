//! What people think of it: a thumb now and then, likelier when they are cross.

use super::rhythm::MINUTE;
use super::scene::Scene;
use super::seeded_random::Chance;
use super::story::{Run, Thumb};

/// What people write under a thumb up and under a thumb down.
struct Remarks {
    praise: &'static [&'static str],
    blame: &'static [&'static str],
}

const SUPPORT: Remarks = Remarks {
    praise: &[
        "[Quick and friendly|Fast and to the point], thanks.",
        "[Solved|Sorted] in one message.",
        "Better than the hotline.",
        "Finally someone who reads what I write.",
    ],
    blame: &[
        "Did not [answer|even read] my question.",
        "It says it cannot find my order. The number is correct!",
        "Sent me [in circles|away] twice.",
        "[Useless|Not helpful] today, it worked last week.",
        "I want to talk to a person.",
    ],
};
const TRAVEL: Remarks = Remarks {
    praise: &[
        "Exactly what we had in mind.",
        "It even thought of the [weather|border].",
        "[Great|Lovely] plan, booked it.",
    ],
    blame: &[
        "No fares, no plan.",
        "[Over budget|Too far out], I had to ask again.",
        "It gave up on the flights.",
    ],
};
const RESEARCH: Remarks = Remarks {
    praise: &["Clear, with sources. More of this.", "[Saved me|That spared me] an afternoon."],
    blame: &[
        "Half of it is \"not verified\".",
        "Too thin for a [decision|meeting].",
        "Where are the numbers?",
    ],
};

fn remarks(run: &Run) -> &'static Remarks {
    match run.agent.name {
        "trip-planner" => &TRAVEL,
        "research-desk" => &RESEARCH,
        _ => &SUPPORT,
    }
}

/// The thumb a run got, if its user gave one.
pub(crate) fn thumb(chance: &mut Chance, run: &Run) -> Option<Thumb> {
    // Cross people press the button more often than content ones.
    let eagerness = if run.quality < 0.5 { 0.42 } else { 0.2 };
    if run.asked_by.is_some() || !chance.odds(eagerness) {
        return None;
    }
    let up = chance.odds(run.quality.clamp(0.03, 0.97));
    let mut scene = Scene { chance: chance.clone(), now: run.root.end };
    let remarks = remarks(run);
    let (templates, talkative) = if up { (remarks.praise, 0.3) } else { (remarks.blame, 0.65) };
    let comment = scene.chance.odds(talkative).then(|| scene.say(templates, &[]));
    let id = format!("thumb-{}", scene.chance.hex(24));
    *chance = scene.chance;
    let at = run.root.end.plus_nanos(MINUTE / 4);
    Some(Thumb { trace: run.id, id, up, comment, at, place: run.place })
}
