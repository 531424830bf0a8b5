use tantivy::Index;
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TextAnalyzer;

use super::lines;
use super::tally::Column;
use crate::model::FigureName;

/// The column by which what happened last stands first.
pub(super) const TIME: &str = "time";
/// The column of kind, phase, cause and framework, as one word.
pub(in crate::history) const FACETS: &str = "facets";
/// The column by which incidents of one moment are told apart.
pub(super) const NUMBER: &str = "number";
/// The column of what incidents are grouped by; empty for one of which nobody can say that it was seen before.
pub(super) const TROUBLE: &str = "trouble";
/// The columns of when an incident was resolved, and when opened again, in seconds since 1970; one of them has a value at most.
pub(super) const RESOLVED: &str = "resolved_at";
pub(super) const REOPENED: &str = "reopened_at";

/// What an incident is found by.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    pub id: Field,
    /// Every word.
    pub words: Field,
    /// What words are made of: `optimizer` of `optimizer_step`, the characters of a pair of them.
    pub parts: Field,
    /// Neighbouring words as one: a phrase of two is looked up, one of more is put together from rarer parts.
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
    /// What is shown of it, as JSON.
    pub document: Field,
}

impl Fields {
    pub fn figure(&self, name: FigureName) -> Field {
        let place = FigureName::ALL.iter().position(|known| *known == name).unwrap_or_default();
        self.figures[place]
    }
}

/// The schema, and its fields.
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

/// Tells `index` how words are told apart.
pub(super) fn register(index: &Index) {
    index.tokenizers().register(lines::NAME, TextAnalyzer::from(lines::Lines));
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
        TextFieldIndexing::default().set_tokenizer(lines::NAME).set_index_option(option).set_fieldnorms(norms);
    TextOptions::default().set_indexing_options(indexing)
}
