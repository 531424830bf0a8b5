//! Writes the page of all formats that oomdoc reads from the examples of the grammars and of `rules/messages/`: `cargo run --example formats_doc > docs/formats.md`.

use std::error::Error;
use std::fmt::{self, Write};

use oomdoc::internal::knowledge::{Knowledge, MessageFile, shipped_files};
use oomdoc::internal::parse::GRAMMARS;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render()?);
    Ok(())
}

/// The page, in Markdown.
pub fn render() -> Result<String, Box<dyn Error>> {
    let messages = Knowledge::load(shipped_files())?.messages;
    let mut page = String::from(HEAD);
    let of_messages = messages.iter().map(|file| file.producer.as_str());
    let mut producers: Vec<&str> = GRAMMARS.iter().map(|grammar| grammar.producer()).chain(of_messages).collect();
    producers.sort_unstable();
    producers.dedup();
    let links: Vec<String> = producers.iter().map(|name| format!("[{name}](#{})", anchor(name))).collect();
    writeln!(page, "Producers: {}.", links.join(" · "))?;
    for producer in producers {
        writeln!(page, "\n## {producer}")?;
        let grammars = GRAMMARS.iter().filter(|grammar| grammar.producer() == producer);
        for example in grammars.flat_map(|grammar| grammar.examples()) {
            let states = example.states.iter().map(|(name, words)| (*name, *words));
            describe(example.version, example.text, states, &mut page)?;
        }
        let files = messages.iter().filter(|file| file.producer.as_str() == producer);
        for example in files.flat_map(|file: &MessageFile| &file.example) {
            let states = example.states.iter().map(|(name, words)| (name.as_str(), words.as_str()));
            describe(&example.version, &example.text, states, &mut page)?;
        }
    }
    Ok(page)
}

const HEAD: &str = "\
# Formats

<!-- Written by `cargo run --example formats_doc > docs/formats.md`; edit the examples of the grammars in src/parse/ and of rules/messages/ instead. -->

What oomdoc reads, by who prints it: a message as each version writes it, and what is read in it. Names of figures are those of
the report; `kind`, `exit`, `failure` and `series` say what the message proves, and names with a dot are facts that rules may ask
for. The words stand in the message; sizes and hosts are made up. Whatever stands before a line (time stamps, ranks, Ray actors, container runtimes, loggers,
colours) is taken off first, so a message is read behind any of them.

";

/// GitHub's anchor of a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn describe<'s>(
    version: &str,
    text: &str,
    states: impl Iterator<Item = (&'s str, &'s str)>,
    page: &mut String,
) -> fmt::Result {
    write!(page, "\n### {}\n\n````text\n{}\n````\n\n", version, printable(text.trim_end_matches('\n')))?;
    let mut is_silent = true;
    for (name, words) in states {
        writeln!(page, "- {name}: `{}`", printable(words))?;
        is_silent = false;
    }
    if is_silent {
        writeln!(page, "Nothing is read in it.")?;
    }
    Ok(())
}

/// Replaces control characters by their visible pictures; a carriage return, which begins a new line on the screen,
/// too.
fn printable(text: &str) -> String {
    let picture = |c: char| match c {
        '\n' | '\t' => c,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(c),
        _ => c,
    };
    text.chars().map(picture).collect()
}
