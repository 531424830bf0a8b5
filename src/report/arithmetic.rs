//! Sums of memory in words: what a figure is made of.

use super::words;
use crate::knowledge::Language;
use crate::launch::{Comparison, Contradiction};
use crate::memory::{Component, Explanation, Moment, States};
use crate::model::{Bytes, Memory, Phase};

/// What the arithmetic says, as reports keep it.
pub fn memory(comparison: Comparison, language: Language) -> Memory {
    let Comparison { predicted, explained, beyond, contradiction } = comparison;
    let sums = explained.iter().filter_map(|(figure, found)| Some(sum(figure.bytes?, found, language)));
    let words: Vec<String> =
        sums.chain(beyond.map(|(states, capacity)| too_much(&states, capacity, language))).collect();
    let words = contradiction.map_or(words, |contradiction| vec![refuted(contradiction, language)]);
    let observed = explained.into_iter().map(|(figure, _)| figure).collect();
    Memory { predicted, observed, explains: (!words.is_empty()).then(|| words.join("\n")) }
}

/// `44.87 GiB after preparation = weights 14.96 GiB + master weights 29.92 GiB`, and how far off that is.
fn sum(observed: Bytes, found: &Explanation, language: Language) -> String {
    let off = match found.error {
        error if error.abs() < 0.0005 => String::new(),
        error => format!(" = {} ({:+.1} %)", found.sum, error * 100.0),
    };
    let parts: Vec<String> =
        found.parts.iter().map(|part| format!("{} {}", name(part, language), part.bytes)).collect();
    let (moment, parts) = (at(found.moment, language), parts.join(" + "));
    match language {
        Language::En => format!("{observed} {moment} = {parts}{off}"),
        Language::Zh => format!("{moment} {observed} = {parts}{off}"),
    }
}

/// `8.03e9 × 16 B = 119.66 GiB of states in training: more than the GPU's 79.15 GiB`
fn too_much(states: &States, capacity: Bytes, language: Language) -> String {
    let (formula, bytes) = (&states.formula, states.bytes);
    match language {
        Language::En => format!("{formula} = {bytes} of states in training: more than the GPU's {capacity}"),
        Language::Zh => format!("训练状态共 {formula} = {bytes}，超过显存 {capacity}"),
    }
}

/// That the job cannot be laid out as its configuration says.
fn refuted(Contradiction { observed, predicted, is_more }: Contradiction, language: Language) -> String {
    match (language, is_more) {
        (Language::En, true) => {
            format!(
                "{observed} were held, at most {predicted} are predicted: the job is not what its configuration says"
            )
        }
        (Language::En, false) => {
            format!(
                "{observed} were held, at least {predicted} are predicted: the job is not what its configuration says"
            )
        }
        (Language::Zh, true) => format!("实际占用 {observed}，预测最多 {predicted}：作业与其配置不符"),
        (Language::Zh, false) => format!("实际占用 {observed}，预测至少 {predicted}：作业与其配置不符"),
    }
}

fn at(moment: Moment, language: Language) -> String {
    let phase = match moment {
        Moment::AfterPrepare => {
            return match language {
                Language::En => "after preparation".to_owned(),
                Language::Zh => "初始化完成后".to_owned(),
            };
        }
        Moment::Init => Phase::ModelLoad,
        Moment::Rollout => Phase::Rollout,
        Moment::Experience => Phase::Experience,
        Moment::Forward => Phase::Forward,
        Moment::Backward => Phase::Backward,
        Moment::OptimizerStep => Phase::OptimizerStep,
        Moment::WeightSync => Phase::WeightSync,
        Moment::Evaluation => Phase::Evaluation,
        Moment::CheckpointSave => Phase::CheckpointSave,
        Moment::CheckpointResume => Phase::CheckpointResume,
    };
    let phase = words::phase(phase, language);
    match language {
        Language::En => format!("at {phase}"),
        Language::Zh => format!("{phase}时"),
    }
}

/// What a part is called; those of other models keep the model's name in front.
fn name(part: &Component, language: Language) -> &str {
    let is_known = |(english, _): &&(&str, &str)| *english == part.name;
    match language {
        Language::En => &part.name,
        Language::Zh => CHINESE.iter().find(is_known).map_or(&part.name, |(_, chinese)| chinese),
    }
}

const CHINESE: &[(&str, &str)] = &[
    ("16-bit weights", "16 位权重"),
    ("DDP buckets", "DDP 通信桶"),
    ("accumulated gradients", "累积梯度"),
    ("activations", "激活值"),
    ("activations of one layer", "单层激活值"),
    ("adapter", "LoRA 适配器"),
    ("allgather bucket", "allgather 通信桶"),
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
