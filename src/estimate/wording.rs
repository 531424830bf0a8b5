//! The wording of an estimate in every language.

use super::{Estimate, Fit, Fits};
use crate::knowledge::{Language, in_terms};
use crate::memory::{Layout, Recomputation, Sharding};

pub(super) struct Labels {
    pub moment: &'static str,
    pub gpu: &'static str,
    pub host: &'static str,
    pub host_alone: &'static str,
    pub of: &'static str,
    pub made_of: fn(&str, &str) -> String,
    pub assumptions: &'static str,
    pub part: &'static str,
    pub formula: &'static str,
    pub change: &'static str,
    pub costs: &'static str,
    pub parameters: &'static str,
}

const EN: Labels = Labels {
    moment: "moment",
    gpu: "each GPU",
    host: "each host",
    host_alone: "host",
    of: "of",
    made_of: |place, moment| format!("On {place}: {moment}"),
    assumptions: "Assumptions",
    part: "part",
    formula: "formula",
    change: "change",
    costs: "cost",
    parameters: "parameters",
};

const ZH: Labels = Labels {
    moment: "时刻",
    gpu: "每张 GPU",
    host: "每台主机",
    host_alone: "主机",
    of: "共",
    made_of: |place, moment| format!("{place}：{moment}"),
    assumptions: "假设",
    part: "组成",
    formula: "算法",
    change: "修改",
    costs: "代价",
    parameters: "参数",
};

pub(super) fn labels(language: Language) -> &'static Labels {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

/// The heading that says whether it fits.
pub(super) fn verdict(fits: Fits, is_changed: bool, language: Language) -> &'static str {
    let (en, zh) = match (fits, is_changed) {
        (Fits::Surely, false) => ("It fits as it is", "无需修改即可放下"),
        (Fits::Surely, true) => ("It fits with", "做以下修改即可放下"),
        (Fits::Perhaps, false) => ("It may fit as it is: the bounds are wide", "也许无需修改即可放下：上下界较宽"),
        (Fits::Perhaps, true) => ("It may fit with (the bounds are wide)", "做以下修改也许能放下（上下界较宽）"),
        (Fits::Not, false) => {
            ("It does not fit, and no known change brings it closer", "放不下，且没有已知的改法能接近")
        }
        (Fits::Not, true) => ("It does not fit; this comes closest", "放不下；最接近的做法是"),
    };
    match language {
        Language::En => en,
        Language::Zh => zh,
    }
}

/// The line below that heading that says what is left; `None` if it does not fit.
pub(super) fn spare(fit: &Fit, language: Language) -> Option<String> {
    let spare = fit.spare?;
    let host = |words: &str| spare.host.map(|host| format!("{words}{host}")).unwrap_or_default();
    let at_best = fit.fits == Fits::Perhaps;
    Some(match language {
        Language::En => {
            let least = if at_best { "at best" } else { "at least" };
            format!("leaves {least} {} of each GPU{} to spare", spare.gpu, host(" and of each host "))
        }
        Language::Zh => {
            let least = if at_best { "最多" } else { "至少" };
            format!("每张 GPU {least}剩余 {}{}", spare.gpu, host("，每台主机"))
        }
    })
}

/// `8b  7.60 to 9.60 B parameters`
pub(super) fn model(estimate: &Estimate, language: Language) -> String {
    let parameters = estimate.size.parameters.to_string();
    format!("{}  {} {}", estimate.model, in_terms(&parameters, language), labels(language).parameters)
}

/// The layout in one line.
pub(super) fn layout(layout: &Layout, language: Language) -> String {
    let cluster = &layout.cluster;
    let plural = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let mut words = vec![format!("{} × {}", plural(cluster.nodes, "node"), plural(cluster.devices_per_node, "GPU"))];
    let sharding = match layout.sharding {
        Sharding::Replicated => None,
        Sharding::ZeroOne => Some("ZeRO stage 1"),
        Sharding::ZeroTwo => Some("ZeRO stage 2"),
        Sharding::ZeroThree => Some("ZeRO stage 3"),
        Sharding::FsdpFull => Some("FSDP FULL_SHARD"),
        Sharding::FsdpGradOp => Some("FSDP SHARD_GRAD_OP"),
        Sharding::FsdpHybrid => Some("FSDP HYBRID_SHARD"),
    };
    words.extend(sharding.map(str::to_owned));
    let splits = [
        ("tensor", layout.parallel.tensor),
        ("pipeline", layout.parallel.pipeline),
        ("sequence", layout.parallel.sequence),
    ];
    words.extend(splits.iter().filter(|(_, ranks)| *ranks > 1).map(|(name, ranks)| format!("{name} parallel {ranks}")));
    words.extend(layout.adapter.map(|adapter| format!("LoRA of {} parameters", adapter.parameters)));
    if let Some(offload) = layout.offload.optimizer {
        words.push(format!("optimizer offload{}", if offload.pin { ", page-locked" } else { "" }));
    }
    words.extend(layout.offload.parameters.map(|_| "parameter offload".to_owned()));
    words.extend(layout.batch.map(|batch| match batch.token_budget {
        Some(tokens) => format!("{tokens} tokens at once"),
        None => format!("micro-batch {} × {} tokens", batch.micro_batch, batch.sequence),
    }));
    words.extend(match layout.recomputation {
        Recomputation::None => None,
        Recomputation::Selective => Some("selective recomputation".to_owned()),
        Recomputation::Full => Some("full recomputation".to_owned()),
    });
    in_terms(&words.join(", "), language).into_owned()
}
