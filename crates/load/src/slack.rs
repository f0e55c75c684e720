//! How much later each activity of a load may come without the page being later.
//!
//! These are the latest times of a critical-path plan, over a load that was carried out. What waits for an activity
//! has slack of its own, and often waited for something else as well: both together is what the activity has by that
//! way, and the least of all ways is its slack. Only dependencies count. What else an object would do if it came
//! later, on the link or on the main thread, another load has to say.

use crate::page::{Activity, Dependency, Needed, Page, Task, Thread, Trigger};
use crate::{Cause, Marks, Part, Row, Span};
use loadstone_units::Time;
use std::time::Duration;

/// When an activity was under way, and how much later it might have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ActivitySpan {
    /// It began, an object when it was found; `None` if it did not.
    pub began: Option<Time>,
    /// It was complete.
    pub ended: Option<Time>,
    /// How much later it may come; `None` if the page waits for it in no way.
    pub slack: Option<Duration>,
}

/// The spans of all activities of a load that was completed at `finish`, under no variation: by [`Page::activities`].
pub fn activity_spans(page: &Page, marks: &Marks, finish: Time) -> Vec<ActivitySpan> {
    let order = page.order();
    let mut load = Timed { page, marks, spans: vec![ActivitySpan::default(); page.activities.len()] };
    for &at in &order {
        load.spans[at] = load.span(at);
    }
    load.add_slack(&order, finish);
    load.spans
}

struct Timed<'a> {
    page: &'a Page,
    marks: &'a Marks,
    /// Of all activities before the one that is looked at, in the order of needs.
    spans: Vec<ActivitySpan>,
}

impl Timed<'_> {
    /// When an activity began and ended: an object has marks of its own, computing has its cause and its duration.
    fn span(&self, at: usize) -> ActivitySpan {
        match self.page.activities[at].task {
            Task::Fetch(_) => {
                let row = self.row(at);
                ActivitySpan { began: row.found, ended: row.last_byte, slack: None }
            }
            Task::Compute(span, thread) => {
                let began = self.began(at, thread);
                ActivitySpan { began, ended: began.map(|began| began + span), slack: None }
            }
        }
    }

    /// When computing began; `None` if something about it has not come true.
    fn began(&self, at: usize, thread: Thread) -> Option<Time> {
        let Activity { needs, any_need, .. } = &self.page.activities[at];
        let free = |need: &Dependency| Some(self.moment(need)? + need.delay + need.timer);
        let free = if *any_need {
            needs.iter().filter_map(free).min()?
        } else {
            needs.iter().map(free).try_fold(Time::ZERO, |last, free| Some(last.max(free?)))?
        };
        let Some(cause) = self.cause(at) else { return Some(free) };
        let is_caused = |need: &&Dependency| self.is_caused(need, cause);
        let set = needs.iter().filter(is_caused).map(|need| cause.at + need.delay + need.timer).max();
        Some(match thread {
            // What had the thread before it is its cause.
            Thread::Main => set.unwrap_or(cause.at),
            Thread::Own => set.unwrap_or(free),
        })
    }

    /// Whether a need is the one with which an activity began.
    fn is_caused(&self, need: &Dependency, cause: Cause) -> bool {
        let is_at = match need.trigger {
            Trigger::Bytes(_) if self.is_object(need) => {
                let row = self.row(need.on.0 as usize);
                row.first_byte <= Some(cause.at) && row.last_byte.is_none_or(|last| cause.at <= last)
            }
            _ => self.moment(need) == Some(cause.at),
        };
        need.on == cause.on && is_at
    }

    /// When that which is waited for came true. Of bytes it is known where it was a cause; elsewhere they are taken to
    /// have come evenly.
    fn moment(&self, need: &Dependency) -> Option<Time> {
        let on = need.on.0 as usize;
        match need.trigger {
            Trigger::Start => self.spans[on].began,
            Trigger::Bytes(bytes) if self.is_object(need) => {
                let row = self.row(on);
                let first = row.first_byte?;
                let Some(last) = row.last_byte else { return Some(first) };
                let share = bytes as f64 / self.page.fetch(need.on).body.len.max(1) as f64;
                let took = Duration::from_nanos(last.nanos_since(first));
                Some(if share >= 1.0 { last } else { first + took.mul_f64(share) })
            }
            Trigger::Bytes(_) | Trigger::End => self.spans[on].ended,
        }
    }

    /// From the last activity back to the first.
    fn add_slack(&mut self, order: &[usize], finish: Time) {
        for &at in order.iter().rev() {
            if self.is_waited_for(at, finish)
                && let Some(ended) = self.spans[at].ended
            {
                self.lower(at, Duration::from_nanos(finish.nanos_since(ended)));
            }
            let (Some(began), Some(slack)) = (self.spans[at].began, self.spans[at].slack) else { continue };
            let Activity { needs, any_need, .. } = &self.page.activities[at];
            for need in needs {
                let cause = self.cause(at).filter(|cause| self.is_caused(need, *cause));
                if *any_need && cause.is_none() {
                    // It may come as late as it likes: another one was enough.
                    continue;
                }
                let Some(moment) = cause.map(|cause| cause.at).or_else(|| self.moment(need)) else { continue };
                let free = moment + need.delay + need.timer;
                let waited = Duration::from_nanos(began.as_nanos().saturating_sub(free.as_nanos()));
                self.lower(need.on.0 as usize, waited + slack);
            }
        }
    }

    /// Whether the page's end waited for an activity.
    fn is_waited_for(&self, at: usize, finish: Time) -> bool {
        let is_in = self.spans[at].ended.is_some_and(|ended| ended <= finish);
        is_in && self.page.activities[at].needed != Needed::Never
    }

    fn lower(&mut self, at: usize, slack: Duration) {
        let known = &mut self.spans[at].slack;
        *known = Some(known.map_or(slack, |known| known.min(slack)));
    }

    fn is_object(&self, need: &Dependency) -> bool {
        (need.on.0 as usize) < self.page.objects
    }

    fn row(&self, object: usize) -> Row {
        self.marks.rows.get(object).copied().unwrap_or_default()
    }

    fn cause(&self, at: usize) -> Option<Cause> {
        self.marks.causes.get(at).copied().flatten()
    }
}

