//! Tables as columns, filled by some rows at a time.

use core::net::Ipv6Addr;
use std::fmt::Write;

/// A value of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// It is not known, or was not.
    Missing,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
    /// An address.
    Address(Ipv6Addr),
}

/// The kind of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellKind {
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text: a word or an address.
    Text,
}

/// A column of a table of `R`.
#[derive(Debug)]
pub struct TableColumn<R: ?Sized> {
    /// Its name, which ends in its unit where it is a time.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: CellKind,
    /// What it is.
    pub help: &'static str,
    /// Its value.
    pub value: fn(&R) -> Cell<'_>,
}

/// A column: its name, kind and help, and its value as a function of the row.
macro_rules! column {
    ($name:expr, $kind:ident, $help:expr, $value:expr) => {
        $crate::cells::TableColumn {
            name: $name,
            kind: $crate::cells::CellKind::$kind,
            help: $help,
            value: |row| $crate::cells::cell_of(row, $value),
        }
    };
}
pub(crate) use column;

/// A value of a row.
pub(crate) fn cell_of<'r, R: ?Sized, V: Into<Cell<'r>>>(row: &'r R, value: impl Fn(&'r R) -> V) -> Cell<'r> {
    value(row).into()
}

/// A time in ns as one in ms.
pub(crate) fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The values of one column.
#[derive(Clone, PartialEq, Debug)]
pub struct FilledColumn {
    /// Whether each is known.
    pub known: Vec<bool>,
    /// They themselves; something where they are not known.
    pub values: CellValues,
}

/// Values of one kind.
#[derive(Clone, PartialEq, Debug)]
pub enum CellValues {
    /// True or false.
    Booleans(Vec<bool>),
    /// Whole numbers.
    Integers(Vec<u64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Texts, one after the other.
    Texts {
        /// All of them.
        text: String,
        /// Where each ends.
        ends: Vec<i64>,
    },
}

/// A table that is being filled.
#[derive(Debug)]
pub struct FilledTable<R: 'static> {
    columns: &'static [TableColumn<R>],
    filled: Vec<FilledColumn>,
    /// Rows in the columns.
    rows: usize,
    /// Rows that are not in them yet.
    waiting: Vec<R>,
}

/// Rows that are put into columns at once. A single one would touch the ends of all columns, and push out of the processor's
/// caches what the next packets need.
const AT_ONCE: usize = 32;

impl<R> FilledTable<R> {
    /// An empty one.
    pub fn new(columns: &'static [TableColumn<R>]) -> FilledTable<R> {
        let filled = columns.iter().map(|column| FilledColumn::new(column.kind)).collect();
        FilledTable { columns, filled, rows: 0, waiting: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: R) {
        self.waiting.push(row);
        if self.waiting.len() == AT_ONCE {
            self.fill();
        }
    }

    fn fill(&mut self) {
        for (column, filled) in self.columns.iter().zip(&mut self.filled) {
            for row in &self.waiting {
                filled.push((column.value)(row));
            }
        }
        self.rows += self.waiting.len();
        self.waiting.clear();
    }

    /// Rows that are in it.
    pub fn rows(&self) -> usize {
        self.rows + self.waiting.len()
    }

    /// Takes out all rows: names and values of the columns.
    pub fn take(&mut self) -> Vec<(&'static str, FilledColumn)> {
        self.fill();
        self.rows = 0;
        let columns = self.columns.iter().zip(&mut self.filled);
        columns.map(|(column, filled)| (column.name, filled.take(column.kind))).collect()
    }
}

impl FilledColumn {
    fn new(kind: CellKind) -> FilledColumn {
        let values = match kind {
            CellKind::Boolean => CellValues::Booleans(Vec::new()),
            CellKind::Integer => CellValues::Integers(Vec::new()),
            CellKind::Number => CellValues::Numbers(Vec::new()),
            CellKind::Text => CellValues::Texts { text: String::new(), ends: Vec::new() },
        };
        FilledColumn { known: Vec::new(), values }
    }

    fn take(&mut self, kind: CellKind) -> FilledColumn {
        std::mem::replace(self, FilledColumn::new(kind))
    }

    fn push(&mut self, cell: Cell<'_>) {
        self.known.push(!matches!(cell, Cell::Missing));
        match (&mut self.values, cell) {
            (CellValues::Booleans(values), cell) => values.push(cell == Cell::Boolean(true)),
            (CellValues::Integers(values), Cell::Integer(value)) => values.push(value),
            (CellValues::Integers(values), _) => values.push(0),
            (CellValues::Numbers(values), Cell::Number(value)) => values.push(value),
            (CellValues::Numbers(values), _) => values.push(0.0),
            (CellValues::Texts { text, ends }, cell) => {
                match cell {
                    Cell::Text(value) => text.push_str(value),
                    Cell::Address(address) => match address.to_ipv4_mapped() {
                        Some(v4) => write!(text, "{v4}").expect("a text takes what is written"),
                        None => write!(text, "{address}").expect("a text takes what is written"),
                    },
                    _ => {}
                }
                ends.push(text.len() as i64);
            }
        }
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Cell<'a> {
        value.map_or(Cell::Missing, Into::into)
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Cell::Boolean(value)
    }
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Integer(value)
    }
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Cell::Integer(value.into())
    }
}

impl From<u16> for Cell<'_> {
    fn from(value: u16) -> Self {
        Cell::Integer(value.into())
    }
}

impl From<u8> for Cell<'_> {
    fn from(value: u8) -> Self {
        Cell::Integer(value.into())
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Cell<'a> {
        Cell::Text(value)
    }
}

impl From<Ipv6Addr> for Cell<'_> {
    fn from(value: Ipv6Addr) -> Self {
        Cell::Address(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_their_order_however_many_wait() {
        static COLUMNS: [TableColumn<u64>; 2] = [
            column!("value", Integer, "It.", |row| *row),
            column!("odd", Boolean, "Whether it is odd.", |row| (*row % 3 > 0).then_some(*row % 2 == 1)),
        ];
        let mut table = FilledTable::new(&COLUMNS);
        for count in [0, 1, AT_ONCE, 2 * AT_ONCE + 5] {
            (0..count as u64).for_each(|row| table.push(row));
            assert_eq!(table.rows(), count);
            let [(_, values), (_, odd)] = table.take().try_into().expect("two columns");
            assert_eq!(values.values, CellValues::Integers((0..count as u64).collect()));
            assert_eq!(odd.known, (0..count).map(|row| row % 3 > 0).collect::<Vec<_>>());
            assert_eq!(odd.values, CellValues::Booleans((0..count).map(|row| row % 3 > 0 && row % 2 == 1).collect()));
            assert_eq!(table.rows(), 0);
        }
    }
}
