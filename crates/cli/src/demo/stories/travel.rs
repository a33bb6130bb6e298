//! The trip planner, recorded in the `gen_ai.*` convention: scouts work side by side, and the research
//! desk is asked as if it were a tool, which makes a run of its own in the same session.

mod journey;
mod places;
mod scouts;

use serde_json::json;

use crate::demo::people::{self, Crowd, SONNET};
use crate::demo::rhythm::SECOND;
use crate::demo::scene::{Dialogue, Errand, Memory, Scene, Trouble};
use crate::demo::story::{AskedBy, Message, Run, Step, Work};

use super::{Beginning, Visit, research};
use journey::Journey;
use places::{CHANGES, City, DECISIONS, WISHES};

const SYSTEM: &str = "You plan journeys. Ask the scouts for flights and rooms instead of inventing \
    them, check what the border asks for with the research desk, and stay within the budget. Give \
    one clear proposal with prices, then one alternative. Hold nothing without being told to.";

/// Tells one visit to the trip planner: a wish, changes, perhaps a decision.
pub(crate) fn visit(beginning: Beginning) -> Option<Visit> {
    let Beginning { mut scene, place, release, week } = beginning;
    let journey = Journey::imagine(&mut scene)?;
    let person = people::person(&mut scene.chance, Crowd::Travellers);
    let session = format!("trip-{}", scene.chance.hex(12));
    let mut dialogue = Dialogue::new(&SONNET, SYSTEM, 1_350, Memory::Whole);
    let mut runs = Vec::new();
    for turn in 0..scene.chance.pick(1u64, &[2, 2, 3, 4]) {
        let told = match turn {
            0 => propose(&mut scene, &mut dialogue, &journey),
            3.. => decide(&mut scene, &mut dialogue, &journey),
            _ => change(&mut scene, &mut dialogue, &journey),
        };
        let id = scene.chance.bytes();
        if let Some(asked) = told.asked {
            let caller = AskedBy { trace: id, step: asked.step };
            let release = people::RESEARCH.release_at(week, scene.now, place);
            let beginning = Beginning { scene: asked.scene, place, release, week };
            runs.push(research::entry_rules(
                beginning,
                journey.city.country,
                journey.city.entry,
                (&session, &person.id, caller),
            ));
        }
        runs.push(Run {
            id,
            name: format!("trip to {}", journey.city.name),
            agent: &people::TRAVEL,
            place,
            release,
            user: person.id.clone(),
            session: session.clone(),
            tags: vec!["travel", if turn == 0 { "proposal" } else { "change" }],
            root: told.root,
            asked_by: None,
            quality: told.quality,
        });
        scene.pass_ms(140_000.0);
    }
    Some(Visit { runs })
}

/// What came of a turn.
struct Told {
    root: Step,
    quality: f64,
    asked: Option<Asked>,
}

/// A question to the research desk: the step that asked, and the scene as it was.
struct Asked {
    step: [u8; 8],
    scene: Scene,
}

fn propose(scene: &mut Scene, dialogue: &mut Dialogue, journey: &Journey) -> Told {
    let input = journey.say(scene, &WISHES);
    let has_fares = !scene.chance.odds(0.07);
    let output = if has_fares { journey.proposal(scene) } else { journey.give_up(scene) };
    let mut asked = None;
    let root = scene.within(|scene| {
        dialogue.hear(Message::User(input.clone()));
        let mut steps = send_scouts(scene, dialogue, journey, has_fares);
        let (more, question) = look_ahead(scene, dialogue, journey);
        steps.extend(more);
        asked = Some(question);
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "trip-planner", input, output }, steps)
    });
    let quality = if has_fares { 0.85 } else { 0.3 } + (scene.chance.unit() - 0.5) * 0.25;
    Told { root, quality, asked }
}

