//! The names of kinds of incident, phases, figures and failures in every language.

use crate::knowledge::{Language, phase_in_words};
use crate::model::{FigureName, Kind, OtherFailureName, Phase, PhaseFinding};

pub(super) fn choose(language: Language, en: &'static str, zh: &'static str) -> &'static str {
    match language {
        Language::En => en,
        Language::Zh => zh,
    }
}

/// What ran out, as a headline.
pub(super) fn headline(kind: Kind, language: Language) -> &'static str {
    let (en, zh) = match kind {
        Kind::GpuOom => ("GPU out of memory", "显存不足"),
        Kind::HostOomKernel => ("Host out of memory, killed by the kernel", "主机内存耗尽，被内核杀死"),
        Kind::HostOomCgroup => {
            ("Container or cgroup out of memory, killed by the kernel", "容器或 cgroup 内存耗尽，被内核杀死")
        }
        Kind::HostOomUserspace => {
            ("Host out of memory, killed by a daemon or scheduler", "主机内存不足，被守护进程或调度器杀死")
        }
        Kind::HostOomRay => ("Node out of memory, killed by Ray's monitor", "节点内存不足，被 Ray 内存监控杀死"),
        Kind::HostAllocFailure => ("Host memory could not be allocated", "主机内存分配失败"),
        Kind::ShmExhausted => ("Shared memory is full", "共享内存已满"),
        Kind::SigkillUnattributed => ("Killed, but nothing here proves by whom", "被杀死，但没有证据表明是谁杀的"),
        Kind::None => ("No out-of-memory incident", "没有内存不足事件"),
    };
    choose(language, en, zh)
}

/// A phase as a label: its name, or its Chinese name.
pub(crate) fn phase(phase: Phase, language: Language) -> &'static str {
    choose(language, phase.as_str(), phase_in_words(phase, Language::Zh))
}

/// The phase as part of a headline: ` in the backward pass`.
pub(super) fn during(phase: Phase, language: Language) -> &'static str {
    let (en, zh) = match phase {
        Phase::Setup => (" during setup", "（初始化时）"),
        Phase::DataLoading => (" while loading data", "（加载数据时）"),
        Phase::ModelLoad => (" while loading the model", "（加载模型时）"),
        Phase::CheckpointResume => (" while resuming from a checkpoint", "（从检查点恢复时）"),
        Phase::EngineInit => (" while the engine was starting", "（推理引擎启动时）"),
        Phase::Rollout => (" during rollout", "（rollout 时）"),
        Phase::Experience => (" while computing experience", "（经验计算时）"),
        Phase::WeightSync => (" while syncing weights", "（权重同步时）"),
        Phase::Forward => (" in the forward pass", "（前向时）"),
        Phase::Backward => (" in the backward pass", "（反向时）"),
        Phase::OptimizerStep => (" in the optimizer step", "（优化器更新时）"),
        Phase::CheckpointSave => (" while saving a checkpoint", "（保存检查点时）"),
        Phase::Evaluation => (" during evaluation", "（评估时）"),
        Phase::Inference => (" during inference", "（推理时）"),
        Phase::Teardown => (" during teardown", "（收尾时）"),
        Phase::Unknown => ("", ""),
    };
    choose(language, en, zh)
}

/// The same where `site` says no more than that a step was going on: the name of a task that runs forward, backward and the update.
pub(super) fn during_at(phase: &PhaseFinding, language: Language) -> &'static str {
    const WHOLE_STEP: &str = "training steps";
    match phase.name {
        Phase::Backward if phase.site.as_deref() == Some(WHOLE_STEP) => {
            choose(language, " in the training steps", "（训练步中）")
        }
        name => during(name, language),
    }
}

