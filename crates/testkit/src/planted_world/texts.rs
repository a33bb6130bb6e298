use crate::seeded_random::SeededRandom;

/// In whose words a world speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedWording {
    /// The words that the diagnosis was developed with first.
    #[default]
    Known,
    /// Words that it was changed for later.
    Others,
    /// Words that it was never developed with.
    HeldOut,
}

/// The phrase lists.
#[derive(Debug)]
pub(super) struct WorldTexts(toml::Table);

/// Values of the slots of one conversation.
pub(super) type Slots = Vec<(String, String)>;

impl WorldTexts {
    pub(super) fn read(wording: PlantedWording) -> Self {
        let text = include_str!("../../fixtures/planted_world/texts.toml");
        let mut texts: toml::Table = toml::from_str(text).unwrap();
        let other = match wording {
            PlantedWording::Known => "",
            PlantedWording::Others => {
                include_str!("../../fixtures/planted_world/texts_others.toml")
            }
            PlantedWording::HeldOut => {
                include_str!("../../fixtures/planted_world/texts_held_out.toml")
            }
        };
        replace(&mut texts, toml::from_str(other).unwrap());
        Self(texts)
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &String> {
        self.0["topic"].as_table().unwrap().keys()
    }

    /// A single text of a topic; empty if there is none.
    pub(super) fn of_topic(&self, topic: &str, key: &str) -> &str {
        let topic = &self.0["topic"][topic];
        topic.get(key).and_then(toml::Value::as_str).unwrap_or_default()
    }

    pub(super) fn slots(&self, random: &mut SeededRandom) -> Slots {
        let lists = self.0["slots"].as_table().unwrap();
        let mut slots: Slots = lists
            .iter()
            .map(|(slot, list)| (slot.clone(), one_of(list, random).to_owned()))
            .collect();
        slots.push(("order".to_owned(), format!("KC-{}", 10_000 + random.below(90_000))));
        slots.push(("serial".to_owned(), format!("SN{}", 100_000 + random.below(900_000))));
        slots.push(("number".to_owned(), (3 + random.below(90)).to_string()));
        slots
    }

    pub(super) fn question(&self, topic: &str, slots: &Slots, random: &mut SeededRandom) -> String {
        let opening = one_of(&self.0["openings"], random);
        let asked = one_of(&self.0["topic"][topic]["questions"], random);
        let closing = one_of(&self.0["closings"], random);
        let text = filled(&format!("{opening}{asked} {closing}"), slots);
        if random.once_in(3) { with_typo(&text, random) } else { text }
    }

    /// An answer: "good" or "bad".
    pub(super) fn answer(
        &self,
        (topic, kind): (&str, &str),
        slots: &Slots,
        random: &mut SeededRandom,
    ) -> String {
        let lead = one_of(&self.0["leads"], random);
        let said = one_of(&self.0["topic"][topic][kind], random);
        filled(&format!("{lead} {said}."), slots)
    }

    pub(super) fn comment(&self, topic: &str, slots: &Slots, random: &mut SeededRandom) -> String {
        filled(one_of(&self.0["topic"][topic]["comments"], random), slots)
    }
}

/// Replaces the lists of a table by those of another.
fn replace(texts: &mut toml::Table, others: toml::Table) {
    for (key, value) in others {
        match (texts.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(other)) => replace(known, other),
            (_, value) => {
                texts.insert(key, value);
            }
        }
    }
}

fn one_of<'a>(list: &'a toml::Value, random: &mut SeededRandom) -> &'a str {
    random.pick(list.as_array().unwrap()).as_str().unwrap()
}

/// Replaces the slots of a template.
pub(super) fn filled(template: &str, slots: &Slots) -> String {
    let replaced = |text: String, (slot, value): &(String, String)| {
        text.replace(&format!("{{{slot}}}"), value)
    };
    slots.iter().fold(template.to_owned(), replaced)
}

/// Swaps two neighbouring letters.
fn with_typo(text: &str, random: &mut SeededRandom) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = 1 + random.below(letters.len().saturating_sub(3));
    if letters[at].is_alphabetic() && letters[at + 1].is_alphabetic() {
        letters.swap(at, at + 1);
    }
    letters.into_iter().collect()
}
