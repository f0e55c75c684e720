//! Scenarios, with the network's notation and traces in them: any bytes are a scenario or a clear error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_scenario::Scenario;

fuzz_target!(|text: &[u8]| {
    if let Ok(scenario) = Scenario::from_json(text) {
        assert_eq!(Scenario::from_json(scenario.to_json().as_bytes()), Ok(scenario));
    }
});
