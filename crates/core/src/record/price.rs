//! What model calls cost, from the table in `prices/models.toml` and the user's own entries.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{PoisonError, RwLock};

use crate::money::Money;
use crate::payload::Json;
use crate::record::merge::Metadata;
use crate::record::price::file::PriceFile;
use crate::record::price::kind::{Kind, Prices};
use crate::record::price::model::PricedModel;
use crate::record::price::name::ModelName;
use crate::record::usage::{Cost, TOTAL, Usage};
use crate::time::Timestamp;

pub use crate::record::price::file::PriceError;
pub(crate) use crate::record::price::kind::{Side, side_of};
pub use crate::record::price::own::{
    AttributeSource, Comparison, ModelDefinition, ModelError, ModelUnit, OwnModel, PricingTier,
    TierCondition,
};

/// Kinds of units, and what each is called.
mod kind;
/// How one model's many names are recognised.
mod name;
/// A model's prices and their conditions.
mod model;
/// Models as a project defines them.
mod own;
/// The form people write prices in.
mod file;
#[cfg(test)]
mod tests;

const BUILTIN: &str = include_str!("../../../../prices/models.toml");

/// How many model names are remembered with their match. Far more than any project uses.
const REMEMBERED: usize = 4096;
/// Longer names are nobody's, and not worth remembering.
const MAX_NAME_BYTES: usize = 512;

/// A model call, as far as its price depends on it.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// The model as the provider names it.
    pub model: &'a str,
    pub usage: &'a Usage,
    /// Temperature, service tier and the like, a JSON object.
    pub parameters: Option<&'a Json>,
    /// Keys and values of the client's own.
    pub metadata: Option<&'a Metadata>,
    pub at: Timestamp,
}

/// What a call cost, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priced<'a> {
    pub cost: Cost,
    /// The name of the tier of prices that was applied.
    pub tier: &'a str,
}

/// What a model costs when nothing special applies, per unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListPrice<'a> {
    /// The model's name in the price table, or the id of a project's own.
    pub model: &'a str,
    /// One token in.
    pub input: Option<Money>,
    /// One token out.
    pub output: Option<Money>,
    /// One token, for models that price all alike.
    pub total: Option<Money>,
}

/// What models cost, by model and kind of unit.
///
/// ```
/// use ratchet_core::record::price::{ModelCall, PriceTable};
/// use ratchet_core::time::Timestamp;
/// use ratchet_core::record::usage::Usage;
///
/// let prices = PriceTable::builtin();
/// let usage = Usage::new([("input".to_owned(), 1000), ("output".to_owned(), 100)].into());
/// let (model, at) = ("openai/gpt-4o", Timestamp::default());
/// let call = ModelCall { model, usage: &usage, parameters: None, metadata: None, at };
/// assert_eq!(prices.cost(call).unwrap().total().dollars(), 0.0035);
/// ```
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    /// A project's own models, those that count first; they win over all files.
    own: Vec<OwnModel>,
    files: Vec<PriceFile>,
    matches: Matches,
}

impl PriceTable {
    /// The prices that come with the program.
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test parses it")]
    pub fn builtin() -> Self {
        Self::parse(BUILTIN).expect("the built-in price file is well-formed")
    }

    /// Reads a price file: TOML as in `prices/models.toml`, which explains itself.
    ///
    /// # Errors
    /// Names the line, and where an entry is at fault its model and field.
    pub fn parse(toml: &str) -> Result<Self, PriceError> {
        let files = vec![PriceFile::parse(toml)?];
        Ok(Self { own: Vec::new(), files, matches: Matches::default() })
    }

    /// This table with someone's own entries, which win wherever they match as exactly.
    #[must_use]
    pub fn with_overrides(self, overrides: Self) -> Self {
        let files = overrides.files.into_iter().chain(self.files).collect();
        Self { own: self.own, files, matches: Matches::default() }
    }

    /// This table with a project's own models, which win over everything else.
    #[must_use]
    pub fn with_own(&self, mut own: Vec<OwnModel>) -> Self {
        OwnModel::sort(&mut own);
        Self { own, files: self.files.clone(), matches: Matches::default() }
    }

    /// The models that come with the program and in the user's files, as definitions.
    pub fn definitions(&self) -> Vec<ModelDefinition> {
        let mut known = BTreeSet::new();
        let models = self.files.iter().flat_map(|file| &file.models);
        models.filter(|model| known.insert(&model.name)).map(PricedModel::definition).collect()
    }

