//! The language of scripts, as docs/scripts.md explains it: from text to steps.

use loadstone_net::tcp::Config;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Bytes of data in a full segment.
pub(crate) const MSS: u64 = 1448;
/// What the script's end announces if nothing is said: the most that its scale can express, in bytes.
const WINDOW: u32 = 65_535 << WINDOW_SCALE;
/// The script's end leaves this many bits of its window out (RFC 7323, section 2). A full segment is a multiple of it.
pub(crate) const WINDOW_SCALE: u8 = 3;

/// A script: one end is under test, the script is the network and the other end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Script {
    /// The name of its file.
    pub(crate) file: String,
    /// How the tested end is configured.
    pub(crate) config: Config,
    /// The only world in which it holds, if that is so.
    pub(crate) only: Option<Side>,
    pub(crate) steps: Vec<Step>,
}

/// A world in which scripts are played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Model,
    Kernel,
}

/// One line of a script.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    /// Its number in the file, from 1.
    pub(crate) line: usize,
    /// As it is written.
    pub(crate) text: String,
    /// The place of the step from which its time counts; the beginning if it is the first one.
    pub(crate) since: Option<usize>,
    /// How much later it is, in nanoseconds.
    pub(crate) wait: u64,
    pub(crate) what: What,
}

/// What is to happen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum What {
    /// The tested end sends these.
    Expect(Vec<Form>),
    /// These arrive at it.
    Inject(Vec<Form>),
    /// Its program does something.
    Act(Action),
    /// Until then nothing is sent.
    Nothing,
}

/// What the program at the tested end can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Connect,
    Listen,
    /// Writes this many bytes.
    Write(u64),
    /// Writes no more.
    Close,
    /// Leaves what comes where it is.
    StopReading,
    /// Takes all that is there, and from now on what comes.
    Read,
}

/// A segment as a script describes it. Of one that is expected, what is left out may be anything.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Form {
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    /// "Push": the other end's program wrote no more than this. Means nothing in what is expected.
    pub(crate) push: bool,
    /// Its first number, and the one after its last byte.
    pub(crate) range: Option<Range<u64>>,
    pub(crate) ack: Option<u64>,
    /// The last of several acknowledgements in segments of their own, a full segment further each.
    last_ack: Option<u64>,
    /// In bytes.
    pub(crate) window: Option<u32>,
    pub(crate) sacks: Vec<Range<u64>>,
    pub(crate) duplicate: Option<Range<u64>>,
    /// The place of the step whose last segment's timestamp it echoes.
    pub(crate) echo: Option<usize>,
}

impl Form {
    /// The window that it announces, in bytes.
    pub(crate) fn announced(&self) -> u32 {
        self.window.unwrap_or(if self.syn { 65_535 } else { WINDOW })
    }

    /// One for each segment of at most [`MSS`] bytes, or each acknowledgement.
    fn segments(self) -> Vec<Form> {
        if let (Some(first), Some(last)) = (self.ack, self.last_ack) {
            let one = |ack: u64| Form { ack: Some(ack), last_ack: None, ..self.clone() };
            return (first..=last).step_by(MSS as usize).map(one).collect();
        }
        let Some(range) = self.range.clone().filter(|range| range.end - range.start > MSS) else { return vec![self] };
        let starts = range.clone().step_by(MSS as usize);
        let one = |start: u64| {
            let end = (start + MSS).min(range.end);
            let (fin, push) = (self.fin && end == range.end, self.push && end == range.end);
            Form { range: Some(start..end), fin, push, ..self.clone() }
        };
        starts.map(one).collect()
    }
}

/// What is wrong with a script, where, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl Script {
    /// Reads the script of this name.
    pub(crate) fn read(file: &str, text: &str) -> Result<Script, Mistake> {
        let mut reader = Reader::default();
        for (at, line) in text.lines().enumerate() {
            let words = line.split("//").next().unwrap_or_default().trim();
            if !words.is_empty() {
                reader.line(at + 1, words).map_err(|what| Mistake { file: file.to_owned(), line: at + 1, what })?;
            }
        }
        let missing = |what: &str| Mistake { file: file.to_owned(), line: text.lines().count(), what: what.to_owned() };
        if reader.config.cc.is_none() {
            return Err(missing("it names no congestion control: begin with 'cc reno' or 'cc cubic'"));
        }
        if reader.steps.is_empty() {
            return Err(missing("it has no steps: a step begins with a time, as in '+0 connect'"));
        }
        Ok(Script { file: file.to_owned(), config: reader.config, only: reader.only, steps: reader.steps })
    }
}

