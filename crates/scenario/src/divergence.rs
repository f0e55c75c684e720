//! Where two captures diverge: the first packet that they do not have alike.
//!
//! The packets of each direction of each connection are compared in their order: how those of
//! different connections lie between one another hangs on microseconds.

use crate::capture::{COLUMNS, LINK};
use csv::StringRecord;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The columns that must be the same.
const ALIKE: [&str; 6] = ["flags", "seq", "len", "ack", "sacks", "fate"];
/// The fate of a packet that had none yet when the load was over: it may be any.
const UNDERWAY: &str = "underway";

/// A table that [`Capture::csv`](crate::Capture::csv) has written.
#[derive(Debug)]
pub struct CaptureTable {
    header: StringRecord,
    rows: Vec<TableLine>,
}

#[derive(Debug)]
struct TableLine {
    fields: StringRecord,
    time_ms: f64,
    flow: CapturedFlow,
}

/// One direction of a connection, on a link.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct CapturedFlow {
    connection: u32,
    link: String,
    way: String,
}

/// Why a text is no table of packets.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CaptureTableError {
    /// Its first line is another's.
    #[error("no file of packets: make one with 'loadstone load PAGE --packets FILE'")]
    OtherColumns,
    /// A line has not as many fields, or no numbers where they belong.
    #[error("line {0} is no packet: write the file again")]
    NoPacket(u64),
}

/// What is not alike of two packets.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Difference {
    Missing,
    Column(&'static str),
    /// How much later the other one comes, in ms.
    Ms(f64),
}

/// The first packet of a flow that is not alike.
#[derive(Debug)]
struct Divergence {
    flow: CapturedFlow,
    /// Which packet of the flow, from 1.
    number: usize,
    /// Its place in either table.
    places: [Option<usize>; 2],
    difference: Difference,
}

/// Two captures, packet by packet.
#[derive(Debug)]
pub struct CaptureComparison<'a> {
    tables: [&'a CaptureTable; 2],
    tolerance_ms: f64,
    /// How many packets of its connection are given before and after the divergence.
    around: usize,
    divergence: Option<Divergence>,
}

impl CaptureTable {
    /// Reads a table.
    ///
    /// # Errors
    /// If it has other columns, or a line is no packet.
    pub fn read(text: &[u8]) -> Result<CaptureTable, CaptureTableError> {
        let mut reader = csv::Reader::from_reader(text);
        let header = StringRecord::from_byte_record_lossy(
            reader.byte_headers().map_err(|_| CaptureTableError::OtherColumns)?.clone(),
        );
        if !header.iter().filter(|name| *name != LINK).eq(COLUMNS) {
            return Err(CaptureTableError::OtherColumns);
        }
        let mut rows = Vec::new();
        for record in reader.into_byte_records() {
            // The header is line 1.
            let line = rows.len() as u64 + 2;
            let fields = record.map_err(|_| CaptureTableError::NoPacket(line))?;
            let row = TableLine::new(&header, StringRecord::from_byte_record_lossy(fields));
            rows.push(row.ok_or(CaptureTableError::NoPacket(line))?);
        }
        Ok(CaptureTable { header, rows })
    }

    /// The places of each flow's packets.
    fn flows(&self) -> BTreeMap<&CapturedFlow, Vec<usize>> {
        let mut flows: BTreeMap<&CapturedFlow, Vec<usize>> = BTreeMap::new();
        for (at, row) in self.rows.iter().enumerate() {
            flows.entry(&row.flow).or_default().push(at);
        }
        flows
    }

    fn packet(&self, at: usize) -> LineFields<'_> {
        LineFields { header: &self.header, fields: &self.rows[at].fields }
    }

    /// The packets of a connection about the place `at`, or its last ones, and where among them `at` is.
    fn excerpt(&self, connection: u32, at: Option<usize>, around: usize) -> Excerpt<'_> {
        let own: Vec<usize> =
            (0..self.rows.len()).filter(|place| self.rows[*place].flow.connection == connection).collect();
        let middle = at.map_or(own.len(), |at| own.partition_point(|place| *place < at));
        let first = middle.saturating_sub(around);
        let shown: Range<usize> = first..own.len().min(middle.saturating_add(around).saturating_add(1));
        let packets = own[shown].iter().map(|place| self.packet(*place)).collect();
        Excerpt { packets, at: at.map(|_| middle - first) }
    }
}

impl TableLine {
    fn new(header: &StringRecord, fields: StringRecord) -> Option<TableLine> {
        let of = |name: &str| field(header, &fields, name);
        let time_ms = of("time_ms").parse().ok().filter(|ms: &f64| ms.is_finite())?;
        let flow = CapturedFlow {
            connection: of("connection").parse().ok()?,
            link: of(LINK).to_owned(),
            way: of("way").to_owned(),
        };
        Some(TableLine { time_ms, flow, fields })
    }
}

fn field<'a>(header: &StringRecord, fields: &'a StringRecord, name: &str) -> &'a str {
    header.iter().position(|column| column == name).and_then(|at| fields.get(at)).unwrap_or_default()
}

