//! An access link in words: `10/1mbit,100ms,loss=1%,queue=100ms`.

use crate::aqm::UnknownAqm;
use crate::{Aqm, GilbertElliott, Loss, Trace};
use loadstone_units::{Probability, Rate, UnitError, parse};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The link between a client and the servers, both directions.
///
/// As text: `DOWN[/UP],RTTms[,loss=DOWN%[/UP%]][,queue=100ms|64KB|1000p][,aqm=codel|fq_codel][,jitter=5ms]
/// [,trace=NAME][,trace-up=NAME]`, or the name of a preset.
/// `10/1mbit,100ms,1%` is short for `loss=1%`; one loss figure means each direction by itself. In place of `loss`
/// stands `gemodel=P%/R%[/BAD%[/GOOD%]]` for [`GilbertElliott`] in both directions. `jitter` is by how much the delay
/// of each direction varies from packet to packet, either way. `aqm` manages the queue of each direction ([`Aqm`]). A
/// direction with a trace follows it instead of its rate; DOWN then only sizes a queue given in time, and may be left out
/// (`trace=NAME,RTTms`): the trace's mean rate stands for it, and for UP where that direction has no trace.
/// The traces themselves are not in the text: [`Network::with_traces`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    /// `None` for the mean rate of the trace.
    down: Option<Rate>,
    /// `None` with `down`.
    up: Option<Rate>,
    rtt: Duration,
    loss_down: Loss,
    loss_up: Loss,
    jitter: Duration,
    queue: QueueText,
    aqm: Option<Aqm>,
    trace_down: Option<LinkTrace>,
    trace_up: Option<LinkTrace>,
}

/// A trace as it is named, and itself once it is known.
#[derive(Clone, PartialEq, Debug)]
struct LinkTrace {
    name: String,
    trace: Option<Arc<Trace>>,
    /// Where it is when the run begins.
    start: Duration,
}

/// One direction of a network, as a link needs it.
#[derive(Clone, PartialEq, Debug)]
pub struct Direction {
    /// The rate of serialisation.
    pub rate: Rate,
    /// What it follows instead of the rate.
    pub trace: Option<Arc<Trace>>,
    /// Where the trace is when the run begins.
    pub trace_start: Duration,
    /// Half of the round trip.
    pub propagation: Duration,
    /// What may wait.
    pub queue: QueueLimit,
    /// How the queue is managed, if it does more than to drop what finds it full.
    pub aqm: Option<Aqm>,
    /// What is lost at random.
    pub loss: Loss,
    /// By how much the propagation varies from packet to packet, either way.
    pub jitter: Duration,
}

/// How much may wait at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Packets.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
}

impl QueueLimit {
    /// Whether so many packets, which have so many bytes, may wait.
    #[inline]
    pub(crate) fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets <= limit as usize,
            QueueLimit::Bytes(limit) => bytes <= limit,
        }
    }
}

/// The queue as it was written.
#[derive(Clone, Copy, PartialEq, Debug)]
enum QueueText {
    /// The bytes of this time at the down rate.
    Time(Duration),
    Bytes(u64),
    Packets(u32),
}

const DEFAULT_QUEUE: QueueText = QueueText::Time(Duration::from_millis(100));
/// A full-sized IP packet: a queue that holds no such packet would never let one wait.
const MTU: u64 = 1500;

