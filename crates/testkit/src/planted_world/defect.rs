use std::collections::BTreeMap;

/// A defect that the world may have. Each is about one topic of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlantedDefect {
    /// The prompt does not ask for the policy tool: return windows come from memory.
    ReturnsFromMemory,
    /// The prompt does not ask for the customer's language.
    WrongLanguage,
    /// A tool counts reserved pieces as free.
    WrongStock,
    /// A tool raises an exception since release 2.1.0.
    TrackingError,
    /// No tool looks up a warranty.
    MissingWarrantyTool,
    /// A tool runs into its timeout.
    SlowInvoice,
    /// The answer contradicts correct data of a tool.
    HallucinatedSpecs,
    /// Nothing says when shops open.
    UnknownShopHours,
    /// The judge marks short greetings down.
    StrictJudge,
    /// The judge likes false promises of discounts.
    LenientJudge,
    /// A small model adds up correct data wrongly.
    WrongTotals,
    /// Release 2.2.0 documents a tool's argument in another format than the tool accepts.
    PickupFormat,
}

/// The part of an agent system that has to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefectComponent {
    Prompt,
    Tool,
    Model,
    Knowledge,
    Judge,
}

impl DefectComponent {
    /// Returns the name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Knowledge => "knowledge",
            Self::Judge => "judge",
        }
    }
}

/// What a report should say of a defect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFinding {
    pub defect: PlantedDefect,
    /// The topic of the requests that it affects.
    pub topic: &'static str,
    /// The right component; others that are also defensible follow.
    pub components: Vec<DefectComponent>,
    /// Files of the repository, any of which is right.
    pub files: Vec<&'static str>,
}

impl PlantedDefect {
    pub const ALL: [Self; 12] = [
        Self::ReturnsFromMemory,
        Self::WrongLanguage,
        Self::WrongStock,
        Self::TrackingError,
        Self::MissingWarrantyTool,
        Self::SlowInvoice,
        Self::HallucinatedSpecs,
        Self::UnknownShopHours,
        Self::StrictJudge,
        Self::LenientJudge,
        Self::WrongTotals,
        Self::PickupFormat,
    ];

    /// Returns the topic of the requests that it affects.
    pub const fn topic(self) -> &'static str {
        match self {
            Self::ReturnsFromMemory => "returns",
            Self::WrongLanguage => "language",
            Self::WrongStock => "stock",
            Self::TrackingError => "tracking",
            Self::MissingWarrantyTool => "warranty",
            Self::SlowInvoice => "invoice",
            Self::HallucinatedSpecs => "specs",
            Self::UnknownShopHours => "hours",
            Self::StrictJudge => "greeting",
            Self::LenientJudge => "discount",
            Self::WrongTotals => "totals",
            Self::PickupFormat => "pickup",
        }
    }

    /// Returns what a report should say of it.
    pub fn finding(self) -> ExpectedFinding {
        use DefectComponent::{Judge, Knowledge, Model, Prompt, Tool};
        let (components, files) = match self {
            Self::ReturnsFromMemory => (vec![Prompt], vec!["prompts/returns.md"]),
            Self::WrongLanguage => (vec![Prompt], vec!["prompts/supervisor.md"]),
            Self::WrongStock => (vec![Tool], vec!["tools/stock.py"]),
            Self::TrackingError => (vec![Tool], vec!["tools/shipping.py"]),
            Self::MissingWarrantyTool => {
                (vec![Tool, Knowledge], vec!["tools/technical_support.py", "tools/registry.py"])
            }
            Self::SlowInvoice => (vec![Tool], vec!["tools/invoice.py"]),
            Self::HallucinatedSpecs | Self::WrongTotals => {
                (vec![Model], vec!["config/models.toml"])
            }
            Self::UnknownShopHours => (vec![Knowledge], vec!["knowledge/handbook.md"]),
            Self::StrictJudge | Self::LenientJudge => {
                (vec![Judge], vec!["judges/online-quality-check.md"])
            }
            Self::PickupFormat => (vec![Tool], vec!["tools/pickup.py"]),
        };
        ExpectedFinding { defect: self, topic: self.topic(), components, files }
    }

    /// The first week that a defect of a release is there.
    const fn since(self) -> usize {
        match self {
            Self::TrackingError => 1,
            Self::PickupFormat => 2,
            _ => 0,
        }
    }
}

/// Which defects there are, and in which weeks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefectSet(BTreeMap<PlantedDefect, ActiveWeeks>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ActiveWeeks {
    Since(usize),
    Only(Vec<usize>),
}

impl DefectSet {
    /// Returns all defects: those of a release since its week, the others from the first week on.
    pub fn all() -> Self {
        let since = |defect: PlantedDefect| (defect, ActiveWeeks::Since(defect.since()));
        Self(PlantedDefect::ALL.into_iter().map(since).collect())
    }

    /// Returns no defect.
    pub fn none() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn without(mut self, defect: PlantedDefect) -> Self {
        self.0.remove(&defect);
        self
    }

    /// Adds a defect that is there in these weeks, from 0: it appears, is fixed and comes back.
    #[must_use]
    pub fn in_weeks(mut self, defect: PlantedDefect, weeks: &[usize]) -> Self {
        self.0.insert(defect, ActiveWeeks::Only(weeks.to_vec()));
        self
    }

    /// Whether a defect is there in a week.
    pub fn is_active(&self, defect: PlantedDefect, week: usize) -> bool {
        match self.0.get(&defect) {
            None => false,
            Some(ActiveWeeks::Since(first)) => week >= *first,
            Some(ActiveWeeks::Only(weeks)) => weeks.contains(&week),
        }
    }
}
