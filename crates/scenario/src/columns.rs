//! An outcome as tables: each column once, with its unit.

use crate::{Outcome, Row};
use loadstone_load::FoundBy;
use loadstone_load::page::{Activity, Moment, Needed, Page};
use loadstone_units::Time;
use serde::Serialize;

/// A column of a table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Column {
    /// Its name, which ends in its unit where it is a time: `plt_ms`.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ColumnKind,
    /// Their unit; empty where they have none.
    pub unit: &'static str,
    /// Whether a value may be missing, because something did not happen.
    pub nullable: bool,
    /// What it is.
    pub help: &'static str,
    /// Its values, row by row.
    #[serde(skip)]
    pub values: for<'a> fn(&'a Page, &'a Outcome) -> Vec<Value<'a>>,
}

/// The kind of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    String,
}

/// A value of a column.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// It did not happen.
    Missing,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A text.
    String(&'a str),
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Value::Integer(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Integer(value.into())
    }
}

/// In ms.
impl From<Time> for Value<'_> {
    fn from(time: Time) -> Self {
        Value::Number(time.as_ms())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::String(text)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Missing, Into::into)
    }
}

const fn column(
    (name, kind, unit): (&'static str, ColumnKind, &'static str),
    help: &'static str,
    values: for<'a> fn(&'a Page, &'a Outcome) -> Vec<Value<'a>>,
) -> Column {
    Column { name, kind, unit, nullable: false, help, values }
}

/// The same, where values may be missing.
const fn nullable(column: Column) -> Column {
    Column { nullable: true, ..column }
}

macro_rules! of_run {
    ($name:literal, $kind:ident, $unit:literal, $help:literal, $value:expr) => {
        column(($name, ColumnKind::$kind, $unit), $help, |_, outcome| {
            let value: fn(&Outcome) -> Value<'_> = $value;
            vec![value(outcome)]
        })
    };
}

macro_rules! of_moment {
    ($name:literal, $moment:ident, $help:literal) => {
        nullable(column(
            ($name, ColumnKind::Number, "ms"),
            concat!($help, " missing if that is not known."),
            |_, outcome| vec![outcome.moment(Moment::$moment).into()],
        ))
    };
}

macro_rules! of_row {
    ($name:literal, $help:literal, $mark:ident) => {
        nullable(column(($name, ColumnKind::Number, "ms"), $help, |_, outcome| {
            outcome.waterfall.iter().map(|row: &Row| row.$mark.into()).collect()
        }))
    };
}

/// Bytes of the bodies of those objects that were pushed.
fn pushed(page: &Page, outcome: &Outcome, of: fn(&Activity) -> bool) -> u64 {
    let objects = page.fetches().zip(&outcome.waterfall);
    let pushed = objects.filter(|((object, _), row)| row.found_by == FoundBy::Push && of(object));
    pushed.map(|((_, fetch), _)| fetch.body.len).sum()
}

/// A run.
pub const RUN: &[Column] = &[
    of_run!("seed", Integer, "", "The run's seed.", |run| run.seed.into()),
    of_run!(
        "plt_ms",
        Number,
        "ms",
        "Page load time; where the load was not completed, until the browser gave up.",
        |run| { run.plt.into() }
    ),
    nullable(of_run!(
        "first_request_ms",
        Number,
        "ms",
        "When the first request left, that is after the handshakes before it; missing if none did.",
        |run| run.first_request.into()
    )),
    nullable(of_run!(
        "first_byte_ms",
        Number,
        "ms",
        "When the document that is shown began to arrive; missing if it did not.",
        |run| run.first_byte().into()
    )),
    of_moment!("dom_content_loaded_ms", ContentLoaded, "When the document was parsed and its scripts had run;"),
    of_moment!("first_contentful_paint_ms", FirstPaint, "When the first text or image was painted;"),
    of_moment!("largest_contentful_paint_ms", LargestPaint, "When the largest one was;"),
    nullable(column(
        ("speed_index_ms", ColumnKind::Number, "ms"),
        "When the mean pixel of the first view was there; missing if that is not known.",
        |page, outcome| vec![outcome.speed_index(page).into()],
    )),
    of_run!("bytes_down", Integer, "bytes", "Bytes of the packets towards the client.", |run| run.bytes_down.into()),
    of_run!("bytes_up", Integer, "bytes", "Bytes of the packets towards the servers.", |run| run.bytes_up.into()),
    column(
        ("bytes_pushed", ColumnKind::Integer, "bytes"),
        "Bytes of the bodies that were pushed, with what came of those that were refused.",
        |page, outcome| vec![(outcome.discarded + pushed(page, outcome, |_| true)).into()],
    ),
    column(
        ("bytes_prefetched", ColumnKind::Integer, "bytes"),
        "Bytes of the bodies that pages before had brought ahead, by prefetches or pushes.",
        |page, _| vec![page.ahead.bytes.into()],
    ),
    column(
        ("bytes_wasted", ColumnKind::Integer, "bytes"),
        "Those of both that no load needed, or that the browser refused.",
        |page, outcome| {
            let refused = outcome.discarded + pushed(page, outcome, |object| object.needed == Needed::Never);
            vec![(refused + page.ahead.wasted).into()]
        },
    ),
    of_run!("packets_down", Integer, "packets", "IP packets offered to the link towards the client.", |run| {
        run.packets_down.into()
    }),
    of_run!("packets_up", Integer, "packets", "IP packets offered to the link towards the servers.", |run| {
        run.packets_up.into()
    }),
    of_run!("retransmissions", Integer, "segments", "Data segments sent again, by either side.", |run| {
        run.retransmissions.into()
    }),
    nullable(of_run!(
        "fast_retransmissions",
        Integer,
        "segments",
        "Those sent again because acknowledgements showed a loss; missing over the kernel.",
        |run| run.loss_recovery.map(|by| by.fast_retransmissions).into()
    )),
    nullable(of_run!(
        "tail_loss_probes",
        Integer,
        "segments",
        "Tail loss probes sent by either side, of old data or new; missing over the kernel.",
        |run| run.loss_recovery.map(|by| by.tail_loss_probes).into()
    )),
    nullable(of_run!(
        "timeouts",
        Integer,
        "",
        "Retransmission timeouts (RTO) of data, not of SYNs; missing over the kernel.",
        |run| run.loss_recovery.map(|by| by.timeouts).into()
    )),
    of_run!("connections", Integer, "connections", "Connections that the browser opened.", |run| {
        run.connections.into()
    }),
    of_run!("completed", Boolean, "", "Whether everything that the page needs has arrived.", |run| run
        .completed
        .into()),
];

