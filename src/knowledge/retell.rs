//! Translates sentences of the rules in a finished report.
//!
//! A report keeps its sentences as they were filled in. Each comes from a row of a rule or knob, so the same row with the same values gives
//! it in the reader's language. A sentence that matches no row stays as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{CauseRule, Knowledge, Language, Words, closed_up, in_terms, phase_in_words, read};
use crate::knowledge::file::File;
use crate::model::{Incident, Phase};

/// The beginning of a sentence that goes on with the evidence against the next cause.
pub const LESS_LIKELY: (&str, &str) = ("“{title}” is less likely:", "“{title}”的可能性较小：");

/// Titles of the shipped causes.
static TITLES: LazyLock<BTreeMap<String, Vec<Words>>> = LazyLock::new(|| {
    let rules = read::causes(&File::shipped()).unwrap_or_default();
    rules.into_iter().map(|rule| (rule.cause.to_string(), rule.titles().cloned().collect())).collect()
});

/// The title of `cause` in every language, if it is a shipped one.
pub fn titles(cause: &str) -> Option<&'static Words> {
    TITLES.get(cause)?.first()
}

/// `title` of `cause` in `language`; unchanged if a user's rule gave it.
pub fn title_in<'t>(cause: &str, title: &'t str, language: Language) -> &'t str {
    let mut known = TITLES.get(cause).into_iter().flatten();
    known.find(|words| words.en == title || words.zh == title).map_or(title, |words| words.in_language(language))
}

/// Translates the titles and sentences of `incident` to `language`, as far as `knowledge` has them.
pub fn retell(incident: &mut Incident, knowledge: &Knowledge, language: Language) {
    let teller = Teller::new(knowledge, language);
    let again = |text: &mut String| {
        if let Some(told) = teller.tell(text) {
            *text = told;
        }
    };
    incident.capture_next.iter_mut().for_each(again);
    for diagnosis in &mut incident.diagnoses {
        diagnosis.title = teller.title(&diagnosis.title).into_owned();
        again(&mut diagnosis.why);
        diagnosis.not_advised.iter_mut().for_each(|row| again(&mut row.why));
        for patch in &mut diagnosis.patches {
            [&mut patch.cost, &mut patch.constraint, &mut patch.note].into_iter().flatten().for_each(again);
        }
    }
}

/// Translates `text` by the first pair of `table` whose first template matches all of it; `tell` translates the values.
pub fn again(text: &str, table: &[(&str, &str)], tell: &dyn Fn(&str) -> String) -> Option<String> {
    table.iter().find_map(|(from, to)| {
        let (values, rest) = held(text, from)?;
        let filled = || {
            values
                .iter()
                .fold((*to).to_owned(), |told, (name, value)| told.replace(&format!("{{{name}}}"), &tell(value)))
        };
        rest.is_empty().then(filled)
    })
}

struct Teller<'k> {
    titles: Vec<&'k Words>,
    sentences: Vec<(&'k str, &'k str)>,
    language: Language,
}

impl<'k> Teller<'k> {
    fn new(knowledge: &'k Knowledge, language: Language) -> Teller<'k> {
        let of_rules = knowledge.causes.iter().flat_map(|rule| {
            let why = rule.evidence.iter().map(|row| &row.why).chain(rule.not_advised.iter().map(|row| &row.why));
            why.chain(rule.capture.iter().map(|row| &row.text)).chain([&rule.explanation])
        });
        let of_knobs = knowledge.knobs.iter().flat_map(|knob| {
            let needs = knob.constraint.iter().map(|row| &row.text).chain(knob.note.iter().map(|row| &row.text));
            needs.chain(knob.lever.iter().filter_map(|turn| turn.cost.as_ref())).chain(knob.costs())
        });
        let words = of_rules.chain(of_knobs).map(|words| (&*words.en, words.in_language(Language::Zh)));
        Teller {
            titles: knowledge.causes.iter().flat_map(CauseRule::titles).collect(),
            sentences: words.chain([LESS_LIKELY]).collect(),
            language,
        }
    }

    fn title<'t>(&self, title: &'t str) -> Cow<'t, str> {
        let known = self.titles.iter().find(|words| words.en == title || words.zh == title);
        known.map_or(Cow::Borrowed(title), |words| Cow::Owned(words.in_language(self.language).to_owned()))
    }

    /// Translates `text` sentence by sentence; `None` if a sentence matches no row.
    fn tell(&self, text: &str) -> Option<String> {
        let (mut told, mut rest): (Vec<String>, &str) = (Vec::new(), text.trim());
        while !rest.is_empty() {
            let said = self.sentences.iter().filter_map(|(en, zh)| {
                let (from, to) = if self.language == Language::Zh { (en, zh) } else { (zh, en) };
                // A sentence may already be in the reader's language.
                [from, to].into_iter().find_map(|from| Some((held(rest, from)?, *to)))
            });
            let ((values, behind), to) = said.min_by_key(|((_, behind), _)| behind.len())?;
            told.push(self.filled(to, &values)?);
            rest = behind.trim_start();
        }
        Some(told.join(self.language.blank()))
    }

    /// Fills `template` with the values of the same names.
    fn filled(&self, template: &str, values: &[(&str, &str)]) -> Option<String> {
        let (mut filled, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}')?;
            let value = values.iter().find(|(known, _)| *known == name)?.1;
            filled.push_str(before);
            filled.push_str(&match name {
                "title" => self.title(value),
                "phase" => self.phase(value),
                _ => in_terms(value, self.language),
            });
            rest = behind;
        }
        filled.push_str(rest);
        Some(if self.language == Language::Zh { closed_up(&filled) } else { filled })
    }

    fn phase<'v>(&self, value: &'v str) -> Cow<'v, str> {
        let is_it = |phase: &&Phase| Language::ALL.iter().any(|language| phase_in_words(**phase, *language) == value);
        let known = Phase::ALL.iter().find(is_it);
        known.map_or(Cow::Borrowed(value), |phase| phase_in_words(*phase, self.language).into())
    }
}

/// Matches `template` at the beginning of `text`; returns the values of its names and the rest of `text`.
fn held<'t, 'n>(text: &'t str, template: &'n str) -> Option<(Vec<(&'n str, &'t str)>, &'t str)> {
    let (first, mut template) = template.split_once('{').map_or((template, ""), |(first, rest)| (first, rest));
    // Blanks between Chinese characters were removed when it was filled in.
    let mut rest = text.strip_prefix(first).or_else(|| text.strip_prefix(first.trim_end()))?;
    let mut values = Vec::new();
    while !template.is_empty() {
        let (name, behind) = template.split_once('}')?;
        let (literal, next) = behind.split_once('{').map_or((behind, ""), |(literal, next)| (literal, next));
        let (value, after) = match literal.trim() {
            "" if next.is_empty() => (rest, ""),
            trimmed => rest.split_once(literal).or_else(|| rest.split_once(trimmed))?,
        };
        values.push((name, value));
        (rest, template) = (after, next);
    }
    Some((values, rest))
}
