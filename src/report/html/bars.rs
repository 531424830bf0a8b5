//! Predicted and observed memory as bars on one scale.

use maud::{Markup, html};

use super::super::wording;
use super::plain;
use super::plot::device_limit;
use crate::knowledge::Language;
use crate::model::{Bytes, Figure, Incident};

const WIDTH: f64 = 900.0;
const ROW: f64 = 34.0;

/// The bars of an incident, with the device's capacity as a line if all are of a device; empty without a prediction.
pub(super) fn memory(incident: &Incident, language: Language) -> Markup {
    let labels = wording::labels(language);
    let memory = &incident.memory;
    let rows = memory.predicted.iter().map(|figure| (labels.predicted, "s0", figure));
    let rows = rows.chain(memory.observed.iter().map(|figure| (labels.observed, "s1", figure)));
    let rows: Vec<(&str, &str, &Figure, Bytes)> =
        rows.filter_map(|(label, color, figure)| Some((label, color, figure, figure.bytes?))).collect();
    let is_host = |figure: &Figure| super::plot::is_host(figure.name);
    let limit = device_limit(incident).filter(|_| !rows.iter().any(|(_, _, figure, _)| is_host(figure)));
    let most = rows.iter().map(|(.., bytes)| *bytes).chain(limit).max().unwrap_or_default();
    let wide = |bytes: Bytes| WIDTH * bytes.0.max(0) as f64 / most.0.max(1) as f64;
    let height = ROW * rows.len() as f64;
    html! {
        @if !rows.is_empty() && most > Bytes(0) {
            h2 { (labels.arithmetic) }
            figure {
                svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(labels.arithmetic) {
                    @for (place, (label, color, figure, bytes)) in rows.iter().enumerate() {
                        @let top = ROW * place as f64;
                        g class=(color) {
                            rect.bar x="0" y=(top + 18.0) width=(format!("{:.1}", wide(*bytes))) height="12" {}
                            text x="4" y=(top + 13.0) {
                                (label) ": " (bytes) " " (wording::figure(figure.name, language)) " "
                                (plain(&figure.source.to_string()))
                            }
                        }
                    }
                    @if let Some(limit) = limit {
                        @let x = format!("{:.1}", wide(limit).min(WIDTH - 1.0));
                        line.limit x1=(x) x2=(x) y1="0" y2=(height) { title { (labels.limit) " " (limit) } }
                    }
                }
                @if let Some(limit) = limit { figcaption { (labels.limit) ": " (limit) } }
            }
            @for formula in memory.predicted.iter().filter_map(|figure| figure.derived.as_ref()) {
                p { (plain(&formula.formula)) }
            }
            @for line in memory.explains.iter().flat_map(|words| words.lines()) { p.dim { (plain(line)) } }
        }
    }
}
