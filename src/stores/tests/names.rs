//! What is told of addresses, and who opens them.

use super::files::{Answered, Server};
use super::{Environment, HASTE, Outcome, Stores, opened, read};
use crate::source::{Elsewhere as _, Input, Places, SourceError};
use crate::{Error, Options};

#[test]
fn names_are_without_secrets_and_lead_to_where_they_were_made_of() -> Outcome {
    let server = Server::start(|_, asked| Answered::of(asked, asked.path.as_bytes(), "\"1\""))?;
    let address = |rest: &str| format!("http://me:hush@{}/job{rest}", server.host);
    let addresses = [address("?sig=hush1"), address("?sig=hush2"), address("?sig=hush1"), "job.log".to_owned()];
    let (names, stores) = Stores::of_command_line(addresses.to_vec(), Environment::default(), HASTE);
    let name = format!("http://{}/job", server.host);
    assert_eq!(names, [name.clone(), format!("{name} (2)"), name, "job.log".to_owned()]);
    let stores = stores.ok_or("no address")?;
    assert!(!stores.holds("job.log") && !format!("{stores:?}").contains("hush"));
    for (name, path) in names.iter().zip(["/job?sig=hush1", "/job?sig=hush2"]) {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stores.open(name)?, &mut text)?;
        assert_eq!(text, path);
    }
    Ok(())
}

#[test]
fn nothing_is_opened_that_the_command_line_does_not_name() -> Outcome {
    let server = Server::start(|_, asked| Answered::of(asked, b"x\n", "\"1\""))?;
    let named = format!("http://{}/a.log", server.host);
    let other = format!("http://{}/b.log?sig=hush", server.host);
    assert!(matches!(Input::open(&other), Err(SourceError::Address { path }) if !path.contains("hush")));
    assert_eq!(Places(None).walk(std::slice::from_ref(&other)).0, std::slice::from_ref(&other));
    assert!(matches!(Places(None).open(&other), Err(SourceError::Address { .. })));
    // The library reads files alone, as do all who build on it: a server, a bot, an assistant.
    let analyzed = crate::analyze(&[&other], &Options::default());
    assert!(matches!(analyzed, Err(Error::NothingRead(errors)) if matches!(errors[..], [SourceError::Address { .. }])));
    let (_, stores) = opened(&[&named], Environment::default())?;
    assert!(stores.open(&other).is_err() && !stores.holds(&other));
    assert!(matches!(Places(Some(&*stores)).open(&other), Err(SourceError::Address { .. })));
    assert!(server.asked().is_empty());
    assert!(read(&named).is_ok());
    Ok(())
}