#[derive(Default)]
struct Reader {
    config: Config,
    only: Option<Side>,
    steps: Vec<Step>,
    /// Names of steps, and their places.
    names: Vec<(String, usize)>,
}

impl Reader {
    fn line(&mut self, line: usize, text: &str) -> Result<(), String> {
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        match first.split_once('+') {
            Some((since, wait)) => self.step(line, text, since, wait, rest.trim()),
            None => self.setting(first, rest.trim()),
        }
    }

    fn setting(&mut self, name: &str, value: &str) -> Result<(), String> {
        let config = &mut self.config;
        match name {
            _ if !self.steps.is_empty() => {
                return Err(format!("a step begins with a time, not with '{name}': write '+0' before it"));
            }
            "cc" => config.cc = Some(parsed(value, "a congestion control", "reno, cubic or bbr", congestion)?),
            "iw" => {
                let segments = |text: &str| text.parse::<i64>().ok().and_then(|n| n.try_into().ok());
                config.iw = Some(parsed(value, "an initial window", "1 to 1000 segments", segments)?);
            }
            "receive_window" => {
                let bytes = |text: &str| text.parse::<i64>().ok().and_then(|n| loadstone_units::Bounded::new(n).ok());
                config.receive_window = Some(parsed(value, "a receive window", "bytes, 2048 or more", bytes)?);
            }
            "only" => {
                let sides = [("model", Side::Model), ("kernel", Side::Kernel)];
                let (side, why) = value.split_once(':').unwrap_or((value, ""));
                let side = sides.iter().find(|(name, _)| *name == side).filter(|_| !why.trim().is_empty());
                let (_, side) = side.ok_or("say where and why: 'only kernel: why' or 'only model: why'")?;
                self.only = Some(*side);
            }
            _ => return Err(format!("'{name}' is no setting: use cc, iw, receive_window or only")),
        }
        Ok(())
    }

    fn step(&mut self, line: usize, text: &str, since: &str, wait: &str, rest: &str) -> Result<(), String> {
        let since = match since {
            "" => self.steps.len().checked_sub(1),
            name => Some(self.named(name)?),
        };
        let nanos = |text: &str| text.parse::<f64>().ok().filter(|ms| *ms >= 0.0).map(|ms| (ms * 1e6) as u64);
        let wait = parsed(wait, "a time", "milliseconds, as in '+40' or '+0.5'", nanos)?;
        let (rest, name) = match rest.rsplit_once(" as ") {
            Some((rest, name)) => (rest.trim(), Some(name.trim())),
            None => (rest, None),
        };
        let what = self.what(rest)?;
        if let Some(name) = name {
            let is_name = name.chars().all(char::is_alphabetic) && self.names.iter().all(|(known, _)| known != name);
            if !is_name || name.is_empty() {
                return Err(format!("'{name}' cannot name a step: use letters, and each name once"));
            }
            self.names.push((name.to_owned(), self.steps.len()));
        }
        self.steps.push(Step { line, text: text.to_owned(), since, wait, what });
        Ok(())
    }

    fn named(&self, name: &str) -> Result<usize, String> {
        let found = self.names.iter().find(|(known, _)| known == name);
        found.map(|(_, place)| *place).ok_or(format!("no step before is named '{name}': end one with 'as {name}'"))
    }

