//! An estimate for the terminal.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::wording::{self, Labels};
use super::{Estimate, Fit, Fits, Need};
use crate::knowledge::{Language, in_terms};
use crate::memory::Amount;
use crate::model::Bytes;
use crate::report::part_name;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Columns of names and of amounts.
const NAME: usize = 30;
const AMOUNT: usize = 24;
/// The shortest and the longest bar.
const BARS: (usize, usize) = (10, 60);

/// `estimate` in `width` columns, with colours. `is_whole` shows the parts of every moment rather than of the largest
/// only.
pub fn text(estimate: &Estimate, language: Language, width: usize, is_whole: bool) -> String {
    let bar = width.saturating_sub(NAME + AMOUNT + 4).clamp(BARS.0, BARS.1);
    let mut page = Page { text: String::new(), labels: wording::labels(language), language, bar };
    // Writing to a string does not fail.
    let _ = page.write(estimate, is_whole);
    page.text
}

struct Page {
    text: String,
    labels: &'static Labels,
    language: Language,
    bar: usize,
}

impl Page {
    fn write(&mut self, estimate: &Estimate, is_whole: bool) -> fmt::Result {
        writeln!(self.text, "{BOLD}{}{BOLD:#}", wording::model(estimate, self.language))?;
        writeln!(self.text, "{}", wording::layout(&estimate.layout, self.language))?;
        let cluster = &estimate.layout.cluster;
        let Labels { gpu, host, .. } = *self.labels;
        self.place(estimate, gpu, cluster.device_memory, |need| need.gpu, false, is_whole)?;
        if estimate.peak_of_host().is_some() {
            self.place(estimate, host, cluster.host_memory, |need| need.host, true, is_whole)?;
        }
        if let Some(fit) = &estimate.fit {
            self.fit(fit)?;
        }
        writeln!(self.text, "\n{BOLD}{}{BOLD:#}", self.labels.assumptions)?;
        estimate.assumptions.iter().try_for_each(|words| writeln!(self.text, "  {}", in_terms(words, self.language)))
    }

    /// All moments on a device or a host, and the parts of the largest.
    fn place(
        &mut self,
        estimate: &Estimate,
        name: &str,
        capacity: Option<Bytes>,
        amount: fn(&Need) -> Amount,
        is_host: bool,
        is_whole: bool,
    ) -> fmt::Result {
        let of = capacity.map(|capacity| format!("  {} {capacity}", self.labels.of)).unwrap_or_default();
        writeln!(self.text, "\n{BOLD}{name}{BOLD:#}{of}")?;
        let needs: Vec<&Need> = estimate.telling().filter(|need| amount(need).high > Bytes(0)).collect();
        let most = needs.iter().map(|need| amount(need).high).max().unwrap_or_default();
        let scale = Scale { most: most.max(capacity.unwrap_or_default()), capacity };
        // Activations are on devices; on hosts only if they are offloaded.
        let is_least = estimate.is_least && !is_host;
        let peak = needs.iter().rev().max_by_key(|need| amount(need).high).copied();
        for need in &needs {
            self.row("  ", &estimate.name(need, self.language), amount(need), is_least, scale, "")?;
            if is_whole {
                self.parts("    ", need, is_host, scale)?;
            }
        }
        match peak.filter(|_| !is_whole) {
            None => Ok(()),
            Some(peak) => {
                writeln!(
                    self.text,
                    "\n{BOLD}{}{BOLD:#}",
                    (self.labels.made_of)(name, &estimate.name(peak, self.language))
                )?;
                self.parts("  ", peak, is_host, Scale { capacity: None, ..scale })
            }
        }
    }