impl<'a> CaptureComparison<'a> {
    /// Finds the first packet, by its time, that two captures do not have alike. Times may differ by `tolerance_ms`.
    pub fn new(one: &'a CaptureTable, other: &'a CaptureTable, tolerance_ms: f64, around: usize) -> Self {
        let mut found = CaptureComparison { tables: [one, other], tolerance_ms, around, divergence: None };
        let [here, there] = [one.flows(), other.flows()];
        let mut flows: Vec<&CapturedFlow> = here.keys().chain(there.keys()).copied().collect();
        flows.sort_unstable();
        flows.dedup();
        let places = |flow| [&here, &there].map(|flows| flows.get(flow).map_or(&[][..], Vec::as_slice));
        let divergences = flows.iter().filter_map(|flow| found.divergence_of(flow, places(flow)));
        found.divergence = divergences.min_by(|a, b| found.time_ms(a).total_cmp(&found.time_ms(b)));
        found
    }

    fn divergence_of(&self, flow: &CapturedFlow, [one, other]: [&[usize]; 2]) -> Option<Divergence> {
        (0..one.len().max(other.len())).find_map(|at| {
            let places = [one.get(at).copied(), other.get(at).copied()];
            let difference = self.difference(places)?;
            Some(Divergence { flow: flow.clone(), number: at + 1, places, difference })
        })
    }

    fn difference(&self, places: [Option<usize>; 2]) -> Option<Difference> {
        let [Some(here), Some(there)] = places else { return Some(Difference::Missing) };
        let [one, other] = [self.tables[0].packet(here), self.tables[1].packet(there)];
        let differs = |name: &&'static str| {
            let fields = [one.field(name), other.field(name)];
            fields[0] != fields[1] && !(**name == *"fate" && fields.contains(&UNDERWAY))
        };
        let later = self.tables[1].rows[there].time_ms - self.tables[0].rows[here].time_ms;
        let column = ALIKE.into_iter().find(|name| differs(name)).map(Difference::Column);
        column.or_else(|| (later.abs() > self.tolerance_ms).then_some(Difference::Ms(later)))
    }

    /// When the packets of a divergence came, or the first of them.
    fn time_ms(&self, divergence: &Divergence) -> f64 {
        let places = self.tables.iter().zip(divergence.places);
        places.filter_map(|(table, at)| Some(table.rows[at?].time_ms)).fold(f64::INFINITY, f64::min)
    }

    /// Whether no packet differs.
    pub fn is_alike(&self) -> bool {
        self.divergence.is_none()
    }

    /// How many packets of the first capture came before the divergence.
    fn alike(&self) -> usize {
        let rows = &self.tables[0].rows;
        self.divergence.as_ref().map_or(rows.len(), |divergence| {
            let when = self.time_ms(divergence);
            rows.iter().filter(|row| row.time_ms < when).count()
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Missing => f.write_str("is in one of the files only"),
            Difference::Column(name) => write!(f, "differs in {name}"),
            Difference::Ms(later) if *later > 0.0 => write!(f, "comes {later:.3} ms later"),
            Difference::Ms(later) => write!(f, "comes {:.3} ms sooner", -later),
        }
    }
}

/// A packet as its line in the table.
#[derive(Clone, Copy)]
struct LineFields<'a> {
    header: &'a StringRecord,
    fields: &'a StringRecord,
}

impl<'a> LineFields<'a> {
    fn field(self, name: &str) -> &'a str {
        field(self.header, self.fields, name)
    }
}

impl Serialize for LineFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.header.iter().zip(self.fields))
    }
}

/// Packets that follow one another on a connection.
#[derive(serde::Serialize)]
struct Excerpt<'a> {
    packets: Vec<LineFields<'a>>,
    /// Which of them it is about; none where that packet is missing.
    at: Option<usize>,
}

impl Serialize for CaptureComparison<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("alike", &self.alike())?;
        map.serialize_entry("tolerance_ms", &self.tolerance_ms)?;
        map.serialize_entry("parting", &self.divergence.as_ref().map(|divergence| Parting(self, divergence)))?;
        map.end()
    }
}

struct Parting<'a>(&'a CaptureComparison<'a>, &'a Divergence);

