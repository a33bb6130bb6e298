//! Where people want to go.

#[derive(Debug)]
pub(crate) struct City {
    pub(crate) name: &'static str,
    pub(crate) airport: &'static str,
    pub(crate) country: &'static str,
    /// What one pays with there.
    pub(crate) currency: &'static str,
    /// Units of that for one euro.
    pub(crate) rate: f64,
    pub(crate) quarters: [&'static str; 3],
    pub(crate) sights: [&'static str; 4],
    /// The weather one gets.
    pub(crate) weather: &'static str,
    /// What the border asks for.
    pub(crate) entry: &'static str,
}

pub(crate) const CITIES: [City; 10] = [
    City {
        name: "Lisbon",
        airport: "LIS",
        country: "Portugal",
        currency: "EUR",
        rate: 1.0,
        quarters: ["Alfama", "Graça", "Campo de Ourique"],
        sights: [
            "a walk along the river to Belém",
            "the tile museum",
            "a morning in the Alfama lanes",
            "the ferry to Cacilhas at sunset",
        ],
        weather: "mild, 17 °C, one day of rain",
        entry: "an identity card is enough for citizens of the EU",
    },
    City {
        name: "Kyoto",
        airport: "KIX",
        country: "Japan",
        currency: "JPY",
        rate: 168.4,
        quarters: ["Gion", "Demachiyanagi", "Nishijin"],
        sights: [
            "the garden path along the canal",
            "an early hour among the red gates",
            "a tea house in Uji",
            "the textile quarter of Nishijin",
        ],
        weather: "clear and cool, 14 °C",
        entry: "no visa for stays up to 90 days, but the arrival form must be filled in before the flight",
    },
    City {
        name: "Reykjavik",
        airport: "KEF",
        country: "Iceland",
        currency: "ISK",
        rate: 149.2,
        quarters: ["Vesturbær", "the old harbour", "Hlíðar"],
        sights: [
            "the sea baths",
            "a day on the golden circle",
            "the harbour at dusk",
            "the small sculpture garden",
        ],
        weather: "windy, 3 °C, sleet on two days",
        entry: "Schengen rules apply; bring a passport all the same",
    },
    City {
        name: "Marrakesh",
        airport: "RAK",
        country: "Morocco",
        currency: "MAD",
        rate: 10.7,
        quarters: ["the Medina", "Guéliz", "Kasbah"],
        sights: [
            "the dyers' street",
            "the blue garden",
            "a cooking morning in a riad",
            "a day in the Ourika valley",
        ],
        weather: "sunny, 24 °C, cold nights",
        entry: "a passport valid for six more months; no visa for up to 90 days",
    },
    City {
        name: "Edinburgh",
        airport: "EDI",
        country: "the United Kingdom",
        currency: "GBP",
        rate: 0.86,
        quarters: ["Leith", "Stockbridge", "Marchmont"],
        sights: [
            "Arthur's Seat before breakfast",
            "the closes off the Royal Mile",
            "a bus to the Forth bridges",
            "the botanic garden",
        ],
        weather: "grey, 9 °C, showers",
        entry: "an electronic travel authorisation must be bought before the journey",
    },
    City {
        name: "Istanbul",
        airport: "IST",
        country: "Türkiye",
        currency: "TRY",
        rate: 48.9,
        quarters: ["Karaköy", "Kadıköy", "Balat"],
        sights: [
            "the ferry up the Bosphorus",
            "the sunken cistern",
            "breakfast in Kadıköy market",
            "the city walls on foot",
        ],
        weather: "bright, 15 °C",
        entry: "a passport or, for many Europeans, an identity card; no visa for up to 90 days",
    },
    City {
        name: "Montréal",
        airport: "YUL",
        country: "Canada",
        currency: "CAD",
        rate: 1.61,
        quarters: ["Mile End", "Le Plateau", "Verdun"],
        sights: [
            "the mountain at noon",
            "bagels at both bakeries",
            "the old port by bicycle",
            "a jazz cellar",
        ],
        weather: "cold, -2 °C, first snow",
        entry: "an electronic travel authorisation, applied for online and tied to the passport",
    },
    City {
        name: "Tallinn",
        airport: "TLL",
        country: "Estonia",
        currency: "EUR",
        rate: 1.0,
        quarters: ["Kalamaja", "the Old Town", "Kadriorg"],
        sights: [
            "the seaplane harbour",
            "the wooden houses of Kalamaja",
            "a sauna by the sea",
            "the day ferry to Helsinki",
        ],
        weather: "frosty, 0 °C",
        entry: "an identity card is enough for citizens of the EU",
    },
    City {
        name: "Oaxaca",
        airport: "OAX",
        country: "Mexico",
        currency: "MXN",
        rate: 21.3,
        quarters: ["Jalatlaco", "Centro", "Xochimilco"],
        sights: [
            "the market of Tlacolula",
            "a weaving village",
            "the ruins on the hill",
            "a mole tasting",
        ],
        weather: "warm, 26 °C, dry",
        entry: "a passport and a tourist card that is issued on arrival",
    },
    City {
        name: "Tbilisi",
        airport: "TBS",
        country: "Georgia",
        currency: "GEL",
        rate: 3.1,
        quarters: ["Sololaki", "Vera", "Avlabari"],
        sights: [
            "the sulphur baths",
            "the cable car at dusk",
            "a wine cellar in Kakheti",
            "the flea market on the bridge",
        ],
        weather: "crisp, 11 °C",
        entry: "no visa for stays of up to a year; proof of health insurance is asked for",
    },
];

/// Where people set out from.
pub(crate) const HOMES: [(&str, &str); 6] = [
    ("Berlin", "BER"),
    ("Vienna", "VIE"),
    ("Copenhagen", "CPH"),
    ("Dublin", "DUB"),
    ("Milan", "MXP"),
    ("Warsaw", "WAW"),
];

/// Who flies. None of them exists.
pub(crate) const AIRLINES: [&str; 5] =
    ["Albatross Air", "Nordlys", "Meridian Blue", "Swallow", "Terra Alta"];

/// How people ask for a journey.
pub(crate) const WISHES: [&str; 4] = [
    "[We are|There will be] {party} of us and we [want|would love] to spend {nights} nights in {city} [in spring|over the long weekend|in the school holidays], from {home}. Budget around {budget} € per person. What do you suggest?",
    "Plan {nights} days in {city} for {party} [people|of us], please. We fly from {home}, like [walking|good food|quiet places], and {budget} € each is the [limit|most we can spend].",
    "[Hi!|Hello,] can you put together a trip to {city} for {party}? {nights} nights, from {home}, not more than {budget} € a head.",
    "I need a break. {city}, {nights} nights, {party} [travellers|people], leaving from {home}. {budget} € each. Surprise me, but no hostels.",
];

pub(crate) const CHANGES: [&str; 4] = [
    "[Nice!|I like it.] Could we leave a day later and come back on Sunday?",
    "The hotel is a bit far out. Anything closer to {quarter}?",
    "What will the weather be like, and what should we pack?",
    "How much is {budget} € in {currency}, roughly?",
];

/// What people say when they are ready.
pub(crate) const DECISIONS: [&str; 2] = [
    "[Perfect|Great], please hold the flights and the hotel for {party}.",
    "[Let's do it.|Sold.] Hold it for us [until tomorrow|for 24 hours], please.",
];
