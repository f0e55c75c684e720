//! What the kernels of a run are told: how TCP is to behave at each host.

use crate::settings::{BackOff, Tcp};
use loadstone_live::Tls;
use loadstone_net::tcp;
use loadstone_scenario::{Plan, ScenarioError};

/// The TCP of each host.
///
/// # Errors
/// If the scenario asks for what a kernel cannot be told.
pub(super) fn tcps(plan: &Plan, back_off: BackOff) -> Result<Vec<Tcp>, ScenarioError> {
    let variant = plan.variant();
    for (side, tcp) in [("variant.tcp", &variant.tcp), ("variant.client_tcp", &variant.client_tcp)] {
        can_be_told(side, tcp)?;
    }
    for (host, tcp) in &variant.tcp_of {
        can_be_told(&format!("variant.tcp_of.{host}"), tcp)?;
    }
    for host in plan.hosts() {
        // Those of the variant have been found to be sound.
        can_be_told(&format!("topology.hosts.{}.tcp", host.name), &host.tcp)?;
    }
    if variant.tls == Some(Tls::V1_0) {
        let why = "over the kernel only 1.2 and 1.3 are spoken: choose one of them, or simulate";
        return Err(ScenarioError::new("variant.tls", why));
    }
    if variant.earlier_loads.get() > 0 {
        let why = "a new host of the kernel remembers nothing: leave it out, or simulate";
        return Err(ScenarioError::new("variant.earlier_loads", why));
    }
    if back_off == BackOff::MachineWide && !variant.tcp_of.is_empty() {
        let why = "the machine has one beta for all servers: give them one TCP, or leave --machine-wide-beta out";
        return Err(ScenarioError::new("variant.tcp_of", why));
    }
    Ok(plan.hosts().iter().map(|host| Tcp::from(&host.tcp)).collect())
}

/// Refuses what a kernel cannot be told to do.
fn can_be_told(side: &str, tcp: &tcp::Config) -> Result<(), ScenarioError> {
    let refuse = |field: &str, why: &str| Err(ScenarioError::new(&format!("{side}.{field}"), why));
    if tcp.profile != tcp::Profile::default() {
        return refuse("profile", "over the kernel TCP is this kernel's own: leave the profile out, or simulate");
    }
    let idle_restart = tcp.mechanisms.idle_restart;
    let told = matches!(idle_restart, None | Some(tcp::IdleRestart::Halving | tcp::IdleRestart::Never));
    if !told || tcp.mechanisms != (tcp::Mechanisms { idle_restart, ..tcp::Mechanisms::default() }) {
        let why = "a kernel can only be told idle_restart, halving or never: leave the others out, or simulate";
        return refuse("mechanisms", why);
    }
    Ok(())
}
