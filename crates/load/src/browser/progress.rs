//! What may begin: the page's dependencies, followed as the load goes on.

use super::graph::{COMMON, Graph, GraphEdge, GraphNode, OwnFactor};
use crate::page::{ActivityId, Needed, Thread};
use crate::{Cause, LoadEvent};
use loadstone_units::{Factors, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How far one load has come.
#[derive(Debug)]
pub(super) struct Progress {
    graph: Arc<Graph>,
    /// What the page's own times are multiplied by, each by itself.
    own_times: Factors,
    /// What all computing is multiplied by: on this machine, and in this run.
    compute: f64,
    common: f64,
    main: MainThread,
    /// Activities that compute, and that the load waits for in any case: how many are not complete.
    computed: u32,
    /// How many activities are under way of those that hold the load up once they have begun.
    holding: u32,
    /// What the load waited for that was complete last, and when.
    last: (ActivityId, Time),
    load_event: Option<LoadEvent>,
    states: Vec<GraphState>,
    /// Activities that may begin at once, in page order as far as they became ready together.
    ready: VecDeque<ActivityId>,
    timers: BinaryHeap<Reverse<(Time, ActivityId, DueNode)>>,
}

/// The thread that parses, runs scripts and lays out: one thing at a time, first come, first served.
#[derive(Default, Debug)]
struct MainThread {
    running: Option<ActivityId>,
    /// What ran last.
    before: Option<ActivityId>,
    /// The last that held the load event up has run. The event belongs to its task, unless an object is missing
    /// (Chromium's `Document::CheckCompleted`): other tasks wait until that is known.
    is_closing: bool,
    waiting: VecDeque<MainTask>,
}

/// What waits for the main thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MainTask {
    Activity(ActivityId),
    /// That something has begun to arrive, for which the load event waits then.
    Arrival(ActivityId),
    /// The load event, unless something holds it up by then.
    LoadEvent,
}

#[derive(Clone, Debug)]
struct GraphState {
    /// Dependencies that have not come true.
    missing: u32,
    /// When it may begin, as far as is known, and whether a timer says so.
    begin: Time,
    is_by_timer: bool,
    /// The dependency that says so: of those that allow no earlier time the one that came true last.
    cause: Option<Cause>,
    /// Bytes of the body that have arrived.
    bytes: u64,
    /// How many of the activities that wait for bytes have been told.
    told: u32,
    has_begun: bool,
    has_ended: bool,
    /// Whether it holds up the load event: it has begun, or computing alone keeps it from that.
    is_held: bool,
    ahead: Ahead,
}

/// Whether an object is fetched before the page itself says that it is wanted. The activities that wait for it
/// are not told until then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ahead {
    No,
    /// It is being fetched, since that told of it.
    Fetching(Cause),
    Complete,
}

/// What a timer of an activity means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum DueNode {
    Begin,
    End,
    /// The main thread hears that it arrives.
    Arrival,
}

impl Progress {
    pub(super) fn new(graph: Arc<Graph>) -> Progress {
        let state = |node: &GraphNode| GraphState {
            missing: node.needs,
            begin: Time::ZERO,
            is_by_timer: false,
            cause: None,
            bytes: 0,
            told: 0,
            has_begun: false,
            has_ended: false,
            is_held: false,
            ahead: Ahead::No,
        };
        let states = graph.nodes.iter().map(state).collect();
        Progress {
            own_times: Factors::ONE,
            compute: 1.0,
            common: 1.0,
            main: MainThread::default(),
            computed: graph.computed,
            holding: 0,
            last: (ActivityId(0), Time::ZERO),
            load_event: None,
            states,
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            graph,
        }
    }

    /// From now on all computing takes so many times as long.
    pub(super) fn scale_computing(&mut self, factor: f64) {
        self.compute = factor;
    }

    /// Whether the load ends with a load event, instead of with the last object that it waits for.
    pub(super) fn ends_by_event(&self) -> bool {
        self.graph.ends_by_event
    }

