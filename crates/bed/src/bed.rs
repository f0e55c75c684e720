//! The bed and a run on it: what the rest of the program sees.

use crate::BedError;
use crate::back_off::BackOffs;
use crate::host::{BedHost, Namespace};
use crate::journey::Layout;
use crate::pump::{Command, Pump};
use crate::report::LinkReport;
use crate::settings::{BackOff, Settings, Tcp};
use loadstone_live::Clock;
use loadstone_net::{Fabric, NodeId};
use loadstone_scenario::MAX_HOSTS;
use loadstone_units::Seed;
use std::io::{self, PipeWriter, Write};
use std::net::IpAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The pump answers within a millisecond; one that takes this long never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// Hosts in network namespaces, with links between them.
///
/// All of it vanishes when it is dropped and the threads on its hosts have ended, or when the process
/// ends. What sockets are left open are closed without a word.
#[derive(Debug)]
pub struct Bed {
    /// By number.
    hosts: Vec<Namespace>,
    commands: Sender<Command>,
    /// Rung after each command; the pump ends when it is gone.
    bell: Option<PipeWriter>,
    pump: Mutex<Option<JoinHandle<io::Result<()>>>>,
    back_offs: Mutex<BackOffs>,
}

impl Bed {
    /// A bed with `hosts` hosts, two at least, whose kernels have the default settings.
    ///
    /// # Errors
    /// Why this process may not make one ([`access`](crate::access)), or what the kernel refuses.
    pub fn new(hosts: usize) -> Result<Bed, BedError> {
        if !(2..=MAX_HOSTS).contains(&hosts) {
            return Err(BedError::Hosts(hosts));
        }
        let made = (0..hosts).map(|number| Namespace::make(BedHost(number)));
        let (hosts, devices) = made.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let (commands, to_obey) = mpsc::channel();
        let (listening, bell) = io::pipe().map_err(BedError::host("making the pump's bell"))?;
        let pump = Pump::new(devices, to_obey, listening);
        let thread = thread::Builder::new().name("pump".to_owned()).spawn(|| pump.work());
        let pump = thread.map_err(BedError::host("starting the pump"))?;
        let bed = Bed { hosts, commands, bell: Some(bell), pump: Mutex::new(Some(pump)), back_offs: Mutex::default() };
        bed.configure(&Settings::default())?;
        Ok(bed)
    }

    /// Lets connections that are opened from now on behave so, where the first host is a client and all others are
    /// servers.
    ///
    /// # Errors
    /// What the kernel refuses: a congestion control that it does not have, for instance.
    pub fn configure(&self, settings: &Settings) -> Result<(), BedError> {
        let mut tcps = vec![settings.server; self.hosts.len()];
        tcps[BedHost::CLIENT.0] = settings.client;
        self.configure_each(&tcps, settings.back_off)
    }

    /// Lets connections that are opened from now on behave so at their ends, of which there is one for each host.
    ///
    /// # Errors
    /// As for [`Bed::configure`].
    ///
    /// # Panics
    /// If there is not one for each host.
    pub fn configure_each(&self, tcps: &[Tcp], back_off: BackOff) -> Result<(), BedError> {
        assert_eq!(tcps.len(), self.hosts.len(), "each host has one TCP");
        let names = self.back_offs.lock().unwrap_or_else(PoisonError::into_inner).prepare(tcps, back_off)?;
        let each = self.hosts.iter().zip(tcps).zip(&names);
        each.into_iter().try_for_each(|((host, tcp), name)| host.configure(tcp, name))
    }

    /// The address of a host.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn address(&self, host: BedHost) -> IpAddr {
        assert!(host.0 < self.hosts.len(), "the bed has no host {}", host.0);
        host.address().into()
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Runs something on a host, in a thread of its own, with real-time priority where that is allowed, and
    /// waits for its result. Sockets, threads and processes made there belong to the host, and threads and
    /// processes inherit the priority.
    ///
    /// # Panics
    /// If there is no such host, or `work` panics.
    pub fn on<T: Send>(&self, host: BedHost, work: impl FnOnce() -> T + Send) -> T {
        self.hosts[host.0].on(work)
    }

