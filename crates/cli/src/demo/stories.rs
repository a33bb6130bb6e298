//! The stories of the week, one module for each agent.

use super::people::{Place, Release};
use super::rhythm::Week;
use super::scene::Scene;
use super::story::Run;

/// Customers and their kitchen machines.
pub(crate) mod support;
pub(crate) mod travel;
pub(crate) mod research;
pub(crate) mod coding;

#[derive(Debug)]
pub(crate) struct Beginning {
    /// The time and what chance has in store.
    pub(crate) scene: Scene,
    pub(crate) place: Place,
    pub(crate) release: &'static Release,
    /// The week it happens in.
    pub(crate) week: Week,
}

/// One conversation with an agent: its runs in order, those of agents it asked among them.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) runs: Vec<Run>,
}
