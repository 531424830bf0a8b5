//! Terms of the arithmetic and of phases in the reader's language.
//!
//! The arithmetic and the facts produce English, term by term; their words are translated here before they are shown.

use std::borrow::Cow;

use super::Language;
use crate::model::Phase;

/// A phase as a noun, as it stands in a sentence: `the backward pass`.
pub fn phase_in_words(phase: Phase, language: Language) -> &'static str {
    let (en, zh) = match phase {
        Phase::Setup => ("setup", "初始化"),
        Phase::DataLoading => ("data loading", "数据加载"),
        Phase::ModelLoad => ("model loading", "加载模型"),
        Phase::CheckpointResume => ("checkpoint loading", "从检查点恢复"),
        Phase::EngineInit => ("engine start-up", "推理引擎启动"),
        Phase::Rollout => ("rollout", "生成（rollout）"),
        Phase::Experience => ("the experience phase", "经验计算"),
        Phase::WeightSync => ("weight sync", "权重同步"),
        Phase::Forward => ("the forward pass", "前向"),
        Phase::Backward => ("the backward pass", "反向"),
        Phase::OptimizerStep => ("the optimizer step", "优化器更新"),
        Phase::CheckpointSave => ("checkpoint saving", "保存检查点"),
        Phase::Evaluation => ("evaluation", "评估"),
        Phase::Inference => ("inference", "推理"),
        Phase::Teardown => ("teardown", "收尾"),
        Phase::Unknown => ("an unknown phase", "未知"),
    };
    match language {
        Language::En => en,
        Language::Zh => zh,
    }
}

/// Translates `words`, composed of the English terms known here, to `language`.
pub fn in_terms(words: &str, language: Language) -> Cow<'_, str> {
    match language {
        Language::En => Cow::Borrowed(words),
        Language::Zh => Cow::Owned(chinese(words)),
    }
}

fn chinese(words: &str) -> String {
    let mut terms: Vec<&(&str, &str)> = TERMS.iter().collect();
    // Longer terms first, so that no part of one is taken for a term of its own.
    terms.sort_by_key(|(english, _)| std::cmp::Reverse(english.len()));
    let (mut said, mut rest) = (String::new(), words);
    let mut is_within = false;
    while let Some(character) = rest.chars().next() {
        let may_begin = |english: &str| !is_within || !english.starts_with(is_of_word);
        let found = terms.iter().find(|(english, _)| may_begin(english) && begins_with(rest, english));
        let taken = match found {
            Some((english, chinese)) => {
                said.push_str(chinese);
                english.len()
            }
            None => {
                said.push(character);
                character.len_utf8()
            }
        };
        is_within = rest[..taken].ends_with(is_of_word);
        rest = &rest[taken..];
    }
    closed_up(&said)
}

