use crate::demo::people::{self, Crowd, Person};
use crate::demo::scene::Scene;
use crate::demo::words;

use super::cases::{CASES, Case, PRODUCTS, Product};

/// One customer with one problem.
#[derive(Debug)]
pub(crate) struct Customer {
    pub(crate) person: Person,
    pub(crate) product: &'static Product,
    pub(crate) case: &'static Case,
    pub(crate) order: String,
    facts: Vec<(&'static str, String)>,
}

impl Customer {
    pub(crate) fn imagine(scene: &mut Scene) -> Option<Self> {
        let chance = &mut scene.chance;
        let product = chance.choose(&PRODUCTS)?;
        let case = chance.choose(&CASES)?;
        let person = people::person(chance, Crowd::Customers);
        let order = format!("KC-{}", chance.between(410_000, 489_999));
        let city = chance.pick("Leipzig", &["Lyon", "Utrecht", "Graz", "Porto", "Gdansk", "Malmo"]);
        let pickup = chance.pick("12 Mill Lane", &["the station kiosk", "the corner bakery"]);
        let months = chance.between(2, 19);
        let facts = vec![
            ("given", person.given.to_owned()),
            ("product", product.name.to_owned()),
            ("kind", product.kind.to_owned()),
            ("fault", words::say(chance, product.fault, &[])),
            ("remedy", product.remedy.to_owned()),
            ("order", order.clone()),
            ("price", format!("{} €", product.price)),
            ("shipping", "4.90 €".to_owned()),
            ("days", chance.between(3, 12).to_string()),
            ("months", months.to_string()),
            ("left", (24 - months).to_string()),
            ("city", city.to_owned()),
            ("street", pickup.to_owned()),
        ];
        Some(Self { person, product, case, order, facts })
    }

    /// Writes a sentence about it from one of several templates.
    pub(crate) fn say(&self, scene: &mut Scene, templates: &[&str]) -> String {
        let facts = self.facts.iter();
        let slots: Vec<_> = facts.map(|(name, value)| (*name, value.as_str())).collect();
        scene.say(templates, &slots)
    }
}
