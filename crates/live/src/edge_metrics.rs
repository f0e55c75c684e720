//! What an edge has done and has, in the text format of Prometheus (version 0.0.4).

use loadstone_load::page::HostId;
use loadstone_load::{CacheGauges, CacheOutcome, DiskGauges, Ending, Exchange, PoolGauges, RelayGauges};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// The upper bounds of a histogram's buckets, in seconds.
const BOUNDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The labels of a request: protocol, class of the status (2 for 200 to 299; 0 if there was no response), and what the cache
/// had to do with it.
type RequestLabels = (&'static str, u16, &'static str);

/// What an edge has done since it began.
#[derive(Debug, Default)]
pub(crate) struct EdgeMetrics {
    requests: BTreeMap<RequestLabels, u64>,
    cut_short: u64,
    /// By why.
    rejected: BTreeMap<&'static str, u64>,
    /// Bytes of content of responses.
    bytes: u64,
    first_byte: TimeHistogram,
    total: TimeHistogram,
}

#[derive(Debug, Default)]
struct TimeHistogram {
    /// How many were within each of [`BOUNDS`], and not within the one before.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    nanos: u64,
}

impl TimeHistogram {
    fn note(&mut self, nanos: u64) {
        let at = BOUNDS.partition_point(|bound| bound * 1e9 < nanos as f64);
        self.count += 1;
        self.nanos += nanos;
        if let Some(bucket) = self.buckets.get_mut(at) {
            *bucket += 1;
        }
    }
}

impl EdgeMetrics {
    /// A request and what became of it.
    pub(crate) fn note(&mut self, exchange: &Exchange) {
        let class = exchange.response.map_or(0, |(status, _)| status / 100);
        let cache = exchange.cache.map_or("", CacheOutcome::name);
        *self.requests.entry((exchange.protocol.name(), class, cache)).or_default() += 1;
        self.cut_short += u64::from(exchange.end == Ending::CutShort);
        if let Some(why) = exchange.rejected {
            *self.rejected.entry(why.name()).or_default() += 1;
        }
        self.bytes += exchange.response.map_or(0, |(_, body)| body.len);
        if let Some(answered) = exchange.answered {
            self.first_byte.note(answered.nanos_since(exchange.began));
        }
        self.total.note(exchange.ended.nanos_since(exchange.began));
    }

    /// All of it, with what the edge has at the moment; `name` says what a server is called.
    pub(crate) fn text(&self, gauges: &RelayGauges, name: impl Fn(HostId) -> String) -> String {
        let mut text = Exposition::default();
        text.family(
            "requests_total",
            "counter",
            "Requests that are over, by protocol, class of status and cache result.",
        );
        for ((protocol, class, cache), count) in &self.requests {
            let status = if *class == 0 { "none".to_owned() } else { format!("{class}xx") };
            text.sample("requests_total", &[("protocol", protocol), ("status", &status), ("cache", cache)], count);
        }
        text.family("requests_cut_short_total", "counter", "Requests whose client did not get all of the response.");
        text.sample("requests_cut_short_total", &[], self.cut_short);
        let help =
            "Requests that the edge answered in an origin's place, or whose response it could not finish, by why.";
        text.family("rejections_total", "counter", help);
        for (why, count) in &self.rejected {
            text.sample("rejections_total", &[("why", why)], count);
        }
        text.family("response_bytes_total", "counter", "Bytes of content of responses.");
        text.sample("response_bytes_total", &[], self.bytes);
        text.histogram("first_byte_seconds", "From a request's head to that of its response.", &self.first_byte);
        text.histogram("request_seconds", "From a request's head to the end of its response.", &self.total);
        text.family("client_connections", "gauge", "Connections with clients, by protocol.");
        for (protocol, count) in &gauges.clients {
            text.sample("client_connections", &[("protocol", protocol.name())], count);
        }
        text.pools(gauges.servers.iter().map(|(server, pool)| (name(*server), *pool)).collect());
        text.cache(gauges.cache.unwrap_or_default());
        text.0
    }
}