    /// Starts something on a host, like [`Bed::on`], without waiting for it.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn spawn<T: Send + 'static>(&self, host: BedHost, work: impl FnOnce() -> T + Send + 'static) -> HostTask<T> {
        HostTask(self.hosts[host.0].spawn(work))
    }

    /// Begins a run: from now on packets take their way through the links and delays of `fabric`, in which `nodes`
    /// are the places of the hosts. What belongs to TCP connections from before the run passes at once and is not
    /// counted, so that one run does not disturb the next.
    ///
    /// # Errors
    /// If a run is under way, there is not one node for each host, or the pump has failed.
    pub fn begin(&self, fabric: &Arc<Fabric>, nodes: &[NodeId], seed: Seed) -> Result<Run<'_>, BedError> {
        self.begin_noting(fabric, nodes, seed, None)
    }

    /// Begins a run like [`Bed::begin`], of which the first `limit` packets that enter any link are kept with what
    /// became of them.
    ///
    /// # Errors
    /// As for [`Bed::begin`].
    pub fn begin_traced(
        &self,
        fabric: &Arc<Fabric>,
        nodes: &[NodeId],
        seed: Seed,
        limit: usize,
    ) -> Result<Run<'_>, BedError> {
        self.begin_noting(fabric, nodes, seed, Some(limit))
    }

    pub(crate) fn begin_noting(
        &self,
        fabric: &Arc<Fabric>,
        nodes: &[NodeId],
        seed: Seed,
        noted: Option<usize>,
    ) -> Result<Run<'_>, BedError> {
        let clock =
            self.begin_links(Layout { fabric: fabric.clone(), nodes: nodes.to_vec(), seed, noted, tap: None })?;
        Ok(Run { bed: self, clock, finished: false })
    }

    /// Begins a run, which [`Bed::finish_links`] ends: its clock.
    pub(crate) fn begin_links(&self, layout: Layout) -> Result<Clock, BedError> {
        let (hosts, given) = (self.hosts.len(), layout.nodes.len());
        if given != hosts {
            return Err(BedError::Nodes { hosts, given });
        }
        let (answer, answered) = mpsc::sync_channel(1);
        let clock = Clock::start();
        self.tell(Command::Begin(Box::new(layout), clock.clone(), answer))?;
        self.hear(&answered)??;
        Ok(clock)
    }

    /// Ends the run under way. What is on its way arrives at once and is not counted.
    pub(crate) fn finish_links(&self) -> Result<LinkReport, BedError> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.tell(Command::Finish(Some(answer)))?;
        self.hear(&answered)
    }

    /// Tells the pump something.
    fn tell(&self, command: Command) -> Result<(), BedError> {
        let sent = self.commands.send(command).is_ok();
        let rung = self.bell.as_ref().is_some_and(|mut bell| bell.write_all(&[0]).is_ok());
        if sent && rung { Ok(()) } else { Err(self.failure()) }
    }

    /// What the pump answers.
    fn hear<T>(&self, answered: &Receiver<T>) -> Result<T, BedError> {
        answered.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => BedError::Stuck,
            RecvTimeoutError::Disconnected => self.failure(),
        })
    }

    /// Why the pump has ended.
    fn failure(&self) -> BedError {
        let thread = self.pump.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            Some(Ok(Err(error))) => BedError::Pump(error),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            Some(Ok(Ok(()))) | None => BedError::Pump(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // The pump ends when the other end of its bell is closed.
        self.bell = None;
        if let Some(pump) = self.pump.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Dropping cannot report a failure.
            let _ = pump.join();
        }
    }
}

/// A run under way. Dropped, it ends without a report.
#[derive(Debug)]
pub struct Run<'a> {
    bed: &'a Bed,
    clock: Clock,
    finished: bool,
}

impl Run<'_> {
    /// The clock of the run and its links, which stands while the machine is paused. Its zero is when the
    /// run began.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Ends the run. What is under way arrives at once and is not counted.
    ///
    /// # Errors
    /// If the pump has failed.
    pub fn finish(mut self) -> Result<LinkReport, BedError> {
        self.finished = true;
        self.bed.finish_links()
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // If the pump has failed there is nothing to end.
            let _ = self.bed.tell(Command::Finish(None));
        }
    }
}

/// Something that runs on a host.
#[derive(Debug)]
pub struct HostTask<T>(JoinHandle<T>);

impl<T> HostTask<T> {
    /// Waits for its result.
    ///
    /// # Panics
    /// If it panicked.
    pub fn join(self) -> T {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}
