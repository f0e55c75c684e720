//! What the visitor of a page sees of a load, and when.

use crate::Outcome;
use loadstone_load::page::{Moment, Page};
use loadstone_units::Time;

impl Outcome {
    /// When a moment was, if the page knows, and if it came before the load ended.
    pub fn moment(&self, moment: Moment) -> Option<Time> {
        self.moments[moment as usize]
    }

    /// When the document that is shown began to arrive.
    pub fn first_byte(&self) -> Option<Time> {
        let is_redirect =
            |status: Option<u16>| status.is_some_and(|status| (300..400).contains(&status) && status != 304);
        self.waterfall.iter().find(|row| !is_redirect(row.status))?.first_byte
    }

    /// When the first view was complete, on average over its pixels: an image's when it has come, all others with the
    /// first contentful paint. It is the Speed Index where a page is painted so, as WebPageTest's RUM Speed Index takes
    /// it to be. None where the page says nothing of pixels, or something of them did not come.
    pub fn speed_index(&self, page: &Page) -> Option<Time> {
        let first = self.moment(Moment::FirstPaint)?;
        let images = page.fetches().zip(&self.waterfall).filter(|((_, fetch), _)| fetch.view_pixels > 0);
        let (mut covered, mut weighed) = (0, 0);
        for ((_, fetch), row) in images {
            covered += u128::from(fetch.view_pixels);
            weighed += u128::from(fetch.view_pixels) * u128::from(row.last_byte?.max(first).as_nanos());
        }
        // Images may lie on one another.
        let rest = u128::from(page.view_pixels?).saturating_sub(covered);
        let all = (rest + covered).max(1);
        Some(Time::from_nanos(((weighed + rest * u128::from(first.as_nanos())) / all) as u64))
    }
}