/// Networks with names, in the order in which they are shown. docs/networks.md says where their figures come from.
const PRESETS: [(&str, &str); 22] = [
    ("cable", "20/2mbit,20ms"),
    ("dsl", "10/1mbit,100ms"),
    ("dsl-lossy", "10/1mbit,100ms,loss=1%"),
    ("fibre", "300mbit,10ms"),
    ("wifi", "30/15mbit,28ms"),
    ("5g", "100/20mbit,36ms,queue=300ms"),
    ("4g", "10.5/2.8mbit,74ms,queue=500ms"),
    ("slow-4g", "1638400bit/750kbit,150ms,queue=500ms"),
    ("3g", "1.6mbit/768kbit,300ms,queue=1000ms"),
    ("satellite", "100/10mbit,50ms,loss=0.5%,queue=200ms"),
    ("plane", "1.89mbit,760ms,loss=6%,queue=200ms"),
    ("mobileSlow4G", "1638400bit/750kbit,150ms,queue=1000p"),
    ("mobileRegular3G", "700kbit,300ms,queue=1000p"),
    ("desktopDense4G", "10240kbit,40ms,queue=1000p"),
    ("wpt-cable", "5/1mbit,28ms,queue=1000p"),
    ("wpt-dsl", "1.5mbit/384kbit,50ms,queue=1000p"),
    ("wpt-fios", "20/5mbit,4ms,queue=1000p"),
    ("wpt-lte", "12mbit,70ms,queue=1000p"),
    ("wpt-4g", "9mbit,170ms,queue=1000p"),
    ("wpt-3gfast", "1.6mbit/768kbit,150ms,queue=1000p"),
    ("wpt-3g", "1.6mbit/768kbit,300ms,queue=1000p"),
    ("wpt-3gslow", "780/330kbit,200ms,queue=1000p"),
];

/// A text that is no network, or a network whose trace is missing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("network '{network}': {problem}")]
pub struct NetworkError {
    network: String,
    problem: NetworkProblem,
}

/// What is wrong with a network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum NetworkProblem {
    #[error("write rate and round trip, for instance 10/1mbit,100ms, or one of {}", preset_names())]
    Incomplete,
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error("'{0}' is unknown: after rate and round trip come loss=1%, queue=100ms, aqm=codel, jitter=5ms, trace=FILE")]
    UnknownPart(String),
    #[error("'{0}' is no Gilbert-Elliott model: write gemodel=P%/R%, or with the losses of both states, /100%/0%")]
    GilbertElliott(String),
    #[error("with a loss of {0} nothing ever arrives: give less than 100%")]
    NothingArrives(String),
    #[error("'{0}' is no queue: write for instance 1000p, 64KB or 100ms")]
    Queue(String),
    #[error("a queue of {0} holds no packet of {MTU} bytes: give more")]
    QueueTooSmall(String),
    #[error(transparent)]
    Aqm(#[from] UnknownAqm),
    #[error("trace= names no file: write for instance trace=cell.down")]
    UnnamedTrace,
    #[error("the trace '{0}' is not among the scenario's traces: put its text there")]
    MissingTrace(String),
}

/// How a network is written.
const NOTATION: &str = "DOWN[/UP],RTTms[,loss=DOWN%[/UP%]|,gemodel=P%/R%[/BAD%[/GOOD%]]][,queue=100ms|64KB|1000p]\
                        [,aqm=codel|fq_codel][,jitter=5ms][,trace=FILE][,trace-up=FILE]";

fn preset_names() -> String {
    PRESETS.map(|(name, _)| name).join(", ")
}

