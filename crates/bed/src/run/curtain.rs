//! The end of a run: it comes when the last of its browsers has ended.

use crate::bed::Run;
use crate::{BedError, LinkReport};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Ends the run of the links when all its browsers have ended. Those that have ended earlier keep their connections
/// until then, as they do in the simulator: to close them would send packets to where others are still loading.
#[derive(Debug)]
pub(super) struct Curtain<'a> {
    stage: Mutex<CurtainState<'a>>,
    fallen: Condvar,
}

#[derive(Debug)]
struct CurtainState<'a> {
    /// How many browsers have not ended.
    loading: usize,
    links: Option<Run<'a>>,
    report: Option<Result<LinkReport, BedError>>,
}

/// The end of one browser: it has come when this is dropped.
#[derive(Debug)]
pub(super) struct CurtainEnding<'c, 'a>(&'c Curtain<'a>);

impl<'a> Curtain<'a> {
    /// That of a run with `browsers` browsers.
    pub(super) fn new(links: Run<'a>, browsers: usize) -> Curtain<'a> {
        let stage = CurtainState { loading: browsers, links: Some(links), report: None };
        Curtain { stage: Mutex::new(stage), fallen: Condvar::new() }
    }

    /// The end of one of the browsers, each of which takes one.
    pub(super) fn ending(&self) -> CurtainEnding<'_, 'a> {
        CurtainEnding(self)
    }

    /// What the links saw, when all browsers have ended.
    ///
    /// # Panics
    /// If one has not.
    pub(super) fn report(self) -> Result<LinkReport, BedError> {
        let stage = self.stage.into_inner().unwrap_or_else(PoisonError::into_inner);
        stage.report.expect("the last browser that ends finishes the run")
    }

    fn stage(&self) -> MutexGuard<'_, CurtainState<'a>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CurtainEnding<'_, '_> {
    /// The browser has ended; waits until all others have.
    pub(super) fn wait(self) {
        let curtain = self.0;
        drop(self);
        let stage = curtain.fallen.wait_while(curtain.stage(), |stage| stage.loading > 0);
        drop(stage.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for CurtainEnding<'_, '_> {
    fn drop(&mut self) {
        let mut stage = self.0.stage();
        stage.loading -= 1;
        if stage.loading == 0 {
            stage.report = stage.links.take().map(Run::finish);
            self.0.fallen.notify_all();
        }
    }
}
