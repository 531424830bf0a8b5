//! Writes the page of all formats that oomdoc reads from the grammars' own examples: `cargo run --example formats_doc > docs/formats.md`.

use std::error::Error;
use std::fmt::{self, Write};

use oomdoc::parse::{Example, GRAMMARS};

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render()?);
    Ok(())
}

/// The page, in Markdown.
pub fn render() -> Result<String, fmt::Error> {
    let mut page = String::from(HEAD);
    let mut producers: Vec<&str> = GRAMMARS.iter().map(|grammar| grammar.producer()).collect();
    producers.sort_unstable();
    producers.dedup();
    let links: Vec<String> = producers.iter().map(|name| format!("[{name}](#{})", anchor(name))).collect();
    writeln!(page, "Producers: {}.", links.join(" · "))?;
    for producer in producers {
        writeln!(page, "\n## {producer}")?;
        let grammars = GRAMMARS.iter().filter(|grammar| grammar.producer() == producer);
        for example in grammars.flat_map(|grammar| grammar.examples()) {
            describe(example, &mut page)?;
        }
    }
    Ok(page)
}

const HEAD: &str = "\
# Formats

<!-- Written by `cargo run --example formats_doc > docs/formats.md`; edit the examples of the grammars in src/parse/ instead. -->

What oomdoc reads, by who prints it: a message as each version writes it, and what is read in it. Names of figures are those of
the report; `kind`, `exit`, `failure` and `series` say what the message proves, and names with a dot are facts that rules may ask
for. The words stand in the message; sizes and hosts are made up. Whatever stands before a line (time stamps, ranks, Ray actors, container runtimes, loggers,
colours) is taken off first, so a message is read behind any of them.

";

/// As GitHub links to a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn describe(example: &Example, page: &mut String) -> fmt::Result {
    write!(
        page,
        "\n### {}\n\n````text\n{}\n````\n\n",
        example.version,
        printable(example.text.trim_end_matches('\n'))
    )?;
    for (name, words) in example.states {
        writeln!(page, "- {name}: `{}`", printable(words))?;
    }
    if example.states.is_empty() {
        writeln!(page, "Nothing is read in it.")?;
    }
    Ok(())
}

/// Control characters as their pictures; a return begins a new line on the screen.
fn printable(text: &str) -> String {
    let picture = |c: char| match c {
        '\n' | '\t' => c,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(c),
        _ => c,
    };
    text.chars().map(picture).collect()
}