fn begins_with(text: &str, term: &str) -> bool {
    text.strip_prefix(term).is_some_and(|behind| !(term.ends_with(is_of_word) && behind.starts_with(is_of_word)))
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// `text` without blanks between two Chinese characters or beside Chinese punctuation.
pub fn closed_up(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_wide =
        |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(|c| is_chinese(*c) || is_sign(*c));
    let is_sign_at = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(|c| is_sign(*c));
    let stays = |at: &usize| {
        let (before, behind) = (at.checked_sub(1), Some(at + 1));
        let between = is_wide(before) && is_wide(behind);
        characters[*at] != ' ' || !(between || is_sign_at(before) || is_sign_at(behind))
    };
    (0..characters.len()).filter(stays).map(|at| characters[at]).collect()
}

fn is_chinese(character: char) -> bool {
    matches!(character, '\u{4e00}'..='\u{9fff}')
}

fn is_sign(character: char) -> bool {
    "，。；：、（）“”".contains(character)
}

/// The terms of sums, formulas, assumptions and layouts.
const TERMS: &[(&str, &str)] = &[
    // What a requested amount may be.
    ("all parameters", "全部参数"),
    ("a rank's part of the parameters", "每个 rank 分到的参数"),
    ("gradient bucket", "梯度通信桶"),
    ("a sub-group of the optimizer", "优化器的一个子组"),
    ("embedding or output head with a few tokens added", "添加了少量 token 的嵌入层或输出层"),
    ("embedding or output head", "嵌入层或输出层"),
    ("a matrix of the MLP", "MLP 的一个矩阵"),
    ("both inward matrices of the MLP", "MLP 的两个输入侧矩阵"),
    ("inward matrices of all experts", "所有专家的输入侧矩阵"),
    ("outward matrices of all experts", "所有专家的输出侧矩阵"),
    ("a rank's part of a layer", "每个 rank 分到的一层参数"),
    ("a layer", "一层"),
    ("hidden states", "隐藏状态"),
    ("an intermediate of the MLP", "MLP 的一个中间结果"),
    ("attention matrix", "注意力矩阵"),
    ("vocabulary", "词表"),
    ("hidden", "隐藏维度"),
    ("intermediate", "中间维度"),
    ("a model of", "参数量"),
    // Formulas.
    ("parameters", "参数"),
    ("bytes", "字节"),
    ("tokens", "个 token"),
    ("layers of width", "层 × 宽度"),
    ("B parameters", "B 参数"),
    (" to ", " 至 "),
    (" or ", " 或 "),
    (", or ", "，或 "),
    (", ", "，"),
    ("up to", "至多"),
    ("at least", "至少"),
    ("computed again", "重新计算"),
    ("fetched", "取回"),
    ("one layer at a time", "每次一层"),
    ("one rank at a time", "每次一个 rank"),
    ("on the first rank", "在第一个 rank 上"),
    ("written back as fast as the disk is", "随磁盘速度写回"),
    ("largest tensor or layer", "最大的张量或层"),
    ("largest layer", "最大的层"),
    ("largest parameter", "最大的参数"),
    ("largest unit", "最大的单元"),
    ("largest module", "最大的模块"),
    ("one or two", "一个或两个"),
    ("one chunk: ", "一块："),
    ("one sub-group", "一个子组"),
    ("the rank's part", "该 rank 的部分"),
    ("layer by layer", "逐层"),
    ("parameter by parameter", "逐参数"),
    ("unit by unit", "逐单元"),
    (" in one buffer", "，合为一个缓冲区"),
    (" in sub-groups of", "，分为子组，每组"),
    ("of sub-groups on the device", "（留在设备上的子组）"),
    ("what other moments need on top", "其他时刻另需的显存"),
    ("what this one holds", "此刻已占用的显存"),
    ("weights", "权重"),
    // Layouts.
    ("nodes", "个节点"),
    ("node", "个节点"),
    ("GPUs", "张 GPU"),
    ("GPU", "张 GPU"),
    ("ZeRO stage", "ZeRO 阶段"),
    ("tensor parallel", "张量并行"),
    ("pipeline parallel", "流水线并行"),
    ("sequence parallel", "序列并行"),
    ("LoRA of", "LoRA："),
    ("optimizer offload", "优化器卸载"),
    ("parameter offload", "参数卸载"),
    ("page-locked", "页锁定"),
    ("micro-batch", "micro batch"),
    ("tokens at once", "个 token 一批"),
    ("selective recomputation", "选择性重计算"),
    ("full recomputation", "完全重计算"),
    // Assumptions.
    (
        "the upper bound for a GPU includes the CUDA context, communicators and PyTorch's cached blocks; the lower bound does not",
        "GPU 的上界包含 CUDA 上下文、通信器和 PyTorch 缓存的显存块，下界不包含",
    ),
    ("not counted: the libraries and data of each process on the host", "未计入：主机上各进程的库和数据"),
    ("the model is known by a rounded size only", "仅知道模型的近似规模"),
    (
        "not counted: activations and logits; the model's shape is unknown",
        "未计入：激活值和 logits，因为不知道模型结构",
    ),
    (
        "not counted: activations and logits; only the vocabulary's size is unknown: say",
        "未计入：激活值和 logits，因为只缺词表大小：请给出",
    ),
    (
        "in the launch, or give the model's config.json by --model",
        "（写在启动配置中），或用 --model 给出模型的 config.json",
    ),
    (
        "not counted: activations and logits; the micro-batch or sequence length is unknown",
        "未计入：激活值和 logits，因为不知道 micro batch 或序列长度",
    ),
    (
        "activations are counted tensor by tensor, as transformers keeps them",
        "激活值按 transformers 实际保留的张量逐个计算",
    ),
    ("activations come from a formula: give or take a quarter", "激活值按公式估算，误差约四分之一"),
    ("not counted: activations of the vision tower", "未计入：视觉塔的激活值"),
    ("tokens are spread evenly over the experts", "假设 token 在各专家间均匀分布"),
    (
        "not counted: the inference engine's cache; the GPU's memory is unknown",
        "未计入：推理引擎的缓存，因为不知道 GPU 显存大小",
    ),
    (
        "pipeline stages are equal, except for the embedding and the output head",
        "除嵌入层和输出层外，流水线各阶段大小相同",
    ),
    (
        "all parameters are stepped in one group; a small second one without weight decay is not told apart",
        "所有参数作为一组更新；不区分不做权重衰减的小参数组",
    ),
    ("nothing is trained: weights and a KV cache only", "不训练：只有权重和 KV cache"),
    (
        "not counted: the engine's profiling pass over its largest batch, its CUDA graphs and context",
        "未计入：引擎用最大批做的显存探测、CUDA graph 和上下文",
    ),
    (
        "not counted: the KV cache; neither the engine's share of the GPU nor the longest request is known",
        "未计入：KV cache，因为既不知道引擎占用的显存比例，也不知道最长请求",
    ),
    ("one node: no other number was given", "单节点：没有给出其他数目"),
    ("one GPU: no other number was given", "单张 GPU：没有给出其他数目"),
    ("nothing is sharded over the ranks: no sharding was given", "各 rank 之间不切分：没有给出切分方式"),
    (
        "16-bit weights and gradients, fp32 master weights: no precision was given",
        "16 位权重和梯度、fp32 主权重：没有给出精度",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_said_in_chinese_term_by_term() {
        for (english, chinese) in [
            ("4096 tokens × 152064 vocabulary × 4 bytes", "4096 个 token × 152064 词表 × 4 字节"),
            ("7.60 to 9.60 B ÷ 8 × 2 bytes", "7.60 至 9.60 B ÷ 8 × 2 字节"),
            ("largest unit × 2 bytes, one or two", "最大的单元 × 2 字节，一个或两个"),
            ("1 node × 8 GPUs, ZeRO stage 3", "1 个节点 × 8 张 GPU，ZeRO 阶段 3"),
            ("meta-llama/tokens_8b", "meta-llama/tokens_8b"),
        ] {
            assert_eq!(in_terms(english, Language::Zh), chinese);
            assert_eq!(in_terms(english, Language::En), english);
        }
    }

    #[test]
    fn no_blank_stands_between_chinese_words() {
        assert_eq!(closed_up("失败发生在 前向 阶段，其他 rank 等待"), "失败发生在前向阶段，其他 rank 等待");
    }
}
