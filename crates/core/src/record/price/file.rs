use std::collections::{BTreeMap, HashMap};

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use toml::Spanned;

use crate::document::{self, Malformed, line_at};
use crate::money::Money;
use crate::record::price::kind::{Kind, Prices};
use crate::record::price::model::{PricedModel, Tier};
use crate::record::price::name::ModelName;

/// Prices in a file are per this many units.
const PER: f64 = 1e6;

/// Error of parsing a price file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// Invalid TOML, or an unknown key.
    #[error("line {line} of the price file: {problem}")]
    Malformed { line: usize, problem: String },
    /// An invalid entry.
    #[error("line {line} of the price file, model {model}, {field}: {problem}")]
    Model {
        line: usize,
        model: String,
        field: String,
        /// The problem and its correction.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    model: Vec<Spanned<ModelEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry {
    name: String,
    #[serde(default)]
    names: Vec<String>,
    pattern: Option<String>,
    price: BTreeMap<String, f64>,
    #[serde(default)]
    tier: Vec<TierEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TierEntry {
    name: String,
    #[serde(default)]
    parameters: BTreeMap<String, Vec<String>>,
    input_over: Option<u64>,
    price: BTreeMap<String, f64>,
}

/// A parsed price file: models and their lookup tables.
#[derive(Clone, Debug, Default)]
pub(super) struct PriceFile {
    pub(super) models: Vec<PricedModel>,
    pub(super) by_name: HashMap<String, usize>,
    /// In file order.
    pub(super) patterns: Vec<(Regex, usize)>,
}

impl PriceFile {
    pub(super) fn parse(text: &str) -> Result<Self, PriceError> {
        let document: Document = document::read(text)
            .map_err(|Malformed { line, problem }| PriceError::Malformed { line, problem })?;
        let mut file = Self::default();
        for spanned in document.model {
            let line = line_at(text, spanned.span().start);
            let entry = spanned.into_inner();
            let model = entry.name.clone();
            file.add(entry).map_err(|Fault { field, problem }| PriceError::Model {
                line,
                model,
                field,
                problem,
            })?;
        }
        Ok(file)
    }

    fn add(&mut self, entry: ModelEntry) -> Result<(), Fault> {
        let at = self.models.len();
        for name in std::iter::once(&entry.name).chain(&entry.names) {
            if let Some(other) =
                self.by_name.insert(ModelName::new(name).full, at).filter(|own| *own != at)
            {
                let other = self.models.get(other).map_or("", |model| &model.name);
                return Err(Fault::new("names", format!("{name} already names {other}")));
            }
        }
        if let Some(pattern) = &entry.pattern {
            let built = RegexBuilder::new(pattern).case_insensitive(true).build();
            let regex = built.map_err(|error| Fault::new("pattern", error.to_string()))?;
            self.patterns.push((regex, at));
        }
        self.models.push(priced(entry)?);
        Ok(())
    }
}

/// The fault of an entry, without its position.
struct Fault {
    field: String,
    problem: String,
}

impl Fault {
    fn new(field: &str, problem: String) -> Self {
        Self { field: field.to_owned(), problem }
    }
}

fn priced(entry: ModelEntry) -> Result<PricedModel, Fault> {
    let listed = prices("price", &entry.price)?;
    let mut standard = listed;
    standard.fill();
    let tier = |tier: TierEntry| {
        let field = format!("tier {}", tier.name);
        let is_unconditional = tier.parameters.is_empty() && tier.input_over.is_none();
        if is_unconditional {
            let problem = "needs `parameters` or `input_over`, or it would always apply";
            return Err(Fault::new(&field, problem.to_owned()));
        }
        let mut prices = prices(&field, &tier.price)?;
        prices.inherit(&listed);
        prices.fill();
        Ok(Tier {
            name: tier.name,
            parameters: tier.parameters,
            input_over: tier.input_over,
            prices,
        })
    };
    let tiers = entry.tier.into_iter().map(tier).collect::<Result<_, _>>()?;
    Ok(PricedModel { name: entry.name, standard, tiers })
}

fn prices(field: &str, entry: &BTreeMap<String, f64>) -> Result<Prices, Fault> {
    let mut prices = Prices::default();
    for (word, dollars) in entry {
        let fault = |problem| Fault::new(&format!("{field}.{word}"), problem);
        let kind = Kind::of_price(word)
            .ok_or_else(|| fault(format!("not a kind of unit; use one of {}", Kind::words())))?;
        let price = Money::from_dollars(dollars / PER).ok_or_else(|| {
            fault(format!("{dollars} is not a price in dollars per million units"))
        })?;
        if prices.set(kind, price).is_some() {
            return Err(fault("another entry prices the same kind of unit".to_owned()));
        }
    }
    if entry.len() > 1 && prices.get(Kind::Total).is_some() {
        let problem = "`total` covers every unit, so it stands alone";
        return Err(Fault::new(field, problem.to_owned()));
    }
    if entry.is_empty() {
        return Err(Fault::new(field, "lists no prices".to_owned()));
    }
    Ok(prices)
}
