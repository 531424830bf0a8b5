//! The pages to upload a log and to show its report.

use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::parts::{csrf, incident_path};
use super::words::words;
use crate::model::Report;
use crate::report;

/// The form. The script sends `id` along, so that it can ask for the progress; without the script one file or pasted
/// text is sent as a form.
pub fn upload(viewer: &Viewer<'_>, id: &str, problem: Option<&str>) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        h1 { (words.upload_title) }
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        form.upload #upload method="post" action="/upload" enctype="multipart/form-data" data-id=(id) {
            // This field must come first: the handler checks it before it reads the files.
            (csrf(viewer))
            label.drop for="file" {
                strong { (words.drop) }
                span.dim { (words.drop_more) }
                input #file type="file" name="file";
                ul.files hidden {}
            }
            label for="text" { (words.paste) }
            textarea #text name="text" rows="8" spellcheck="false" autocomplete="off" {}
            p { button.primary { (words.analyse) } }
        }
        section.progress #progress hidden data-reading=(words.is_read) data-concluding=(words.concluding) data-failed=(words.upload_failed)
            data-sent=(words.sent) data-read=(words.read) data-shortages=(words.shortages) data-no-shortages=(words.no_shortages) {
            h2 #progress-title { (words.is_read) }
            progress #progress-bar max="1" value="0" aria-labelledby="progress-title" {}
            p #progress-words role="status" {}
            p { button #stop type="button" { (words.stop) } }
        }
    };
    page(viewer, Tab::Upload, words.upload_title, content)
}

/// Whether an upload is kept in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping<'a> {
    /// Not yet; a POST to this address keeps it.
    Offered {
        /// Where the form is sent.
        action: &'a str,
    },
    /// It is kept.
    Kept {
        /// The id of the first incident.
        incident: &'a str,
    },
    /// It has no incident to keep.
    Nothing,
}

/// The page of an upload's reports.
pub fn result(viewer: &Viewer<'_>, reports: &[Report], keeping: Keeping<'_>) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        p.crumbs { a href="/upload" { (words.upload) } " / " (reports.first().map(|report| report.summary.as_str()).unwrap_or_default()) }
        div.notice {
            @match keeping {
                Keeping::Offered { action } => {
                    span { (words.not_kept) }
                    @if viewer.may_write { form method="post" action=(action) { (csrf(viewer)) button.primary { (words.keep) } } }
                },
                Keeping::Kept { incident } => { span { (words.kept) } a href=(incident_path(incident)) { (super::parts::short(incident)) } },
                Keeping::Nothing => span { (words.nothing_to_keep) },
            }
        }
        @for report in reports { article.report { (report::embedded(report, viewer.language)) } }
    };
    page(viewer, Tab::Upload, words.upload_title, content)
}
