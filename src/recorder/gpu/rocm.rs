//! AMD's GPUs, from the files of `amdgpu` (`mem_info_vram_used`) and `amdkfd` (`proc/PID/vram_ID`).

use std::fs;
use std::path::Path;

use super::Gpu;
use crate::recorder::amount::{Amount, counted};

/// The current state of the GPUs below `sysfs`, in ROCm's order.
pub(super) fn now(sysfs: &Path) -> Vec<Gpu> {
    let mut nodes = numbered(&sysfs.join("kfd/kfd/topology/nodes"));
    nodes.sort_unstable();
    let gpus = nodes.into_iter().filter_map(|node| device(sysfs, node));
    gpus.zip(0..).map(|(gpu, index)| Gpu { index, ..gpu }).collect()
}

fn device(sysfs: &Path, node: u32) -> Option<Gpu> {
    let folder = sysfs.join(format!("kfd/kfd/topology/nodes/{node}"));
    // CPUs are nodes as well, with the id 0.
    let id = amount(&folder.join("gpu_id")).filter(|id| *id > 0)?;
    let properties = fs::read_to_string(folder.join("properties")).ok()?;
    let minor = counted(&properties, "drm_render_minor")?;
    let driver = sysfs.join(format!("drm/renderD{minor}/device"));
    let used = amount(&driver.join("mem_info_vram_used"))?;
    let total = amount(&driver.join("mem_info_vram_total"))?;
    let name = fs::read_to_string(folder.join("name")).unwrap_or_default();
    let name = name.trim().replace([' ', ':'], "_");
    let clients = sysfs.join("kfd/kfd/proc");
    let held = |pid: u32| Some((pid, Amount(amount(&clients.join(format!("{pid}/vram_{id}")))?)));
    let mut processes: Vec<(u32, Amount)> = numbered(&clients).into_iter().filter_map(held).collect();
    processes.retain(|(_, held)| *held > Amount(0));
    let name = if name.is_empty() { "GPU".to_owned() } else { name };
    Some(Gpu { index: 0, name, used: Amount(used), total: Amount(total), processes })
}

fn amount(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The entries of `folder` whose names are numbers.
fn numbered(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files are made up from the documentation of `amdkfd`; this was never run on such a device.
    #[test]
    fn reads_what_the_driver_shows() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, text)
        };
        let node = "kfd/kfd/topology/nodes";
        write(&format!("{node}/0/gpu_id"), "0\n")?;
        write(&format!("{node}/0/properties"), "cpu_cores_count 64\n")?;
        write(&format!("{node}/1/gpu_id"), "51234\n")?;
        write(&format!("{node}/1/name"), "gfx942\n")?;
        write(&format!("{node}/1/properties"), "simd_count 304\ndrm_render_minor 128\n")?;
        write("drm/renderD128/device/mem_info_vram_used", "1048576\n")?;
        write("drm/renderD128/device/mem_info_vram_total", "206141652992\n")?;
        write("kfd/kfd/proc/4711/vram_51234", "524288\n")?;
        write("kfd/kfd/proc/4712/vram_51234", "0\n")?;
        let gpus = now(folder.path());
        let expected = Gpu {
            index: 0,
            name: "gfx942".to_owned(),
            used: Amount(1 << 20),
            total: Amount(206_141_652_992),
            processes: vec![(4711, Amount(1 << 19))],
        };
        assert_eq!(gpus, [expected]);
        assert!(now(Path::new("/nowhere")).is_empty());
        Ok(())
    }
}