impl Network {
    /// The names of the presets with what they stand for.
    pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
        PRESETS.into_iter()
    }

    /// The names of the traces that it follows.
    pub fn traces(&self) -> impl Iterator<Item = &str> {
        self.trace_down.iter().chain(&self.trace_up).map(|trace| trace.name.as_str())
    }

    /// The same network with its traces, by name.
    ///
    /// # Errors
    /// If one is missing.
    pub fn with_traces(mut self, traces: &BTreeMap<String, Arc<Trace>>) -> Result<Network, NetworkError> {
        let network = self.to_string();
        for link_trace in self.trace_down.iter_mut().chain(&mut self.trace_up) {
            let Some(trace) = traces.get(&link_trace.name) else {
                let problem = NetworkProblem::MissingTrace(link_trace.name.clone());
                return Err(NetworkError { network, problem });
            };
            link_trace.trace = Some(trace.clone());
        }
        Ok(self)
    }

    /// From the servers to the client.
    ///
    /// # Panics
    /// If it follows a trace that it has not been given.
    pub fn down(&self) -> Direction {
        self.direction(self.rate(self.down), self.loss_down, self.trace_down.as_ref())
    }

    /// From the client to the servers.
    ///
    /// # Panics
    /// If it follows a trace that it has not been given.
    pub fn up(&self) -> Direction {
        self.direction(self.rate(self.up), self.loss_up, self.trace_up.as_ref())
    }

    /// The propagation delay in each direction: half of the round trip.
    pub fn propagation(&self) -> Duration {
        self.rtt / 2
    }

    /// The same with another round trip.
    #[must_use]
    pub fn with_rtt(self, rtt: Duration) -> Network {
        Network { rtt, ..self }
    }

    /// The same with rates and round trip multiplied by factors, and its traces begun at this share of their length.
    #[must_use]
    pub(crate) fn varied(mut self, [down, up]: [f64; 2], rtt: f64, start: f64) -> Network {
        self.down = self.down.map(|rate| rate.scaled(down));
        self.up = self.up.map(|rate| rate.scaled(up));
        self.rtt = self.rtt.mul_f64(rtt);
        for link_trace in self.trace_down.iter_mut().chain(&mut self.trace_up) {
            let length = link_trace.trace.as_ref().map_or(Duration::ZERO, |trace| trace.length());
            link_trace.start = length.mul_f64(start);
        }
        self
    }

    /// Whether it draws random numbers.
    pub fn is_random(&self) -> bool {
        !self.loss_down.is_none() || !self.loss_up.is_none() || !self.jitter.is_zero()
    }

    fn rate(&self, stated: Option<Rate>) -> Rate {
        let mean = || self.trace_down.as_ref().and_then(|link_trace| Some(link_trace.trace.as_ref()?.mean_rate()));
        stated.or_else(mean).expect("the traces were given")
    }

    fn direction(&self, rate: Rate, loss: Loss, link_trace: Option<&LinkTrace>) -> Direction {
        let queue = match self.queue {
            QueueText::Packets(count) => QueueLimit::Packets(count),
            QueueText::Bytes(bytes) => QueueLimit::Bytes(bytes),
            QueueText::Time(span) => QueueLimit::Bytes(self.rate(self.down).bytes_in(span).max(MTU)),
        };
        let known = |link_trace: &LinkTrace| link_trace.trace.clone().expect("the traces were given");
        let trace_start = link_trace.map_or(Duration::ZERO, |link_trace| link_trace.start);
        let (propagation, jitter) = (self.propagation(), self.jitter);
        let (trace, aqm) = (link_trace.map(known), self.aqm);
        Direction { rate, trace, trace_start, propagation, queue, aqm, loss, jitter }
    }
}

impl JsonSchema for Network {
    fn schema_name() -> Cow<'static, str> {
        "Network".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": format!("{NOTATION}, or one of {}.", preset_names()),
            "examples": PRESETS.map(|(name, _)| name),
        })
    }
}

impl Default for Network {
    /// `10/1mbit,100ms`.
    fn default() -> Network {
        "dsl".parse().expect("a preset is a network")
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let preset = PRESETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        let written = preset.map_or(text, |(_, written)| written);
        parse_network(written).map_err(|problem| NetworkError { network: text.to_owned(), problem })
    }
}

