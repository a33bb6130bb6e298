//! What the support desk does besides talking.

use serde_json::{Value, json};

use crate::demo::people::LUNA;
use crate::demo::scene::{Dialogue, Errand, Memory, Scene, Trouble};
use crate::demo::story::{Message, Outcome, Step, Work};

use super::cases::DeskTool;
use super::customer::Customer;

const TOPICS: &str = "Sort the message into one of: late-delivery, fault, refund, wrong-item, how-to, \
    cancel, repair. Answer with JSON.";

/// A small model sorts the message.
pub(crate) fn triage(scene: &mut Scene, customer: &Customer, ask: &str) -> Step {
    let mut dialogue = Dialogue::new(&LUNA, TOPICS, 0, Memory::Whole);
    dialogue.hear(Message::User(ask.to_owned()));
    let urgent = scene.chance.odds(0.12);
    let verdict = json!({ "topic": customer.case.topic, "language": "en", "urgent": urgent });
    dialogue.answer(scene, verdict.to_string(), Vec::new())
}

/// The answer is checked before it goes out.
pub(crate) fn guard(scene: &mut Scene, answer: &str) -> Step {
    let sends_away = answer.contains("contact our support team");
    let (verdict, outcome) = if sends_away {
        let why = "answer sends the customer away".to_owned();
        ("flagged: sends the customer away", Outcome::Warned(why))
    } else {
        ("passed", Outcome::Fine)
    };
    let work = Work::Guard { name: "tone-and-promises", input: answer.to_owned(), verdict };
    scene.step(work, 24.0, outcome)
}

/// The help centre is searched.
pub(crate) fn read_article(
    scene: &mut Scene,
    dialogue: &mut Dialogue,
    customer: &Customer,
) -> Vec<Step> {
    let thought =
        scene.say(&["The help centre may know this one.", "Searching the help centre."], &[]);
    let query = format!("{} {}", customer.product.name, customer.case.topic);
    let cause = format!("Cause and fix: {}.", customer.product.remedy);
    let documents = json!([
        { "title": customer.product.article, "text": cause, "score": 0.87 },
        { "title": "Cleaning", "text": "Top rack only, nothing with a cable.", "score": 0.61 },
    ]);
    let call = scene.call("search_help_centre", json!({ "query": query }), documents.clone());
    let model = dialogue.answer(scene, thought, vec![call.clone()]);
    let work = Work::Retrieval { name: "search_help_centre", query, documents };
    let found = scene.step(work, 85.0, Outcome::Fine);
    dialogue.hear(Message::Tool(call));
    vec![model, found]
}

/// A tool is used as it should be.
pub(crate) fn use_tool(
    scene: &mut Scene,
    dialogue: &mut Dialogue,
    customer: &Customer,
    tool: DeskTool,
) -> Vec<Step> {
    let thought = scene.say(tool.thoughts(), &[]);
    let (arguments, result) = tool.exchange(customer);
    let call = scene.call(tool.name(), arguments, result);
    let errand = Errand { call, median_ms: tool.median_ms(), trouble: 0.04 };
    dialogue.use_tools(scene, thought, vec![errand])
}

/// A tool is used with an argument it does not have, and again, and again.
pub(crate) fn misuse(
    scene: &mut Scene,
    dialogue: &mut Dialogue,
    customer: &Customer,
    tool: DeskTool,
) -> Vec<Step> {
    let thought = scene.say(tool.thoughts(), &[]);
    let made_up = json!({ "order_no": customer.order, "email": "" });
    let call = scene.call(tool.name(), made_up, Value::Null);
    let mut steps = vec![dialogue.answer(scene, thought, vec![call.clone()])];
    let trouble = Trouble::BadArguments("unknown argument \"order_no\"; expected \"order_id\"");
    for _ in 0..scene.chance.between(1, 3) {
        steps.push(scene.tool_fails(call.clone(), trouble));
        scene.pass_ms(120.0);
    }
    dialogue.hear(Message::Tool(call));
    steps
}

