//! Customers who are asked for again with every release: the dataset of the support desk.

use ratchet_core::time::Timestamp;

use crate::demo::people::{self, Place, Release, TERRA};
use crate::demo::scene::{Dialogue, Memory, Scene};
use crate::demo::seeded_random::Chance;
use crate::demo::story::Run;

use super::customer::Customer;
use super::{Reply, SYSTEM, Telling, Turn};

/// What one release made of one customer.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) ask: String,
    /// What a good answer says.
    pub(crate) expected: String,
    /// What the case is about.
    pub(crate) topic: &'static str,
    pub(crate) run: Run,
}

/// Tells how a release serves the customer that chance has in store. The same chance gives the
/// same customer, whatever the release.
pub(crate) fn trial(chance: &Chance, at: Timestamp, release: &'static Release) -> Option<Trial> {
    let mut scene = Scene { chance: chance.clone(), now: at };
    let customer = Customer::imagine(&mut scene)?;
    let ask = customer.say(&mut scene, customer.case.asks);
    let expected = customer.say(&mut scene, customer.case.answers);
    // From here on each release goes its own way.
    scene.chance = scene.chance.fork(release.version);
    let mut dialogue = Dialogue::new(&TERRA, SYSTEM, 840, Memory::Whole);
    let turn = Turn { ask: ask.clone(), reply: Reply::First };
    let told =
        Telling { customer: &customer, release, turn: &turn }.tell(&mut scene, &mut dialogue);
    let run = Run {
        id: scene.chance.bytes(),
        name: format!("support: {}", customer.case.topic),
        agent: &people::SUPPORT,
        place: Place::Beta,
        release,
        user: "release-check".to_owned(),
        session: format!("check-{}-{}", release.version, scene.chance.hex(6)),
        tags: vec!["experiment", "support"],
        root: told.root,
        asked_by: None,
        quality: told.quality,
    };
    Some(Trial { ask, expected, topic: customer.case.topic, run })
}
