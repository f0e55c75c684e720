//! An edge's life by signals: the first of SIGINT and SIGTERM lets it leave, the second ends it;
//! SIGHUP lets it read its settings again.

use loadstone_live::{EdgeControl, EdgeProxy, EdgeSource, Finished, Stopper};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Write};
use std::thread;

/// Runs an edge until a signal comes, and lets it leave.
///
/// # Errors
/// If it could not go on.
pub(crate) fn run(edge: EdgeProxy, source: &EdgeSource) -> Result<(), String> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| format!("no signals: {error}"))?;
    let (waiting, control) = (signals.handle(), edge.control());
    let ((leaver, leave), (ender, end)) = (Stopper::new(), Stopper::new());
    let mut stoppers = vec![ender, leaver];
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            let finished = edge.run(&leave, &end);
            waiting.close();
            finished
        });
        for signal in signals.forever() {
            match signal {
                SIGHUP => reload(&control, source),
                _ => stoppers.pop().into_iter().for_each(Stopper::stop),
            }
        }
        let finished = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finished.map(note).map_err(|error| error.to_string())
    })
}

fn reload(control: &EdgeControl, source: &EdgeSource) {
    match control.reload(source) {
        Ok(()) => say("the settings have been read again"),
        Err(error) => say(&format!("{error} (it goes on as it was)")),
    }
}

fn note(Finished { still_open, .. }: Finished) {
    match still_open {
        0 => {}
        1 => say("1 connection cut off: give clients more time with --grace"),
        _ => say(&format!("{still_open} connections cut off: give clients more time with --grace")),
    }
}

/// Says something on standard error.
pub(crate) fn say(line: &str) {
    // Nobody may be there to hear it.
    let _said = writeln!(io::stderr(), "loadstone-edge: {line}");
}