fn parse_network(text: &str) -> Result<Network, NetworkProblem> {
    let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() < 2 {
        return Err(NetworkProblem::Incomplete);
    }
    // A trace in front stands for the rates; the round trip is then the first part that says nothing else.
    let is_traced = parts[0].starts_with("trace=");
    let rates = if is_traced { None } else { Some(parse::rate_pair(parts.remove(0))?) };
    let place = parts.iter().position(|part| !is_traced || !part.contains('='));
    let rtt = parse::duration(parts.remove(place.ok_or(NetworkProblem::Incomplete)?))?;
    let (down, up) = rates.unzip();
    let (loss_down, loss_up, queue) = (Loss::NONE, Loss::NONE, DEFAULT_QUEUE);
    let (jitter, aqm, trace_down, trace_up) = (Duration::ZERO, None, None, None);
    let mut network = Network { down, up, rtt, loss_down, loss_up, jitter, queue, aqm, trace_down, trace_up };
    for part in parts {
        match part.split_once('=') {
            Some(("loss", loss)) => (network.loss_down, network.loss_up) = parse_loss(loss)?,
            None if part.ends_with('%') => (network.loss_down, network.loss_up) = parse_loss(part)?,
            Some(("gemodel", model)) => (network.loss_down, network.loss_up) = parse_gemodel(model)?,
            Some(("jitter", jitter)) => network.jitter = parse::duration(jitter)?,
            Some(("queue", queue)) => network.queue = parse_queue(queue)?,
            Some(("aqm", aqm)) => network.aqm = Some(aqm.parse()?),
            Some(("trace", name)) => network.trace_down = Some(parse_trace(name)?),
            Some(("trace-up", name)) => network.trace_up = Some(parse_trace(name)?),
            _ => return Err(NetworkProblem::UnknownPart(part.to_owned())),
        }
    }
    Ok(network)
}

fn parse_gemodel(text: &str) -> Result<(Loss, Loss), NetworkProblem> {
    let figures = text.split('/').map(parse::percentage).collect::<Result<Vec<_>, _>>()?;
    let (p, r, bad, good) = match figures[..] {
        [p, r] => (p, r, Probability::CERTAIN, Probability::ZERO),
        [p, r, bad] => (p, r, bad, Probability::ZERO),
        [p, r, bad, good] => (p, r, bad, good),
        _ => return Err(NetworkProblem::GilbertElliott(text.to_owned())),
    };
    match Loss::GilbertElliott(GilbertElliott { p, r, bad, good }) {
        loss if loss.mean() < 1.0 => Ok((loss, loss)),
        _ => Err(NetworkProblem::NothingArrives(text.to_owned())),
    }
}

fn parse_loss(text: &str) -> Result<(Loss, Loss), NetworkProblem> {
    let one = |text: &str| match parse::percentage(text)? {
        loss if loss.value() < 1.0 => Ok(Loss::Independent(loss)),
        _ => Err(NetworkProblem::NothingArrives(text.to_owned())),
    };
    match text.split_once('/') {
        Some((down, up)) => Ok((one(down)?, one(up)?)),
        None => one(text).map(|loss| (loss, loss)),
    }
}

fn parse_trace(name: &str) -> Result<LinkTrace, NetworkProblem> {
    if name.is_empty() {
        return Err(NetworkProblem::UnnamedTrace);
    }
    Ok(LinkTrace { name: name.to_owned(), trace: None, start: Duration::ZERO })
}

fn parse_queue(text: &str) -> Result<QueueText, NetworkProblem> {
    let no_queue = || NetworkProblem::Queue(text.to_owned());
    let (is_too_small, queue) = if let Some(count) = text.strip_suffix('p') {
        let count = count.parse().map_err(|_| no_queue())?;
        (count == 0, QueueText::Packets(count))
    } else if let Ok(span) = parse::duration(text) {
        // A whole packet may always wait: see Network::direction.
        (span.is_zero(), QueueText::Time(span))
    } else {
        let bytes = parse::bytes(text).map_err(|_| no_queue())?;
        (bytes < MTU, QueueText::Bytes(bytes))
    };
    if is_too_small { Err(NetworkProblem::QueueTooSmall(text.to_owned())) } else { Ok(queue) }
}

/// In ms, without the rounding of seconds.
fn ms(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

fn write_rates(f: &mut fmt::Formatter<'_>, down: Rate, up: Rate) -> fmt::Result {
    let (is_one, down, up) = (up == down, down.to_string(), up.to_string());
    let unit = |rate: &str| rate.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rate.len());
    if is_one {
        write!(f, "{down}")
    } else if down[unit(&down)..] == up[unit(&up)..] {
        write!(f, "{}/{up}", &down[..unit(&down)])
    } else {
        write!(f, "{down}/{up}")
    }
}

