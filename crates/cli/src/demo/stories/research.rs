//! The research desk, recorded in the `gen_ai.*` convention: a lead, searchers side by side, sources
//! that do not always answer.

mod topics;

use serde_json::json;

use crate::demo::people::{self, Crowd, EMBEDDING, FLASH, HAIKU, OPUS};
use crate::demo::scene::{Dialogue, Errand, Memory, Scene, Trouble};
use crate::demo::story::{AskedBy, Message, Outcome, Run, Step, Work};
use crate::demo::words;

use super::{Beginning, Visit};
use topics::{Angle, FOLLOW_UPS, TOPICS, Topic};

const SYSTEM: &str = "You lead a research desk. Break a question into angles, send one searcher to \
    each, and write a brief that says what is known, how well, and from where. Mark what could not \
    be verified. Do not fill gaps from memory.";

/// Tells one visit to the research desk: a brief, and perhaps a question about it.
pub(crate) fn visit(beginning: Beginning) -> Option<Visit> {
    let Beginning { mut scene, place, release, .. } = beginning;
    let topic = scene.chance.choose(&TOPICS)?;
    let person = people::person(&mut scene.chance, Crowd::Analysts);
    let session = format!("brief-{}", scene.chance.hex(12));
    let mut dialogue = Dialogue::new(&OPUS, SYSTEM, 1_120, Memory::Whole);
    let mut runs = Vec::new();
    for turn in 0..scene.chance.pick(1u64, &[1, 2]) {
        let (root, quality) = if turn == 0 {
            brief(&mut scene, &mut dialogue, topic)
        } else {
            follow_up(&mut scene, &mut dialogue, topic)
        };
        runs.push(Run {
            id: scene.chance.bytes(),
            name: format!("brief: {}", topic.title),
            agent: &people::RESEARCH,
            place,
            release,
            user: person.id.clone(),
            session: session.clone(),
            tags: vec!["research", if turn == 0 { "brief" } else { "follow-up" }],
            root,
            asked_by: None,
            quality,
        });
        scene.pass_ms(240_000.0);
    }
    Some(Visit { runs })
}

/// Tells how the desk answered another agent's question about a border: a short run of its own in
/// that agent's session.
pub(crate) fn entry_rules(
    beginning: Beginning,
    country: &str,
    entry: &str,
    asked: (&str, &str, AskedBy),
) -> Run {
    let Beginning { mut scene, place, release, .. } = beginning;
    let (session, user, caller) = asked;
    let question = format!("What do travellers from the EU need to enter {country}?");
    let root = scene.within(|scene| {
        let mut dialogue = Dialogue::new(&HAIKU, SYSTEM, 640, Memory::Whole);
        dialogue.hear(Message::User(question.clone()));
        let query = json!({ "query": format!("{country} entry requirements") });
        let hits = json!([{ "title": format!("{country}: entry and stay"), "snippet": entry }]);
        let call = scene.call("web_search", query, hits);
        let errand = Errand { call, median_ms: 900.0, trouble: 0.05 };
        let thought = "Official pages first.".to_owned();
        let mut steps = dialogue.use_tools(scene, thought, vec![errand]);
        let output = format!("In short: {entry}. Rules change, so look again before you fly.");
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "research-desk", input: question, output }, steps)
    });
    Run {
        id: scene.chance.bytes(),
        name: format!("entry rules: {country}"),
        agent: &people::RESEARCH,
        place,
        release,
        user: user.to_owned(),
        session: session.to_owned(),
        tags: vec!["research", "agent-as-tool"],
        root,
        asked_by: Some(caller),
        quality: 0.85,
    }
}

fn brief(scene: &mut Scene, dialogue: &mut Dialogue, topic: &'static Topic) -> (Step, f64) {
    let mut unverified = 0;
    let root = scene.within(|scene| {
        dialogue.hear(Message::User(topic.question.to_owned()));
        let mut steps = recall(scene, topic);
        let mut tasks: Vec<_> = topic
            .angles
            .iter()
            .map(|angle| {
                scene.call(
                    "send_searcher",
                    json!({ "angle": angle.query }),
                    json!({ "finding": angle.finding }),
                )
            })
            .collect();
        let plan = scene.say(
            &[
                "Three angles, one searcher each.",
                "I split this into three searches that do not depend on each other.",
            ],
            &[],
        );
        steps.push(dialogue.answer(scene, plan, tasks.clone()));
        let mut found = Vec::new();
        steps.extend(scene.together(topic.angles.len(), |scene, nth| {
            let lost = scene.chance.odds(0.11);
            found.push(!lost);
            searcher(scene, topic.angles.get(nth).unwrap_or(&topic.angles[0]), lost)
        }));
        for (task, _) in tasks.iter_mut().zip(&found).filter(|(_, found)| !**found) {
            task.result =
                json!({ "finding": null, "note": "the source would not load: not verified" });
        }
        tasks.into_iter().for_each(|task| dialogue.hear(Message::Tool(task)));
        unverified = found.iter().filter(|found| !**found).count();
        let text = write_up(scene, topic, &found);
        steps.push(dialogue.answer(scene, text.clone(), Vec::new()));
        (
            Work::Agent { name: "research-desk", input: topic.question.to_owned(), output: text },
            steps,
        )
    });
    let worse = if unverified > 1 { 0.5 } else { 0.2 };
    let quality =
        0.92 - worse * f64::from(u8::from(unverified > 0)) + (scene.chance.unit() - 0.5) * 0.15;
    (root, quality)
}

