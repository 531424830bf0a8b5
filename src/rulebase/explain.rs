use std::fmt::Write;

use anstyle::Style;

use super::names::nearest;
use crate::knowledge::{
    CauseRule, Direction, Fact, Glossary, Knob, Knowledge, Language, Lever, Origin, Spelling, To, Word, plain_name,
};

/// Nothing has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexplained {
    /// The most similar names, the best first.
    pub nearest: Vec<String>,
}

/// Explains `word` as text with colours: a kind, phase or figure, a cause, a lever, a fact, or a knob by any of its
/// spellings. If it has several meanings, all are explained.
pub fn explain(
    word: &str,
    knowledge: &Knowledge,
    glossary: &Glossary,
    language: Language,
) -> Result<String, Unexplained> {
    let book = Book { knowledge, glossary, language };
    let plain = plain_name(word.trim()).to_lowercase();
    let is_meant = |name: &str| name.replace('-', "_").eq_ignore_ascii_case(&plain);
    let mut entries: Vec<String> = Vec::new();
    entries.extend(glossary.words.iter().filter(|known| is_meant(&known.name)).map(|known| book.word(known)));
    let figure = plain.strip_prefix("figures.");
    entries.extend(figure.and_then(|name| glossary.word("figure", name)).map(|known| book.word(known)));
    let causes = knowledge.causes.iter().filter(|rule| is_meant(&rule.id) || is_meant(&rule.cause));
    entries.extend(causes.map(|rule| book.cause(rule)));
    entries.extend(knowledge.levers.iter().filter(|lever| is_meant(&lever.name)).map(|lever| book.lever(lever)));
    let facts = knowledge.facts.iter().chain(&glossary.facts);
    entries.extend(facts.filter(|fact| is_meant(&fact.name)).map(|fact| book.fact(fact)));
    let is_knob =
        |knob: &&Knob| is_meant(&knob.id) || is_meant(&format!("{}.{}", knob.framework, knob.id)) || knob.knows(word);
    entries.extend(knowledge.knobs.iter().filter(is_knob).map(|knob| book.knob(knob)));
    match entries.is_empty() {
        true => Err(Unexplained { nearest: book.nearest(&plain) }),
        false => Ok(entries.join("\n")),
    }
}

/// Everything that can be explained, in one language.
struct Book<'b> {
    knowledge: &'b Knowledge,
    glossary: &'b Glossary,
    language: Language,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

