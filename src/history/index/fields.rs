use tantivy::Index;
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TextAnalyzer;

use super::tally::Column;
use super::tokenizer;
use crate::model::FigureName;

/// The column that orders incidents, newest first.
pub(super) const TIME: &str = "time";
/// The column with kind, phase, cause and framework joined into one word.
pub(in crate::history) const FACETS: &str = "facets";
/// The column that distinguishes incidents of the same second.
pub(super) const NUMBER: &str = "number";
/// The column of the group; empty for an incident that cannot be told from others.
pub(super) const TROUBLE: &str = "trouble";
/// The columns of when an incident was resolved and when it was reopened, in seconds since 1970; at most one of them
/// has a value.
pub(super) const RESOLVED: &str = "resolved_at";
pub(super) const REOPENED: &str = "reopened_at";

/// The fields of the index.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    pub id: Field,
    /// Every word.
    pub words: Field,
    /// The parts of compound words: `optimizer` of `optimizer_step`, the single characters of a pair of ideographs.
    pub parts: Field,
    /// Neighbouring words as one term: a phrase of two words is one lookup, and a longer phrase intersects pairs, which
    /// are rarer than words.
    pub pairs: Field,
    pub kind: Field,
    pub phase: Field,
    pub cause: Field,
    pub framework: Field,
    pub model: Field,
    pub gpu: Field,
    pub host: Field,
    pub cluster: Field,
    pub role: Field,
    pub site: Field,
    pub group: Field,
    pub job: Field,
    pub tag: Field,
    pub file: Field,
    pub worked: Field,
    pub assignee: Field,
    pub state: Field,
    /// Seconds since 1970.
    pub time: Field,
    pub number: Field,
    pub trouble: Field,
    pub resolved: Field,
    pub reopened: Field,
    pub facets: Field,
    /// In the order of [`FigureName::ALL`].
    figures: Vec<Field>,
    /// The summary that lists show, as JSON.
    pub document: Field,
}

impl Fields {
    pub fn figure(&self, name: FigureName) -> Field {
        let place = FigureName::ALL.iter().position(|known| *known == name).unwrap_or_default();
        self.figures[place]
    }
}

pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let name = |schema: &mut SchemaBuilder, name: &str| schema.add_text_field(name, one_word());
    let column = |schema: &mut SchemaBuilder, name: &str| schema.add_text_field(name, one_word().set_fast("raw"));
    let fields = Fields {
        id: name(&mut schema, "id"),
        words: schema.add_text_field("words", words(IndexRecordOption::WithFreqs, true)),
        parts: schema.add_text_field("parts", words(IndexRecordOption::Basic, false)),
        pairs: schema.add_text_field("pairs", words(IndexRecordOption::WithFreqsAndPositions, true)),
        kind: name(&mut schema, "kind"),
        phase: name(&mut schema, "phase"),
        cause: name(&mut schema, "cause"),
        framework: name(&mut schema, "framework"),
        model: column(&mut schema, Column::Model.name()),
        gpu: name(&mut schema, "gpu"),
        host: column(&mut schema, Column::Host.name()),
        cluster: column(&mut schema, Column::Cluster.name()),
        role: name(&mut schema, "role"),
        site: name(&mut schema, "site"),
        group: name(&mut schema, "group"),
        job: column(&mut schema, Column::Job.name()),
        tag: name(&mut schema, "tag"),
        file: name(&mut schema, "file"),
        worked: name(&mut schema, "worked"),
        assignee: name(&mut schema, "assignee"),
        state: name(&mut schema, "state"),
        time: schema.add_i64_field(TIME, FAST),
        number: schema.add_u64_field(NUMBER, FAST),
        trouble: schema.add_text_field(TROUBLE, TextOptions::default().set_fast("raw")),
        resolved: schema.add_i64_field(RESOLVED, FAST),
        reopened: schema.add_i64_field(REOPENED, FAST),
        facets: schema.add_text_field(FACETS, TextOptions::default().set_fast("raw")),
        figures: FigureName::ALL.iter().map(|name| schema.add_f64_field(&format!("figure_{name}"), FAST)).collect(),
        document: schema.add_text_field("document", STORED),
    };
    (schema.build(), fields)
}

/// Registers the tokenizer with `index`.
pub(super) fn register(index: &Index) {
    index.tokenizers().register(tokenizer::NAME, TextAnalyzer::from(tokenizer::LineTokenizer));
}

fn one_word() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    TextOptions::default().set_indexing_options(indexing)
}

fn words(option: IndexRecordOption, norms: bool) -> TextOptions {
    let indexing =
        TextFieldIndexing::default().set_tokenizer(tokenizer::NAME).set_index_option(option).set_fieldnorms(norms);
    TextOptions::default().set_indexing_options(indexing)
}
