//! Model prices: the cost of generations from `prices/models.toml` and user-defined entries.

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
    AttributeSource, Comparison, ModelDefinition, ModelDefinitionError, ModelUnit, OwnModel,
    PricingTier, TierCondition,
};

/// Usage types and their names.
mod kind;
/// Normalisation of model names.
mod name;
/// A model's prices and pricing tiers.
mod model;
/// Models defined by a project.
mod own;
/// File format of prices.
mod file;
#[cfg(test)]
mod tests;

const BUILTIN: &str = include_str!("../../../../prices/models.toml");

/// The capacity of the name cache, far more than any project uses.
const REMEMBERED: usize = 4096;
/// Longer names match no model and are not cached.
const MAX_NAME_BYTES: usize = 512;

/// The properties of a model call that its price depends on.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// The provider's model name.
    pub model: &'a str,
    pub usage: &'a Usage,
    /// Temperature, service tier and others, a JSON object.
    pub parameters: Option<&'a Json>,
    /// Client metadata.
    pub metadata: Option<&'a Metadata>,
    pub at: Timestamp,
}

/// The cost of a call and the pricing tier used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priced<'a> {
    pub cost: Cost,
    /// Name of the pricing tier.
    pub tier: &'a str,
}

/// The unit prices of a model's default tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListPrice<'a> {
    /// The name in the price table, or the id of a project's model.
    pub model: &'a str,
    /// Per input token.
    pub input: Option<Money>,
    /// Per output token.
    pub output: Option<Money>,
    /// Per token, for models with a single price.
    pub total: Option<Money>,
}

/// Prices by model and usage type.
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
    /// The project's models in order of precedence; they take precedence over all files.
    own: Vec<OwnModel>,
    files: Vec<PriceFile>,
    matches: Matches,
}

impl PriceTable {
    /// Returns the built-in prices.
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test parses it")]
    pub fn builtin() -> Self {
        Self::parse(BUILTIN).expect("the built-in price file is well-formed")
    }

    /// Parses a price file: TOML as in `prices/models.toml`, which is commented.
    ///
    /// # Errors
    /// Names the line and, for an invalid entry, its model and field.
    pub fn parse(toml: &str) -> Result<Self, PriceError> {
        let files = vec![PriceFile::parse(toml)?];
        Ok(Self { own: Vec::new(), files, matches: Matches::default() })
    }

    /// Adds user-defined entries, which win over built-in ones of the same match quality.
    #[must_use]
    pub fn with_overrides(self, overrides: Self) -> Self {
        let files = overrides.files.into_iter().chain(self.files).collect();
        Self { own: self.own, files, matches: Matches::default() }
    }

    /// Adds a project's models, which take precedence over everything else.
    #[must_use]
    pub fn with_own(&self, mut own: Vec<OwnModel>) -> Self {
        OwnModel::sort(&mut own);
        Self { own, files: self.files.clone(), matches: Matches::default() }
    }

    /// Returns the models of the built-in and user files as definitions.
    pub fn definitions(&self) -> Vec<ModelDefinition> {
        let mut known = BTreeSet::new();
        let models = self.files.iter().flat_map(|file| &file.models);
        models.filter(|model| known.insert(&model.name)).map(PricedModel::definition).collect()
    }

    /// Returns the cost of a call, or `None` when the model has no known price.
    ///
    /// A missing price is not zero: the dashboard must show "unknown", not "free". The same holds
    /// when one usage type has no price. Counters that no provider bills are ignored.
    pub fn cost(&self, call: ModelCall<'_>) -> Option<Cost> {
        self.priced(call).map(|priced| priced.cost)
    }

    /// Returns the cost with the pricing tier used.
    pub fn priced(&self, call: ModelCall<'_>) -> Option<Priced<'_>> {
        if let Some(own) = self.find_own(call.model, call.at) {
            return own.priced(call);
        }
        let (tier, prices) = self.find(call.model)?.prices(call);
        Some(Priced { cost: cost_at(prices, call)?, tier })
    }

    /// Returns the list price of a model name at a time.
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
        let found = match self.matches.recall(model) {
            Some(known) => known,
            None => self.matches.remember(model, self.search(model)),
        }?;
        self.files.get(found.file)?.models.get(found.model)
    }

    /// An exact name beats a pattern in the same file, and both beat a name without its date.
    fn search(&self, sent: &str) -> Option<ModelIndex> {
        let name = ModelName::new(sent);
        let exact = |file: &PriceFile| {
            let by_pattern = || file.patterns.iter().find(|(pattern, _)| pattern.is_match(sent));
            file.by_name.get(&name.full).copied().or_else(|| Some(by_pattern()?.1))
        };
        let undated = |file: &PriceFile| file.by_name.get(name.undated.as_ref()?).copied();
        self.in_files(exact).or_else(|| self.in_files(undated))
    }

    fn in_files(&self, look: impl Fn(&PriceFile) -> Option<usize>) -> Option<ModelIndex> {
        let found =
            |(file, found): (usize, &PriceFile)| Some(ModelIndex { file, model: look(found)? });
        self.files.iter().enumerate().find_map(found)
    }
}

/// Returns the cost of a call at given prices; `None` when one usage type has no price.
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
struct ModelIndex {
    file: usize,
    model: usize,
}

/// A cache of model name lookups, so that names are parsed once and not for every call.
#[derive(Debug, Default)]
struct Matches(RwLock<HashMap<Box<str>, Option<ModelIndex>>>);

impl Matches {
    fn recall(&self, model: &str) -> Option<Option<ModelIndex>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(model).copied()
    }

    fn remember(&self, model: &str, found: Option<ModelIndex>) -> Option<ModelIndex> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Names are untrusted input: a flood of new ones must not grow the map, nor lock it.
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(model.into(), found);
        found
    }
}

/// A clone starts with an empty cache.
impl Clone for Matches {
    fn clone(&self) -> Self {
        Self::default()
    }
}