/// Looks into the desk's own notes: an embedding and a retrieval.
fn recall(scene: &mut Scene, topic: &Topic) -> Vec<Step> {
    let tokens = words::tokens(topic.question);
    let work = Work::Embedding { model: &EMBEDDING, input: topic.question.to_owned(), tokens };
    let embedding = scene.step(work, 90.0, Outcome::Fine);
    let documents = json!([{ "title": format!("Earlier note on {}", topic.title), "score": 0.42 }]);
    let work =
        Work::Retrieval { name: "search_notes", query: topic.question.to_owned(), documents };
    vec![embedding, scene.step(work, 35.0, Outcome::Fine)]
}

fn searcher(scene: &mut Scene, angle: &Angle, lost: bool) -> Step {
    let input = format!("Look into: {}", angle.query);
    let system = "You search and read. Quote what you rely on and say where it stands.";
    scene.within(|scene| {
        let mut dialogue = Dialogue::new(&FLASH, system, 310, Memory::Whole);
        dialogue.hear(Message::User(input.clone()));
        let hits = json!([
            { "title": angle.source, "url": "https://library.example/found" },
            { "title": "A forum thread", "url": "https://forum.example/thread" },
        ]);
        let call = scene.call("web_search", json!({ "query": angle.query }), hits);
        let errand = Errand { call, median_ms: 1_100.0, trouble: 0.1 };
        let mut steps = dialogue.use_tools(scene, "Searching.".to_owned(), vec![errand]);
        steps.extend(read_pages(scene, &mut dialogue, angle, lost));
        let output = if lost {
            "The page would not load and I found no second source: not verified.".to_owned()
        } else {
            format!("{}, it says: \"{}\".", angle.source, angle.finding)
        };
        steps.push(dialogue.answer(scene, output.clone(), Vec::new()));
        (Work::Agent { name: "searcher", input, output }, steps)
    })
}

fn read_pages(scene: &mut Scene, dialogue: &mut Dialogue, angle: &Angle, lost: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for page in 0..scene.chance.between(1, 3) {
        let text = if page == 0 { angle.finding } else { "Nothing further on this page." };
        let url = json!({ "url": format!("https://library.example/found/{page}") });
        let call = scene.call("fetch_page", url, json!({ "title": angle.source, "text": text }));
        if !lost {
            let errand = Errand { call, median_ms: 1_900.0, trouble: 0.08 };
            steps.extend(dialogue.use_tools(scene, "Reading on.".to_owned(), vec![errand]));
            dialogue.weigh(scene.chance.between(900, 5_200));
            continue;
        }
        let thought = "Reading the source itself.".to_owned();
        steps.push(dialogue.answer(scene, thought, vec![call.clone()]));
        let refused = Trouble::BadArguments("403 the site refuses robots");
        let trouble = scene.chance.pick(Trouble::Timeout, &[Trouble::Unavailable, refused]);
        steps.push(scene.tool_fails(call.clone(), trouble));
        dialogue.hear(Message::Tool(call));
    }
    steps
}

fn write_up(scene: &mut Scene, topic: &Topic, found: &[bool]) -> String {
    let lines = topic.angles.iter().zip(found).map(|(angle, found)| {
        if *found {
            format!("- **{}**: {} (*{}*).", angle.query, angle.finding, angle.source)
        } else {
            format!("- **{}**: could not be verified today.", angle.query)
        }
    });
    let body = lines.collect::<Vec<_>>().join("\n");
    let slots = [("upshot", topic.upshot), ("body", body.as_str()), ("title", topic.title)];
    scene.say(
        &[
            "## In one line\n\n**{upshot}.**\n\n### What was found\n\n{body}\n\n> [How sure: fairly; the figures come from few places.|Confidence: moderate. I would look for one more independent count.]",
            "## On {title}\n\n{body}\n\n**What it comes down to:** {upshot}. [What is missing: a study from this year.|Open: whether it holds in smaller towns.]",
        ],
        &slots,
    )
}

const SLIDE: &str = "1. {upshot}.\n2. Best evidence: {source}.\n3. Caveat: few places, short time.";
const LEAST_TRUSTED: &str = "{source}: it is careful, but it counted only those who answered, and \
    \"{finding}\" leans on that.";
const CHANGED_MIND: &str = "A count elsewhere that contradicts {source}. If two of the three findings \
    fell, I would no longer say that {upshot}.";

fn follow_up(scene: &mut Scene, dialogue: &mut Dialogue, topic: &Topic) -> (Step, f64) {
    let input = scene.say(&FOLLOW_UPS, &[]);
    let template = match () {
        () if input.contains("slide") => SLIDE,
        () if input.contains("trust") => LEAST_TRUSTED,
        () => CHANGED_MIND,
    };
    let first = &topic.angles[0];
    let slots = [("upshot", topic.upshot), ("source", first.source), ("finding", first.finding)];
    let output = scene.say(&[template], &slots);
    let root = scene.within(|scene| {
        dialogue.hear(Message::User(input.clone()));
        let step = dialogue.answer(scene, output.clone(), Vec::new());
        (Work::Agent { name: "research-desk", input, output }, vec![step])
    });
    (root, 0.75 + scene.chance.unit() * 0.2)
}