/// Both scouts set out at once.
fn send_scouts(
    scene: &mut Scene,
    dialogue: &mut Dialogue,
    journey: &Journey,
    has_fares: bool,
) -> Vec<Step> {
    let thoughts = ["Flights and rooms first, side by side.", "Let me send both scouts out."];
    let thought = scene.say(&thoughts, &[]);
    let flights =
        scene.call("ask_flight_scout", journey.route(), json!({ "best_eur": journey.fare }));
    let rooms = scene.call("ask_stay_scout", journey.stay(), json!({ "night_eur": journey.room }));
    let mut steps = vec![dialogue.answer(scene, thought, vec![flights.clone(), rooms.clone()])];
    steps.extend(scene.together(2, |scene, nth| match nth {
        0 => scouts::flights(scene, journey, has_fares),
        _ => scouts::rooms(scene, journey),
    }));
    dialogue.hear(Message::Tool(flights));
    dialogue.hear(Message::Tool(rooms));
    steps
}

/// The border and the weather: one is another agent's business.
fn look_ahead(scene: &mut Scene, dialogue: &mut Dialogue, journey: &Journey) -> (Vec<Step>, Asked) {
    let City { name, country, entry, weather, .. } = journey.city;
    let question = json!({ "question": format!("What do travellers need to enter {country}?") });
    let desk = scene.call("ask_research_desk", question, json!({ "answer": entry }));
    let forecast =
        scene.call("weather_forecast", json!({ "city": name }), json!({ "forecast": weather }));
    let thought = "Now the border and the weather.".to_owned();
    let decided = dialogue.answer(scene, thought, vec![desk.clone(), forecast.clone()]);
    let chance = scene.chance.fork("research");
    let as_it_was = Scene { chance, now: scene.now.plus_nanos(SECOND / 16) };
    let answered = scene.tool(desk.clone(), 21_000.0);
    let asked = Asked { step: answered.id, scene: as_it_was };
    let mut steps = vec![decided, answered];
    steps.extend(scene.run(Errand { call: forecast.clone(), median_ms: 340.0, trouble: 0.05 }));
    dialogue.hear(Message::Tool(desk));
    dialogue.hear(Message::Tool(forecast));
    (steps, asked)
}

fn change(scene: &mut Scene, dialogue: &mut Dialogue, journey: &Journey) -> Told {
    let input = journey.say(scene, &CHANGES);
    let root = scene.within(|scene| {
        dialogue.hear(Message::User(input.clone()));
        let (call, median_ms, output) = journey.revise(scene, &input);
        let thought = scene.say(&["[One moment|Let me check].", "That is quick to look up."], &[]);
        let errand = Errand { call, median_ms, trouble: 0.06 };
        let mut steps = dialogue.use_tools(scene, thought, vec![errand]);
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "trip-planner", input, output }, steps)
    });
    Told { root, quality: 0.7 + scene.chance.unit() * 0.25, asked: None }
}

const HELD: &str = "Held for 24 hours: the {airline} flights from {home} and the room in {quarter}. \
    Nothing has been charged. You will find the link to confirm in your messages.";
const SOLD_OUT: &str = "The fare went up while we talked, so I did not hold anything. The next \
    morning still has the old price of {fare} €. Which do you prefer?";

fn decide(scene: &mut Scene, dialogue: &mut Dialogue, journey: &Journey) -> Told {
    let input = journey.say(scene, &DECISIONS);
    let sold_out = scene.chance.odds(0.2);
    let root = scene.within(|scene| {
        dialogue.hear(Message::User(input.clone()));
        let code = scene.chance.hex(6).to_uppercase();
        let call =
            scene.call("hold_booking", journey.route(), json!({ "held": true, "code": code }));
        let thought = "Holding both.".to_owned();
        let decided = dialogue.answer(scene, thought, vec![call.clone()]);
        let (held, answer) = if sold_out {
            let trouble = Trouble::BadArguments("409 fare no longer available at this price");
            (scene.tool_fails(call.clone(), trouble), SOLD_OUT)
        } else {
            (scene.tool(call.clone(), 1_150.0), HELD)
        };
        dialogue.hear(Message::Tool(call));
        let output = journey.say(scene, &[answer]);
        let answered = dialogue.answer(scene, output.clone(), Vec::new());
        (Work::Agent { name: "trip-planner", input, output }, vec![decided, held, answered])
    });
    Told { root, quality: if sold_out { 0.5 } else { 0.95 }, asked: None }
}
