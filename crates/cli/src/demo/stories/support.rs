//! The support desk of Kettle & Crane, recorded in the `langfuse.*` convention.

mod cases;
mod customer;
mod desk;
mod trial;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::demo::people::{self, Release, TERRA};
use crate::demo::scene::{Dialogue, Memory, Scene};
use crate::demo::seeded_random::Chance;
use crate::demo::story::{Message, Run, Step, Work};

use super::{Beginning, Visit};
pub(crate) use trial::{Trial, trial};

use cases::{APOLOGIES, COMPLAINTS, DeskTool, EVASIONS, Move};
use customer::Customer;

const SYSTEM: &str = "You are the support desk of Kettle & Crane, a shop for kitchen machines. Be \
    warm, short and concrete. Look orders up before you speak about them, and never guess a date, \
    a price or a cause. Offer the next step yourself instead of asking the customer to do it. \
    Refunds go through the refunds clerk. If you cannot help, say so and hand over to a person.";

/// The machine that there is a picture of.
const PHOTOGRAPHED: &str = "PLV-17";

/// The picture, as messages carry it.
pub(crate) fn photo() -> String {
    let bytes = include_bytes!("support/plover.png");
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// Tells one visit to the support desk: a conversation of one to four turns, each a run.
pub(crate) fn visit(beginning: Beginning) -> Option<Visit> {
    let Beginning { mut scene, place, release, .. } = beginning;
    let customer = Customer::imagine(&mut scene)?;
    let session = format!("support-{}", scene.chance.hex(12));
    let mut dialogue = Dialogue::new(&TERRA, SYSTEM, 840, Memory::Whole);
    let mut runs = Vec::new();
    let ask = customer.say(&mut scene, customer.case.asks);
    let mut turn = Turn { ask, reply: Reply::First };
    for _ in 0..scene.chance.pick(1, &[1, 1, 2, 2, 3, 4]) {
        let told =
            Telling { customer: &customer, release, turn: &turn }.tell(&mut scene, &mut dialogue);
        turn = next_turn(&mut scene, &customer, told.went_well)?;
        runs.push(Run {
            id: scene.chance.bytes(),
            name: format!("support: {}", customer.case.topic),
            agent: &people::SUPPORT,
            place,
            release,
            user: customer.person.id.clone(),
            session: session.clone(),
            tags: vec![customer.case.topic, "support"],
            root: told.root,
            asked_by: None,
            quality: told.quality,
        });
        scene.pass_ms(95_000.0);
    }
    Some(Visit { runs })
}

/// What a customer says, and where the answer comes from.
struct Turn {
    ask: String,
    reply: Reply,
}

/// Where the answer of a turn comes from.
#[derive(Clone, Copy)]
enum Reply {
    /// The case's own answers, after looking things up.
    First,
    /// The answer to a follow-up.
    FollowUp(&'static str),
    /// Making good for an answer that was none.
    Apology,
}

fn next_turn(scene: &mut Scene, customer: &Customer, went_well: bool) -> Option<Turn> {
    if !went_well {
        return Some(Turn { ask: customer.say(scene, &COMPLAINTS), reply: Reply::Apology });
    }
    let (more, answer) = scene.chance.choose(customer.case.follow_ups)?;
    Some(Turn { ask: customer.say(scene, &[more]), reply: Reply::FollowUp(answer) })
}

/// One turn of the conversation.
struct Telling<'a> {
    customer: &'a Customer,
    release: &'static Release,
    turn: &'a Turn,
}

/// What came of a turn.
struct Told {
    root: Step,
    went_well: bool,
    quality: f64,
}

impl Telling<'_> {
    fn tell(&self, scene: &mut Scene, dialogue: &mut Dialogue) -> Told {
        let ask = self.turn.ask.as_str();
        let trips = self.trips_over_arguments(&mut scene.chance);
        let answer = self.answer(scene, trips);
        let quality = if trips { 0.15 } else { 0.9 } + (scene.chance.unit() - 0.5) * 0.2;
        let root = scene.within(|scene| {
            let mut steps = vec![desk::triage(scene, self.customer, ask)];
            dialogue.hear(self.first_line(ask));
            if matches!(self.turn.reply, Reply::First) {
                for step in self.customer.case.moves {
                    steps.extend(self.make(*step, scene, dialogue, trips));
                }
            }
            steps.push(dialogue.answer(scene, answer.clone(), Vec::new()));
            steps.push(desk::guard(scene, &answer));
            let work =
                Work::Agent { name: "support-desk", input: ask.to_owned(), output: answer.clone() };
            (work, steps)
        });
        Told { root, went_well: !trips, quality }
    }

    /// Who has a puddle on the counter takes a picture of it.
    fn first_line(&self, ask: &str) -> Message {
        let is_first = matches!(self.turn.reply, Reply::First);
        if is_first
            && self.customer.case.topic == "fault"
            && self.customer.product.sku == PHOTOGRAPHED
        {
            return Message::Photo(ask.to_owned());
        }
        Message::User(ask.to_owned())
    }

    /// The bad release calls the order tool with a name it does not have; others rarely slip.
    fn trips_over_arguments(&self, chance: &mut Chance) -> bool {
        let needs_order = self.customer.case.moves.contains(&Move::Use(DeskTool::FindOrder));
        let odds = match (self.release.is_bad, needs_order) {
            (true, true) => 0.72,
            (true, false) => 0.25,
            (false, _) => 0.05,
        };
        chance.odds(odds)
    }

    fn answer(&self, scene: &mut Scene, trips: bool) -> String {
        if trips {
            return self.customer.say(scene, &EVASIONS);
        }
        match self.turn.reply {
            Reply::First => self.customer.say(scene, self.customer.case.answers),
            Reply::FollowUp(answer) => self.customer.say(scene, &[answer]),
            Reply::Apology => self.customer.say(scene, &APOLOGIES),
        }
    }

    fn make(
        &self,
        step: Move,
        scene: &mut Scene,
        dialogue: &mut Dialogue,
        trips: bool,
    ) -> Vec<Step> {
        match step {
            Move::AskRefundsClerk => vec![desk::refunds_clerk(scene, self.customer)],
            Move::ReadArticle => desk::read_article(scene, dialogue, self.customer),
            Move::Use(tool) if trips => desk::misuse(scene, dialogue, self.customer, tool),
            Move::Use(tool) => desk::use_tool(scene, dialogue, self.customer, tool),
        }
    }
}
