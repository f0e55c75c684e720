//! What the kernels of a run are told: how TCP is to behave at each host.

use super::{RunError, Unsupported};
use crate::settings::{BackOff, Tcp};
use loadstone_live::Tls;
use loadstone_net::tcp;
use loadstone_scenario::Plan;

/// The TCP of each host.
///
/// # Errors
/// If the scenario asks for what a kernel cannot be told.
pub(crate) fn tcps(plan: &Plan, back_off: BackOff) -> Result<Vec<Tcp>, RunError> {
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
        return Err(RunError::unsupported("variant.tls", Unsupported::OldTls));
    }
    if variant.earlier_loads.get() > 0 {
        return Err(RunError::unsupported("variant.earlier_loads", Unsupported::EarlierLoads));
    }
    if plan.idle().is_some() {
        return Err(RunError::unsupported("variant.visit_after", Unsupported::OpenConnections));
    }
    if back_off == BackOff::MachineWide && !variant.tcp_of.is_empty() {
        return Err(RunError::unsupported("variant.tcp_of", Unsupported::OneBeta));
    }
    Ok(plan.hosts().iter().map(|host| Tcp::from(&host.tcp)).collect())
}

/// Refuses what a kernel cannot be told to do.
fn can_be_told(side: &str, tcp: &tcp::Config) -> Result<(), RunError> {
    let refuse = |field: &str, what: Unsupported| Err(RunError::unsupported(&format!("{side}.{field}"), what));
    if tcp.profile != tcp::Profile::default() {
        return refuse("profile", Unsupported::Profile);
    }
    let tcp::Mechanisms { idle_restart, tail_loss_probes, frto, sack_compression, .. } = tcp.mechanisms;
    let told = tcp::Mechanisms { idle_restart, tail_loss_probes, frto, sack_compression, ..tcp::Mechanisms::default() };
    if idle_restart == Some(tcp::IdleRestart::Initial) || tcp.mechanisms != told {
        return refuse("mechanisms", Unsupported::Mechanisms);
    }
    Ok(())
}
