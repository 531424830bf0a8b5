//! The pages of this repository as readers see them: headings with anchors, links and code.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A page in Markdown.
pub struct Page {
    /// Its path, from the top of the repository.
    pub path: PathBuf,
    /// Level and text of each heading.
    pub headings: Vec<(usize, String)>,
    /// Targets of links and pictures.
    pub links: Vec<String>,
    pub code: Vec<Code>,
}

/// A block of code.
pub struct Code {
    /// The language of a fenced block; none where the block is only indented.
    pub language: Option<String>,
    pub text: String,
}

pub fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Page {
    /// All Markdown pages at the top of the repository, in `docs/` and in `corpus/`.
    pub fn read_all() -> Result<Vec<Page>, Box<dyn Error>> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(top())?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
        for folder in ["docs", "corpus"] {
            for entry in walkdir::WalkDir::new(top().join(folder)) {
                paths.push(entry?.into_path());
            }
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        paths.sort();
        paths.iter().map(|path| Page::read(path.strip_prefix(top())?)).collect()
    }

    /// Reads the page at a path from the top of the repository.
    pub fn read(path: &Path) -> Result<Page, Box<dyn Error>> {
        Ok(Page::parse(path, &fs::read_to_string(top().join(path))?))
    }

    fn parse(path: &Path, text: &str) -> Page {
        let mut page = Page { path: path.to_owned(), headings: Vec::new(), links: Vec::new(), code: Vec::new() };
        let (mut heading, mut code) = (None, None);
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => heading = Some((level as usize, String::new())),
                Event::End(TagEnd::Heading(_)) => page.headings.extend(heading.take()),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(words) => Some(words.to_string()),
                        CodeBlockKind::Indented => None,
                    };
                    code = Some(Code { language, text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => page.code.extend(code.take()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string())
                }
                Event::Html(html) | Event::InlineHtml(html) => page.links.extend(sources(&html)),
                Event::Text(words) | Event::Code(words) => match (&mut heading, &mut code) {
                    (Some((_, heading)), _) => heading.push_str(&words),
                    (_, Some(code)) => code.text.push_str(&words),
                    _ => (),
                },
                _ => (),
            }
        }
        page
    }

    /// The anchors of its headings, as code hosts and mdBook name them.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, heading) in &self.headings {
            let plain = anchor(heading);
            let numbered = (1..).map(|number| format!("{plain}-{number}"));
            let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !anchors.contains(name));
            anchors.extend(free);
        }
        anchors
    }
}

fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    letters.flat_map(|c| if c == ' ' { '-' } else { c }.to_lowercase()).collect()
}

/// Sources and links in HTML.
fn sources(html: &str) -> impl Iterator<Item = String> {
    let of = |name: &str| {
        html.split(name).skip(1).filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect::<Vec<_>>()
    };
    [of(" src=\""), of(" srcset=\""), of(" href=\"")].into_iter().flatten()
}