    /// All objects that the load waits for in any case are complete. The load event, once it has been dispatched.
    pub(super) fn poll_load_event(&mut self, now: Time) -> Option<LoadEvent> {
        if self.load_event.is_none() && self.is_quiet() && !self.main.waiting.contains(&MainTask::LoadEvent) {
            self.main.waiting.push_back(MainTask::LoadEvent);
            self.run_main(now);
        }
        self.load_event
    }

    /// Nothing more begins now; `is_all_there` are the objects that the load waits for in any case. Whether the main
    /// thread has gone on, so that something may.
    pub(super) fn close_task(&mut self, now: Time, is_all_there: bool) -> bool {
        if !std::mem::take(&mut self.main.is_closing) {
            return false;
        }
        if is_all_there {
            self.dispatch_load_event(now);
        }
        self.run_main(now);
        true
    }

    /// The load event comes now, unless something holds it up, or it has been.
    fn dispatch_load_event(&mut self, now: Time) {
        if self.is_quiet() {
            let (last, ended) = self.last;
            self.load_event.get_or_insert(LoadEvent { last, ended, at: now });
        }
    }

    /// Whether an activity has begun.
    pub(super) fn has_begun(&self, activity: ActivityId) -> bool {
        self.states[activity.0 as usize].has_begun
    }

    /// An object cannot be had; the load does not wait for it any more.
    pub(super) fn give_up(&mut self, object: ActivityId) {
        debug_assert!(matches!(self.graph.nodes[object.0 as usize].needed, Needed::WhenFound | Needed::WhenArriving));
        self.holding -= u32::from(self.states[object.0 as usize].is_held);
    }

    /// Whether nothing but objects holds the load up.
    fn is_quiet(&self) -> bool {
        self.computed == 0 && self.holding == 0
    }

    /// From now on the page's own times are multiplied by these factors.
    pub(super) fn vary(&mut self, own_times: Factors) {
        self.own_times = own_times;
        self.common = self.graph.varies.map_or(1.0, |share| own_times.with_share(share).of(COMMON));
    }

    /// The load begins: so does all that waits for nothing.
    pub(super) fn start(&mut self, now: Time) {
        let free = self.states.iter().enumerate().filter(|(_, state)| state.missing == 0);
        self.ready.extend(free.map(|(at, _)| ActivityId(at as u32)));
        self.states.iter_mut().for_each(|state| state.begin = now);
    }

    /// The next activity that begins now.
    pub(super) fn poll_ready(&mut self, now: Time) -> Option<ActivityId> {
        loop {
            if let Some(activity) = self.ready.pop_front() {
                if self.begin(now, activity) == Ahead::No {
                    return Some(activity);
                }
                continue;
            }
            let Reverse((at, activity, due)) = *self.timers.peek()?;
            if at > now {
                return None;
            }
            self.timers.pop();
            match due {
                // Else another dependency has let it begin sooner.
                DueNode::Begin if at == self.states[activity.0 as usize].begin => self.ready.push_back(activity),
                DueNode::Begin => {}
                DueNode::Arrival => {
                    self.main.waiting.push_back(MainTask::Arrival(activity));
                    self.run_main(now);
                }
                DueNode::End => {
                    self.handle_end(now, activity);
                    if self.main.running == Some(activity) {
                        self.main.running = None;
                        self.main.is_closing = self.held(activity) && self.is_quiet();
                        self.run_main(now);
                    }
                }
            }
        }
    }

    /// An object is fetched although the page does not want it yet, because something about `on` says that
    /// it will; whether that is news.
    pub(super) fn anticipate(&mut self, now: Time, object: ActivityId, on: ActivityId) -> bool {
        let state = &mut self.states[object.0 as usize];
        let is_due = state.missing == 0 && state.begin <= now;
        if is_due || state.ahead != Ahead::No {
            return false;
        }
        state.ahead = Ahead::Fetching(Cause { on, at: now });
        true
    }

