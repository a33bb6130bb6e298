use crate::payload::Json;
use crate::usage::{Cost, Usage};

/// A model call, as far as its price depends on it.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// The model as the provider names it.
    pub model: &'a str,
    /// Units by kind.
    pub usage: &'a Usage,
    /// Temperature, service tier and the like, a JSON object.
    pub parameters: Option<&'a Json>,
}

/// What models cost, by model and kind of unit.
#[derive(Clone, Debug, Default)]
pub struct PriceTable;

impl PriceTable {
    /// Returns what a call cost, or `None` when the model has no known price.
    ///
    /// A missing price is not zero: the dashboard must say "unknown", not "free".
    pub fn cost(&self, _call: ModelCall<'_>) -> Option<Cost> {
        None
    }
}
