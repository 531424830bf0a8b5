use std::error::Error;
use std::io::{Cursor, Write as _};

use super::*;
use crate::model::Role;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LOG: &str = "step 1 loss 0.5\nCUDA out of memory\n";

fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

fn tar(members: &[(&str, &[u8])]) -> Outcome<Vec<u8>> {
    let mut archive = ::tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, *bytes)?;
    }
    Ok(archive.into_inner()?)
}

fn zip(members: &[(&str, &[u8])]) -> Outcome<Vec<u8>> {
    let mut archive = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(*name, ::zip::write::SimpleFileOptions::default())?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// `printf 'step 1 loss 0.5\nCUDA out of memory\n' | xz`
const XZ: &[u8] = include_bytes!("fixtures/log.xz");
/// The same log, by `bzip2`.
const BZIP2: &[u8] = include_bytes!("fixtures/log.bz2");
/// The same log, by `zstd`: one line, a skippable frame, the other line.
const ZSTD: &[u8] = include_bytes!("fixtures/log.zst");

/// Path, role, and content or warning of each input in `bytes`.
fn held(bytes: Vec<u8>) -> Outcome<Vec<(String, Role, String)>> {
    let mut held = Vec::new();
    Input::new("logs", Cursor::new(bytes))?.expand(&mut |mut input| {
        let mut text = input.warning.clone().unwrap_or_default();
        if let Err(error) = input.read_to_string(&mut text) {
            text = error.to_string();
        }
        held.push((input.path.to_string(), input.role, text));
        true
    });
    Ok(held)
}

fn log_at(path: &str) -> (String, Role, String) {
    (path.to_owned(), Role::Log, LOG.to_owned())
}

#[test]
fn reads_what_is_compressed_under_its_own_name() -> Outcome {
    let (first, second) = LOG.split_at(16);
    let twice = [gzip(first.as_bytes())?, gzip(second.as_bytes())?].concat();
    for packed in [gzip(LOG.as_bytes())?, twice, XZ.to_vec(), BZIP2.to_vec(), ZSTD.to_vec(), gzip(ZSTD)?] {
        assert_eq!(held(packed)?, [log_at("logs")]);
    }
    Ok(())
}

#[test]
fn reads_the_members_of_archives_and_passes_over_what_is_no_text() -> Outcome {
    let members: &[(&str, &[u8])] =
        &[("a/1.log", LOG.as_bytes()), ("model.pt", &[0; 600]), ("b.log.gz", &gzip(LOG.as_bytes())?)];
    let expected = [log_at("logs!a/1.log"), log_at("logs!b.log.gz")];
    assert_eq!(held(tar(members)?)?, expected);
    assert_eq!(held(gzip(&tar(members)?)?)?, expected);
    assert_eq!(held(zip(members)?)?, expected);
    assert_eq!(held(zip(&[("x.zip", &zip(members)?)])?)?[0], log_at("logs!x.zip!a/1.log"));
    let (_, role, warning) = held(tar(&[("model.pt", &[0; 600])])?)?.remove(0);
    assert_eq!((role, warning.contains("without a text")), (Role::Other, true));
    Ok(())
}

#[test]
fn a_zip_file_is_read_from_its_list_of_members() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(&file, zip(&[("job/1.txt", LOG.as_bytes())])?)?;
    let path = file.path().to_string_lossy().into_owned();
    let mut seen = Vec::new();
    Input::open(&path)?.expand(&mut |input| {
        seen.push(input.path.to_string());
        true
    });
    assert_eq!(seen, [format!("{path}!job/1.txt")]);
    Ok(())
}

#[test]
fn what_is_damaged_says_so_behind_what_could_be_read() -> Outcome {
    let log = LOG.repeat(100_000);
    for packed in
        [gzip(log.as_bytes())?, zip(&[("a.log", log.as_bytes())])?, gzip(&tar(&[("a.log", log.as_bytes())])?)?]
    {
        let held = held(packed[..packed.len() / 2].to_vec())?;
        assert!(!held.is_empty() && held.iter().all(|(_, _, text)| text != &log), "{}", held.len());
    }
    let mut packed = gzip(LOG.as_bytes())?;
    packed.truncate(12);
    assert!(held(packed)?[0].2.contains("gzip that cannot be read"));
    Ok(())
}

#[test]
fn stops_at_some_depth_and_when_no_more_is_asked_for() -> Outcome {
    let mut nested = gzip(LOG.as_bytes())?;
    for _ in 0..DEEPEST {
        nested = gzip(&nested)?;
    }
    assert!(held(nested)?[0].2.contains("too deep"));
    let mut seen = 0;
    let members: &[(&str, &[u8])] = &[("1", LOG.as_bytes()), ("2", LOG.as_bytes())];
    for archive in [tar(members)?, zip(members)?] {
        Input::new("logs", Cursor::new(archive))?.expand(&mut |_| {
            seen += 1;
            false
        });
    }
    assert_eq!(seen, 2);
    Ok(())
}

#[test]
fn text_is_no_archive() {
    assert_eq!(Format::of(LOG.as_bytes()), None);
    assert_eq!(Format::of(b""), None);
    assert_eq!(Format::of(&[0; 512]), None);
}
