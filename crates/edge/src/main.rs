//! `loadstone-edge`: a reverse proxy in front of servers that are known by name, as a daemon.
//!
//! It does what `loadstone edge` does, without Python: `command_line` says from where its settings come, `certificate` writes
//! what clients have to trust, `signals` runs it until it is told to leave. What cannot be used ends it with one line and exit
//! code 2.

#[cfg(target_os = "linux")]
mod certificate;
#[cfg(target_os = "linux")]
mod command_line;
#[cfg(target_os = "linux")]
mod signals;

/// Each request makes small things and forgets them; this allocator takes a twentieth off their time.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use command_line::CommandLine;
    use std::process::ExitCode;

    match CommandLine::of_process().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            signals::say(&why);
            ExitCode::from(2)
        }
    }
}

/// Listens, says how clients come to it, and relays until it is told to leave.
#[cfg(target_os = "linux")]
fn run(said: command_line::CommandLine) -> Result<(), String> {
    use loadstone_live::EdgeProxy;
    use std::io::{self, Write};

    let edge = EdgeProxy::of(&said.source).map_err(|error| error.to_string())?;
    said.save_ca.map_or(Ok(()), |path| certificate::save(&path, edge.root()))?;
    let lines = edge.ways().join("\n");
    // Nobody may be there to read it.
    let _shown = if edge.logs_to_standard_output() {
        writeln!(io::stderr(), "{lines}")
    } else {
        writeln!(io::stdout(), "{lines}")
    };
    signals::run(edge, &said.source)
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("loadstone-edge: this needs Linux, whose system calls it uses: run it there, or in a container");
    std::process::ExitCode::from(2)
}
