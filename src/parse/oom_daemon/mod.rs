//! Who kills in the kernel's place, and who notes that something was killed: systemd-oomd, earlyoom, Talos, systemd itself.

mod earlyoom;
mod systemd_oomd;
mod systemd_unit;
mod talos;

pub(super) use earlyoom::EarlyOom;
pub(super) use systemd_oomd::SystemdOomd;
pub(super) use systemd_unit::SystemdUnit;
pub(super) use talos::Talos;
