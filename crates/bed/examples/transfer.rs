//! Fetches some bytes over a network and says what the links saw: `transfer 10/1mbit,100ms 100000`.
//! With `enter` before these it gets by without being root, where the system allows that. With `4` behind
//! them the connection behaves like four, with `4 machine-wide` by CUBIC's beta.

use loadstone_bed::{BackOff, Bed, BedHost, LinkReport, Settings, Tcp, star};
use loadstone_net::Network;
use loadstone_units::{Bounded, Seed};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match say() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("transfer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn say() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "enter") {
        arguments.remove(0);
        loadstone_bed::enter()?;
    }
    let (settings, rest) = match &arguments[..] {
        [rest @ .., flows, wide] if wide == "machine-wide" => (like(flows, BackOff::MachineWide)?, rest),
        [rest @ .., flows] if rest.len() == 2 => (like(flows, BackOff::Own)?, rest),
        rest => (Settings::default(), rest),
    };
    let [network, bytes] = rest else {
        return Err("usage: transfer [enter] NETWORK BYTES [FLOWS [machine-wide]]".into());
    };
    let report = transfer(network.parse()?, bytes.parse()?, &settings)?;
    let began = report.departures[BedHost::CLIENT.0].ok_or("nothing was sent")?;
    let ended = report.arrivals[BedHost::CLIENT.0].last_data.ok_or("nothing has arrived")?;
    println!("{:.3} ms, {:?}", ended.as_ms() - began.as_ms(), report.down().counts);
    println!(
        "{:?}, {:?}, {} pauses, {}ms in all",
        report.priority,
        report.lateness,
        report.pauses,
        report.paused.as_secs_f64() * 1e3
    );
    Ok(())
}

/// Settings of a server whose connections behave like `flows` flows each.
fn like(flows: &str, back_off: BackOff) -> Result<Settings, Box<dyn Error>> {
    let server = Tcp { flows: Some(Bounded::new(flows.parse()?)?), ..Tcp::default() };
    Ok(Settings { server, back_off, ..Settings::default() })
}

fn transfer(network: Network, bytes: usize, settings: &Settings) -> Result<LinkReport, Box<dyn Error>> {
    let bed = Bed::new(2)?;
    bed.configure(settings)?;
    let server = (bed.address(BedHost::server(0)), 80);
    let listener = bed.on(BedHost::server(0), || TcpListener::bind(server))?;
    let serving = bed.spawn(BedHost::server(0), move || listener.accept()?.0.write_all(&vec![0; bytes]));
    let (fabric, nodes) = star(&network, &[Duration::ZERO]);
    let run = bed.begin(&fabric, &nodes, Seed(1))?;
    bed.on(BedHost::CLIENT, || -> io::Result<()> {
        let mut stream = TcpStream::connect(server)?;
        stream.read_exact(&mut vec![0; bytes / 2])?;
        println!("half-way");
        stream.read_to_end(&mut Vec::new())?;
        Ok(())
    })?;
    serving.join()?;
    Ok(run.finish()?)
}
