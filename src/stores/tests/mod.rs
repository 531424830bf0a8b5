#[path = "../../../tests/it/support/files.rs"]
mod files;
#[path = "../../../tests/it/support/requests.rs"]
mod requests;

mod buckets;
mod names;
mod parts;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::{Environment, Patience, Stores};
use crate::source::{Elsewhere, Input};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Of a part in these tests.
const WINDOW: u64 = 1000;

const HASTE: Patience = Patience { attempts: 4, first_wait: Duration::from_millis(1), window: WINDOW };

/// Who opens `addresses`, and what these are called.
fn opened(addresses: &[&str], environment: Environment) -> Outcome<(Vec<String>, Arc<Stores>)> {
    let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
    let (names, stores) = Stores::of_command_line(addresses, environment, HASTE);
    Ok((names, stores.ok_or("no address")?))
}

fn open(address: &str) -> Outcome<Input<'static>> {
    let (names, stores) = opened(&[address], Environment::default())?;
    Ok(stores.open(&names[0])?)
}

/// All that lies at `address`, or why not; what came before an error is lost.
fn read(address: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut input = open(address).map_err(|error| error.to_string())?;
    input.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Bytes of which no two parts are alike.
fn content(size: u64) -> Vec<u8> {
    (0..size).map(|n| (n % 251) as u8 ^ (n / 251) as u8).collect()
}
