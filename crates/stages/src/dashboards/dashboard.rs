use ratchet_core::catalog::dashboard::{Dashboard, Tile, TileArea, TileContent};
use ratchet_store::catalog::{DocumentKind, Documents};

use super::definitions::SaveError;
use super::widget_filters::check_filters;
use crate::validation::{Checks, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};

/// The columns of the grid.
pub const COLUMNS: i64 = 12;
/// Rows that a tile may reach down to.
const MAX_ROWS: i64 = 10_000;
const MAX_PLACEMENTS: usize = 500;
/// What a tile on a page is made wider or narrower by, and how narrow it may be.
const WIDTH_STEP: i64 = 2;
const NARROWEST: i64 = 2;
/// What it is made taller or shorter by, how short it may be and how tall.
const HEIGHT_STEP: i64 = 1;
const MIN_TILE_HEIGHT: i64 = 2;
pub const MAX_TILE_HEIGHT: i64 = 12;

/// Validates a dashboard, by itself and against the project's widgets.
///
/// # Errors
/// Everything that is wrong, or the widget that is not there.
pub fn check(dashboard: &Dashboard, documents: &Documents<'_>) -> Result<(), SaveError> {
    let mut checks = Checks::default();
    checks.text("name", &dashboard.name, 1..=MAX_NAME_CHARS);
    checks.text("description", &dashboard.description, 0..=MAX_DESCRIPTION_CHARS);
    check_filters(&mut checks, &dashboard.filters);
    if let Err(why) = check_tiles(dashboard) {
        checks.must(false, "definition", &why);
    }
    checks.finish()?;
    for tile in &dashboard.layout.tiles {
        if let TileContent::Widget { id } = &tile.shows {
            documents.find(DocumentKind::Widget, id)?;
        }
    }
    Ok(())
}

fn check_tiles(dashboard: &Dashboard) -> Result<(), String> {
    let tiles = &dashboard.layout.tiles;
    if tiles.len() > MAX_PLACEMENTS {
        return Err(format!("a dashboard has at most {MAX_PLACEMENTS} placements"));
    }
    for (at, tile) in tiles.iter().enumerate() {
        let TileArea { x, y, width, height } = tile.at;
        let is_inside = (0..COLUMNS).contains(&x)
            && (1..=COLUMNS).contains(&width)
            && (0..=MAX_ROWS).contains(&y)
            && (1..=MAX_ROWS).contains(&height);
        if !is_inside {
            return Err(format!("placement {} does not fit a grid of 12 columns", tile.id));
        }
        if tiles.iter().skip(at + 1).any(|other| other.id == tile.id) {
            return Err(format!("two placements have the id {}", tile.id));
        }
    }
    Ok(())
}

/// The first row below all tiles.
pub fn below(tiles: &[Tile]) -> i64 {
    tiles.iter().map(|tile| tile.at.y.saturating_add(tile.at.height)).max().unwrap_or(0)
}

/// A change of a tile's position or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Earlier,
    Later,
    Wider,
    Narrower,
    Taller,
    Shorter,
}

impl Shift {
    /// Every one, in the order they are offered.
    pub const ALL: [Self; 6] =
        [Self::Earlier, Self::Later, Self::Wider, Self::Narrower, Self::Taller, Self::Shorter];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Earlier => "earlier",
            Self::Later => "later",
            Self::Wider => "wider",
            Self::Narrower => "narrower",
            Self::Taller => "taller",
            Self::Shorter => "shorter",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shift| shift.as_str() == word)
    }
}

