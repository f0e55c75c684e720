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

    /// The Speed Index: when the first view was complete, on average over what of it there is to see. What comes after the
    /// end of the load counts as if it came then, as the load goes no further. None where the page says nothing of the
    /// view, or the load was not completed.
    pub fn speed_index(&self, page: &Page) -> Option<Time> {
        if !self.completed {
            return None;
        }
        if page.view.is_empty() {
            return self.speed_index_by_images(page);
        }
        let (mut shares, mut weighed) = (0.0, 0.0);
        for ((_, share), shown) in page.view.iter().zip(&self.view) {
            shares += share;
            weighed += share * shown.unwrap_or(self.plt).as_nanos() as f64;
        }
        (shares > 0.0).then(|| Time::from_nanos((weighed / shares) as u64))
    }

    /// Where the load was not filmed: an image's pixels are there when it has come, all others with the first contentful
    /// paint, as WebPageTest's RUM Speed Index takes it to be.
    fn speed_index_by_images(&self, page: &Page) -> Option<Time> {
        page.moments[Moment::FirstPaint as usize]?;
        let first = self.moment(Moment::FirstPaint).unwrap_or(self.plt);
        let images = page.fetches().zip(&self.waterfall).filter(|((_, fetch), _)| fetch.view_pixels > 0);
        let (mut covered, mut weighed) = (0, 0);
        for ((_, fetch), row) in images {
            covered += u128::from(fetch.view_pixels);
            let shown = row.last_byte.unwrap_or(self.plt).max(first);
            weighed += u128::from(fetch.view_pixels) * u128::from(shown.as_nanos());
        }
        // Images may lie on one another.
        let rest = u128::from(page.view_pixels?).saturating_sub(covered);
        let all = (rest + covered).max(1);
        Some(Time::from_nanos(((weighed + rest * u128::from(first.as_nanos())) / all) as u64))
    }
}
