//! Which slice of a list a request asks for, and what `result_info` says about it.

use std::ops::Range;

use serde_json::json;

use crate::{knobs::EmptyListPages, query::Query};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub page: usize,
    pub per_page: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct PageInfo {
    pub page: Page,
    pub count: usize,
    pub total: usize,
    pub empty_pages: EmptyListPages,
}

// === impl Page ===

impl Page {
    /// Values out of range are clamped.
    pub fn of(query: &Query, sizes: std::ops::RangeInclusive<i64>, default: i64) -> Self {
        let at_least_one = |number: i64| usize::try_from(number.max(1)).unwrap_or(1);
        let per_page = query.number("per_page").unwrap_or(default).clamp(*sizes.start(), *sizes.end());
        Self { page: at_least_one(query.number("page").unwrap_or(1)), per_page: at_least_one(per_page) }
    }

    /// Past the end it is empty: clients read pages until they find an empty one.
    pub fn range(self, total: usize) -> Range<usize> {
        let start = (self.page - 1).saturating_mul(self.per_page).min(total);
        start..start.saturating_add(self.per_page).min(total)
    }

    pub fn info(self, total: usize, empty_pages: EmptyListPages) -> PageInfo {
        PageInfo { page: self, count: self.range(total).len(), total, empty_pages }
    }
}

// === impl PageInfo ===

impl PageInfo {
    /// What follows `messages` in the envelope.
    pub fn tail(self) -> Vec<u8> {
        let pages = match (self.total.div_ceil(self.page.per_page), self.empty_pages) {
            (0, EmptyListPages::One) => 1,
            (pages, _) => pages,
        };
        let info = json!({
            "page": self.page.page,
            "per_page": self.page.per_page,
            "count": self.count,
            "total_count": self.total,
            "total_pages": pages,
        });
        format!(",\"result_info\":{info}").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_with_an_empty_one() {
        let page = |page| Page { page, per_page: 100 }.range(250);
        assert_eq!([page(1), page(3), page(4)], [0..100, 200..250, 250..250]);
    }
}
