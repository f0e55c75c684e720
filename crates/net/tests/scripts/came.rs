//! What came, in the words of scripts, and in what it is not what was expected.

use crate::script::{Form, MSS};
use loadstone_net::tcp::Segment;
use std::fmt;
use std::ops::Range;

/// A segment that came.
pub(crate) struct Came {
    /// How much later than the step before, in ms.
    pub(crate) at: f64,
    pub(crate) segment: Segment,
}

impl Came {
    /// In what it is not as it is expected.
    pub(crate) fn differences(&self, form: &Form) -> Vec<String> {
        let segment = &self.segment;
        let mut wrong = Vec::new();
        let mut compare = |what: &str, expected: String, came: String| {
            if expected != came {
                wrong.push(format!("{what}: expected {expected}, came {came}"));
            }
        };
        compare("flags", flags(form.syn, form.fin, form.ack.is_some()), self.flags());
        match &form.range {
            Some(range) => compare("data", span(range), span(&self.data())),
            None => compare("bytes of data", 0.to_string(), segment.len.to_string()),
        }
        if let Some(ack) = form.ack {
            compare("ack", number(ack), number(segment.ack));
        }
        if let Some(window) = form.window {
            compare("window", window.to_string(), segment.window.to_string());
        }
        let sacks: Vec<Range<u64>> = segment.sacks.iter(segment.ack).collect();
        compare("SACK blocks", spans(&form.sacks), spans(&sacks));
        let dsack_end = form.duplicate.as_ref().map_or(0, |block| block.end);
        compare("end of what came twice", number(dsack_end), number(segment.dsack_end));
        wrong
    }

    fn flags(&self) -> String {
        let has = self.segment.flags;
        flags(has.syn, has.fin, has.ack)
    }

    fn data(&self) -> Range<u64> {
        self.segment.seq..self.segment.seq + u64::from(self.segment.len)
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Segment { ack, len, window, flags, sacks, dsack_end, .. } = self.segment;
        write!(f, "{:+.2} > {}", self.at, self.flags())?;
        if len > 0 || flags.fin {
            write!(f, " {}", span(&self.data()))?;
        }
        if flags.ack {
            write!(f, " ack {}", number(ack))?;
        }
        write!(f, " win {window}")?;
        if dsack_end > 0 {
            write!(f, " dsack :{}", number(dsack_end))?;
        }
        sacks.iter(ack).try_for_each(|block| write!(f, " sack {}", span(&block)))
    }
}

fn flags(syn: bool, fin: bool, ack: bool) -> String {
    let letters = [(syn, 'S'), (fin, 'F'), (ack, '.')];
    letters.iter().filter(|(has, _)| *has).map(|(_, letter)| letter).collect()
}

fn spans(ranges: &[Range<u64>]) -> String {
    let spans: Vec<String> = ranges.iter().map(span).collect();
    if spans.is_empty() { "none".to_owned() } else { spans.join(" ") }
}

fn span(range: &Range<u64>) -> String {
    format!("{}:{}", number(range.start), number(range.end))
}

/// A number as scripts write it.
fn number(number: u64) -> String {
    match number.checked_sub(1) {
        Some(from) if from > 0 && from % MSS == 0 => format!("#{}", from / MSS),
        _ => number.to_string(),
    }
}
