use super::super::statements::statements;
use super::super::testing::find;
use super::{Messages, templates};
use crate::knowledge::{Knowledge, KnowledgeError, MessageFile, RuleFile, shipped_files};
use crate::model::What;

/// The shipped files of messages with their examples.
fn shipped() -> Result<Vec<MessageFile>, KnowledgeError> {
    Ok(Knowledge::load(shipped_files())?.messages.to_vec())
}

#[test]
fn every_example_states_what_it_should() -> Result<(), KnowledgeError> {
    let mut wrong = Vec::new();
    for file in shipped()? {
        for example in &file.example {
            let stated = statements(&find(example.text.as_bytes()));
            for (name, words) in &example.states {
                if !stated.iter().any(|(known, said)| known == name && said == words) {
                    wrong.push(format!("{} {}: no {name} `{words}` in {stated:#?}", file.producer, example.version));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn no_near_miss_states_anything() -> Result<(), KnowledgeError> {
    let mut wrong = Vec::new();
    for file in shipped()? {
        for miss in &file.near_miss {
            let events = find(miss.text.as_bytes()).events;
            let proofs = events.iter().filter(|event| event.producer == file.producer.as_str());
            let proofs: Vec<_> = proofs.filter(|event| !matches!(event.what, What::Notice)).collect();
            if !proofs.is_empty() {
                wrong.push(format!("{} `{}`: {proofs:#?}", file.producer, miss.text));
            }
        }
        let proves = file.message.iter().any(|row| row.is_statement());
        if proves && file.near_miss.is_empty() {
            wrong.push(format!("{} proves something and has no near miss", file.producer));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Each row that proves something does so in an example of its file.
#[test]
fn every_statement_has_an_example() -> Result<(), KnowledgeError> {
    let mut without = Vec::new();
    for file in shipped()? {
        let texts: Vec<&str> = file.example.iter().map(|example| example.text.as_str()).collect();
        for row in file.message.iter().filter(|row| row.is_statement()) {
            if !row.triggers().any(|words| texts.iter().any(|text| text.contains(words))) {
                without.push(format!("{}: {:?}", file.producer, row.triggers().collect::<Vec<_>>()));
            }
        }
    }
    assert!(without.is_empty(), "{}", without.join("\n"));
    Ok(())
}

#[test]
fn an_anchor_stands_in_an_example() -> Result<(), KnowledgeError> {
    for file in shipped()? {
        for anchor in file.message.iter().flat_map(|row| &row.anchor) {
            assert!(file.example.iter().any(|example| example.text.contains(&**anchor)), "{} {anchor}", file.producer);
        }
    }
    Ok(())
}

#[test]
fn each_pattern_is_found_by_its_own_words_and_a_text_finds_all() -> Result<(), KnowledgeError> {
    let own = RuleFile {
        path: "messages/house.toml".to_owned(),
        content: "producer = \"house\"\n[[message]]\npattern = [\"a {house.x:word}\", \"b {house.y:number}\"]\n\
                  [[message]]\ntext = [\"c\", \"d\"]\npattern = [\"a {house.x:word}\", \"b {house.y:number}\"]\n"
            .to_owned(),
    };
    let knowledge = Knowledge::with_own(&[own])?;
    let messages = Messages::new(&knowledge.messages);
    let triggers: Vec<(&str, u16)> = messages.triggers().collect();
    let last = messages.rows.len() as u16 - 1;
    assert!(triggers.ends_with(&[("a ", last - 2), ("b ", last - 1), ("c", last), ("d", last)]));
    let patterns = |row: u16| {
        let row = messages.rows[usize::from(row)];
        templates(messages.message(row).1, &[row]).count()
    };
    assert_eq!([last - 2, last - 1, last].map(patterns), [1, 1, 2]);
    Ok(())
}
