//! The bed and a run on it: what the rest of the program sees.

use crate::BedError;
use crate::back_off::BackOffs;
use crate::course::Course;
use crate::host::{Host, MOST_SERVERS, Namespace};
use crate::pump::{Command, Pump};
use crate::report::LinkReport;
use crate::settings::{AfterIdle, Settings, Tcp};
use loadstone_live::Clock;
use loadstone_net::Network;
use loadstone_units::Seed;
use std::io::{self, PipeWriter, Write};
use std::net::IpAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The pump answers within a millisecond; one that takes this long never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// One client and some servers in network namespaces, with a link between them.
///
/// All of it vanishes when it is dropped and the threads on its hosts have ended, or when the process
/// ends. What sockets are left open are closed without a word.
#[derive(Debug)]
pub struct Bed {
    /// By number: the client first.
    hosts: Vec<Namespace>,
    commands: Sender<Command>,
    /// Rung after each command; the pump ends when it is gone.
    bell: Option<PipeWriter>,
    pump: Mutex<Option<JoinHandle<io::Result<()>>>>,
    back_offs: Mutex<BackOffs>,
}

impl Bed {
    /// A bed with a client and so many servers, 1 to 65,534, whose kernels have the default settings.
    ///
    /// # Errors
    /// Why this process may not make one ([`access`](crate::access)), or what the kernel refuses.
    pub fn new(servers: usize) -> Result<Bed, BedError> {
        if !(1..=MOST_SERVERS).contains(&servers) {
            return Err(BedError::Servers(servers));
        }
        let made = (0..=servers).map(|number| Namespace::make(Host::numbered(number)));
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

    /// Lets connections that are opened from now on behave so.
    ///
    /// # Errors
    /// What the kernel refuses: a congestion control that it does not have, for instance.
    pub fn configure(&self, settings: &Settings) -> Result<(), BedError> {
        let Settings { client, server, idle, .. } = settings;
        let congestion = self.back_offs.lock().unwrap_or_else(PoisonError::into_inner).prepare(settings)?;
        let (first, servers) = self.hosts.split_first().expect("a bed has a client");
        first.configure(client, *idle, &congestion.client)?;
        servers.iter().try_for_each(|host| host.configure(server, *idle, &congestion.server))
    }

    /// Lets connections of one server that are opened from now on behave so, at that end. It has the machine's
    /// beta, where [`Bed::configure`] has changed that.
    ///
    /// # Errors
    /// As for [`Bed::configure`].
    ///
    /// # Panics
    /// If there is no such server.
    pub fn configure_server(&self, server: usize, tcp: &Tcp, idle: AfterIdle) -> Result<(), BedError> {
        let congestion = self.back_offs.lock().unwrap_or_else(PoisonError::into_inner).own(tcp)?;
        self.hosts[Host::Server(server).number()].configure(tcp, idle, &congestion)
    }

    /// The address of the server `server`.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn address(&self, server: usize) -> IpAddr {
        let host = Host::Server(server);
        assert!(host.number() < self.hosts.len(), "the bed has no server {server}");
        host.address().into()
    }

    /// The address of the client.
    pub fn client_address(&self) -> IpAddr {
        Host::Client.address().into()
    }

    /// How many servers there are.
    pub fn servers(&self) -> usize {
        self.hosts.len() - 1
    }

    /// Runs something on a host, in a thread of its own, with real-time priority where that is allowed, and
    /// waits for its result. Sockets, threads and processes made there belong to the host, and threads and
    /// processes inherit the priority.
    ///
    /// # Panics
    /// If there is no such host, or `work` panics.
    pub fn on<T: Send>(&self, host: Host, work: impl FnOnce() -> T + Send) -> T {
        self.hosts[host.number()].on(work)
    }

    /// Starts something on a host, like [`Bed::on`], without waiting for it.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn spawn<T: Send + 'static>(&self, host: Host, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        Task(self.hosts[host.number()].spawn(work))
    }

    /// Begins a run: from now on the packets of connections that are opened take their course through
    /// `network`, and to and from each server they take half of its extra round trip more. What belongs
    /// to older connections passes at once and is not counted.
    ///
    /// # Errors
    /// If a run is under way, there is not one extra round trip for each server, or the pump has failed.
    pub fn begin(&self, network: &Network, extra_rtts: &[Duration], seed: Seed) -> Result<Run<'_>, BedError> {
        self.begin_traced(network, extra_rtts, seed, 0)
    }

    /// Begins a run like [`Bed::begin`], of which the first `limit` packets are kept with what became of
    /// them.
    ///
    /// # Errors
    /// As for [`Bed::begin`].
    pub fn begin_traced(
        &self,
        network: &Network,
        extra_rtts: &[Duration],
        seed: Seed,
        limit: usize,
    ) -> Result<Run<'_>, BedError> {
        let (servers, given) = (self.servers(), extra_rtts.len());
        if given != servers {
            return Err(BedError::ExtraRtts { servers, given });
        }
        let course = Box::new(Course::new(network, extra_rtts, seed, limit));
        let (answer, answered) = mpsc::sync_channel(1);
        let clock = Clock::start();
        self.tell(Command::Begin(course, clock.clone(), answer))?;
        self.hear(&answered)??;
        Ok(Run { bed: self, clock, finished: false })
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
        // The pump ends when nobody is left to ring.
        self.bell = None;
        if let Some(pump) = self.pump.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Nobody is left to be told of a failure.
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
        let (answer, answered) = mpsc::sync_channel(1);
        self.bed.tell(Command::Finish(Some(answer)))?;
        self.bed.hear(&answered)
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
pub struct Task<T>(JoinHandle<T>);

impl<T> Task<T> {
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