/// Moves or resizes a tile, and lays all of them out again in reading order. Says whether the
/// tile is there.
pub fn shift(tiles: &mut [Tile], id: &str, shift: Shift) -> bool {
    tiles.sort_by_key(in_reading_order);
    let Some(at) = tiles.iter().position(|tile| tile.id == id) else { return false };
    let TileArea { width, height, .. } = tiles[at].at;
    let wide = |width: i64| width.clamp(NARROWEST, COLUMNS);
    let tall = |height: i64| height.clamp(MIN_TILE_HEIGHT, MAX_TILE_HEIGHT);
    match shift {
        Shift::Earlier => tiles.swap(at, at.saturating_sub(1)),
        Shift::Later if at + 1 < tiles.len() => tiles.swap(at, at + 1),
        Shift::Later => {}
        Shift::Wider => tiles[at].at.width = wide(width + WIDTH_STEP),
        Shift::Narrower => tiles[at].at.width = wide(width - WIDTH_STEP),
        Shift::Taller => tiles[at].at.height = tall(height.min(MAX_TILE_HEIGHT) + HEIGHT_STEP),
        Shift::Shorter => tiles[at].at.height = tall(height.min(MAX_TILE_HEIGHT) - HEIGHT_STEP),
    }
    flow(tiles);
    true
}

/// Position of a tile in reading order.
pub fn in_reading_order(tile: &Tile) -> (i64, i64) {
    (tile.at.y, tile.at.x)
}

/// Sets tiles side by side in their order, and below each other where a row is full.
fn flow(tiles: &mut [Tile]) {
    let (mut x, mut y, mut tallest) = (0, 0, 0);
    for Tile { at, .. } in tiles {
        let (width, height) = (at.width.clamp(1, COLUMNS), at.height.clamp(1, MAX_ROWS));
        if x + width > COLUMNS {
            (x, y, tallest) = (0, (y + tallest).min(MAX_ROWS), 0);
        }
        *at = TileArea { x, y, width, height };
        x += width;
        tallest = tallest.max(height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Spot = (i64, i64, i64, i64);

    fn tile(id: &str, (x, y, width, height): Spot) -> Tile {
        let shows = TileContent::Widget { id: "w".to_owned() };
        Tile { id: id.to_owned(), shows, at: TileArea { x, y, width, height } }
    }

    fn place(tile: &Tile) -> Spot {
        let TileArea { x, y, width, height } = tile.at;
        (x, y, width, height)
    }

    fn places(tiles: &[Tile]) -> Vec<(&str, Spot)> {
        tiles.iter().map(|tile| (tile.id.as_str(), place(tile))).collect()
    }

    #[test]
    fn tiles_change_places_and_stay_on_the_grid() {
        let mut tiles = vec![tile("b", (6, 0, 6, 4)), tile("a", (0, 0, 6, 4))];
        assert!(shift(&mut tiles, "b", Shift::Earlier));
        assert_eq!(places(&tiles), [("b", (0, 0, 6, 4)), ("a", (6, 0, 6, 4))]);
        assert!(shift(&mut tiles, "b", Shift::Wider));
        assert_eq!(places(&tiles), [("b", (0, 0, 8, 4)), ("a", (0, 4, 6, 4))]);
        assert!(!shift(&mut tiles, "c", Shift::Later));
    }

    #[test]
    fn whatever_people_press_nothing_leaves_the_grid_or_covers_another() {
        let mut tiles: Vec<Tile> = (0..7)
            .map(|n| tile(&n.to_string(), (n % 3, n * 1_000, 1 + n * 2 % 12, 1 + n)))
            .collect();
        for step in 0..200_usize {
            let id = (step * 5 % 7).to_string();
            assert!(shift(&mut tiles, &id, Shift::ALL[step * 7 % 6]));
            for (at, one) in tiles.iter().enumerate() {
                let (x, y, width, height) = place(one);
                assert!(x >= 0 && width >= 1 && x + width <= COLUMNS, "{:?}", place(one));
                for other in &tiles[at + 1..] {
                    let (left, top, wide, tall) = place(other);
                    let apart_across = x + width <= left || left + wide <= x;
                    let apart_down = y + height <= top || top + tall <= y;
                    assert!(apart_across || apart_down, "{:?}", places(&tiles));
                }
            }
        }
    }
}
