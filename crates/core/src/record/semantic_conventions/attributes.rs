use crate::record::semantic_conventions::table::{Dialect, Rank, Shape, TABLE, Target, Targets};
use crate::record::span::{AttributeValue, Attributes};

/// An attribute with a rule, until a field takes it.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) rank: Rank,
    pub(super) name: String,
    /// `None` once taken.
    pub(super) value: Option<AttributeValue>,
}

/// A span's attributes, sorted by target.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    /// By rank, so that a target's claims are adjacent, strongest first.
    claims: Vec<Claim>,
    /// The targets that occur, to skip searching for others.
    targets: Targets,
    /// Attributes without a rule.
    unnamed: Vec<(String, AttributeValue)>,
}

impl Claims {
    pub(super) fn new(attributes: Attributes, dialect: Dialect) -> Self {
        let mut claims = Vec::with_capacity(attributes.0.len());
        let mut targets = Targets::default();
        let mut unnamed = Vec::new();
        let table = &*TABLE;
        for (name, value) in attributes.0 {
            match table.rank(&name, dialect) {
                Some(rank) => claims.push(Claim { rank, name, value: Some(value) }),
                None => unnamed.push((name, value)),
            }
        }
        claims.sort_by_key(|claim| claim.rank);
        let sources = claims.iter().filter_map(|claim| table.source_at(claim.rank));
        sources.for_each(|source| targets.insert(source.target));
        Self { claims, targets, unnamed }
    }

    fn of(&self, target: Target) -> &[Claim] {
        let (from, to) = self.bounds(target);
        self.claims.get(from..to).unwrap_or_default()
    }

    fn of_mut(&mut self, target: Target) -> &mut [Claim] {
        let (from, to) = self.bounds(target);
        self.claims.get_mut(from..to).unwrap_or_default()
    }

    fn bounds(&self, target: Target) -> (usize, usize) {
        if !self.targets.contains(target) {
            return (0, 0);
        }
        let ranks = TABLE.ranks(target);
        let from = self.claims.partition_point(|claim| claim.rank < ranks.start);
        let to = self.claims.partition_point(|claim| claim.rank < ranks.end);
        (from, to)
    }

    /// Returns whether an attribute for the target exists.
    pub(super) fn has(&self, target: Target) -> bool {
        self.of(target).iter().any(|claim| claim.value.is_some())
    }

    /// Returns the attributes of a target, strongest first, without taking them.
    pub(super) fn candidates(
        &self,
        target: Target,
    ) -> impl Iterator<Item = (&str, &AttributeValue)> {
        let claims = self.of(target).iter();
        claims.filter_map(|claim| Some((claim.name.as_str(), claim.value.as_ref()?)))
    }

    /// Returns the text of an attribute with a rule, without taking it.
    pub(super) fn peek(&self, target: Target, name: &str) -> Option<&str> {
        self.candidates(target)
            .find(|(candidate, _)| *candidate == name)
            .and_then(|(_, value)| text(value))
    }

    /// Takes the strongest value that can be parsed, and drops others with the same value.
    pub(super) fn take<T>(
        &mut self,
        target: Target,
        read: impl Fn(&AttributeValue) -> Option<T>,
    ) -> Option<T> {
        self.take_named(target, |_, value| read(value)).map(|(_, read)| read)
    }

    /// Like `take`, with the attribute name.
    pub(super) fn take_named<T>(
        &mut self,
        target: Target,
        read: impl Fn(&str, &AttributeValue) -> Option<T>,
    ) -> Option<(String, T)> {
        let claims = self.of_mut(target);
        let readable = |claim: &Claim| read(&claim.name, claim.value.as_ref()?);
        let (at, found) = claims.iter().enumerate().find_map(|(at, c)| Some((at, readable(c)?)))?;
        let winner = claims.get_mut(at)?;
        let name = std::mem::take(&mut winner.name);
        let value = winner.value.take()?;
        drop_if(claims, |other| *other == value);
        Some((name, found))
    }

    /// Takes the strongest non-empty text, without copying it.
    pub(super) fn take_text(&mut self, target: Target) -> Option<String> {
        self.take_text_named(target).map(|(_, text)| text)
    }

    /// Like `take_text`, with the attribute name.
    pub(super) fn take_text_named(&mut self, target: Target) -> Option<(String, String)> {
        let claims = self.of_mut(target);
        let is_set = |claim: &&mut Claim| claim.value.as_ref().and_then(text).is_some();
        let winner = claims.iter_mut().find(is_set)?;
        let name = std::mem::take(&mut winner.name);
        let value = winner.value.take()?;
        drop_if(claims, |other| *other == value);
        match value {
            AttributeValue::Text(text) => Some((name, text)),
            _ => None,
        }
    }

    /// Returns the first rank of a target, from a rank on, that has an attribute.
    pub(super) fn next_rank(&self, target: Target, from: Rank) -> Option<Rank> {
        let is_set = |claim: &&Claim| claim.value.as_ref().is_some_and(is_present);
        let claims = self.of(target).iter().filter(|claim| claim.rank >= from);
        claims.filter(is_set).map(|claim| claim.rank).next()
    }

    /// Takes all attributes of one rank, with their names.
    pub(super) fn take_at(&mut self, rank: Rank) -> Vec<(String, AttributeValue)> {
        let from = self.claims.partition_point(|claim| claim.rank < rank);
        let at_rank = self.claims.iter_mut().skip(from).take_while(|claim| claim.rank == rank);
        let taken = at_rank.filter_map(|claim| {
            let value = claim.value.take()?;
            Some((std::mem::take(&mut claim.name), value))
        });
        taken.collect()
    }

    /// Drops attributes of a target that equal a known text.
    pub(super) fn drop_equal(&mut self, target: Target, known: &str) {
        let is_known = |value: &AttributeValue| text(value) == Some(known);
        drop_if(self.of_mut(target), is_known);
    }

    /// Puts back an attribute that a field could not use.
    pub(super) fn put_back(&mut self, name: String, value: AttributeValue) {
        self.unnamed.push((name, value));
    }

    /// Takes an attribute without a rule.
    pub(super) fn take_unnamed(&mut self, name: &str) -> Option<AttributeValue> {
        let at = self.unnamed.iter().position(|(unnamed, _)| unnamed == name)?;
        Some(self.unnamed.swap_remove(at).1)
    }

    /// Returns the attributes without a rule.
    pub(super) fn unnamed(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.unnamed.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn unused(&self) -> impl Iterator<Item = (&str, &AttributeValue)> + Clone {
        let unnamed = self.unnamed.iter().map(|(name, value)| (name.as_str(), value));
        let untaken =
            self.claims.iter().filter_map(|claim| Some((&*claim.name, claim.value.as_ref()?)));
        unnamed.chain(untaken)
    }
}

/// Parts of a larger value are not dropped, because the rest would be incomplete.
fn drop_if(claims: &mut [Claim], is_known: impl Fn(&AttributeValue) -> bool) {
    let is_whole = |claim: &Claim| {
        TABLE.source_at(claim.rank).is_some_and(|source| source.shape == Shape::Plain)
    };
    for claim in claims {
        if claim.value.as_ref().is_some_and(&is_known) && is_whole(claim) {
            claim.value = None;
        }
    }
}

/// Returns the text of a value, unless it is empty.
pub(super) fn text(value: &AttributeValue) -> Option<&str> {
    match value {
        AttributeValue::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Returns whether a value is not empty.
pub(super) fn is_present(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::Empty => false,
        AttributeValue::Text(text) => !text.is_empty(),
        _ => true,
    }
}
