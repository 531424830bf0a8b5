//! What several tests share.

#[path = "../../../benches/generate/mod.rs"]
pub mod generate;

pub mod analyzed;
pub mod assistant;
pub mod disks;
#[cfg(target_os = "linux")]
pub mod effort;
pub mod files;
pub mod fleets;
pub mod forges;
pub mod history_steps;
pub mod home;
pub mod named;
pub mod pages;
pub mod project;
pub mod requests;
pub mod served;
