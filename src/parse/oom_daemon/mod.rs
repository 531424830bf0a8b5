//! Daemons that kill in the kernel's place, and systemd's notes about units in which something was killed.

mod earlyoom;
mod systemd_oomd;
mod systemd_unit;
mod talos;

pub(super) use earlyoom::EarlyOom;
pub(super) use systemd_oomd::SystemdOomd;
pub(super) use systemd_unit::SystemdUnit;
pub(super) use talos::Talos;
