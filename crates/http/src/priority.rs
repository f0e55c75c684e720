//! How urgent a response is to the client.

use std::fmt;
use std::str::FromStr;

/// How urgent a response is (RFC 9218, section 4). SPDY's priorities are the same numbers (draft 3,
/// section 2.3.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Priority {
    urgency: u8,
    /// Whether the client can use the response piece by piece, so that several of one urgency may
    /// share the connection.
    pub incremental: bool,
}

impl Priority {
    /// A response that is wanted whole. `urgency` is 0, the most urgent, to 7; more counts as 7.
    pub const fn at(urgency: u8) -> Priority {
        Priority { urgency: if urgency < 7 { urgency } else { 7 }, incremental: false }
    }

    /// A response that can be used piece by piece.
    pub const fn incremental_at(urgency: u8) -> Priority {
        Priority { incremental: true, ..Priority::at(urgency) }
    }

    /// The urgency, 0 to 7.
    pub const fn urgency(self) -> u8 {
        self.urgency
    }

    /// Reads the field `priority` (RFC 9218, section 5). What cannot be understood leaves the
    /// default, as section 4 demands.
    pub(crate) fn parse(field: &[u8]) -> Priority {
        let mut priority = Priority::default();
        for member in field.split(|byte| *byte == b',') {
            match member.trim_ascii() {
                [b'u', b'=', digit @ b'0'..=b'7'] => priority.urgency = digit - b'0',
                b"i" | b"i=?1" => priority.incremental = true,
                b"i=?0" => priority.incremental = false,
                _ => {}
            }
        }
        priority
    }
}

/// What was written is no priority.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is no priority: write 0 (most urgent) to 7, and i if incremental")]
pub struct UnknownPriority(String);

impl FromStr for Priority {
    type Err = UnknownPriority;

    /// Reads `U` or `Ui`: an urgency, and whether pieces are of use.
    fn from_str(written: &str) -> Result<Priority, UnknownPriority> {
        let (digit, incremental) = written.strip_suffix('i').map_or((written, false), |digit| (digit, true));
        match digit.as_bytes() {
            [digit @ b'0'..=b'7'] => Ok(Priority { urgency: digit - b'0', incremental }),
            _ => Err(UnknownPriority(written.to_owned())),
        }
    }
}

impl Default for Priority {
    /// Urgency 3, not incremental (RFC 9218, sections 4.1 and 4.2).
    fn default() -> Priority {
        Priority::at(3)
    }
}

impl fmt::Display for Priority {
    /// The value of the field `priority` (RFC 9218, section 5); what is the default is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.urgency == Priority::default().urgency, self.incremental) {
            (true, true) => f.write_str("i"),
            (true, false) => Ok(()),
            (false, true) => write!(f, "u={}, i", self.urgency),
            (false, false) => write!(f, "u={}", self.urgency),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_rfc9218_5() {
        for urgency in 0..8 {
            for incremental in [false, true] {
                let priority = Priority { incremental, ..Priority::at(urgency) };
                assert_eq!(Priority::parse(priority.to_string().as_bytes()), priority);
            }
        }
    }

    #[test]
    fn what_is_not_understood_leaves_the_default_rfc9218_4() {
        for field in ["", "u=8", "u=-1", "u", "x=1", "i=?2", "u=\"1\""] {
            assert_eq!(Priority::parse(field.as_bytes()), Priority::default(), "{field}");
        }
        assert_eq!(Priority::parse(b"x;q=1, u=1 , i"), Priority { incremental: true, ..Priority::at(1) });
    }
}
