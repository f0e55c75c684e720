//! All scripts, and what has to be so of each in either world.

use crate::play::Failure;
use crate::script::{Script, Side};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes of each script a test, that `$check` holds of its name.
macro_rules! each_script {
    ($check:path) => {
        $crate::listed::tests_of! { $check;
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
    };
}

macro_rules! tests_of {
    ($check:path; $($name:ident)*) => {
        pub(crate) const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { $check(stringify!($name)); })*
    };
}

pub(crate) use {each_script, tests_of};

/// What playing a script gives; nothing where its world may not be asked.
type Played = Option<Result<(), Failure>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../net/tests/scripts")
}

/// Plays the script of this name. One that is for the other world alone must not hold.
pub(crate) fn check(name: &str, side: Side, play: impl FnOnce(&Script) -> Played) {
    let file = format!("{name}.script");
    let text = fs::read_to_string(folder().join(&file)).unwrap();
    let script = Script::read(&file, &text).unwrap_or_else(|mistake| panic!("{mistake}"));
    let is_for_other = script.only.is_some_and(|only| only != side);
    match play(&script) {
        Some(Ok(())) if is_for_other => panic!("{file}: it holds in both worlds: leave out its line 'only'"),
        Some(Err(failure)) if !is_for_other => panic!("{failure}"),
        _ => {}
    }
}

/// Every script of the folder is among `listed`.
pub(crate) fn check_list(listed: &[&str]) {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut scripts: Vec<String> = files.filter_map(|file| Some(file.strip_suffix(".script")?.to_owned())).collect();
    scripts.sort();
    assert_eq!(scripts, listed, "list them at 'each_script' in listed.rs, in this order");
}

/// What a server does that is written to: its answer to the SYN, and ten segments.
const RIGHT: &str = "cc reno\n+0 listen\n+0 < S 0:0\n+0 > S. ack 1\n+40 < . ack 1\n+0 write #20\n+0 > . #0:#10 ack 1";

/// A script holds, and no longer when one thing of it is wrong; what is said then names the place and what came.
pub(crate) fn check_wrong_ones(play: impl Fn(&Script) -> Played) {
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
        let Some(result) = play(&script) else { return };
        let failure = result.expect_err(&wrong).to_string();
        assert!(failure.starts_with("wrong.script:") && failure.contains(why), "{failure}");
    }
    let right = Script::read("right.script", RIGHT).unwrap();
    play(&right).into_iter().for_each(|result| result.unwrap_or_else(|failure| panic!("{failure}")));
}
