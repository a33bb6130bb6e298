use serde_json::{Value, json};

use super::super::people;
use super::FIRST_PROMPT;

/// One version: what it says, why it changed, and where it is used.
struct Version {
    text: &'static str,
    why: &'static str,
    labels: &'static [&'static str],
}

const fn version(
    text: &'static str,
    why: &'static str,
    labels: &'static [&'static str],
) -> Version {
    Version { text, why, labels }
}

const SUPPORT: [Version; 4] = [
    version(
        "You are the support desk of Kettle & Crane. Answer questions about orders and machines. \
         Be polite.",
        "First draft",
        &[],
    ),
    version(
        "You are the support desk of Kettle & Crane, a shop for kitchen machines. Be warm, short \
         and concrete.\n\nLook orders up with `find_order` before you speak about them, and never \
         guess a date, a price or a cause.\n\nRefunds go through the refunds clerk.",
        "Look things up instead of guessing",
        &[],
    ),
    version(
        "You are the support desk of Kettle & Crane, a shop for kitchen machines. Be warm and \
         short.\n\nUse the tools to look up orders by order number and mail address.\n\nRefunds go \
         through the refunds clerk. If something is unclear, point to the contact form.",
        "Shorter, cheaper",
        &[],
    ),
    version(
        "You are the support desk of Kettle & Crane, a shop for kitchen machines. Be warm, short \
         and concrete.\n\nLook orders up with `find_order` (it takes `order_id`) before you speak \
         about them, and never guess a date, a price or a cause. Offer the next step yourself \
         instead of asking the customer to do it.\n\nRefunds go through the refunds clerk. If you \
         cannot help, say so and hand over to a person.",
        "Back to looking up; names the argument that 4.8.0 got wrong",
        &["production"],
    ),
];

const TRIP: [Version; 3] = [
    version(
        "Plan a journey to {{city}} for {{people}} people within {{budget}} EUR.",
        "First draft",
        &[],
    ),
    version(
        "Plan a journey to {{city}} for {{people}} people within {{budget}} EUR. Ask the scouts \
         for flights and rooms; do not invent fares.",
        "Scouts",
        &["production"],
    ),
    version(
        "Plan a journey to {{city}} for {{people}} people within {{budget}} EUR. Ask the scouts \
         for flights and rooms; do not invent fares. Ask the research desk what the border asks \
         for. Give one proposal with prices, then one alternative.",
        "The border, and one clear proposal",
        &["staging"],
    ),
];

const TRIAGE: &str = "Sort the message into one of: late-delivery, fault, refund, wrong-item, \
    how-to, cancel, repair. Answer with JSON.";

/// Every version of every prompt, as bodies of requests, oldest first.
pub(super) fn all() -> Vec<Value> {
    let support = SUPPORT.iter().map(|version| text(FIRST_PROMPT, &["support"], version));
    let trip = TRIP.iter().map(|version| text("trip-planner/system", &["travel"], version));
    support.chain(trip).chain([triage()]).collect()
}

fn text(name: &str, tags: &[&str], version: &Version) -> Value {
    json!({
        "type": "text",
        "name": name,
        "prompt": version.text,
        "labels": version.labels,
        "tags": tags,
        "config": { "model": people::TERRA.name, "temperature": 0.3 },
        "commitMessage": version.why,
    })
}

fn triage() -> Value {
    json!({
        "type": "chat",
        "name": "support-desk/triage",
        "prompt": [
            { "role": "system", "content": TRIAGE },
            { "role": "user", "content": "{{message}}" },
        ],
        "labels": ["production"],
        "tags": ["support"],
        "config": { "model": people::LUNA.name, "response_format": "json_object" },
        "commitMessage": "Seven topics",
    })
}
