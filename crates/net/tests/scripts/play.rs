//! Plays a script in a world: waits, injects, expects, and says what came instead.

use crate::came::Came;
use crate::script::{Action, Form, Script, Step, What};
use loadstone_net::tcp::Segment;
use loadstone_units::Time;
use std::fmt::{self, Write};
use std::ops::Range;

/// A world in which a script can be played: an end that is under test, and a clock.
pub(crate) trait World {
    /// The time now.
    fn now(&mut self) -> Time;

    /// The program of the tested end does something.
    fn act(&mut self, action: Action) -> Result<(), String>;

    /// A segment arrives, of which it is said which numbers it bears; it echoes the timestamp `echo`.
    fn put(&mut self, form: &Form, numbers: Range<u64>, echo: Option<Time>) -> Result<(), String>;

    /// Waits for the next segment that the tested end sends, and gives it with its time; nothing if none
    /// has come by `until`.
    fn take(&mut self, until: Time) -> Result<Option<(Time, Segment)>, String>;
}

/// How much earlier or later than the script says something may be seen because looking and doing take
/// time, in ns.
const SLACK: u64 = 1_000_000;
/// The kernel's tick in ns (CONFIG_HZ=250).
const TICK: u64 = 4_000_000;

/// How much later than `wait` ns after the step before something may come, in ns; earlier it may not.
///
/// What comes after a wait comes by a timer of the kernel. It expires with the first tick after its time; a
/// longer one with the next eighth or sixty-fourth, since the timer wheel is so coarse there (`calc_index` in
/// `kernel/time/timer.c`). Which part of that it takes depends on when it was set. One time in five it is seen to
/// come one tick later still, on a machine with two processors: probably where another than that which set it
/// looks after it (`tmigr_handle_remote`). The model's timers are late by half of the wheel's part.
fn lateness(wait: u64) -> u64 {
    let coarse = match wait.div_ceil(TICK) {
        0 => return SLACK,
        1..63 => 1,
        63..504 => 8,
        _ => 64,
    };
    coarse * TICK + TICK + SLACK
}

/// Why a script does not hold.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Plays `script` from its first step to its last.
pub(crate) fn play(script: &Script, world: &mut dyn World) -> Result<(), Failure> {
    let start = world.now();
    let player = Player {
        script,
        world,
        start,
        moments: Vec::new(),
        next: 0,
        sent: Vec::new(),
        last_ack: 0,
        echo: None,
        story: String::new(),
    };
    player.play()
}

/// When a step took place, and the last timestamp of what was expected there.
#[derive(Clone, Copy)]
struct Moment {
    at: Time,
    stamp: Option<Time>,
}

struct Player<'a> {
    script: &'a Script,
    world: &'a mut dyn World,
    start: Time,
    /// By step.
    moments: Vec<Moment>,
    /// The script's end sends this number next.
    next: u64,
    /// What the tested end sent: numbers and timestamps.
    sent: Vec<(Range<u64>, Time)>,
    /// The last number that was acknowledged, and the timestamp that was echoed.
    last_ack: u64,
    echo: Option<Time>,
    /// What has happened, line by line.
    story: String,
}

impl Player<'_> {
    fn play(mut self) -> Result<(), Failure> {
        for step in &self.script.steps {
            let moment = self.step(step)?;
            let _ = writeln!(self.story, "  {:9.2}  {}", ms(moment.at, self.start), step.text);
            self.moments.push(moment);
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<Moment, Failure> {
        let since = step.since.map_or(self.start, |place| self.moments[place].at);
        let due = since.plus_nanos(step.wait);
        if let What::Expect(forms) = &step.what {
            return self.expect(step, since, forms);
        }
        if let Some((at, segment)) = self.take(step, due)? {
            let came = Came { at: ms(at, since), segment };
            return Err(self.failure(step, &format!("nothing may be sent before it, but there came\n  {came}")));
        }
        let at = self.world.now();
        match &step.what {
            What::Inject(forms) => forms.iter().try_for_each(|form| self.inject(form)),
            What::Act(action) => self.world.act(*action),
            What::Expect(_) | What::Nothing => Ok(()),
        }
        .map_err(|why| self.failure(step, &why))?;
        Ok(Moment { at, stamp: None })
    }

    fn take(&mut self, step: &Step, until: Time) -> Result<Option<(Time, Segment)>, Failure> {
        self.world.take(until).map_err(|why| self.failure(step, &why))
    }

    fn inject(&mut self, form: &Form) -> Result<(), String> {
        let ack = form.ack.unwrap_or_default();
        if let Some(place) = form.echo {
            self.echo = self.moments[place].stamp;
        } else if ack > self.last_ack {
            // RFC 7323, section 4.3: what is echoed is what came where the acknowledgement before ended.
            let mut sent = self.sent.iter().rev();
            let found = sent.find(|(numbers, _)| numbers.contains(&self.last_ack)).map(|(_, stamp)| *stamp);
            self.echo = self.echo.max(found);
        }
        self.last_ack = self.last_ack.max(ack);
        let numbers = form.range.clone().unwrap_or(self.next..self.next);
        self.next = self.next.max(numbers.end + u64::from(form.syn) + u64::from(form.fin));
        self.world.put(form, numbers, self.echo)
    }

    fn expect(&mut self, step: &Step, since: Time, forms: &[Form]) -> Result<Moment, Failure> {
        let earliest = since.plus_nanos(step.wait.saturating_sub(SLACK));
        let latest = since.plus_nanos(step.wait + lateness(step.wait));
        let mut last = Moment { at: since, stamp: None };
        for form in forms {
            let span = format!("{} to {} ms after the step before it", ms(earliest, since), ms(latest, since));
            let Some((at, segment)) = self.take(step, latest)? else {
                // What comes late says most of what is wrong.
                let late = self.take(step, latest.plus_nanos(1_000_000_000))?;
                let late = late.map_or("nothing".to_owned(), |(at, segment)| {
                    format!("\n  {}", Came { at: ms(at, since), segment })
                });
                return Err(self.failure(step, &format!("nothing came ({span}), and later there came {late}")));
            };
            let came = Came { at: ms(at, since), segment };
            let mut wrong = came.differences(form);
            if at < earliest {
                wrong.push(format!("it may come {span}"));
            }
            if !wrong.is_empty() {
                return Err(self.failure(step, &format!("there came\n  {came}\n{}", wrong.join("\n"))));
            }
            self.sent.push((segment.seq..segment.end(), segment.ts_val));
            last = Moment { at, stamp: Some(segment.ts_val) };
        }
        Ok(last)
    }

    fn failure(&self, step: &Step, why: &str) -> Failure {
        let Step { line, text, .. } = step;
        Failure(format!("{}:{line}: {text}\n{why}\nBefore it, in ms:\n{}", self.script.file, self.story))
    }
}

/// Milliseconds from `since` to `at`.
fn ms(at: Time, since: Time) -> f64 {
    at.nanos_since(since) as f64 / 1e6
}