impl Book<'_> {
    fn say(&self, en: &'static str, zh: &'static str) -> &'static str {
        match self.language {
            Language::En => en,
            Language::Zh => zh,
        }
    }

    fn entry(&self, of: &str, name: &str, title: &str) -> Entry {
        let title = if title.is_empty() { String::new() } else { format!(": {title}") };
        Entry { text: format!("{BOLD}{name}{BOLD:#}{title}  {DIM}{of}{DIM:#}\n") }
    }

    fn word(&self, word: &Word) -> String {
        let of = match &*word.of {
            "kind" => self.say("kind of incident", "事件类型（kind）"),
            "phase" => self.say("phase", "阶段（phase）"),
            "figure" => self.say("figure", "数据项（figure）"),
            _ => self.say("other failure", "其他故障"),
        };
        let mut entry = self.entry(of, &word.name, "");
        entry.paragraph(word.meaning.in_language(self.language));
        let stated = word.source.as_deref().unwrap_or_default();
        entry.row(self.say("stated by", "来源"), stated);
        if &*word.of == "kind" {
            let explained =
                self.knowledge.causes.iter().filter(|rule| rule.kinds.iter().any(|k| k.as_str() == &*word.name));
            entry.row(self.say("its causes", "可能原因"), &list(explained.map(|rule| rule.cause.to_string())));
        }
        if &*word.of == "figure" {
            entry.row(self.say("in rules", "规则中写作"), &format!("figures.{}", word.name));
        }
        entry.text
    }

    fn cause(&self, rule: &CauseRule) -> String {
        let of = match rule.origin {
            Origin::Shipped => self.say("cause", "原因（cause）"),
            Origin::Own => self.say("cause, a rule of yours", "原因（cause），您自己的规则"),
        };
        let mut entry = self.entry(of, &rule.cause, rule.title.in_language(self.language));
        entry.paragraph(rule.explanation.in_language(self.language));
        entry.row(self.say("not said", "不能据此认为"), rule.not_concluded.in_language(self.language));
        entry.row(self.say("explains", "适用于"), &list(rule.kinds.iter().map(|kind| kind.to_string())));
        let way = |way: Option<Direction>| way.map(|way| format!(" ({})", way.as_str())).unwrap_or_default();
        let mut levers: Vec<String> =
            rule.patch.iter().map(|row| format!("{}{}", row.lever, way(row.direction))).collect();
        levers.dedup();
        entry.row(self.say("what helps", "有效的改动"), &list(levers.into_iter()));
        let mut useless: Vec<String> = rule.not_advised.iter().map(|row| row.knob.to_string()).collect();
        useless.dedup();
        entry.row(self.say("what does not", "无效的改动"), &list(useless.into_iter()));
        entry.row(self.say("read more", "参考"), &list(rule.references.iter().cloned()));
        entry.row(self.say("the rule", "规则"), &format!("oomdoc rules show {}", rule.id));
        entry.text
    }

    fn lever(&self, lever: &Lever) -> String {
        let mut entry = self.entry(self.say("lever", "调节项（lever）"), &lever.name, "");
        entry.paragraph(lever.meaning.in_language(self.language));
        if lever.both_ways {
            entry.row(self.say("which way", "方向"), self.say("raise or lower, as the cause asks", "视原因调大或调小"));
        }
        let knobs = self.knowledge.knobs.iter().filter(|knob| knob.turns(&lever.name, None).is_some());
        entry
            .row(self.say("turned by", "对应设置"), &list(knobs.map(|knob| format!("{}.{}", knob.framework, knob.id))));
        let is_helped = |rule: &&CauseRule| rule.patch.iter().any(|row| row.lever == lever.name);
        let causes = self.knowledge.causes.iter().filter(is_helped).map(|rule| rule.cause.to_string());
        entry.row(self.say("helps against", "可缓解"), &list(causes));
        entry.text
    }

    fn fact(&self, fact: &Fact) -> String {
        let mut entry = self.entry(self.say("fact for conditions", "条件中可用的事实"), &fact.name, "");
        entry.paragraph(fact.meaning.in_language(self.language));
        let unit = fact.unit.as_deref().map(|unit| format!(" ({unit})")).unwrap_or_default();
        entry.row(self.say("type", "类型"), &format!("{}{unit}", fact.r#type.as_str()));
        entry.row(self.say("values", "取值"), &list(fact.values.iter().map(|value| value.to_string())));
        let set = self.knowledge.knobs.iter().filter(|knob| knob.fact.as_ref() == Some(&fact.name));
        entry.row(
            self.say("set by", "由这些设置决定"),
            &list(set.map(|knob| format!("{}.{}", knob.framework, knob.id))),
        );
        entry.text
    }

    fn knob(&self, knob: &Knob) -> String {
        let of = format!("{} {} · {}", knob.framework, self.say("knob", "设置"), knob.target.as_str());
        let mut entry = self.entry(&of, &format!("{}.{}", knob.framework, knob.id), "");
        entry.row(self.say("spelled", "写法"), &list(knob.spelling.iter().map(spelled)));
        let defaults = knob.default.iter().map(|default| match &default.since {
            Some(since) => format!("{} (≥{since})", default.value),
            None => default.value.clone(),
        });
        entry.row(self.say("default", "默认值"), &list(defaults));
        entry.row(self.say("moves", "影响"), knob.moves.in_language(self.language));
        entry.row(self.say("cost", "代价"), knob.cost.in_language(self.language));
        let turns = knob.lever.iter().map(|turn| {
            let way = turn.direction.map(|way| format!(" {}", way.as_str())).unwrap_or_default();
            format!("{}{way} ({})", turn.name, step(&turn.to))
        });
        entry.row(self.say("turns", "调节"), &list(turns));
        for constraint in &knob.constraint {
            entry.row(self.say("needs", "前提"), constraint.text.in_language(self.language));
        }
        for note in &knob.note {
            entry.row(self.say("note", "注意"), note.text.in_language(self.language));
        }
        entry.row(self.say("fact", "事实"), knob.fact.as_deref().unwrap_or_default());
        entry.text
    }

    fn nearest(&self, word: &str) -> Vec<String> {
        let Book { knowledge, glossary, .. } = self;
        let knobs: Vec<String> = knowledge.knobs.iter().map(|knob| format!("{}.{}", knob.framework, knob.id)).collect();
        let spelled: Vec<&str> =
            knowledge.knobs.iter().flat_map(Knob::names).map(|name| name.trim_start_matches('-')).collect();
        let known = glossary.words.iter().map(|known| &*known.name);
        let known = known.chain(knowledge.causes.iter().map(|rule| &*rule.cause));
        let known = known.chain(knowledge.levers.iter().map(|lever| &*lever.name));
        let known = known.chain(knowledge.facts.iter().chain(&glossary.facts).map(|fact| &*fact.name));
        let known = known.chain(knowledge.knobs.iter().map(|knob| &*knob.id));
        let known = known.chain(knobs.iter().map(String::as_str)).chain(spelled);
        nearest(word, known).into_iter().map(str::to_owned).collect()
    }
}

/// The explanation of one meaning.
struct Entry {
    text: String,
}

impl Entry {
    fn paragraph(&mut self, words: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "  {words}");
    }

    /// Adds a row unless `words` is empty.
    fn row(&mut self, label: &str, words: &str) {
        if !words.is_empty() {
            let _ = writeln!(self.text, "  {DIM}{label}{DIM:#}: {words}");
        }
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn spelled(spelling: &Spelling) -> String {
    let names: Vec<&str> = spelling.names().collect();
    let versions = match (&spelling.since, &spelling.until) {
        (Some(since), Some(until)) => format!(" ({since}–{until})"),
        (Some(since), None) => format!(" (≥{since})"),
        (None, Some(until)) => format!(" (≤{until})"),
        (None, None) => String::new(),
    };
    format!("{}{versions}", names.join(" = "))
}

fn step(to: &To) -> String {
    match to {
        To::On => "on".to_owned(),
        To::Off => "off".to_owned(),
        To::Scale(factor) => format!("× {factor}"),
        To::Add(amount) => format!("{amount:+}"),
        To::Value(value) => format!("= {value}"),
        To::Sibling(names) => {
            let pairs: Vec<String> = names.iter().map(|(from, to)| format!("{from} = {to}")).collect();
            pairs.join(", ")
        }
        To::Moved(folder) => format!("→ {folder}"),
        To::Need => "= what is needed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(word: &str, language: Language) -> Result<Result<String, Unexplained>, crate::knowledge::KnowledgeError> {
        let (knowledge, glossary) = (Knowledge::shipped()?, Glossary::shipped()?);
        Ok(explain(word, &knowledge, &glossary, language))
    }

    #[test]
    fn words_are_explained_in_both_languages() -> Result<(), Box<dyn std::error::Error>> {
        for (word, en, zh) in [
            ("gpu_oom", "could not give memory", "无法分配显存"),
            ("backward", "recomputation", "反向"),
            ("anon_rss", "Anonymous resident", "匿名常驻"),
            ("figures.requested", "Tried to allocate", "取整"),
            ("fragmentation", "rules show fragmentation", "碎片"),
            ("micro_batch", "Sequences", "序列"),
            ("config.zero_stage", "What is sharded", "切分"),
            ("--gpu-memory-utilization", "vllm.", "vllm."),
            ("deepspeed.offload_optimizer_ratio", "cost", "代价"),
        ] {
            let (in_en, in_zh) = (said(word, Language::En)?, said(word, Language::Zh)?);
            assert!(in_en.as_ref().is_ok_and(|text| text.contains(en)), "{word}: {in_en:?}");
            assert!(in_zh.as_ref().is_ok_and(|text| text.contains(zh)), "{word}: {in_zh:?}");
        }
        Ok(())
    }

    #[test]
    fn a_slip_of_the_pen_gets_a_guess() -> Result<(), Box<dyn std::error::Error>> {
        let wrong = said("fragmantation", Language::En)?;
        assert_eq!(wrong.map_err(|error| error.nearest.first().cloned()), Err(Some("fragmentation".to_owned())));
        Ok(())
    }
}