    fn parts(&mut self, indent: &str, need: &Need, is_host: bool, scale: Scale) -> fmt::Result {
        let scale = Scale { capacity: None, ..scale };
        for part in need.parts(is_host) {
            self.row(
                indent,
                &part_name(part, self.language),
                part.bytes,
                false,
                scale,
                &in_terms(&part.formula, self.language),
            )?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        indent: &str,
        name: &str,
        amount: Amount,
        is_least: bool,
        scale: Scale,
        formula: &str,
    ) -> fmt::Result {
        let pad = NAME.saturating_sub(indent.width() + name.width()).max(1);
        let shown = if is_least { least(amount) } else { self::amount(amount) };
        let style = if scale.capacity.is_some_and(|capacity| amount.low > capacity) { BAD } else { Style::new() };
        let bar = scale.bar(amount, self.bar);
        let line = format!("{indent}{name}{}{style}{shown:>AMOUNT$}{style:#}  {style}{bar}{style:#}", " ".repeat(pad));
        let line = line.trim_end();
        match formula {
            "" => writeln!(self.text, "{line}"),
            formula => writeln!(self.text, "{line}  {DIM}{formula}{DIM:#}"),
        }
    }

    fn fit(&mut self, fit: &Fit) -> fmt::Result {
        let style = match fit.fits {
            Fits::Surely => GOOD,
            Fits::Perhaps => BOLD,
            Fits::Not => BAD,
        };
        let verdict = wording::verdict(fit.fits, !fit.changes.is_empty(), self.language);
        writeln!(self.text, "\n{style}{verdict}{style:#}")?;
        if let Some(spare) = wording::spare(fit, self.language) {
            writeln!(self.text, "  {DIM}{spare}{DIM:#}")?;
        }
        let mut before = fit.before;
        for change in &fit.changes {
            let gpu = moved("GPU", before.gpu, change.then.gpu);
            let host = moved(self.labels.host_alone, before.host, change.then.host);
            let effect = [gpu, host].into_iter().flatten().collect::<Vec<_>>().join(", ");
            writeln!(self.text, "  {BOLD}{}{BOLD:#}  {effect}", change.flag)?;
            let cost = change.cost.in_language(self.language);
            writeln!(self.text, "    {DIM}{}: {cost}{DIM:#}", self.labels.costs)?;
            before = change.then;
        }
        Ok(())
    }
}

/// `GPU 149.57 GiB → 15.94 GiB`, by the upper bounds; `None` if they are equal.
fn moved(place: &str, before: Amount, then: Amount) -> Option<String> {
    (before.high != then.high).then(|| format!("{place} {} → {}", before.high, then.high))
}

/// `≥ 14.96 GiB`
pub(super) fn least(amount: Amount) -> String {
    format!("≥ {}", amount.low)
}

/// `14.96 GiB`, `14.96–18.20 GiB`.
pub(super) fn amount(amount: Amount) -> String {
    match amount.low == amount.high {
        true => amount.high.to_string(),
        false => format!("{:.2}–{:.2} GiB", amount.low.gib(), amount.high.gib()),
    }
}

/// The amount of a full bar, and the capacity.
#[derive(Clone, Copy)]
struct Scale {
    most: Bytes,
    capacity: Option<Bytes>,
}

impl Scale {
    /// The lower bound, the upper bound, and the capacity if it lies beyond both.
    fn bar(self, amount: Amount, cells: usize) -> String {
        let at = |bytes: Bytes| {
            (bytes.gib().max(0.0) / self.most.gib().max(f64::MIN_POSITIVE) * cells as f64).round() as usize
        };
        let (low, high) = (at(amount.low).min(cells), at(amount.high).min(cells));
        let mut bar = format!("{}{}", "█".repeat(low), "░".repeat(high.saturating_sub(low)));
        if let Some(limit) = self.capacity.map(at).filter(|limit| *limit > high) {
            bar += &" ".repeat(limit - high - 1);
            bar.push('│');
        }
        bar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_bounds_and_limit() {
        let gib = |gib: i128| Bytes(gib << 30);
        let scale = Scale { most: gib(100), capacity: Some(gib(80)) };
        assert_eq!(scale.bar(Amount::between(gib(20), gib(40)), 10), "██░░   │");
        assert_eq!(scale.bar(Amount::exactly(gib(90)), 10), "█████████");
        assert_eq!(scale.bar(Amount::exactly(gib(80)), 10), "████████");
        assert_eq!(Scale { most: Bytes(0), capacity: None }.bar(Amount::ZERO, 10), "");
    }
}