    /// An activity begins; how far it was ahead.
    fn begin(&mut self, now: Time, activity: ActivityId) -> Ahead {
        let ahead = std::mem::replace(&mut self.states[activity.0 as usize].ahead, Ahead::No);
        let graph = self.graph.clone();
        let node = &graph.nodes[activity.0 as usize];
        self.hold(activity, Needed::WhenFound);
        if let Some((_, Thread::Main)) = node.computing {
            self.main.waiting.push_back(MainTask::Activity(activity));
            self.run_main(now);
            return ahead;
        }
        let state = &mut self.states[activity.0 as usize];
        state.has_begun = true;
        if let Ahead::Fetching(told) = ahead {
            state.cause = Some(told);
        }
        node.on_start.iter().for_each(|edge| self.satisfy(now, activity, *edge));
        if let Some((span, _)) = node.computing {
            let span = self.computing(node.factor, span);
            self.timers.push(Reverse((now + span, activity, DueNode::End)));
        }
        if ahead != Ahead::No {
            let arrived = self.states[activity.0 as usize].bytes;
            self.arrive(now, activity, arrived);
        }
        if ahead == Ahead::Complete {
            self.handle_end(now, activity);
        }
        ahead
    }

    /// The main thread takes what has waited for longest, if it is free.
    fn run_main(&mut self, now: Time) {
        while self.main.running.is_none()
            && !self.main.is_closing
            && let Some(task) = self.main.waiting.pop_front()
        {
            let activity = match task {
                MainTask::Activity(activity) => activity,
                MainTask::Arrival(object) => {
                    if !self.states[object.0 as usize].has_ended {
                        self.hold(object, Needed::WhenArriving);
                    }
                    continue;
                }
                MainTask::LoadEvent => {
                    self.dispatch_load_event(now);
                    continue;
                }
            };
            self.main.running = Some(activity);
            let before = self.main.before.replace(activity);
            let state = &mut self.states[activity.0 as usize];
            state.has_begun = true;
            if now > state.begin {
                // It waited for the thread.
                state.cause = before.map(|on| Cause { on, at: now });
            }
            let graph = self.graph.clone();
            let node = &graph.nodes[activity.0 as usize];
            node.on_start.iter().for_each(|edge| self.satisfy(now, activity, *edge));
            let (span, _) = node.computing.expect("only computing is done on the main thread");
            let span = self.computing(node.factor, span);
            self.timers.push(Reverse((now + span, activity, DueNode::End)));
        }
    }

    /// How long computing takes in this load.
    fn computing(&self, factor: OwnFactor, span: Duration) -> Duration {
        let own_times = factor.share.map_or(self.own_times, |share| self.own_times.with_share(share));
        let (span, all) = (own_times.scale(factor.key, span), self.compute * self.common);
        if all == 1.0 { span } else { span.mul_f64(all) }
    }

    /// Bytes of an object's body have arrived.
    pub(super) fn handle_bytes(&mut self, now: Time, object: ActivityId, len: u64) {
        let state = &mut self.states[object.0 as usize];
        let is_first = state.bytes == 0 && len > 0;
        state.bytes += len;
        if is_first && self.graph.nodes[object.0 as usize].needed == Needed::WhenArriving {
            self.timers.push(Reverse((now + self.graph.arrival, object, DueNode::Arrival)));
        }
        if state.ahead == Ahead::No {
            let arrived = state.bytes;
            self.arrive(now, object, arrived);
        }
    }

    /// So many bytes of an object that the page wants are there.
    fn arrive(&mut self, now: Time, object: ActivityId, arrived: u64) {
        if !self.graph.nodes[object.0 as usize].on_bytes.is_empty() {
            self.tell(now, object, arrived);
        }
    }