/// The name of a figure.
pub(crate) fn figure(name: FigureName, language: Language) -> &'static str {
    let (en, zh) = match name {
        FigureName::Requested => ("requested", "请求大小"),
        FigureName::GpuTotal => ("GPU capacity", "显存总量"),
        FigureName::GpuFree => ("GPU memory free", "空闲显存"),
        FigureName::GpuAllowed => ("allowed for the process", "进程允许使用的显存"),
        FigureName::ProcessInUse => ("in use by the process", "进程占用显存"),
        FigureName::TorchAllocated => ("allocated to tensors", "已分配给张量"),
        FigureName::TorchReserved => ("reserved by the allocator", "分配器已保留"),
        FigureName::TorchReservedUnallocated => ("reserved, not allocated", "已保留未分配"),
        FigureName::AllocatedPeak => ("peak allocated", "已分配峰值"),
        FigureName::GpuIndex => ("GPU number", "GPU 编号"),
        FigureName::NodeUsed => ("node memory in use", "节点已用内存"),
        FigureName::NodeTotal => ("node memory, total", "节点内存总量"),
        FigureName::NodeFraction => ("node memory in use, share", "节点内存使用率"),
        FigureName::NodeThreshold => ("kill threshold", "终止进程的阈值"),
        FigureName::WorkerUsed => ("held by the chosen process", "被选中进程占用的内存"),
        FigureName::TotalVm => ("victim's virtual size", "被杀进程虚拟内存"),
        FigureName::AnonRss => ("victim's anon-rss", "被杀进程 anon-rss"),
        FigureName::FileRss => ("victim's file-rss", "被杀进程 file-rss"),
        FigureName::ShmemRss => ("victim's shmem-rss", "被杀进程 shmem-rss"),
        FigureName::MemcgUsage => ("used under the limit", "上限内已用"),
        FigureName::MemcgLimit => ("memory limit", "内存上限"),
        FigureName::OomScoreAdj => ("victim's oom_score_adj", "被杀进程 oom_score_adj"),
        FigureName::VictimPid => ("victim's pid", "被杀进程 pid"),
        FigureName::HostUsed => ("host memory in use", "主机已用内存"),
        FigureName::HostPercent => ("host memory in use (%)", "主机内存使用率（%）"),
        FigureName::KvCacheAvailable => ("left for the KV cache", "KV cache 可用空间"),
        FigureName::Other => ("other", "其他"),
    };
    choose(language, en, zh)
}

/// Another failure in words.
pub(super) fn other_failure(name: OtherFailureName, language: Language) -> &'static str {
    let (en, zh) = match name {
        OtherFailureName::NcclTimeout => ("an NCCL timeout", "NCCL 超时"),
        OtherFailureName::NcclError => ("an NCCL error", "NCCL 错误"),
        OtherFailureName::IllegalMemoryAccess => ("an illegal memory access on the GPU", "GPU 非法内存访问"),
        OtherFailureName::LaunchFailure => ("a GPU kernel that failed", "GPU kernel 执行失败"),
        OtherFailureName::DeviceAssert => ("an assertion inside a GPU kernel", "GPU kernel 断言失败"),
        OtherFailureName::CudnnError => ("a cuDNN error", "cuDNN 错误"),
        OtherFailureName::CublasError => ("a cuBLAS error", "cuBLAS 错误"),
        OtherFailureName::GpuHardware => ("a fault of the GPU itself", "GPU 硬件故障"),
        OtherFailureName::GpuUnavailable => ("no GPU to be had", "没有可用的 GPU"),
        OtherFailureName::VersionMismatch => ("versions that do not fit each other", "版本不匹配"),
        OtherFailureName::Segfault => ("a segmentation fault", "段错误"),
        OtherFailureName::Abort => ("an abort", "进程中止（abort）"),
        OtherFailureName::DiskFull => ("a full disk", "磁盘已满"),
        OtherFailureName::IoError => ("an I/O error", "I/O 错误"),
        OtherFailureName::AccessDenied => ("access denied", "没有访问权限"),
        OtherFailureName::QuotaExceeded => ("a quota used up", "配额用尽"),
        OtherFailureName::ProcessLimit => {
            ("the limit of threads, processes or open files", "线程、进程或打开文件数达到上限")
        }
        OtherFailureName::Preempted => ("preemption", "被抢占"),
        OtherFailureName::LostNode => ("a lost node", "节点失联"),
        OtherFailureName::ProbeFailed => (
            "a health check got no answer in time, so its platform ended the container",
            "健康检查未及时得到应答，容器被平台终止",
        ),
        OtherFailureName::Cancelled => ("somebody cancelled it", "被人为取消"),
        OtherFailureName::TimeLimit => ("the scheduler's time limit", "超过调度器时限"),
        OtherFailureName::Network => ("a lost connection", "网络连接中断"),
        OtherFailureName::PortInUse => ("a port in use", "端口被占用"),
        OtherFailureName::Timeout => ("something that did not answer in time", "等待超时"),
        OtherFailureName::ImportError => ("a failed import", "导入失败"),
        OtherFailureName::ConfigError => ("a rejected configuration", "配置错误"),
        OtherFailureName::TensorMismatch => ("tensors that do not fit each other", "张量形状、类型或设备不匹配"),
        OtherFailureName::NotANumber => ("a loss or gradient that is not a number", "loss 或梯度出现 NaN/Inf"),
        OtherFailureName::Assertion => ("an assertion", "断言失败"),
        OtherFailureName::PythonError => ("a Python exception", "Python 异常"),
        OtherFailureName::TestFailure => ("a failed test", "测试失败"),
        OtherFailureName::CauseElsewhere => (
            "an error that only points to another one, which is not in the input",
            "该错误只是指向另一个错误，而后者不在已读内容中",
        ),
        OtherFailureName::Unknown => ("an unnamed failure", "未知失败"),
    };
    choose(language, en, zh)
}
