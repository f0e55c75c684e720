//! The pump: takes packets from the hosts' devices, and puts them where they are due when they are.
//!
//! Between runs it passes packets on at once, so that connections that are left over come to their
//! ends.

use crate::BedError;
use crate::course::{Course, Parcel, Record};
use crate::host::Host;
use crate::kernel::{self, Readable};
use crate::lateness::Histogram;
use crate::report::{LinkReport, Priority};
use crate::watch::Watch;
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
/// So many packets are read from one host before the others have their turn.
const TURN: usize = 64;
/// Longer than any packet that a device of 1,500 bytes has.
const BUFFER: usize = 2048;

/// What the pump is told to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// A run begins.
    Begin(Box<Course>, Clock, SyncSender<Result<(), BedError>>),
    /// The run ends; nobody may want its report.
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
    priority: Priority,
}

/// A run under way.
#[derive(Debug)]
struct Running {
    course: Course,
    watch: Watch,
    lateness: Histogram,
    strays: u64,
}

impl Pump {
    pub(crate) fn new(devices: Vec<File>, commands: Receiver<Command>, bell: PipeReader) -> Pump {
        Pump { devices, commands, bell, run: None, priority: Priority::Ordinary }
    }

    /// Works until the bed is gone.
    pub(crate) fn work(mut self) -> io::Result<()> {
        kernel::wake_on_time();
        if kernel::hurry(PRIORITY).is_ok() {
            self.priority = Priority::RealTime;
        }
        loop {
            let ready = self.wait()?;
            if ready[0] && !self.obey()? {
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
            let span = Duration::from_nanos(run.course.next().nanos_since(now)).min(TICK);
            run.watch.wait(span);
            span
        });
        let mut sources = vec![Readable::new(&self.bell)];
        sources.extend(self.devices.iter().map(Readable::new));
        kernel::wait(&mut sources, limit)?;
        Ok(sources.iter().map(|source| source.ready).collect())
    }

    /// Does what it is told; whether to go on.
    fn obey(&mut self) -> io::Result<bool> {
        // One byte, one command: it was sent before the bell was rung.
        if self.bell.read(&mut [0])? == 0 {
            return Ok(false);
        }
        match self.commands.try_recv() {
            Ok(Command::Begin(course, clock, answer)) => {
                // Whoever asked may have gone; then nobody wants to know.
                let _ = answer.send(self.begin(*course, clock));
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

    fn begin(&mut self, course: Course, clock: Clock) -> Result<(), BedError> {
        if self.run.is_some() {
            return Err(BedError::Busy);
        }
        let watch = Watch::new(clock);
        self.run = Some(Running { course, watch, lateness: Histogram::new(), strays: 0 });
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Option<LinkReport>> {
        let Some(Running { course, mut watch, lateness, strays }) = self.run.take() else { return Ok(None) };
        let (end, pauses) = (watch.now(), watch.pauses());
        let (Record { down, up, connections, first_syn, trace }, underway) = course.end(end);
        for parcel in underway {
            put(&self.devices, &parcel)?;
        }
        Ok(Some(LinkReport {
            down,
            up,
            connections,
            first_syn,
            end,
            paused: pauses.total,
            pauses: pauses.count,
            longest_pause: pauses.longest,
            lateness: lateness.lateness(),
            priority: self.priority,
            strays,
            trace,
        }))
    }

    /// Delivers what is due by the time that it gives, which is now.
    fn deliver(&mut self) -> io::Result<Time> {
        let Some(run) = &mut self.run else { return Ok(Time::ZERO) };
        let mut now = run.watch.now();
        while let Some((due, parcel)) = run.course.poll_packet(now) {
            run.lateness.note(now.nanos_since(due));
            run.course.note_delivery(due, now, &parcel);
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
            let parcel = Parcel::read(Host::numbered(number), &buffer[..len], self.devices.len() - 1);
            self.pass(parcel)?;
        }
        Ok(())
    }

    /// Sends a packet on its course; what has none, because its connection is older than the run, goes
    /// straight on.
    fn pass(&mut self, parcel: Option<Parcel>) -> io::Result<()> {
        // What is due before it comes before it.
        let now = self.deliver()?;
        let stray = match &mut self.run {
            None => parcel,
            Some(run) => {
                let stray = parcel.map_or(Err(None), |parcel| run.course.handle_packet(now, parcel).map_err(Some));
                run.strays += u64::from(stray.is_err());
                stray.err().flatten()
            }
        };
        stray.map_or(Ok(()), |parcel| put(&self.devices, &parcel))
    }
}

/// Puts a packet into the namespace of the host to which it goes.
fn put(devices: &[File], parcel: &Parcel) -> io::Result<()> {
    (&devices[parcel.to().number()]).write(&parcel.bytes).map(drop)
}