    /// Tells the activities that wait for at most `arrived` bytes.
    fn tell(&mut self, now: Time, object: ActivityId, arrived: u64) {
        let graph = self.graph.clone();
        let told = self.states[object.0 as usize].told as usize;
        let due = graph.nodes[object.0 as usize].on_bytes[told..].iter().take_while(|(bytes, _)| *bytes <= arrived);
        for (_, edge) in due {
            self.states[object.0 as usize].told += 1;
            self.satisfy(now, object, *edge);
        }
    }

    /// An activity is complete.
    pub(super) fn handle_end(&mut self, now: Time, activity: ActivityId) {
        let state = &mut self.states[activity.0 as usize];
        if state.ahead != Ahead::No {
            state.ahead = Ahead::Complete;
            return;
        }
        self.tell(now, activity, u64::MAX);
        self.states[activity.0 as usize].has_ended = true;
        let is_held = self.states[activity.0 as usize].is_held;
        let graph = self.graph.clone();
        let node = &graph.nodes[activity.0 as usize];
        match node.needed {
            Needed::Always => self.computed -= u32::from(node.computing.is_some()),
            Needed::WhenFound | Needed::WhenArriving => self.holding -= u32::from(is_held),
            Needed::Never => {}
        }
        if self.held(activity) {
            self.last = (activity, now);
        }
        graph.nodes[activity.0 as usize].on_end.iter().for_each(|edge| self.satisfy(now, activity, *edge));
    }

    /// When an activity that takes no time was over, if it is.
    pub(super) fn ended(&self, activity: ActivityId) -> Option<Time> {
        let state = &self.states[activity.0 as usize];
        state.has_ended.then_some(state.begin)
    }

    /// An object is requested again: its bytes are counted from the beginning.
    pub(super) fn restart(&mut self, object: ActivityId) {
        self.states[object.0 as usize].bytes = 0;
    }

    /// A dependency on `on` has come true.
    fn satisfy(&mut self, now: Time, on: ActivityId, edge: GraphEdge) {
        let begin = now + self.computing(edge.factor, edge.delay) + edge.timer;
        let state = &mut self.states[edge.to.0 as usize];
        let is_enough = state.missing == 0;
        if is_enough && begin >= state.begin {
            return;
        }
        if is_enough || begin >= state.begin {
            state.begin = begin;
            state.is_by_timer = !edge.timer.is_zero();
            state.cause = Some(Cause { on, at: now });
        }
        state.missing = state.missing.saturating_sub(1);
        if state.missing > 0 {
            return;
        }
        let (begin, is_by_timer) = (state.begin, state.is_by_timer);
        if begin <= now {
            self.ready.push_back(edge.to);
        } else {
            self.timers.push(Reverse((begin, edge.to, DueNode::Begin)));
        }
        if begin <= now || !is_by_timer {
            self.hold(edge.to, Needed::WhenFound);
        }
    }

    /// From now on the load event waits for an activity, if that is what it depends on.
    fn hold(&mut self, activity: ActivityId, depends: Needed) {
        if self.graph.nodes[activity.0 as usize].needed == depends {
            let is_news = !std::mem::replace(&mut self.states[activity.0 as usize].is_held, true);
            self.holding += u32::from(is_news);
        }
    }

    /// Whether the load event has had to wait for an activity.
    fn held(&self, activity: ActivityId) -> bool {
        let is_always = self.graph.nodes[activity.0 as usize].needed == Needed::Always;
        is_always || self.states[activity.0 as usize].is_held
    }

    /// For each activity what it began with: as far as is known, if it has not begun.
    pub(super) fn causes(&self) -> impl Iterator<Item = Option<Cause>> {
        self.states.iter().map(|state| state.cause)
    }

    /// Whether [`Progress::poll_ready`] has something to give, or to do.
    pub(super) fn is_ready(&self, now: Time) -> bool {
        !self.ready.is_empty() || self.next_timer() <= now
    }

    /// When to ask again; [`Time::NEVER`] if only other events matter.
    pub(super) fn next_timer(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |Reverse((at, _, _))| *at)
    }
}

#[cfg(test)]
mod tests;
