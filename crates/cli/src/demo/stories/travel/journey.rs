use serde_json::{Value, json};

use crate::demo::scene::Scene;
use crate::demo::story::ToolCall;

use super::places::{AIRLINES, CITIES, City, HOMES};

#[derive(Debug)]
pub(crate) struct Journey {
    pub(crate) city: &'static City,
    /// From where: the city and its airport.
    pub(crate) home: (&'static str, &'static str),
    pub(crate) quarter: &'static str,
    pub(crate) airline: &'static str,
    pub(crate) nights: u64,
    pub(crate) party: u64,
    /// Euros for one flight there and back.
    pub(crate) fare: u64,
    /// Euros for one night.
    pub(crate) room: u64,
    facts: Vec<(&'static str, String)>,
}

impl Journey {
    pub(crate) fn imagine(scene: &mut Scene) -> Option<Self> {
        let chance = &mut scene.chance;
        let city = chance.choose(&CITIES)?;
        let home = *chance.choose(&HOMES)?;
        let quarter = chance.choose(&city.quarters)?;
        let airline = chance.choose(&AIRLINES)?;
        let (nights, party) = (chance.between(3, 9), chance.between(2, 5));
        let (fare, room) = (chance.between(110, 720), chance.between(70, 190));
        let stay = room * nights / 2;
        let budget = (fare + stay + chance.between(60, 400)) / 50 * 50 + 50;
        let mut sights = city.sights.to_vec();
        chance.shuffle(&mut sights);
        let mut facts = vec![
            ("city", city.name.to_owned()),
            ("home", home.0.to_owned()),
            ("quarter", (*quarter).to_owned()),
            ("airline", (*airline).to_owned()),
            ("nights", nights.to_string()),
            ("party", party.to_string()),
            ("budget", budget.to_string()),
            ("fare", fare.to_string()),
            ("room", room.to_string()),
            ("each", (fare + stay).to_string()),
            ("currency", city.currency.to_owned()),
            ("rate", city.rate.to_string()),
            ("weather", city.weather.to_owned()),
            ("entry", city.entry.to_owned()),
        ];
        facts.extend(
            ["sight", "second", "third"]
                .into_iter()
                .zip(sights)
                .map(|(slot, sight)| (slot, sight.to_owned())),
        );
        Some(Self { city, home, quarter, airline, nights, party, fare, room, facts })
    }

    /// Writes a sentence about it from one of several templates.
    pub(crate) fn say(&self, scene: &mut Scene, templates: &[&str]) -> String {
        let slots: Vec<_> =
            self.facts.iter().map(|(slot, value)| (*slot, value.as_str())).collect();
        scene.say(templates, &slots)
    }

    /// The proposal, when both scouts came back.
    pub(crate) fn proposal(&self, scene: &mut Scene) -> String {
        self.say(scene, &[
            "Here is a plan for **{nights} nights in {city}**.\n\n| What | Which | Price |\n|---|---|---:|\n| Flights | {airline} from {home}, direct | {fare} € each |\n| Stay | a guesthouse in {quarter}, with breakfast | {room} € a night |\n| Together | within your {budget} € | about {each} € per person |\n\n1. Begin with {sight}.\n2. Keep the second day for {second}.\n3. Leave room for {third}.\n\nThe forecast says *{weather}*. At the border: {entry}.\n\n**Alternative:** with one stop the flight is about a fifth cheaper.",
            "I would do it like this. Fly with {airline} from {home} ({fare} € each, no stops) and stay in {quarter} for {room} € a night, which makes {each} € per person. [My favourite|The best] day: {sight} in the morning, {third} in the evening. If it rains ({weather}), {second} is dry. To enter: {entry}.\n\nIf you would rather spend less, the flight with one stop saves a fifth.",
        ])
    }

    /// What the planner says when a scout came back with nothing.
    pub(crate) fn give_up(&self, scene: &mut Scene) -> String {
        self.say(scene, &[
            "I could not reach the flight search just now, so I only have half a plan: a guesthouse in {quarter} for {room} € a night and {sight}. [Please ask me again in a few minutes for fares.|I do not want to guess a fare.]",
        ])
    }

    /// The flight that is wanted, as tools take it.
    pub(crate) fn route(&self) -> Value {
        json!({ "from": self.home.1, "to": self.city.airport, "people": self.party })
    }

    /// The stay that is wanted, as tools take it.
    pub(crate) fn stay(&self) -> Value {
        json!({ "city": self.city.name, "nights": self.nights })
    }

    /// The tool, its time and the answer for one of the changes people ask for.
    pub(crate) fn revise(&self, scene: &mut Scene, wish: &str) -> (ToolCall, f64, String) {
        if wish.contains("weather") {
            let forecast = json!({ "forecast": self.city.weather });
            let call = scene.call("weather_forecast", json!({ "city": self.city.name }), forecast);
            return (call, 330.0, self.say(scene, &[PACKING]));
        }
        if wish.contains(self.city.currency) {
            let rate = json!({ "rate": self.city.rate });
            let pair = json!({ "from": "EUR", "to": self.city.currency });
            let call = scene.call("currency_rate", pair, rate);
            return (call, 120.0, self.say(scene, &[MONEY]));
        }
        if wish.contains("closer") {
            let rooms = json!([{ "quarter": self.quarter, "night_eur": self.room + 18 }]);
            let call = scene.call("search_hotels", self.stay(), rooms);
            return (call, 1_650.0, self.say(scene, &[CLOSER]));
        }
        let seats = json!([{ "airline": self.airline, "fare_eur": self.fare + 22 }]);
        let call = scene.call("search_flights", self.route(), seats);
        (call, 2_400.0, self.say(scene, &[LATER]))
    }
}

const PACKING: &str = "Expect it {weather}. Pack layers, shoes you can walk in all day and something \
    against rain; leave room for what you will buy. For {sight} bring [a scarf|a small backpack].";
const MONEY: &str = "One euro is {rate} {currency} today, so your {budget} € go a long way. Cards are \
    fine nearly everywhere; keep a little cash for markets.";
const CLOSER: &str = "There is a smaller house right in {quarter}, five minutes on foot from the first \
    tram. It is a little dearer, and the rooms to the courtyard are quiet. Shall I take that one?";
const LATER: &str = "That works: {airline} has seats a day later and back on Sunday evening for \
    nearly the same fare. You lose {third}, but {sight} stays.";
