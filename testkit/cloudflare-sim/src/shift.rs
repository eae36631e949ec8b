//! Listings that move under the reader: a zone changes between two of its pages.

use crate::{
    api::BASE, fault::Shift, filter::Filter, page::Page, query::Query, record::Access, world::World,
};

/// Applies the shifts that wait for the page just served. A shift that can't happen (an empty page,
/// a record that doesn't validate) stays in the plan.
pub fn apply(world: &mut World, path: &str, query: &str, shifts: &[(u64, Shift, usize)]) {
    let zone = path.strip_prefix(BASE).and_then(|path| path.strip_prefix("/zones/")?.split('/').next());
    let Some(zone) = zone else { return };
    let query = Query::parse(query);
    let page = Page::of(&query, 1..=5_000_000, 100);
    for (after_page, shift, index) in shifts {
        if page.page as u64 != *after_page {
            continue;
        }
        let outcome = match shift {
            Shift::Insert(record) => world.seed(zone, record, Access::Writable).map(drop),
            Shift::RemoveFirst => {
                first_of_page(world, zone, &query, page).map_or(Ok(()), |record| world.remove(zone, &record))
            }
        };
        if outcome.is_ok() {
            world.faults.spend(*index);
        }
    }
}

fn first_of_page(world: &mut World, zone: &str, query: &Query, page: Page) -> Option<String> {
    let records = Filter::read(query).apply(&mut world.zone(zone).ok()?.records);
    records.get(page.range(records.len()).start).map(|record| record.id.clone())
}