    fn what(&self, text: &str) -> Result<What, String> {
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        Ok(match (verb, rest.trim()) {
            (">", form) => What::Expect(self.form(form)?.segments()),
            ("<", form) => {
                let form = self.form(form)?;
                check_window(&form)?;
                What::Inject(form.segments())
            }
            ("connect", "") => What::Act(Action::Connect),
            ("listen", "") => What::Act(Action::Listen),
            ("close", "") => What::Act(Action::Close),
            ("read", "") => What::Act(Action::Read),
            ("stop", "reading") => What::Act(Action::StopReading),
            ("nothing", "") => What::Nothing,
            ("write", length) => What::Act(Action::Write(parsed(
                length,
                "a length",
                "bytes, or segments as in '#10'",
                |text| match text.strip_prefix('#') {
                    Some(segments) => segments.parse().ok().map(|segments: u64| segments * MSS),
                    None => text.parse().ok(),
                },
            )?)),
            _ => {
                return Err(format!(
                    "'{text}' is nothing that can happen: use '>' and '<' with a segment, connect, listen, \
                     write BYTES, close, read, stop reading, nothing"
                ));
            }
        })
    }

    fn form(&self, text: &str) -> Result<Form, String> {
        let mut words = text.split_whitespace().peekable();
        let flags = words.next().filter(|flags| flags.chars().all(|flag| "SFP.".contains(flag)));
        let flags = flags.ok_or("a segment begins with its flags: S, F, P and . (which is ACK), as in '.' or 'S.'")?;
        let has = |flag| flags.contains(flag);
        let mut form = Form { syn: has('S'), fin: has('F'), push: has('P'), ..Form::default() };
        if let Some(range) = words.next_if(|word| word.contains(':')) {
            form.range = Some(range_of(range)?);
        }
        while let Some(key) = words.next() {
            let value = words.next().ok_or(format!("'{key}' stands alone: write its value behind it"))?;
            match key {
                "ack" => match value.split_once("..") {
                    Some((first, last)) => (form.ack, form.last_ack) = (Some(number(first)?), Some(number(last)?)),
                    None => form.ack = Some(number(value)?),
                },
                "win" => form.window = Some(parsed(value, "a window", "bytes", |text| text.parse().ok())?),
                "sack" => form.sacks.push(range_of(value)?),
                "dsack" => form.duplicate = Some(range_of(value)?),
                "ecr" => form.echo = Some(self.named(value)?),
                _ => return Err(format!("'{key}' is no part of a segment: use ack, win, sack, dsack or ecr")),
            }
        }
        if has('.') != form.ack.is_some() {
            return Err("flag '.' and 'ack' go together: write both or neither".to_owned());
        }
        let ack = form.ack.unwrap_or_default();
        if form.sacks.iter().any(|block| block.start < ack) {
            return Err(format!("a SACK block lies above 'ack {ack}': use dsack for what came twice"));
        }
        Ok(form)
    }
}

/// What is injected must be possible to write into a packet.
fn check_window(form: &Form) -> Result<(), String> {
    let (most, step) = if form.syn { (65_535, 1) } else { (WINDOW, 1 << WINDOW_SCALE) };
    match form.window {
        Some(window) if window > most || window % step != 0 => {
            Err(format!("a window of {window} cannot be announced: use a multiple of {step} up to {most}"))
        }
        _ => Ok(()),
    }
}

