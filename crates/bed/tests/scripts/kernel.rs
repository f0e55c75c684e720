//! The world of the kernel: a socket on a host by itself, and real time.

#![allow(clippy::disallowed_methods, reason = "a driver: it reads the clock")]

use crate::play::{Failure, World, play};
use crate::script::{Action, Form, Script};
use crate::wire::Wire;
use loadstone_bed::{SingleHost, Tcp};
use loadstone_net::tcp::Segment;
use loadstone_units::Time;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

const PORT: u16 = 80;
/// The port from which the script's end connects.
const FROM: u16 = 40_000;
/// Room for all that a script writes at once, in bytes: what limits the sending is then the window.
const SEND_BUFFER: usize = 1 << 20;
/// The world looks at the clock at least this often.
const TICK: Duration = Duration::from_micros(250);
/// How late it may be without the machine having been paused (`bed::watch`).
const TOLERANCE: Duration = Duration::from_micros(500);
/// How often a script is played on a machine that is being paused.
const ATTEMPTS: u32 = 10;

/// Plays a script on the kernel. What does not hold while the machine is paused is tried again.
pub(crate) fn holds(script: &Script) -> Result<(), Failure> {
    let mut attempt = 1;
    loop {
        let (result, pause) = attempted(script);
        match result {
            Err(failure) if !pause.is_zero() && attempt == ATTEMPTS => {
                let every =
                    format!("The machine was paused in each of {ATTEMPTS} attempts, here for {pause:?}: try later.");
                return Err(Failure(failure.0 + &every));
            }
            Err(_) if !pause.is_zero() => attempt += 1,
            result => return result,
        }
    }
}

/// Plays a script once; with the longest pause of the machine meanwhile.
fn attempted(script: &Script) -> (Result<(), Failure>, Duration) {
    let lone = SingleHost::new(&Tcp::from(&script.config)).unwrap();
    lone.on(|| {
        let mut world = Kernel::new(&lone);
        (play(script, &mut world), world.longest_pause)
    })
}

struct Kernel<'a> {
    lone: &'a SingleHost,
    wire: Wire,
    start: Instant,
    /// When it last looked at the clock.
    looked: Instant,
    longest_pause: Duration,
    listener: Option<Socket>,
    connection: Option<Socket>,
    is_reading: bool,
}

impl<'a> Kernel<'a> {
    fn new(lone: &'a SingleHost) -> Kernel<'a> {
        let start = Instant::now();
        Kernel {
            lone,
            wire: Wire::new((lone.address(), PORT), (lone.other_address(), FROM)),
            start,
            looked: start,
            longest_pause: Duration::ZERO,
            listener: None,
            connection: None,
            is_reading: true,
        }
    }

    /// Looks at the clock, and sees a pause if it should have done so long ago.
    fn look(&mut self) -> Time {
        let now = Instant::now();
        let late = now.duration_since(self.looked).saturating_sub(TICK + TOLERANCE);
        self.longest_pause = self.longest_pause.max(late);
        self.looked = now;
        Time::from_nanos(now.duration_since(self.start).as_nanos() as u64)
    }

    /// What the program does by itself: it takes connections, and what comes.
    fn serve(&mut self) {
        if let (None, Some(listener)) = (&self.connection, &self.listener)
            && let Ok((connection, _)) = listener.accept()
        {
            prepare(&connection);
            self.connection = Some(connection);
        }
        if let Some(mut connection) = self.connection.as_ref().filter(|_| self.is_reading) {
            let mut bytes = [0; 65_536];
            while matches!(connection.read(&mut bytes), Ok(1..)) {}
        }
    }

    fn connection(&self) -> Result<&Socket, String> {
        self.connection.as_ref().ok_or("there is no connection yet".to_owned())
    }
}

/// Nothing on it waits, and what is written is sent at once.
fn prepare(socket: &Socket) {
    socket.set_nonblocking(true).unwrap();
    socket.set_tcp_nodelay(true).unwrap();
    socket.set_send_buffer_size(SEND_BUFFER).unwrap();
}

impl World for Kernel<'_> {
    fn now(&mut self) -> Time {
        self.look()
    }

    fn act(&mut self, action: Action) -> Result<(), String> {
        let said = |error: std::io::Error| format!("the kernel says: {error}");
        self.serve();
        match action {
            Action::Listen => {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, None).map_err(said)?;
                prepare(&socket);
                socket.bind(&SocketAddr::from((self.lone.address(), PORT)).into()).map_err(said)?;
                socket.listen(1).map_err(said)?;
                self.listener = Some(socket);
            }
            Action::Connect => {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, None).map_err(said)?;
                prepare(&socket);
                self.wire.script.1 = PORT;
                match socket.connect(&SocketAddr::from((self.lone.other_address(), PORT)).into()) {
                    Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
                    result => result.map_err(said)?,
                }
                self.connection = Some(socket);
            }
            Action::Write(bytes) => {
                let written = self.connection()?.write(&vec![0; bytes as usize]).map_err(said)?;
                if written as u64 != bytes {
                    return Err(format!("the kernel took {written} of {bytes} bytes: write less at once"));
                }
            }
            Action::Close => self.connection()?.shutdown(Shutdown::Write).map_err(said)?,
            Action::StopReading => self.is_reading = false,
            Action::Read => {
                self.is_reading = true;
                self.serve();
            }
        }
        Ok(())
    }

    fn put(&mut self, form: &Form, numbers: Range<u64>, echo: Option<Time>) -> Result<(), String> {
        let now = self.look();
        let packet = self.wire.written(form, &numbers, now, echo);
        self.lone.put(&packet).map_err(|error| format!("the kernel does not take the packet: {error}"))?;
        self.serve();
        Ok(())
    }

    fn take(&mut self, until: Time) -> Result<Option<(Time, Segment)>, String> {
        loop {
            self.serve();
            let left = Duration::from_nanos(until.nanos_since(self.look()));
            let packet = self.lone.take(left.min(TICK)).map_err(|error| format!("the device fails: {error}"))?;
            let now = self.look();
            if let Some(bytes) = packet {
                return Ok(Some((now, self.wire.read(&bytes)?)));
            }
            if now >= until {
                return Ok(None);
            }
        }
    }
}
