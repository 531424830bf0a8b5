//! zip, the format in which GitHub offers a run's logs. The list of members stands at the end: a file is read by that list; a stream, or an
//! archive within another one, is read member by member.

use std::io::{self, BufReader};

use ::zip::read::read_zipfile_from_stream;
use ::zip::{ZipArchive, result::ZipError};

use super::unpack::BUFFER;
use super::{Members, Visit, hand_over};
use crate::source::Input;

pub(super) fn members(input: Input<'_>, depth: usize, visit: &mut Visit<'_>) -> io::Result<bool> {
    let (path, bound) = (input.path.clone(), input.bound.clone());
    let mut members = Members::default();
    if let Some(reopen) = &input.reopen {
        bound.add_size(depth, input.size);
        let file = BufReader::with_capacity(BUFFER, bound.count(reopen()?));
        let mut archive = ZipArchive::new(file).map_err(io_error)?;
        for index in 0..archive.len() {
            let member = archive.by_index(index).map_err(io_error)?;
            if !member.is_file() {
                continue;
            }
            let name = member.name().map_err(io_error)?.into_owned();
            if !members.add(hand_over(&path, &name, bound.limit(member), &bound, depth, visit)?)? {
                return Ok(false);
            }
        }
        return Ok(members.finish(&path, visit));
    }
    let mut stream = BufReader::with_capacity(BUFFER, input);
    while let Some(member) = read_zipfile_from_stream(&mut stream).map_err(io_error)? {
        if !member.is_file() {
            continue;
        }
        let name = member.name().map_err(io_error)?.into_owned();
        if !members.add(hand_over(&path, &name, bound.limit(member), &bound, depth, visit)?)? {
            return Ok(false);
        }
    }
    Ok(members.finish(&path, visit))
}

fn io_error(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
            io::Error::other("it has a password; unpack it first")
        }
        other => io::Error::other(other),
    }
}
