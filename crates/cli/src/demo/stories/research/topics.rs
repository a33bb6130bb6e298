//! What the research desk is asked. The findings are invented, like the places they come from.

/// A question with the angles to look at it from.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) title: &'static str,
    pub(crate) question: &'static str,
    pub(crate) angles: [Angle; 3],
    /// What it comes down to.
    pub(crate) upshot: &'static str,
}

/// One angle on a question.
#[derive(Debug)]
pub(crate) struct Angle {
    pub(crate) query: &'static str,
    pub(crate) finding: &'static str,
    pub(crate) source: &'static str,
}

const fn angle(query: &'static str, finding: &'static str, source: &'static str) -> Angle {
    Angle { query, finding, source }
}

pub(crate) const TOPICS: [Topic; 12] = [
    Topic {
        title: "night trains",
        question: "Is there room in the market for a new night train operator between mid-sized cities?",
        angles: [
            angle(
                "night train demand mid-sized cities",
                "bookings on the routes surveyed rose by about a third in two years, mostly from people who used to fly",
                "Survey of sleeper passengers, Rail Notes",
            ),
            angle(
                "sleeper carriage cost and availability",
                "new sleeper cars take four to five years to deliver, and used ones need a rebuild of the brakes before they may run",
                "Rolling stock report, Track & Timber",
            ),
            angle(
                "track access charges at night",
                "night paths are cheap in three of the five countries, but maintenance closes them on two nights a week",
                "Path charges compared, Freight Ledger",
            ),
        ],
        upshot: "demand is there, but carriages are the bottleneck: lease before you launch",
    },
    Topic {
        title: "heat pumps in old houses",
        question: "Do air-source heat pumps work in unrenovated stone houses, and what do owners regret?",
        angles: [
            angle(
                "heat pump flow temperature stone house",
                "with larger radiators most houses stayed warm at 48 °C flow temperature, down to -9 °C outside",
                "Field trial of forty houses, Warm Rooms",
            ),
            angle(
                "heat pump owner complaints",
                "the regret named most often is noise at the neighbour's fence, not cost",
                "Owners' panel, House & Hearth Letters",
            ),
            angle(
                "installer quality heat loss calculation",
                "in half of the disappointing cases nobody had calculated the heat loss room by room",
                "Review of call-outs, Plumb Line",
            ),
        ],
        upshot: "they work if someone does the sums first and the unit stands away from the fence",
    },
    Topic {
        title: "reusable cups",
        question: "What return rate do deposit systems for reusable cups reach, and what decides it?",
        angles: [
            angle(
                "reusable cup deposit return rate",
                "rates settle between 78 and 92 percent after the first half year",
                "Five cities compared, Circular Desk",
            ),
            angle(
                "return points density",
                "each further return point within 300 metres adds about four points to the rate, up to a dozen",
                "Walking study, Street Data",
            ),
            angle(
                "deposit amount behaviour",
                "above two euros the deposit keeps people from taking the cup at all",
                "Price trial, Till Receipts",
            ),
        ],
        upshot: "density of return points beats the height of the deposit",
    },
    Topic {
        title: "library fines",
        question: "Did libraries that dropped late fees lose more books?",
        angles: [
            angle(
                "library late fees abolished losses",
                "losses stayed within half a percent of the years before",
                "Before and after in nineteen libraries, Reading Room Quarterly",
            ),
            angle(
                "late fees returning borrowers",
                "about one in twelve lapsed borrowers came back within a year",
                "Card renewals, Stack & Shelf",
            ),
            angle(
                "library revenue from fines",
                "fines made up less than one percent of budgets and cost half of that to collect",
                "Town budgets, Ledger of Small Things",
            ),
        ],
        upshot: "no: books came back, and so did readers",
    },
    Topic {
        title: "urban bees",
        question: "Does keeping honey bees on city roofs harm wild bees?",
        angles: [
            angle(
                "honey bee density wild bee decline city",
                "above three hives per square kilometre wild bee counts fell at the sites observed",
                "Roof and hedge counts, Field & Kerb",
            ),
            angle(
                "city flower supply hives",
                "most inner districts flower enough for one or two hives per square kilometre from May to July",
                "Nectar map, Green Ledger",
            ),
            angle(
                "bee keeping rules cities",
                "of eleven cities asked, two count hives and none limits them",
                "Rules compared, Municipal Notes",
            ),
        ],
        upshot: "a few hives do no harm; the fashion for them does",
    },
    Topic {
        title: "four-day week",
        question: "What happens to support queues when a company moves to a four-day week?",
        angles: [
            angle(
                "four day week response time support",
                "first responses slowed by a fifth in the first two months and were back after four",
                "Six teams over a year, Shift Work Review",
            ),
            angle(
                "four day week staggered shifts",
                "teams that staggered their free day had no queue on Mondays",
                "Rota study, Workbench",
            ),
            angle(
                "four day week staff turnover",
                "notices fell by a third in the year after the change",
                "Staff records, People & Hours",
            ),
        ],
        upshot: "stagger the free day, and expect two slow months",
    },
    Topic {
        title: "flood insurance",
        question: "Why do so few small shops insure against floods?",
        angles: [
            angle(
                "small business flood insurance uptake",
                "fewer than one shop in six has cover, even in streets that flooded within ten years",
                "High street census, Rain Gauge",
            ),
            angle(
                "flood insurance excess small shops",
                "the excess asked for is often larger than the stock in the cellar is worth",
                "Policies read line by line, Small Print",
            ),
            angle(
                "pooled flood cover traders",
                "two traders' associations bought cover together and halved the premium",
                "Case notes, Market Street",
            ),
        ],
        upshot: "the excess makes cover pointless for one shop and sensible for twenty together",
    },
    Topic {
        title: "school meals",
        question: "Which change to school kitchens reduces food waste most?",
        angles: [
            angle(
                "school kitchen plate waste trial",
                "letting pupils choose the portion cut plate waste by 28 percent",
                "Weighed for a term, Canteen Notes",
            ),
            angle(
                "school lunch break length waste",
                "ten more minutes at the table saved as much as a new menu",
                "Timed lunches, Clock & Spoon",
            ),
            angle(
                "menu planning forecast school",
                "ordering by last week's attendance instead of enrolment cut kitchen waste by 11 percent",
                "Purchasing records, Bulk & Crate",
            ),
        ],
        upshot: "portions first, then time, then forecasts",
    },
    Topic {
        title: "cargo bikes",
        question: "When is a cargo bike quicker than a van for parcels?",
        angles: [
            angle(
                "cargo bike parcel stops per hour",
                "in dense districts bikes made 12 to 15 stops an hour, vans 8 to 10",
                "Rides along, Last Mile Diary",
            ),
            angle(
                "micro depot distance cargo bike",
                "the advantage is gone once the depot lies more than 3 km away",
                "Depot map, Kerbside",
            ),
            angle(
                "cargo bike winter reliability",
                "on icy days the rounds took a third longer, with no more falls than on foot",
                "Winter log, Spoke & Axle",
            ),
        ],
        upshot: "wherever the depot is near and parking is not",
    },
    Topic {
        title: "open-plan offices",
        question: "Do sound-masking systems in open offices change anything people notice?",
        angles: [
            angle(
                "sound masking office concentration",
                "people reported fewer interruptions, while their measured error rate did not change",
                "Two floors compared, Desk Research",
            ),
            angle(
                "sound masking level complaints",
                "complaints begin at 46 decibels and are nearly all about meeting rooms",
                "Facility tickets, Quiet Hours",
            ),
            angle(
                "open office alternatives cost",
                "ten phone booths cost less than masking a floor and were used all day",
                "Booking data, Floor Plan",
            ),
        ],
        upshot: "build booths before you buy noise",
    },
    Topic {
        title: "tram line extensions",
        question: "How long after a tram extension opens do shops along it recover?",
        angles: [
            angle(
                "tram construction shop revenue",
                "takings fell by a quarter while the street was open",
                "Till data of ninety shops, Rails & Awnings",
            ),
            angle(
                "tram opening shop recovery",
                "most were back to the old level eleven months after opening and above it after two years",
                "Follow-up, Rails & Awnings",
            ),
            angle(
                "compensation scheme shops construction",
                "where the city paid a fixed sum each month, half as many shops closed",
                "Three schemes, Town Hall Papers",
            ),
        ],
        upshot: "about a year, and a plain monthly payment keeps them alive until then",
    },
    Topic {
        title: "repair cafés",
        question: "What share of repairs succeed at repair cafés, and what stops the rest?",
        angles: [
            angle(
                "repair cafe success rate",
                "about 61 percent of items left working, lamps most and printers least",
                "Logbooks of thirty cafés, Mend",
            ),
            angle(
                "repair failure reasons",
                "in four failures of ten a part could not be bought singly",
                "Same logbooks, second reading, Mend",
            ),
            angle(
                "repair cafe volunteers",
                "the groups that last have a fixed table for beginners",
                "Visits, Screw & Thread",
            ),
        ],
        upshot: "spare parts are the limit, not skill",
    },
];

/// How analysts ask for more.
pub(crate) const FOLLOW_UPS: [&str; 3] = [
    "[Good.|Thanks.] Can you [shorten|cut] that to three lines for a slide?",
    "Which of these sources would you trust least, and why?",
    "[And|OK, and] what would change your mind?",
];
