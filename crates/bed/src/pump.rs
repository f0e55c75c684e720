//! The pump: takes packets from the hosts' devices, and puts them where they are due when they are.
//!
//! Between runs it passes packets on at once, so that connections that are left over come to their
//! ends.

use crate::flows::Flows;
use crate::journey::{Journey, JourneyLog, Layout, Stray};
use crate::kernel::{self, Readable};
use crate::lateness::Histogram;
use crate::parcel::Datagram;
use crate::pause_detector::PauseDetector;
use crate::report::{LinkReport, Scheduling};
use crate::tap::Tap;
use crate::{BedError, BedHost};
use loadstone_live::Clock;
use loadstone_units::Time;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::time::Duration;

/// The real-time priority of the pump: before what runs on the hosts.
const PRIORITY: i32 = 10;
/// The pump looks at the clock at least this often during a run, so that a pause is told from a wait.
const TICK: Duration = Duration::from_micros(250);
/// How many packets are read from one host before the others have their turn.
const TURN: usize = 64;
/// Longer than any packet that a device of 1,500 bytes has.
const BUFFER: usize = 2048;

/// What the pump is told to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// A run begins.
    Begin(Box<Layout>, Clock, SyncSender<Result<(), BedError>>),
    /// The run ends; its report is wanted or not.
    Finish(Option<SyncSender<LinkReport>>),
}

/// What the thread of the pump owns.
#[derive(Debug)]
pub(crate) struct Pump {
    /// The hosts' devices, by number.
    devices: Vec<File>,
    commands: Receiver<Command>,
    /// A byte for each command; closed with the bed.
    bell: PipeReader,
    run: Option<Running>,
    /// What was seen between runs and in earlier ones; the run has it while there is one.
    flows: Flows,
    priority: Scheduling,
}

/// A run under way.
#[derive(Debug)]
struct Running {
    journey: Journey,
    watch: PauseDetector,
    lateness: Histogram,
    unmatched: u64,
    tap: Option<Tap>,
}

impl Pump {
    pub(crate) fn new(devices: Vec<File>, commands: Receiver<Command>, bell: PipeReader) -> Pump {
        Pump { devices, commands, bell, run: None, flows: Flows::default(), priority: Scheduling::Ordinary }
    }

    /// Works until the bed is gone.
    pub(crate) fn work(mut self) -> io::Result<()> {
        kernel::wake_on_time();
        if kernel::set_realtime(PRIORITY).is_ok() {
            self.priority = Scheduling::RealTime;
        }
        loop {
            let ready = self.wait()?;
            if ready[0] && !self.handle_command()? {
                return Ok(());
            }
            self.deliver()?;
            for number in (0..self.devices.len()).filter(|number| ready[number + 1]) {
                self.take(number)?;
            }
        }
    }

    /// Waits until there is something to do. Which can be read: the bell, then the devices.
    fn wait(&mut self) -> io::Result<Vec<bool>> {
        let limit = self.run.as_mut().map(|run| {
            let now = run.watch.now();
            let span = Duration::from_nanos(run.journey.next().nanos_since(now)).min(TICK);
            run.watch.wait(span);
            span
        });
        let mut sources = vec![Readable::new(&self.bell)];
        sources.extend(self.devices.iter().map(Readable::new));
        kernel::wait(&mut sources, limit)?;
        Ok(sources.iter().map(|source| source.ready).collect())
    }

    /// Does what it is told; whether to go on.
    fn handle_command(&mut self) -> io::Result<bool> {
        // One byte, one command: it was sent before the bell was rung.
        if self.bell.read(&mut [0])? == 0 {
            return Ok(false);
        }
        match self.commands.try_recv() {
            Ok(Command::Begin(layout, clock, answer)) => {
                // The receiver may be gone; then the answer is not needed.
                let _ = answer.send(self.begin(*layout, clock));
            }
            Ok(Command::Finish(answer)) => {
                let report = self.finish()?;
                if let (Some(answer), Some(report)) = (answer, report) {
                    let _ = answer.send(report);
                }
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(false),
        }
        Ok(true)
    }

    fn begin(&mut self, mut layout: Layout, clock: Clock) -> Result<(), BedError> {
        if self.run.is_some() {
            return Err(BedError::Busy);
        }
        let tap = layout.tap.take();
        let journey = Journey::new(layout, std::mem::take(&mut self.flows));
        let watch = PauseDetector::new(clock);
        self.run = Some(Running { journey, watch, lateness: Histogram::new(), unmatched: 0, tap });
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Option<LinkReport>> {
        // What is due by now has come in time.
        let end = self.deliver()?;
        let Some(Running { journey, watch, lateness, unmatched: strays, tap: _ }) = self.run.take() else {
            return Ok(None);
        };
        let pauses = watch.pauses();
        let JourneyLog { passages, departures, arrivals, connections, trace, left_out, underway, flows } =
            journey.end(end);
        self.flows = flows;
        for parcel in underway {
            put(&self.devices, &parcel)?;
        }
        Ok(Some(LinkReport {
            passages,
            departures,
            arrivals,
            connections,
            end,
            paused: pauses.total,
            pauses: pauses.count,
            longest_pause: pauses.longest,
            lateness: lateness.lateness(),
            priority: self.priority,
            unmatched: strays,
            trace,
            left_out,
        }))
    }

    /// Delivers what is due by the time that it gives, which is now.
    fn deliver(&mut self) -> io::Result<Time> {
        let Some(run) = &mut self.run else { return Ok(Time::ZERO) };
        let mut now = run.watch.now();
        while let Some((due, parcel)) = run.journey.poll_packet(now) {
            run.lateness.note(now.nanos_since(due));
            run.journey.note_delivery(now, &parcel);
            if let Some(tap) = &mut run.tap {
                tap.note(parcel.to, now, &parcel.bytes);
            }
            put(&self.devices, &parcel)?;
            // The kernel works on a packet while it is put in.
            now = run.watch.now();
        }
        Ok(now)
    }

    /// Takes what a host has sent, at most a turn's worth.
    fn take(&mut self, number: usize) -> io::Result<()> {
        let mut buffer = [0; BUFFER];
        for _ in 0..TURN {
            let len = match (&self.devices[number]).read(&mut buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            match Datagram::read(BedHost(number), &buffer[..len], self.devices.len()) {
                Some(parcel) => self.pass(parcel)?,
                None => self.note_stray(),
            }
        }
        Ok(())
    }

    /// Sends a packet on its way; what has none, because its connection is older than the run, goes straight on.
    fn pass(&mut self, parcel: Datagram) -> io::Result<()> {
        // What is due before it comes before it.
        let now = self.deliver()?;
        let Some(run) = &mut self.run else {
            self.flows.handle_between_runs(&parcel);
            return put(&self.devices, &parcel);
        };
        if let Some(tap) = &mut run.tap {
            tap.note(parcel.from, now, &parcel.bytes);
        }
        if let Err(stray) = run.journey.handle_packet(now, parcel) {
            self.note_stray();
            if let Stray::Older(parcel) = stray {
                return put(&self.devices, &parcel);
            }
        }
        Ok(())
    }

    /// A packet was sent that is no part of the run.
    fn note_stray(&mut self) {
        if let Some(run) = &mut self.run {
            run.unmatched += 1;
        }
    }
}

/// Puts a packet into the namespace of the host to which it goes.
fn put(devices: &[File], parcel: &Datagram) -> io::Result<()> {
    (&devices[parcel.to.0]).write(&parcel.bytes).map(drop)
}