    /// Returns what a call cost, or `None` when the model has no known price.
    ///
    /// A missing price is not zero: the dashboard must say "unknown", not "free". The same holds
    /// when one kind of unit has no price. Counters that no provider bills are passed over.
    pub fn cost(&self, call: ModelCall<'_>) -> Option<Cost> {
        self.priced(call).map(|priced| priced.cost)
    }

    /// The same, with the tier of prices that was applied.
    pub fn priced(&self, call: ModelCall<'_>) -> Option<Priced<'_>> {
        if let Some(own) = self.find_own(call.model, call.at) {
            return own.priced(call);
        }
        let (tier, prices) = self.find(call.model)?.prices(call);
        Some(Priced { cost: cost_at(prices, call)?, tier })
    }

    /// Returns the entry a model's name leads to at a time, with its list price.
    pub fn list_price(&self, model: &str, at: Timestamp) -> Option<ListPrice<'_>> {
        if let Some(own) = self.find_own(model, at) {
            let (input, output) = (own.listed("input"), own.listed("output"));
            return Some(ListPrice { model: &own.id, input, output, total: own.listed(TOTAL) });
        }
        let found = self.find(model)?;
        Some(ListPrice {
            model: &found.name,
            input: found.standard.get(Kind::Input),
            output: found.standard.get(Kind::Output),
            total: found.standard.get(Kind::Total),
        })
    }

    fn find_own(&self, model: &str, at: Timestamp) -> Option<&OwnModel> {
        if model.len() > MAX_NAME_BYTES {
            return None;
        }
        self.own.iter().find(|own| own.holds_at(at) && own.is_match(model))
    }

    fn find(&self, model: &str) -> Option<&PricedModel> {
        if model.len() > MAX_NAME_BYTES {
            return None;
        }
        let place = match self.matches.recall(model) {
            Some(known) => known,
            None => self.matches.remember(model, self.search(model)),
        }?;
        self.files.get(place.file)?.models.get(place.model)
    }

    /// An exact name beats a pattern in the same file, and both beat a name without its date.
    fn search(&self, sent: &str) -> Option<Place> {
        let name = ModelName::new(sent);
        let exact = |file: &PriceFile| {
            let by_pattern = || file.patterns.iter().find(|(pattern, _)| pattern.is_match(sent));
            file.by_name.get(&name.full).copied().or_else(|| Some(by_pattern()?.1))
        };
        let undated = |file: &PriceFile| file.by_name.get(name.undated.as_ref()?).copied();
        self.in_files(exact).or_else(|| self.in_files(undated))
    }

    fn in_files(&self, look: impl Fn(&PriceFile) -> Option<usize>) -> Option<Place> {
        let place = |(file, found): (usize, &PriceFile)| Some(Place { file, model: look(found)? });
        self.files.iter().enumerate().find_map(place)
    }
}

/// What a call costs at some prices, or `None` when one kind of unit has none.
fn cost_at(prices: &Prices, call: ModelCall<'_>) -> Option<Cost> {
    let units = call.usage.kinds();
    if let Some(price) = prices.get(Kind::Total) {
        let total = price.times(*units.get(TOTAL)?);
        return Some(Cost::new(BTreeMap::from([(TOTAL.to_owned(), total)])));
    }
    let mut costs = BTreeMap::new();
    for (name, units) in units {
        let kind = Kind::of_usage(name).filter(|kind| *kind != Kind::Total);
        let Some(kind) = kind else { continue };
        match prices.get(kind) {
            Some(price) => costs.insert(name.clone(), price.times(*units)),
            None if *units == 0 => None,
            None => return None,
        };
    }
    (!costs.is_empty()).then(|| Cost::new(costs))
}

#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    model: usize,
}

/// What each model name led to, so that names are taken apart once and not for every call.
#[derive(Debug, Default)]
struct Matches(RwLock<HashMap<Box<str>, Option<Place>>>);

impl Matches {
    fn recall(&self, model: &str) -> Option<Option<Place>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(model).copied()
    }

    fn remember(&self, model: &str, place: Option<Place>) -> Option<Place> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Names come from outside: a flood of new ones must not grow the map, nor lock it.
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(model.into(), place);
        place
    }
}

/// A copy remembers nothing yet.
impl Clone for Matches {
    fn clone(&self) -> Self {
        Self::default()
    }
}