/// What the time of an activity on the critical path went into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathLeg {
    /// The activity, an index into [`Page::activities`].
    pub activity: usize,
    /// Where its part of the path begins.
    pub from: Time,
    /// Where it ends.
    pub to: Time,
    /// Connections, requests, responses, servers.
    pub network: Duration,
    /// The activity computed.
    pub computing: Duration,
    /// Timers, and whatever else the page made itself wait for.
    pub waiting: Duration,
}

/// A critical path, activity by activity.
pub fn path_legs(path: &[Span], spans: &[ActivitySpan], page: &Page) -> Vec<PathLeg> {
    let mut legs: Vec<PathLeg> = Vec::new();
    for span in path {
        let at = span.activity.0 as usize;
        if legs.last().is_none_or(|leg| leg.activity != at) {
            let none = Duration::ZERO;
            let (from, to) = (span.from, span.from);
            legs.push(PathLeg { activity: at, from, to, network: none, computing: none, waiting: none });
        }
        let leg = legs.last_mut().expect("one was added");
        leg.to = span.to;
        let whole = Duration::from_nanos(span.to.nanos_since(span.from));
        if span.part != Part::PageItself {
            leg.network += whole;
            continue;
        }
        let computing = if at < page.objects { Duration::ZERO } else { common(*span, spans[at]) };
        leg.computing += computing;
        leg.waiting += whole - computing;
    }
    legs
}

/// How long a span of the path and an activity's own have in common.
fn common(on_path: Span, own: ActivitySpan) -> Duration {
    let (Some(began), Some(ended)) = (own.began, own.ended) else { return Duration::ZERO };
    let (from, to) = (on_path.from.max(began), on_path.to.min(ended));
    Duration::from_nanos(to.as_nanos().saturating_sub(from.as_nanos()))
}

#[cfg(test)]
mod tests;
