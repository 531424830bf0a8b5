//! Where to look next if a job died of something other than memory.

use crate::knowledge::Language;
use crate::model::OtherFailureName;

/// Where to look after this failure; `None` if the message itself says it, or if nothing is known that helps in general.
pub fn next_step(name: OtherFailureName, language: Language) -> Option<&'static str> {
    let (en, zh) = match name {
        OtherFailureName::NcclTimeout => (
            "the rank that printed another error, or stopped printing, before: the others only waited for it",
            "更早报出其他错误、或不再输出的那个 rank：其余 rank 只是在等它",
        ),
        OtherFailureName::NcclError => (
            "NCCL's own lines before it; NCCL_DEBUG=WARN prints them",
            "NCCL 此前自己的输出；设置 NCCL_DEBUG=WARN 可打印",
        ),
        OtherFailureName::IllegalMemoryAccess | OtherFailureName::LaunchFailure => (
            "the kernel that failed: CUDA_LAUNCH_BLOCKING=1 shows its call; the node's kernel log, for an Xid",
            "出错的 kernel：设置 CUDA_LAUNCH_BLOCKING=1 可看到调用处；再看该节点内核日志中有无 Xid",
        ),
        OtherFailureName::DeviceAssert => (
            "the index that the assertion names, such as a token beyond the vocabulary; CUDA_LAUNCH_BLOCKING=1 shows the call",
            "断言提到的索引，例如超出词表的 token；设置 CUDA_LAUNCH_BLOCKING=1 可看到调用处",
        ),
        OtherFailureName::CudnnError | OtherFailureName::CublasError => (
            "the call that failed: CUDA_LAUNCH_BLOCKING=1 shows it; an earlier kernel may have left the error",
            "出错的调用：设置 CUDA_LAUNCH_BLOCKING=1 可看到；错误可能由更早的 kernel 留下",
        ),
        OtherFailureName::GpuHardware => (
            "`nvidia-smi -q` and the kernel log of that node; keep the node out of the next attempt",
            "该节点的 `nvidia-smi -q` 与内核日志；下次运行先排除该节点",
        ),
        OtherFailureName::GpuUnavailable => (
            "`nvidia-smi` and CUDA_VISIBLE_DEVICES where it ran, and whether the job asked for GPUs",
            "运行环境中的 `nvidia-smi` 与 CUDA_VISIBLE_DEVICES，以及作业是否申请了 GPU",
        ),
        OtherFailureName::VersionMismatch => (
            "the two versions that the message is about; `python -m torch.utils.collect_env` lists those in use",
            "报错所指的两个版本；`python -m torch.utils.collect_env` 可列出正在使用的版本",
        ),
        OtherFailureName::Segfault => (
            "the native stack: PYTHONFAULTHANDLER=1 prints where Python was",
            "原生调用栈：设置 PYTHONFAULTHANDLER=1 可打印 Python 当时的位置",
        ),
        OtherFailureName::DiskFull => (
            "`df -h` and the quota of the path; TMPDIR, where temporary files go to a small disk or a tmpfs; old checkpoints; \
                 in a pod, resources.limits.ephemeral-storage, or a volume for what it downloads and writes",
            "该路径的 `df -h` 与配额；若临时文件写在小盘或 tmpfs 上，设置 TMPDIR；旧检查点；\
                 在 pod 中则看 resources.limits.ephemeral-storage，或为其下载和写入的内容挂载卷",
        ),
        OtherFailureName::IoError => (
            "the path, from the node that failed: whether it exists, is mounted and whole",
            "在出错的节点上查看该路径：是否存在、是否已挂载、文件是否完整",
        ),
        OtherFailureName::AccessDenied => (
            "the login, token or permission, as the job's user has it, for what the message names",
            "作业用户对报错所指资源的登录、令牌或权限",
        ),
        OtherFailureName::QuotaExceeded => {
            ("the quota that the message names, and who uses it up", "报错所指的配额，以及是谁用掉的")
        }
        OtherFailureName::ProcessLimit => (
            "`ulimit -a` and the cgroup's pids.max inside the job; how many workers and threads each rank starts; if open files ran out, \
                 `ulimit -n 65535`, or torch.multiprocessing.set_sharing_strategy(\"file_system\"), with which no tensor of a worker keeps one",
            "作业内的 `ulimit -a` 与 cgroup 的 pids.max；每个 rank 启动多少 worker 和线程；若是打开文件数耗尽，则 `ulimit -n 65535`，\
                 或 torch.multiprocessing.set_sharing_strategy(\"file_system\")，worker 传递的张量便不再各占一个文件",
        ),
        OtherFailureName::Preempted => (
            "whether the job resumes from its last checkpoint when it is started again",
            "重新启动后作业能否从最近的检查点恢复",
        ),
        OtherFailureName::ProbeFailed => (
            "the probes in the container's manifest: while it still loads, a startupProbe whose failureThreshold × periodSeconds \
             covers the whole start, or a larger initialDelaySeconds; if it had started, timeoutSeconds and what kept it from answering",
            "容器清单中的探针：若仍在加载，用 startupProbe 且 failureThreshold × periodSeconds 覆盖整个启动过程，或调大 initialDelaySeconds；\
             若已启动，查看 timeoutSeconds 以及它为何无法应答",
        ),
        OtherFailureName::LostNode => (
            "the lost node's own kernel log: what took it away may still have been memory",
            "失联节点自己的内核日志：让它失联的仍可能是内存",
        ),
        OtherFailureName::TimeLimit => (
            "how far it got: ask for more time, or resume from the last checkpoint",
            "运行到了哪一步：申请更长时间，或从最近的检查点恢复",
        ),
        OtherFailureName::Network => (
            "whether the other side was still alive: a peer that died leaves lost connections",
            "对端当时是否还在运行：对端退出也会表现为连接中断",
        ),
        OtherFailureName::PortInUse => (
            "what listens there (`ss -ltnp`), often what is left of the last attempt; or another port",
            "谁在监听该端口（`ss -ltnp`），常为上次作业的残留进程；或换一个端口",
        ),
        OtherFailureName::Timeout => (
            "what was waited for: its own log, or `py-spy dump` while it hangs",
            "被等待的一方：查看它自己的日志，或在卡住时运行 `py-spy dump`",
        ),
        OtherFailureName::TensorMismatch => (
            "the two sides that the message names; on a load, whether the checkpoint belongs to this model and its settings",
            "报错所指的两方；若在加载时出错，检查点是否属于该模型及其设置",
        ),
        OtherFailureName::NotANumber => (
            "loss and gradient norm of the steps before, and the batch; learning rate, clipping, bf16 in place of fp16",
            "此前各步的 loss 与梯度范数，以及当时的数据；学习率、梯度裁剪、用 bf16 代替 fp16",
        ),
        OtherFailureName::CauseElsewhere => (
            "the whole log, with the lines of the process that failed first; `dmesg -T` on the node, if there are none: \
             it may well have been memory",
            "完整日志中最先失败的那个进程的输出；若没有，则看该节点的 `dmesg -T`：很可能正是内存不足",
        ),
        OtherFailureName::Abort
        | OtherFailureName::Cancelled
        | OtherFailureName::ImportError
        | OtherFailureName::ConfigError
        | OtherFailureName::Assertion
        | OtherFailureName::PythonError
        | OtherFailureName::TestFailure
        | OtherFailureName::Unknown => return None,
    };
    Some(match language {
        Language::En => en,
        Language::Zh => zh,
    })
}
