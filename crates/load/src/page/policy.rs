//! What the owner of a page and of its servers may do otherwise: policies, as functions from page to page.
//!
//! Each leaves every object in the page, with all its bytes and everything that waits for it. One that changes nothing
//! gives the same page. What servers tell ahead is no change of the page: [`crate::Foresight`].

mod async_scripts;
mod deal;
mod inlining;
mod priorities;
mod sharding;

pub use priorities::Priorities;
pub use sharding::{Sharding, registrable_domain};
