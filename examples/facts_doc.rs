//! Writes the list of facts for docs/writing-rules.md: `cargo run --example facts_doc`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;

use oomdoc::internal::knowledge::{FactType, Glossary, Knowledge};
use oomdoc::internal::rulebase::FactNames;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render(&FactNames::new(&Knowledge::shipped()?, &Glossary::shipped()?))?);
    Ok(())
}

/// One line per family of names, in Markdown.
pub fn render(names: &FactNames) -> Result<String, std::fmt::Error> {
    let mut families: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, r#type) in names.iter() {
        let (family, rest) = name.split_once('.').map_or(("", name), |(family, rest)| (family, rest));
        let mark = match r#type {
            FactType::Number => "",
            FactType::Text => " (text)",
            FactType::Flag => " (flag)",
            FactType::List => " (list)",
        };
        families.entry(family).or_default().push(format!("`{rest}`{mark}"));
    }
    let mut page = String::new();
    for (family, names) in families {
        match family {
            "" => writeln!(page, "- {}", names.join(", "))?,
            family => writeln!(page, "- **{family}.** {}", names.join(", "))?,
        }
    }
    Ok(page)
}
