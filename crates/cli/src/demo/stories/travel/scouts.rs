//! The planner's two scouts, each with a small model and one tool.

use serde_json::json;

use crate::demo::people::HAIKU;
use crate::demo::scene::{Dialogue, Errand, Memory, Scene, Trouble};
use crate::demo::story::{Message, Step, Work};

use super::journey::Journey;

/// Looks for flights; without fares, the search does not answer however often it is asked.
pub(crate) fn flights(scene: &mut Scene, journey: &Journey, has_fares: bool) -> Step {
    let input = format!("Flights for {} people: {}", journey.party, journey.route());
    let system = "You find flights. Compare at least two and name the trade-off.";
    scene.within(|scene| {
        let mut dialogue = Dialogue::new(&HAIKU, system, 420, Memory::Whole);
        dialogue.hear(Message::User(input.clone()));
        let offers = json!([
            { "airline": journey.airline, "fare_eur": journey.fare, "stops": 0 },
            { "airline": "Swallow", "fare_eur": journey.fare * 4 / 5, "stops": 1 },
        ]);
        let call = scene.call("search_flights", journey.route(), offers);
        let mut steps = vec![dialogue.answer(scene, "Searching.".to_owned(), vec![call.clone()])];
        let output = if has_fares {
            let errand = Errand { call: call.clone(), median_ms: 2_600.0, trouble: 0.09 };
            steps.extend(scene.run(errand));
            format!(
                "{} flies direct for {} €; one stop saves a fifth.",
                journey.airline, journey.fare
            )
        } else {
            for trouble in [Trouble::Timeout, Trouble::RateLimit, Trouble::Timeout] {
                steps.push(scene.tool_fails(call.clone(), trouble));
                scene.pass_ms(700.0);
            }
            "The flight search did not answer; I have no fares.".to_owned()
        };
        dialogue.hear(Message::Tool(call));
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "flight-scout", input, output }, steps)
    })
}

/// Looks for a place to stay.
pub(crate) fn rooms(scene: &mut Scene, journey: &Journey) -> Step {
    let input = format!("{} nights in {}", journey.nights, journey.city.name);
    let system = "You find places to stay. Quiet, walkable, within budget.";
    scene.within(|scene| {
        let mut dialogue = Dialogue::new(&HAIKU, system, 380, Memory::Whole);
        dialogue.hear(Message::User(input.clone()));
        let rooms = json!([
            { "quarter": journey.quarter, "night_eur": journey.room, "rating": 8.9 },
            { "quarter": "near the station", "night_eur": journey.room * 3 / 4, "rating": 7.6 },
        ]);
        let call = scene.call("search_hotels", journey.stay(), rooms);
        let errand = Errand { call, median_ms: 1_700.0, trouble: 0.05 };
        let mut steps = dialogue.use_tools(scene, "Looking at rooms.".to_owned(), vec![errand]);
        let output = format!(
            "A guesthouse in {}, {} € a night with breakfast.",
            journey.quarter, journey.room
        );
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "stay-scout", input, output }, steps)
    })
}
