//! The world of the model: an [`Endpoint`], and a time that jumps to what happens next.

use crate::play::World;
use crate::script::{Action, Form};
use loadstone_net::tcp::{Config, Endpoint, Flags, Mechanisms, Sacks, Segment};
use loadstone_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

pub(crate) struct Model {
    now: Time,
    config: Config,
    /// Nothing before its program opens a connection.
    end: Option<Endpoint>,
    sent: VecDeque<(Time, Segment)>,
    /// Its program takes at once what has come, unless a script says otherwise.
    is_reading: bool,
}

impl Model {
    pub(crate) fn new(config: &Config) -> Model {
        // There is room for all that a script writes at once, as on the kernel.
        let mechanisms = Mechanisms { send_buffer: Some(false), ..config.mechanisms };
        Model {
            now: Time::ZERO,
            config: Config { mechanisms, ..*config },
            end: None,
            sent: VecDeque::new(),
            is_reading: true,
        }
    }

    /// Does something to the end, and takes what it sends then.
    fn with(&mut self, work: impl FnOnce(&mut Endpoint, Time)) -> Result<(), String> {
        let end = self.end.as_mut().ok_or("there is no connection yet: connect or listen first")?;
        work(end, self.now);
        if self.is_reading {
            end.read(u64::MAX);
        }
        while let Some(segment) = end.poll_segment(self.now) {
            self.sent.push_back((self.now, segment));
        }
        Ok(())
    }
}

impl World for Model {
    fn now(&mut self) -> Time {
        self.now
    }

    fn act(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Connect => self.end = Some(Endpoint::connect(&self.config)),
            Action::Listen => self.end = Some(Endpoint::listen(&self.config)),
            Action::Write(bytes) => return self.with(|end, _| end.write(bytes)),
            Action::Close => return self.with(|end, _| end.close()),
            Action::Read => self.is_reading = true,
            Action::StopReading => self.is_reading = false,
        }
        self.with(|_, _| ())
    }

    fn put(&mut self, form: &Form, numbers: Range<u64>, echo: Option<Time>) -> Result<(), String> {
        let (ack, mut sacks) = (form.ack.unwrap_or_default(), Sacks::default());
        form.sacks.iter().for_each(|block| sacks.push(ack, block.clone()));
        let segment = Segment {
            seq: numbers.start,
            ack,
            len: (numbers.end - numbers.start) as u32,
            window: form.announced(),
            flags: Flags { syn: form.syn, ack: form.ack.is_some(), fin: form.fin, rst: false },
            ts_val: self.now,
            ts_ecr: echo.unwrap_or(Time::NEVER),
            sacks,
            dsack_end: form.duplicate.as_ref().map_or(0, |block| block.end),
            repair: None,
        };
        self.with(|end, now| end.handle_segment(now, &segment))
    }

    fn take(&mut self, until: Time) -> Result<Option<(Time, Segment)>, String> {
        while self.sent.is_empty() {
            let next = self.end.as_ref().map_or(Time::NEVER, Endpoint::poll_timeout).max(self.now);
            if next > until {
                self.now = self.now.max(until);
                return Ok(None);
            }
            self.now = next;
            self.with(Endpoint::handle_timeout)?;
        }
        Ok(self.sent.pop_front())
    }
}
