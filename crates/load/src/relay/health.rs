//! Which servers are used: one that fails again and again is left out for a while, if another one of the name is healthy.

use super::HealthRules;
use loadstone_units::Time;

/// After how many checks in a row that it has passed a server is used again.
const PASSES: u32 = 2;

/// How a server has done.
#[derive(Debug, Default)]
pub(super) struct ServerHealth {
    /// Failures since its last response.
    failures: u32,
    /// Checks that it has failed since it has passed one.
    failed_checks: u32,
    /// Checks that it has passed since it has failed one.
    passed_checks: u32,
    /// If it is left out: when a request may try it.
    out_until: Option<Time>,
}

/// Whether requests go to a server: the first of these that there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fitness {
    /// It was left out, and it is time to try it.
    ToBeTried,
    Healthy,
    Out,
}

impl HealthRules {
    /// When a request may try a server that is left out now.
    fn next_trial(&self, now: Time) -> Time {
        if self.check.is_some() { Time::NEVER } else { now + self.pause }
    }
}

impl ServerHealth {
    pub(super) fn fitness(&self, now: Time) -> Fitness {
        match self.out_until {
            None => Fitness::Healthy,
            Some(until) if until <= now => Fitness::ToBeTried,
            Some(_) => Fitness::Out,
        }
    }

    /// Whether it is not left out.
    pub(super) fn is_healthy(&self) -> bool {
        self.out_until.is_none()
    }

    /// A request goes to it. If that is to try it, others wait for what comes of it.
    pub(super) fn note_chosen(&mut self, now: Time, rules: &HealthRules) {
        if self.fitness(now) == Fitness::ToBeTried {
            self.out_until = Some(rules.next_trial(now));
        }
    }

    /// It has responded.
    pub(super) fn note_response(&mut self, rules: &HealthRules) {
        self.failures = 0;
        if rules.check.is_none() {
            self.out_until = None;
        }
    }

    /// It has failed. Whether it is left out from now on.
    pub(super) fn note_failure(&mut self, now: Time, rules: &HealthRules) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.leave_out(self.failures, now, rules)
    }

    /// It has failed a check. Whether it is left out from now on.
    pub(super) fn note_failed_check(&mut self, now: Time, rules: &HealthRules) -> bool {
        (self.failed_checks, self.passed_checks) = (self.failed_checks.saturating_add(1), 0);
        self.leave_out(self.failed_checks, now, rules)
    }

    /// It has passed a check.
    pub(super) fn note_passed_check(&mut self) {
        (self.failed_checks, self.passed_checks) = (0, self.passed_checks.saturating_add(1));
        if self.passed_checks >= PASSES {
            (self.failures, self.out_until) = (0, None);
        }
    }

    /// Leaves it out after so many failures, if these are enough. Whether it was not left out before.
    fn leave_out(&mut self, failures: u32, now: Time, rules: &HealthRules) -> bool {
        let was_healthy = self.is_healthy();
        if failures >= rules.failures {
            self.out_until = Some(rules.next_trial(now));
        }
        was_healthy && !self.is_healthy()
    }
}
