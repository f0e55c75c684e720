//! Scripts: what a network does to a connection and what one of its ends does then, packet by packet, held
//! against the model and against the kernel. docs/scripts.md explains their language.
//!
//! The kernel is left out where no host can be made, which is said; with `LOADSTONE_NO_SKIP=1` it fails.

#![cfg(target_os = "linux")]

mod came;
mod kernel;
mod model;
mod play;
mod script;
mod wire;

use model::Model;
use play::{Failure, play};
use script::{Script, Side};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Makes two tests of each script: on the model, and on the kernel.
macro_rules! scripts {
    ($($name:ident)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        mod on_the_model {
            $(#[test] fn $name() { crate::check(stringify!($name), crate::Side::Model); })*
        }
        mod on_the_kernel {
            $(#[test] fn $name() { crate::check(stringify!($name), crate::Side::Kernel); })*
        }
    };
}

scripts! {
    answers_in_turn
    close
    cubic_after_loss
    delayed_acknowledgement
    first_flight_overflows
    full_last_segment
    held_back
    holes
    late_acknowledgements
    late_or_lost
    long_pause
    lost_first_segment
    lost_last_segment
    lost_retransmission
    lost_syn
    lost_syn_ack
    lost_syn_once
    lost_tail
    needless_probe
    overtaken
    overtaken_by_many
    overtaken_seen_by_timestamp
    pause
    probe_with_new_data
    program_does_not_read
    quick_acknowledgements
    real_timeout_by_new_data
    short_pause
    short_segment
    slow_start_ends_early
    spurious_timeout_by_new_data
    spurious_timeout_by_timestamp
    timeout
    two_losses
    unused_window
    window_closes
    window_probe
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Plays the script of this name in one world. One that is for the other world alone must not hold.
fn check(name: &str, side: Side) {
    let file = format!("{name}.script");
    let text = fs::read_to_string(folder().join(&file)).unwrap();
    let script = Script::read(&file, &text).unwrap_or_else(|mistake| panic!("{mistake}"));
    let is_for_other = script.only.is_some_and(|only| only != side);
    match played(&script, side) {
        Some(Ok(())) if is_for_other => panic!("{file}: it holds in both worlds: leave out its line 'only'"),
        Some(Err(failure)) if !is_for_other => panic!("{failure}"),
        _ => {}
    }
}

/// Plays a script; nothing where the kernel may not be asked.
fn played(script: &Script, side: Side) -> Option<Result<(), Failure>> {
    static TURN: Mutex<()> = Mutex::new(());
    if side == Side::Model {
        return Some(play(script, &mut Model::new(&script.config)));
    }
    if let Err(refusal) = loadstone_bed::access() {
        assert!(std::env::var_os("LOADSTONE_NO_SKIP").is_none(), "{refusal}");
        // Not by a macro: those are shown only if a test fails.
        let _ = writeln!(io::stderr(), "left out: {refusal}");
        return None;
    }
    // One at a time: it is about milliseconds.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Some(kernel::holds(script))
}

#[test]
fn every_script_of_the_folder_is_listed() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut scripts: Vec<String> = files.filter_map(|file| Some(file.strip_suffix(".script")?.to_owned())).collect();
    scripts.sort();
    assert_eq!(scripts, LISTED, "list them at 'scripts!' in main.rs, in this order");
}

/// What a server does that is written to: its answer to the SYN, and ten segments.
const RIGHT: &str = "cc reno\n+0 listen\n+0 < S 0:0\n+0 > S. ack 1\n+40 < . ack 1\n+0 write #20\n+0 > . #0:#10 ack 1";

#[test]
fn a_script_that_is_wrong_does_not_hold_in_either_world() {
    for side in [Side::Model, Side::Kernel] {
        for (wrong, why) in [
            // Each is one change of what holds.
            (RIGHT.replace("#0:#10", "#0:#9") + "\n+1 nothing", "+1 nothing\nnothing may be sent before it"),
            (RIGHT.replace("#0:#10", "#0:#11"), "nothing came (0 to 1 ms after the step before it)"),
            (RIGHT.replace("#0:#10", "#1:#11"), "data: expected #1:#2, came 1:#1"),
            (RIGHT.replace("S. ack 1", "S. ack 2"), "ack: expected 2, came 1"),
            (RIGHT.replace("> S.", "> ."), "flags: expected ., came S."),
            (RIGHT.replace("+0 > . ", "+5 > . "), "it may come 4 to 14 ms after the step before it"),
            (RIGHT.replace("#0:#10 ack 1", "#0:#10 ack 1 win 1"), "window: expected 1, came "),
            (RIGHT.replace("#0:#10 ack 1", "#0:#10 ack 1 sack 3:4"), "SACK blocks: expected 3:4, came "),
            (RIGHT.replace("#0:#10 ack 1", "#0:#10 ack 1 dsack 3:4"), "end of what came twice: expected 4, came 0"),
            (RIGHT.replace("+0 listen\n", "+0 write 1\n"), "there is no connection yet"),
        ] {
            let script = Script::read("wrong.script", &wrong).unwrap();
            let Some(result) = played(&script, side) else { return };
            let failure = result.expect_err(&wrong).to_string();
            assert!(failure.starts_with("wrong.script:") && failure.contains(why), "{side:?}: {failure}");
        }
        let right = Script::read("right.script", RIGHT).unwrap();
        played(&right, side).unwrap().unwrap_or_else(|failure| panic!("{side:?}: {failure}"));
    }
}