const CLERK: &str = "You release refunds. Check that the return arrived and that the amount matches \
    the order before you pay.";

/// The refunds clerk is an agent of its own.
pub(crate) fn refunds_clerk(scene: &mut Scene, customer: &Customer) -> Step {
    let (order, price) = (&customer.order, customer.product.price);
    let task = format!("Refund order {order} ({}), return received.", customer.product.name);
    scene.within(|scene| {
        let mut dialogue = Dialogue::new(&LUNA, CLERK, 260, Memory::Whole);
        dialogue.hear(Message::User(task.clone()));
        let received = json!({ "received": true, "condition": "as new" });
        let call = scene.call("check_return", json!({ "order_id": order }), received);
        let errand = Errand { call, median_ms: 140.0, trouble: 0.03 };
        let mut steps = dialogue.use_tools(scene, "First the return.".to_owned(), vec![errand]);
        let released = json!({ "status": "released", "reference": format!("R-{order}") });
        let amount = json!({ "order_id": order, "amount_eur": price });
        let call = scene.call("issue_refund", amount, released);
        let errand = Errand { call, median_ms: 620.0, trouble: 0.06 };
        let thought = "The return is in; releasing the money.".to_owned();
        steps.extend(dialogue.use_tools(scene, thought, vec![errand]));
        let output = format!("Refund of {price} € released, reference R-{order}.");
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "refunds-clerk", input: task.clone(), output }, steps)
    })
}

impl DeskTool {
    const fn name(self) -> &'static str {
        match self {
            Self::FindOrder => "find_order",
            Self::TrackParcel => "track_parcel",
            Self::CheckWarranty => "check_warranty",
            Self::BookRepair => "book_repair",
            Self::ReturnLabel => "create_return_label",
            Self::CancelOrder => "cancel_order",
        }
    }

    const fn median_ms(self) -> f64 {
        match self {
            Self::FindOrder => 160.0,
            Self::TrackParcel => 480.0,
            Self::CheckWarranty => 95.0,
            Self::BookRepair => 310.0,
            Self::ReturnLabel => 270.0,
            Self::CancelOrder => 220.0,
        }
    }

    /// What it is given and what it gives.
    fn exchange(self, customer: &Customer) -> (Value, Value) {
        let (id, product) = (&customer.order, customer.product);
        let order = json!({ "order_id": id });
        let machine = json!({ "sku": product.sku, "customer": customer.person.id });
        match self {
            Self::FindOrder => (
                order,
                json!({ "item": product.name, "sku": product.sku, "total_eur": product.price }),
            ),
            Self::TrackParcel => {
                (order, json!({ "carrier": "Swift Parcel", "at": "depot", "eta_days": 1 }))
            }
            Self::CheckWarranty => (machine, json!({ "covered": true, "months": 24 })),
            Self::BookRepair => {
                (machine, json!({ "ticket": format!("W-{id}"), "pickup": "Wednesday 9-13 h" }))
            }
            Self::ReturnLabel => (order, json!({ "label": "sent by mail", "prepaid": true })),
            Self::CancelOrder => (order, json!({ "status": "cancelled", "refund_days": 3 })),
        }
    }

    const fn thoughts(self) -> &'static [&'static str] {
        match self {
            Self::FindOrder => {
                &["Let me look at the order first.", "[Checking|Looking up] the order."]
            }
            Self::TrackParcel => &["Now the carrier's view of it.", "Checking with the carrier."],
            Self::CheckWarranty => &["Is it still under guarantee?", "Checking the guarantee."],
            Self::BookRepair => &["Covered, so I book the workshop.", "Booking the repair."],
            Self::ReturnLabel => &["They need a label for the way back."],
            Self::CancelOrder => &["Not packed yet, so it can be stopped.", "Stopping the order."],
        }
    }
}