impl Serialize for Parting<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Parting(CaptureComparison { tables: [one, other], around, .. }, divergence) = self;
        let CapturedFlow { connection, link, way } = &divergence.flow;
        let [here, there] = divergence.places;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("connection", connection)?;
        if !link.is_empty() {
            map.serialize_entry(LINK, link)?;
        }
        map.serialize_entry("way", way)?;
        map.serialize_entry("number", &divergence.number)?;
        map.serialize_entry("because", &divergence.difference.to_string())?;
        map.serialize_entry("packets", &[here.map(|at| one.packet(at)), there.map(|at| other.packet(at))])?;
        let excerpts = [one.excerpt(*connection, here, *around), other.excerpt(*connection, there, *around)];
        map.serialize_entry("around", &excerpts)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "time_ms,way,connection,host,flags,seq,len,ack,sacks,bytes,fate,due_ms";

    /// A table of these times, ways, connections, sequence numbers and fates.
    fn table(rows: &[(f64, &str, u32, u32, &str)]) -> CaptureTable {
        let line = |(time, way, connection, seq, fate): &(f64, &str, u32, u32, &str)| {
            format!("{time},{way},{connection},a.test,A,{seq},100,1,,140,{fate},\n")
        };
        let text = format!("{HEADER}\n{}", rows.iter().map(line).collect::<String>());
        CaptureTable::read(text.as_bytes()).unwrap()
    }

    fn parting(one: &CaptureTable, other: &CaptureTable) -> serde_json::Value {
        serde_json::to_value(CaptureComparison::new(one, other, 1.0, 1)).unwrap()["parting"].clone()
    }

    #[test]
    fn the_order_of_different_connections_is_of_no_matter() {
        let one = table(&[(1.0, "down", 0, 1, "loss"), (1.1, "down", 1, 1, "loss"), (1.2, "up", 0, 1, "loss")]);
        let other = table(&[(1.2, "up", 0, 1, "loss"), (1.3, "down", 1, 1, "loss"), (1.4, "down", 0, 1, "loss")]);
        assert!(CaptureComparison::new(&one, &other, 1.0, 1).is_alike());
    }

    #[test]
    fn the_first_by_its_time_is_given_with_its_neighbours() {
        let one = table(&[
            (1.0, "down", 0, 1, "delivered"),
            (2.0, "down", 0, 101, "delivered"),
            (3.0, "up", 1, 1, "delivered"),
            (4.0, "down", 0, 201, "delivered"),
        ]);
        let other =
            table(&[(1.0, "down", 0, 1, "delivered"), (2.0, "down", 0, 101, "queue"), (2.5, "up", 1, 7, "delivered")]);
        let found = parting(&one, &other);
        assert_eq!((&found["connection"], &found["way"], &found["number"]), (&0.into(), &"down".into(), &2.into()));
        assert_eq!(found["because"], "differs in fate");
        assert_eq!(found["packets"][1]["fate"], "queue");
        assert_eq!(found["around"][0]["packets"].as_array().unwrap().len(), 3);
        assert_eq!((&found["around"][0]["at"], &found["around"][1]["at"]), (&1.into(), &1.into()));
    }

    #[test]
    fn what_is_missing_is_shown_by_the_last_that_are_there() {
        let one = table(&[(1.0, "up", 0, 1, "loss"), (2.0, "up", 0, 2, "loss"), (3.0, "up", 0, 3, "loss")]);
        let other = table(&[(1.0, "up", 0, 1, "loss"), (2.0, "up", 0, 2, "loss")]);
        let found = parting(&one, &other);
        assert_eq!((&found["number"], &found["because"]), (&3.into(), &"is in one of the files only".into()));
        assert_eq!((&found["packets"][1], &found["around"][1]["at"]), (&().into(), &().into()));
        assert_eq!(found["around"][1]["packets"][0]["seq"], "2");
    }

    #[test]
    fn a_packet_that_is_underway_may_have_any_fate() {
        let one = table(&[(1.0, "down", 0, 1, "underway")]);
        let other = table(&[(1.5, "down", 0, 1, "queue")]);
        assert!(CaptureComparison::new(&one, &other, 1.0, 1).is_alike());
        assert_eq!(
            serde_json::to_value(CaptureComparison::new(&one, &other, 0.4, 1)).unwrap()["parting"]["because"],
            "comes 0.500 ms later"
        );
    }

    #[test]
    fn named_links_are_told_apart() {
        let header = HEADER.replacen(',', ",link,", 1);
        let text = |links: [&str; 2]| {
            let line = |link| format!("1,{link},up,0,a.test,A,1,0,,,40,loss,\n");
            format!("{header}\n{}{}", line(links[0]), line(links[1]))
        };
        let [one, other] =
            [["dsl", "core"], ["core", "dsl"]].map(|of| CaptureTable::read(text(of).as_bytes()).unwrap());
        assert!(CaptureComparison::new(&one, &other, 0.0, 1).is_alike());
        let other = CaptureTable::read(text(["dsl", "dsl"]).as_bytes()).unwrap();
        assert_eq!(parting(&one, &other)["link"], "core");
    }

    #[test]
    fn another_text_is_no_table() {
        let read = |text: String| CaptureTable::read(text.as_bytes()).unwrap_err();
        assert_eq!(read("a,b\n1,2\n".to_owned()), CaptureTableError::OtherColumns);
        let good = "1,up,0,a.test,A,1,0,,,40,loss,\n";
        for bad in ["1,2\n", "nan,up,0,a.test,A,1,0,,,40,loss,\n", "1,up,-1,a.test,A,1,0,,,40,loss,\n"] {
            assert_eq!(read(format!("{HEADER}\n{good}{bad}")), CaptureTableError::NoPacket(3), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_alike_to_itself(lines in proptest::collection::vec("[-0-9a-z,\".\n]{0,40}", 0..8)) {
            let Ok(table) = CaptureTable::read(format!("{HEADER}\n{}", lines.join("\n")).as_bytes()) else { return Ok(()) };
            prop_assert!(CaptureComparison::new(&table, &table, 0.0, 2).is_alike());
        }
    }
}