/// Text that grows.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP loadstone_edge_{name} {help}"));
        self.line(format_args!("# TYPE loadstone_edge_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        match labels.is_empty() {
            true => self.line(format_args!("loadstone_edge_{name} {value}")),
            false => self.line(format_args!("loadstone_edge_{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("a string takes any text");
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &TimeHistogram) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut within = 0;
        for (bound, count) in BOUNDS.iter().zip(histogram.buckets) {
            within += count;
            self.sample(&bucket, &[("le", &bound.to_string())], within);
        }
        self.sample(&bucket, &[("le", "+Inf")], histogram.count);
        self.sample(&format!("{name}_sum"), &[], histogram.nanos as f64 / 1e9);
        self.sample(&format!("{name}_count"), &[], histogram.count);
    }

    fn pools(&mut self, pools: Vec<(String, PoolGauges)>) {
        self.family(
            "origin_connections",
            "gauge",
            "Connections to an origin: open, those of them idle, and being opened.",
        );
        for (origin, pool) in &pools {
            for (state, count) in [("open", pool.open), ("idle", pool.idle), ("opening", pool.opening)] {
                self.sample("origin_connections", &[("origin", origin), ("state", state)], count);
            }
        }
        self.family("origin_waiting", "gauge", "Requests that wait for a connection to an origin.");
        for (origin, pool) in &pools {
            self.sample("origin_waiting", &[("origin", origin)], pool.waiting);
        }
        self.family("origin_healthy", "gauge", "Whether an origin is used (1), or left out since it has failed (0).");
        for (origin, pool) in &pools {
            self.sample("origin_healthy", &[("origin", origin)], u8::from(pool.is_healthy));
        }
    }

    fn cache(&mut self, cache: CacheGauges) {
        for (name, kind, help, value) in [
            ("cache_bytes", "gauge", "Bytes that the cache holds, with what is being received and sent.", cache.bytes),
            (
                "cache_entries",
                "gauge",
                "Entries of the cache: responses, and notes of what may not be stored.",
                cache.entries,
            ),
            ("cache_evictions_total", "counter", "Entries that the cache has forgotten to make room.", cache.evictions),
        ] {
            self.family(name, kind, help);
            self.sample(name, &[], value);
        }
        cache.disk.into_iter().for_each(|disk| self.disk(disk));
    }

    fn disk(&mut self, disk: DiskGauges) {
        for (name, kind, help, value) in [
            ("cache_disk_bytes", "gauge", "Bytes of the files of the cache, in whole blocks.", disk.bytes),
            ("cache_disk_files", "gauge", "Files of the cache.", disk.files),
            ("cache_disk_evictions_total", "counter", "Files that were removed to make room.", disk.evictions),
            (
                "cache_disk_failures_total",
                "counter",
                "Files that could not be written, read or removed.",
                disk.failures,
            ),
        ] {
            self.family(name, kind, help);
            self.sample(name, &[], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::{Body, Fields, Protocol, RequestHead};
    use loadstone_load::{ConnId, Rejection};
    use loadstone_units::Time;
    use std::sync::Arc;
    use std::time::Duration;

    fn exchange(status: u16, ms: u64, end: Ending) -> Exchange {
        let after = |ms| Time::ZERO + Duration::from_millis(ms);
        Exchange {
            conn: ConnId(0),
            protocol: Protocol::H2,
            request: Arc::new(RequestHead::get("a.test", "/", Fields::default())),
            response: Some((status, Body { len: 10, ..Body::EMPTY })),
            began: after(0),
            answered: Some(after(ms / 2)),
            ended: after(ms),
            end,
            cache: Some(CacheOutcome::Hit),
            rejected: (status == 502).then_some(Rejection::Closed),
        }
    }

    #[test]
    fn requests_are_counted_by_their_labels_and_times_by_the_bounds_that_they_are_within() {
        let mut metrics = EdgeMetrics::default();
        for (status, ms, end) in
            [(200, 1, Ending::Complete), (204, 2, Ending::Complete), (502, 60_000, Ending::CutShort)]
        {
            metrics.note(&exchange(status, ms, end));
        }
        let pool = PoolGauges { open: 3, idle: 1, opening: 2, waiting: 9, is_healthy: false };
        let disk = DiskGauges { bytes: 4096, files: 1, evictions: 6, failures: 8 };
        let cache = Some(CacheGauges { bytes: 7, entries: 1, evictions: 4, disk: Some(disk) });
        let gauges = RelayGauges { clients: [(Protocol::H2, 5)].into(), servers: [(HostId(0), pool)].into(), cache };
        let text = metrics.text(&gauges, |_| "http://b.test".to_owned());
        for line in [
            r#"requests_total{protocol="h2",status="2xx",cache="hit"} 2"#,
            r#"requests_total{protocol="h2",status="5xx",cache="hit"} 1"#,
            "requests_cut_short_total 1",
            r#"rejections_total{why="closed"} 1"#,
            "response_bytes_total 30",
            r#"first_byte_seconds_bucket{le="0.0005"} 1"#,
            r#"request_seconds_bucket{le="0.0005"} 0"#,
            // What takes a bound's time is within it.
            r#"request_seconds_bucket{le="0.001"} 1"#,
            r#"request_seconds_bucket{le="10"} 2"#,
            r#"request_seconds_bucket{le="+Inf"} 3"#,
            "request_seconds_sum 60.003",
            "request_seconds_count 3",
            r#"client_connections{protocol="h2"} 5"#,
            r#"origin_connections{origin="http://b.test",state="idle"} 1"#,
            r#"origin_waiting{origin="http://b.test"} 9"#,
            r#"origin_healthy{origin="http://b.test"} 0"#,
            "cache_evictions_total 4",
            "cache_disk_bytes 4096",
            "cache_disk_evictions_total 6",
        ] {
            assert!(text.lines().any(|known| known == format!("loadstone_edge_{line}")), "{line}\n{text}");
        }
    }
}