impl fmt::Display for Network {
    /// In the notation that is read; the default queue is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut traces = [("trace", &self.trace_down), ("trace-up", &self.trace_up)].into_iter();
        if let Some((down, up)) = self.down.zip(self.up) {
            write_rates(f, down, up)?;
        } else if let Some((key, Some(link_trace))) = traces.next() {
            write!(f, "{key}={}", link_trace.name)?;
        }
        write!(f, ",{}ms", ms(self.rtt))?;
        let percent = |share: Probability| share.value() * 100.0;
        match (self.loss_down, self.loss_up) {
            (Loss::GilbertElliott(GilbertElliott { p, r, bad, good }), _) => {
                let [p, r, bad, good] = [p, r, bad, good].map(percent);
                write!(f, ",gemodel={p}%/{r}%/{bad}%/{good}%")?;
            }
            (down, up) if down.is_none() && up.is_none() => {}
            (down, up) if down == up => write!(f, ",loss={}%", down.mean() * 100.0)?,
            (down, up) => write!(f, ",loss={}%/{}%", down.mean() * 100.0, up.mean() * 100.0)?,
        }
        if !self.jitter.is_zero() {
            write!(f, ",jitter={}ms", ms(self.jitter))?;
        }
        match self.queue {
            queue if queue == DEFAULT_QUEUE => {}
            QueueText::Time(span) => write!(f, ",queue={}ms", ms(span))?,
            QueueText::Bytes(bytes) => write!(f, ",queue={bytes}B")?,
            QueueText::Packets(count) => write!(f, ",queue={count}p")?,
        }
        if let Some(aqm) = self.aqm {
            write!(f, ",aqm={aqm}")?;
        }
        for (key, link_trace) in traces {
            if let Some(link_trace) = link_trace {
                write!(f, ",{key}={}", link_trace.name)?;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Network, NetworkError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn the_notation_says_what_the_design_says() {
        let network = parsed("1.6mbit/768kbit,300ms,loss=1%/0.5%,queue=1000p");
        assert_eq!(network.down().rate.bits_per_second(), 1_600_000);
        assert_eq!(network.up().rate.bits_per_second(), 768_000);
        assert_eq!(network.up().propagation, Duration::from_millis(150));
        assert_eq!((network.down().loss.mean(), network.up().loss.mean()), (0.01, 0.005));
        assert_eq!(network.up().queue, QueueLimit::Packets(1000));
        assert_eq!(parsed("10/1mbit,100ms,1%"), parsed("10mbit/1mbit,100ms,loss=1%/1%"));
        assert_eq!(parsed("dsl"), parsed("10/1mbit,100ms,queue=100ms"));
        assert_eq!(parsed("10mbit,20ms,gemodel=1%/25%").down().loss.mean(), 1.0 / 26.0);
    }

    #[test]
    fn networks_are_understood_as_people_write_them() {
        let network = parsed("10/1mbit,100ms");
        for text in ["10/1Mbps,100ms", "10Mbit/s/1Mbit/s,100 MS", "10mbps/1000Kbps, 100ms", "DSL", " dsl "] {
            assert_eq!(parsed(text), network, "{text}");
        }
        assert!("10MBps,100ms".parse::<Network>().is_err(), "these are bytes");
        assert_eq!(parsed("MobileSlow4g"), parsed("mobileSlow4G"));
    }

    #[test]
    fn every_preset_is_a_network() {
        for (name, written) in Network::presets() {
            assert_eq!(parsed(name), parsed(written));
        }
    }

    #[test]
    fn a_network_is_shown_as_people_write_it() {
        for text in [
            "10/1mbit,100ms",
            "1.6mbit/768kbit,300ms",
            "10mbit,31.1ms,loss=1%,queue=64000B",
            "9mbit,20ms,trace=a/b.down,trace-up=c",
            "trace=a/b.down,20ms,loss=1%,trace-up=c",
            "10mbit,20ms,gemodel=0.5%/40%/100%/0%,jitter=5ms,queue=500ms",
            "10mbit,20ms,aqm=codel",
            "20/2mbit,20ms,queue=1000p,aqm=fq_codel,trace=cell.down",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
        assert_eq!(parsed("dsl-lossy").to_string(), "10/1mbit,100ms,loss=1%");
    }

    #[test]
    fn a_trace_in_front_stands_for_the_rates_by_its_mean() {
        // 3 opportunities of 1500 bytes in 4 ms: 9 Mbit/s.
        let traces = BTreeMap::from([("t".to_owned(), Arc::new("1\n2\n4\n".parse::<Trace>().unwrap()))]);
        let network = parsed("trace=t,20ms,queue=100ms").with_traces(&traces).unwrap();
        let (down, up) = (network.down(), network.up());
        assert_eq!([down.rate, up.rate].map(Rate::bits_per_second), [9_000_000; 2]);
        assert_eq!((down.trace.is_some(), up.trace.is_some()), (true, false));
        assert_eq!(down.queue, QueueLimit::Bytes(112_500));
        assert_eq!(parsed("trace=t,trace-up=t,20ms"), parsed("trace=t,20ms,trace-up=t"));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (text, expected) in [
            ("", "write rate and round trip"),
            ("10mbit", "write rate and round trip"),
            ("-10mbit,100ms", "'-10mbit' is no rate"),
            ("0mbit,100ms", "above zero"),
            ("10mbit,100", "'100' is no time"),
            ("10mbit,-5ms", "is no time"),
            ("10mbit,100ms,100%", "nothing ever arrives"),
            ("10mbit,100ms,loss=120%", "is no percentage"),
            ("10mbit,100ms,gemodel=1%", "no Gilbert-Elliott model"),
            ("10mbit,100ms,gemodel=1%/0%", "nothing ever arrives"),
            ("10mbit,100ms,jitter=5", "'5' is no time"),
            ("10mbit,100ms,queue=0p", "holds no packet"),
            ("10mbit,100ms,queue=10B", "holds no packet"),
            ("10mbit,100ms,queue=x", "is no queue"),
            ("10mbit,100ms,aqm=red", "'red' is no queue management: write aqm=codel or aqm=fq_codel"),
            ("10mbit,100ms,aqm=", "is no queue management"),
            ("10mbit,100ms,colour=red", "'colour=red' is unknown"),
            ("10mbit,100ms,trace=", "names no file"),
            ("trace=,100ms", "names no file"),
            ("trace=t", "write rate and round trip"),
            ("trace=t,loss=1%", "write rate and round trip"),
            ("trace-up=t,100ms", "'trace-up=t' is no rate"),
            ("trace=t,100ms,10mbit", "'10mbit' is unknown"),
        ] {
            let message = text.parse::<Network>().unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains('\n'), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            (down, up) in (1_u64..2_000_000_000, 1_u64..2_000_000_000),
            rtt in 0_u64..2_000_000,
            loss in 0_u32..1000,
            queue in prop_oneof!["[1-9][0-9]{0,3}p", "[1-9][0-9]{0,2}ms", "[2-9][0-9]{0,3}KB"],
            aqm in prop_oneof!["", ",aqm=codel", ",aqm=fq_codel"],
        ) {
            let loss = f64::from(loss) / 10.0 * 0.99;
            let text = format!("{down}bit/{up}bit,{rtt}us,loss={loss}%,queue={queue}{aqm}");
            let network = parsed(&text);
            prop_assert_eq!(parsed(&network.to_string()), network);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-z,/=%. -]{0,40}") {
            let _ = text.parse::<Network>();
        }
    }
}
