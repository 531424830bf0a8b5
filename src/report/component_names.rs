//! The names of memory components in every language.

use std::borrow::Cow;

use crate::knowledge::Language;
use crate::memory::Component;

/// The component's name; a component of another model begins with that model's name.
pub(crate) fn part_name(part: &Component, language: Language) -> Cow<'_, str> {
    match language {
        Language::En => Cow::Borrowed(&part.name),
        Language::Zh => chinese(&part.name).map_or(Cow::Borrowed(&part.name), Cow::Owned),
    }
}

fn chinese(name: &str) -> Option<String> {
    let word = |known: &[(&str, &'static str)], name: &str| {
        known.iter().find(|(english, _)| *english == name).map(|(_, chinese)| *chinese)
    };
    let of_other = || {
        let (model, part) = name.split_once(' ')?;
        Some(format!("{}{}", word(MODELS, model)?, word(PARTS, part)?))
    };
    word(PARTS, name).map(str::to_owned).or_else(of_other)
}

const MODELS: &[(&str, &str)] = &[("critic", "critic 模型"), ("reference", "参考模型"), ("reward", "奖励模型")];

const PARTS: &[(&str, &str)] = &[
    ("16-bit weights", "16 位权重"),
    ("DDP buckets", "DDP 通信桶"),
    ("accumulated gradients", "累积梯度"),
    ("activations", "激活值"),
    ("activations of one layer", "单层激活值"),
    ("adapter", "LoRA 适配器"),
    ("allgather bucket", "allgather 通信桶"),
    ("cached blocks", "缓存的显存块"),
    ("communicators", "通信器"),
    ("context", "CUDA 上下文"),
    ("dequantised matrix", "反量化的矩阵"),
    ("copied shards", "分片副本"),
    ("copies of loaded states", "已加载状态的副本"),
    ("engine asleep", "休眠的推理引擎"),
    ("engine cache and activations", "推理引擎的缓存与激活值"),
    ("engine weights", "推理引擎权重"),
    ("exported weights", "导出的权重"),
    ("foreach intermediates", "foreach 中间结果"),
    ("fp32 gradients", "fp32 梯度"),
    ("gathered layer", "聚合的层"),
    ("gathered optimizer states", "聚合的优化器状态"),
    ("gathered unit", "聚合的单元"),
    ("gathered weights", "聚合的权重"),
    ("gradient bucket", "梯度通信桶"),
    ("gradient buckets", "梯度通信桶"),
    ("gradients", "梯度"),
    ("gradients cast for the step", "更新时转换的梯度"),
    ("gradients of one unit", "单个单元的梯度"),
    ("gradients of zeros", "全零梯度"),
    ("idle optimizer states", "空闲时驻留的优化器状态"),
    ("idle weights", "空闲时驻留的权重"),
    ("layer inputs", "各层输入"),
    ("live parameters", "在用参数"),
    ("logits", "logits"),
    ("master weights", "主权重"),
    ("model states being loaded", "正在加载的模型状态"),
    ("object store", "对象存储"),
    ("offloaded weights", "卸载的权重"),
    ("optimizer states", "优化器状态"),
    ("page cache of the checkpoint", "检查点的页缓存"),
    ("passing gradient", "传输中的梯度"),
    ("processed images", "处理后的图像"),
    ("samples being sent", "发送中的样本"),
    ("secondary weights", "次级权重副本"),
    ("states being loaded", "正在加载的状态"),
    ("sub-group being cast", "正在转换的子组"),
    ("swap buffers", "交换缓冲区"),
    ("swap buffers of weights", "权重交换缓冲区"),
    ("weights", "权重"),
    ("weights being loaded", "正在加载的权重"),
    ("weights cast by autocast", "autocast 转换的权重"),
    ("weights of sleeping engines", "休眠引擎的权重"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::estimate::{PlannedJob, estimate};

    /// Covers every component that the corpus' jobs have.
    #[test]
    fn every_part_has_a_chinese_name() -> Result<(), Box<dyn std::error::Error>> {
        for case in ["ppo-13b-save", "easyr1-7b-vl-offload", "openrlhf-72b-resume", "ring-attention-broadcast"] {
            let job = PlannedJob::default().from(format!("{}/corpus/{case}", env!("CARGO_MANIFEST_DIR")));
            let estimate = estimate(&job, &Options::default())?;
            let parts = estimate.moments.iter().flat_map(|need| &need.plan.components);
            let unnamed: Vec<&str> = parts
                .filter(|part| part_name(part, Language::Zh) == part_name(part, Language::En) && part.name != "logits")
                .map(|part| &*part.name)
                .collect();
            assert!(unnamed.is_empty(), "{case}: {unnamed:?}");
        }
        Ok(())
    }
}
