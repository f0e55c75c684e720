//! Congestion control: told of facts, it moves the window.

pub(super) mod bbr;
mod cubic;
mod kernel_cubic;
mod paced;
mod reno;

use super::config::Congestion;
use super::rules::Rules;
use loadstone_units::Time;
pub(super) use paced::Paced;
use std::fmt;

/// How many segments may be on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub(super) cwnd: u32,
    /// Below it is slow start.
    pub(super) ssthresh: u32,
    /// What has been acknowledged towards the next segment of growth.
    pub(super) count: u32,
}

impl Window {
    pub(super) fn new(initial: u32) -> Window {
        Window { cwnd: initial, ssthresh: u32::MAX, count: 0 }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by what is acknowledged, up to the threshold; gives what is left of it (RFC 5681, 3.1).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows by a segment for every `per` that are acknowledged (`tcp_cong_avoid_ai` of Linux).
    fn avoid(&mut self, per: u32, acked: u32) {
        if self.count >= per {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        self.cwnd += self.count / per;
        self.count %= per;
    }

    /// What the threshold is worth when it is looked at after a pause: three quarters of the window at
    /// least (`tcp_current_ssthresh` of Linux).
    pub(super) fn remembered(&self) -> u32 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }
}

/// A congestion control that goes by losses. It knows nothing of numbers and lists; windows are in segments.
pub(super) trait Controller: fmt::Debug + Send {
    /// What the threshold is after a loss, with `flight` segments outstanding.
    fn ssthresh(&mut self, window: &Window, flight: u32) -> u32;

    /// Segments have been acknowledged, outside of a reduction, and the window was in use.
    fn on_ack(&mut self, window: &mut Window, ack: Acked);

    /// A round trip was measured on something that was sent only once.
    fn on_sample(&mut self, window: &mut Window, sample: Sample);

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, sample: Sample);

    /// There was nothing to send for `nanos` ns until now.
    fn on_pause(&mut self, now: Time, nanos: u64);
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) now: Time,
    /// Segments that it acknowledges.
    pub(super) segments: u32,
    /// The smoothed round trip in nanoseconds.
    pub(super) rtt: u64,
}

/// A measured round trip, and where the sender stood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Time,
    /// In nanoseconds.
    pub(super) rtt: u64,
    /// The first number that was not acknowledged before.
    pub(super) una: u64,
    /// The next number to be sent.
    pub(super) nxt: u64,
}

/// What moves the window.
#[derive(Debug)]
pub(super) enum Control {
    /// It goes by losses; how fast the window shrinks is the sender's affair.
    ByLosses(Box<dyn Controller>),
    /// It goes by a model of the path, and sets the window itself.
    ByModel(Box<Paced>),
}

impl Control {
    /// The congestion control of this name.
    pub(super) fn new(cc: Congestion, rules: &Rules, iw: u32) -> Control {
        Control::ByLosses(match cc {
            Congestion::Reno => Box::new(reno::Reno::new(rules.halves_the_flight)),
            Congestion::Cubic if rules.kernel_cubic => Box::new(kernel_cubic::Cubic::new(rules.hystart)),
            Congestion::Cubic => Box::new(cubic::Cubic::new(iw)),
            Congestion::Bbr => return Control::ByModel(Box::new(Paced::new(rules.constants.mss))),
        })
    }

    /// The one that goes by a model, if it is one.
    #[inline]
    pub(super) fn paced(&mut self) -> Option<&mut Paced> {
        match self {
            Control::ByLosses(_) => None,
            Control::ByModel(paced) => Some(paced),
        }
    }

    /// Whether it sets the window itself.
    #[inline]
    pub(super) fn is_by_model(&self) -> bool {
        matches!(self, Control::ByModel(_))
    }

    /// When the next segment may leave that waits for nothing else; [`Time::NEVER`] if none does.
    #[inline]
    pub(super) fn release(&self) -> Time {
        match self {
            Control::ByLosses(_) => Time::NEVER,
            Control::ByModel(paced) => paced.pacer.deadline(),
        }
    }

    pub(super) fn ssthresh(&mut self, window: &Window, flight: u32) -> u32 {
        match self {
            Control::ByLosses(controller) => controller.ssthresh(window, flight),
            Control::ByModel(paced) => {
                paced.bbr.save(window);
                window.ssthresh
            }
        }
    }

    pub(super) fn on_ack(&mut self, window: &mut Window, ack: Acked) {
        if let Control::ByLosses(controller) = self {
            controller.on_ack(window, ack);
        }
    }

    pub(super) fn on_sample(&mut self, window: &mut Window, sample: Sample) {
        if let Control::ByLosses(controller) = self {
            controller.on_sample(window, sample);
        }
    }

    pub(super) fn on_timeout(&mut self, sample: Sample) {
        match self {
            Control::ByLosses(controller) => controller.on_timeout(sample),
            Control::ByModel(paced) => paced.bbr.on_timeout(),
        }
    }

    pub(super) fn on_pause(&mut self, now: Time, nanos: u64) {
        if let Control::ByLosses(controller) = self {
            controller.on_pause(now, nanos);
        }
    }
}
