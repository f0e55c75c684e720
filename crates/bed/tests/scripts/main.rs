//! The scripts of crate `net` on the kernel, to which they hold the model: docs/scripts.md.
//!
//! They are left out where no host can be made, which is said; with `LOADSTONE_NO_SKIP=1` they fail.

#![cfg(target_os = "linux")]

#[path = "../../../net/tests/scripts/came.rs"]
mod came;
mod kernel;
#[path = "../../../net/tests/scripts/listed.rs"]
mod listed;
#[path = "../../../net/tests/scripts/play.rs"]
mod play;
#[path = "../../../net/tests/scripts/script.rs"]
mod script;
mod wire;

use listed::{check, check_list, check_wrong_ones, each_script};
use play::Failure;
use script::{Script, Side};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

mod on_the_kernel {
    super::each_script!(super::on_the_kernel_holds);
}

fn on_the_kernel_holds(name: &str) {
    check(name, Side::Kernel, played);
}

/// Plays a script; nothing where the kernel may not be asked.
fn played(script: &Script) -> Option<Result<(), Failure>> {
    static TURN: Mutex<()> = Mutex::new(());
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
    check_list(on_the_kernel::LISTED);
}

#[test]
fn a_script_that_is_wrong_does_not_hold() {
    check_wrong_ones(played);
}
