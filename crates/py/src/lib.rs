//! `loadstone._native`: the engine as Python sees it. Converts, releases the GIL, maps errors; no
//! logic. The names are listed once more, with types, in `python/loadstone/_native.pyi`.
//!
//! Read first: [`run::Scenario`], [`run::run_many`]. Elsewhere: everything about two or more runs
//! (Python).

mod answer;
#[cfg(target_os = "linux")]
mod bed;
mod capture;
mod comparison;
mod decode;
mod depths;
mod edge_file;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod fetch;
#[cfg(target_os = "linux")]
mod kernel;
mod packets;
mod page;
#[cfg(target_os = "linux")]
mod recorded_site;
#[cfg(target_os = "linux")]
mod replay;
mod run;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod window_probe;

use pyo3::prelude::*;

/// A run makes many small things and forgets them all at once; this allocator takes a twentieth off
/// its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::answer::{Gain, OverPages, Ranks, Resampled, Summary, gain, rank_test};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::bed::{BedCommand, CommandBed};
    #[pymodule_export]
    use super::capture::CaptureTable;
    #[pymodule_export]
    use super::comparison::{Compared, Comparison, account_parts, compare};
    #[pymodule_export]
    use super::decode::Decoder;
    #[pymodule_export]
    use super::depths::{load_depths, manifest_json};
    #[pymodule_export]
    use super::edge_file::edge_file_json;
    #[cfg(not(target_os = "linux"))]
    #[pymodule_export]
    use super::elsewhere::{
        BedCommand, CommandBed, Fetch, RecordedSite, Replayer, Server, Stopper, edge_options_json, fetch, live_access,
        probe_windows, run_live, server_options_json,
    };
    #[pymodule_export]
    use super::error::LoadstoneError;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::fetch::{Fetch, fetch};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::kernel::{Stopper, live_access, run_live};
    #[pymodule_export]
    use super::packets::{PacketTables, busiest_moment, packet_columns_json};
    #[pymodule_export]
    use super::page::{Page, domain_of, unzstd};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::recorded_site::RecordedSite;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::replay::Replayer;
    #[pymodule_export]
    use super::run::{Outcome, Scenario, nearer_network, networks, protocols, run_many, traces_of};
    #[pymodule_export]
    use super::run::{capture_points, columns_json, scenario_options_json, scenario_schema_json};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::serve::{Server, edge_options_json, server_options_json};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::window_probe::probe_windows;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const CONFIDENCE: f64 = loadstone_answer::CONFIDENCE;
    #[pymodule_export]
    const LEAST_PAIRS: usize = loadstone_answer::LEAST_PAIRS;
    #[pymodule_export]
    const RESAMPLES: usize = loadstone_answer::RESAMPLES;
}