/// The objects of a run's page, in page order.
pub const WATERFALL: &[Column] = &[
    column(("name", ColumnKind::String, ""), "The object.", |page, _| {
        page.fetches().map(|(object, _)| object.name.as_str().into()).collect()
    }),
    column(("kind", ColumnKind::String, ""), "What sort of thing it is: html, css, js, image, ...", |page, _| {
        page.fetches().map(|(_, fetch)| fetch.kind.as_str().into()).collect()
    }),
    column(("bytes", ColumnKind::Integer, "bytes"), "Bytes of the response's body.", |page, _| {
        page.fetches().map(|(_, fetch)| fetch.body.len.into()).collect()
    }),
    nullable(column(("connection", ColumnKind::Integer, ""), "The connection it came by.", |_, outcome| {
        outcome.waterfall.iter().map(|row| row.connection.into()).collect()
    })),
    of_row!("found_ms", "When the browser knew of it.", found),
    column(
        ("found_by", ColumnKind::String, ""),
        "How the browser came to know of it: page, hint or push.",
        |_, outcome| outcome.waterfall.iter().map(|row| row.found_by.name().into()).collect(),
    ),
    of_row!("retried_ms", "When the browser asked for it again, if it did.", retried),
    of_row!("sent_ms", "When its request was sent.", sent),
    of_row!("arrived_ms", "When its request was at the server.", arrived),
    of_row!("answered_ms", "When the server had its answer.", answered),
    of_row!("first_byte_ms", "When the first byte of the answer arrived.", first_byte),
    of_row!("last_byte_ms", "When the last byte of the answer arrived.", last_byte),
];

/// The spans of a run's critical path, without gaps; none where the load was not completed.
pub const PATH: &[Column] = &[
    column(("name", ColumnKind::String, ""), "What was waited for.", |page, outcome| {
        outcome.path.iter().map(|span| page.activities[span.activity.0 as usize].name.as_str().into()).collect()
    }),
    column(("part", ColumnKind::String, ""), "The part of the account.", |_, outcome| {
        outcome.path.iter().map(|span| span.part.name().into()).collect()
    }),
    column(("from_ms", ColumnKind::Number, "ms"), "Its beginning.", |_, outcome| {
        outcome.path.iter().map(|span| span.from.into()).collect()
    }),
    column(("to_ms", ColumnKind::Number, "ms"), "Its end.", |_, outcome| {
        outcome.path.iter().map(|span| span.to.into()).collect()
    }),
];

/// The connections of a run, in the order of opening.
pub const CONNECTIONS: &[Column] = &[
    column(("host", ColumnKind::String, ""), "The server.", |page, outcome| {
        outcome.per_connection.iter().map(|conn| page.hosts[conn.host.0 as usize].name.as_str().into()).collect()
    }),
    column(("opened_ms", ColumnKind::Number, "ms"), "When its first SYN entered the link.", |_, outcome| {
        outcome.per_connection.iter().map(|conn| conn.opened.into()).collect()
    }),
    nullable(column(("established_ms", ColumnKind::Number, "ms"), "When the browser could use it.", |_, outcome| {
        outcome.per_connection.iter().map(|conn| conn.established.into()).collect()
    })),
    nullable(column(
        ("closed_ms", ColumnKind::Number, "ms"),
        "When the browser closed it; missing if it was open to the end.",
        |_, outcome| outcome.per_connection.iter().map(|conn| conn.closed.into()).collect(),
    )),
    column(("content_up", ColumnKind::Integer, "bytes"), "Bytes that the browser wrote.", |_, outcome| {
        outcome.per_connection.iter().map(|conn| conn.content_up.into()).collect()
    }),
    column(("content_down", ColumnKind::Integer, "bytes"), "Bytes that the server wrote.", |_, outcome| {
        outcome.per_connection.iter().map(|conn| conn.content_down.into()).collect()
    }),
    column(
        ("retransmissions", ColumnKind::Integer, "segments"),
        "Segments sent again, by either end.",
        |_, outcome| outcome.per_connection.iter().map(|conn| conn.retransmissions.into()).collect(),
    ),
];

/// All tables of an outcome, by name.
pub const TABLES: [(&str, &[Column]); 4] =
    [("run", RUN), ("waterfall", WATERFALL), ("path", PATH), ("connections", CONNECTIONS)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_say_their_unit_and_no_table_has_a_name_twice() {
        for (table, columns) in TABLES {
            for (at, column) in columns.iter().enumerate() {
                assert_eq!(column.name.ends_with("_ms"), column.unit == "ms", "{table}.{}", column.name);
                assert!(columns[..at].iter().all(|other| other.name != column.name), "{table}.{}", column.name);
            }
        }
    }
}