fn parsed<T>(text: &str, what: &str, remedy: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, String> {
    read(text).ok_or(format!("'{text}' is not {what}: use {remedy}"))
}

fn congestion(name: &str) -> Option<loadstone_net::tcp::Congestion> {
    use loadstone_net::tcp::Congestion::{Bbr, Cubic, Reno};
    [("reno", Reno), ("cubic", Cubic), ("bbr", Bbr)].iter().find(|(known, _)| *known == name).map(|(_, cc)| *cc)
}

/// A number, counted from the SYN's: 17 as it is; `#3` is the first of the fourth full segment, `#3+17`
/// 17 bytes further on.
fn number(text: &str) -> Result<u64, String> {
    let read = |text: &str| match text.strip_prefix('#') {
        Some(place) => {
            let (segment, bytes) = place.split_once('+').unwrap_or((place, "0"));
            Some(1 + u64::from_str(segment).ok()? * MSS + u64::from_str(bytes).ok()?)
        }
        None => text.parse().ok(),
    };
    parsed(text, "a number", "bytes as in '101', or segments as in '#3' and '#3+17'", read)
}

fn range_of(text: &str) -> Result<Range<u64>, String> {
    let (start, end) = text.split_once(':').ok_or(format!("'{text}' is no range: write it as '1:101' or '#0:#3'"))?;
    let range = number(start)?..number(end)?;
    if range.end < range.start {
        return Err(format!("'{text}' ends before it begins: swap its numbers"));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_settings_and_then_steps() {
        let text = "// About.\ncc reno\niw 3\n\n+0 listen\n+0 < S 0:0 win 65535 // It begins.\n+40 > S. ack 1 as answer\n\
                    answer+0.5 < P. #0:#2+7 ack 1 win 2896 sack 9:12 ecr answer\n+1 nothing";
        let script = Script::read("a.script", text).unwrap();
        assert_eq!((script.config.iw.unwrap().segments(), script.only), (3, None));
        let times: Vec<_> = script.steps.iter().map(|step| (step.line, step.since, step.wait)).collect();
        assert_eq!(
            times,
            [(5, None, 0), (6, Some(0), 0), (7, Some(1), 40_000_000), (8, Some(2), 500_000), (9, Some(3), 1_000_000)]
        );
        let What::Inject(forms) = &script.steps[3].what else { panic!("{:?}", script.steps[3]) };
        let lengths: Vec<_> = forms.iter().map(|form| (form.range.clone().unwrap(), form.push)).collect();
        assert_eq!(lengths, [(1..1449, false), (1449..2897, false), (2897..2904, true)]);
        assert_eq!((forms[0].echo, forms[0].announced(), forms[0].sacks[0].clone()), (Some(2), 2896, 9..12));
    }

    #[test]
    fn several_acknowledgements_are_a_full_segment_apart() {
        let script = Script::read("a.script", "cc reno\n+0 > . ack #1..#3").unwrap();
        let What::Expect(forms) = &script.steps[0].what else { panic!("{:?}", script.steps[0]) };
        assert_eq!(forms.iter().map(|form| form.ack.unwrap()).collect::<Vec<_>>(), [1449, 2897, 4345]);
    }

    #[test]
    fn a_mistake_says_where_it_is_and_what_to_do() {
        for (text, message) in [
            ("cc reno", "a.script:1: it has no steps: a step begins with a time"),
            ("+0 connect", "a.script:1: it names no congestion control: begin with 'cc reno'"),
            ("cc vegas", "a.script:1: 'vegas' is not a congestion control: use reno, cubic or bbr"),
            ("\niw 0", "a.script:2: '0' is not an initial window: use 1 to 1000 segments"),
            ("only kernel", "a.script:1: say where and why"),
            ("mss 3", "a.script:1: 'mss' is no setting: use cc"),
            ("+0 connect\nconnect", "a.script:2: a step begins with a time, not with 'connect'"),
            ("+x connect", "a.script:1: 'x' is not a time: use milliseconds"),
            ("+-1 connect", "a.script:1: '-1' is not a time: use milliseconds"),
            ("+0 dance", "a.script:1: 'dance' is nothing that can happen: use '>'"),
            ("syn+0 connect", "a.script:1: no step before is named 'syn': end one with 'as syn'"),
            ("+0 connect as a1", "a.script:1: 'a1' cannot name a step: use letters"),
            ("+0 > ack 1", "a.script:1: a segment begins with its flags"),
            ("+0 > . 1:2", "a.script:1: flag '.' and 'ack' go together"),
            ("+0 > . 2:1 ack 1", "a.script:1: '2:1' ends before it begins"),
            ("+0 > . ack", "a.script:1: 'ack' stands alone"),
            ("+0 > . ack #x", "a.script:1: '#x' is not a number: use bytes"),
            ("+0 < . ack 9 sack 1:2", "a.script:1: a SACK block lies above 'ack 9': use dsack"),
            ("+0 < . ack 1 win 3", "a.script:1: a window of 3 cannot be announced: use a multiple of 8"),
            ("+0 < . ack 1 psh 3", "a.script:1: 'psh' is no part of a segment"),
        ] {
            let mistake = Script::read("a.script", text).unwrap_err().to_string();
            assert!(mistake.starts_with(message), "{mistake}");
        }
    }
}
