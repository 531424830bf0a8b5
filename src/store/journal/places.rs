use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Bound::Unbounded;
use std::path::Path;

use super::entry::Entry;
use super::walk::{WalkItem, walk};
use crate::store::start;

/// The place of a record's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Place {
    at: u64,
    length: u32,
}

/// A callback for a key and its sealed value.
type Each<'e, E> = &'e mut dyn FnMut(&str, io::Result<Vec<u8>>) -> Result<(), E>;

/// A journal that was read completely, with the place of each record.
#[derive(Debug)]
pub(in crate::store) struct Places {
    file: File,
    places: BTreeMap<String, Place>,
    /// The number of the last change at the time of reading.
    pub change: u64,
    /// The size of all records in bytes.
    pub live: u64,
    /// The end of the last whole change at the time of reading; what follows was never acknowledged.
    pub end: u64,
}

impl Places {
    /// Reads the journal at `path`. The inner error describes damage. The journal may be written meanwhile: an
    /// unfinished change is ignored.
    pub fn read(path: &Path) -> io::Result<Result<Places, String>> {
        let mut file = File::open(path)?;
        let mut reading = Reading::default();
        walk(&mut file, &mut |met| reading.meet(met))?;
        Ok(reading.finish().map(|(places, change, end)| {
            let live = places.iter().map(|(key, place)| size(key, *place)).sum();
            Places { file, places, change, live, end }
        }))
    }

    /// The sealed value of `key`.
    pub fn get(&self, key: &str) -> Option<io::Result<Vec<u8>>> {
        self.places.get(key).map(|place| fetch(&self.file, *place))
    }

    /// Calls `each` with every record whose key begins with `prefix` and comes after `after`, in order.
    pub fn scan<E>(&self, prefix: &str, after: Option<&str>, each: Each<'_, E>) -> Result<(), E> {
        self.from(prefix, after).try_for_each(|(key, place)| each(key, fetch(&self.file, *place)))
    }

    /// The number of records whose keys begin with `prefix`.
    pub fn count(&self, prefix: &str) -> u64 {
        self.from(prefix, None).count() as u64
    }

    /// The places of records whose keys begin with `prefix` and come after `after`.
    fn from<'p>(&'p self, prefix: &'p str, after: Option<&str>) -> impl Iterator<Item = (&'p String, &'p Place)> {
        self.places
            .range::<str, _>((start(prefix, after), Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Adopts an appended change: keys with the offsets and lengths of their values.
    pub fn apply<'k>(&mut self, records: impl Iterator<Item = (&'k str, u64, Option<usize>)>) {
        for (key, at, length) in records {
            let place = length.map(|length| Place { at, length: length as u32 });
            let (new, old) = match place {
                Some(place) => (size(key, place), self.places.insert(key.to_owned(), place)),
                None => (0, self.places.remove(key)),
            };
            self.live = (self.live + new).saturating_sub(old.map_or(0, |old| size(key, old)));
        }
    }
}

fn size(key: &str, place: Place) -> u64 {
    key.len() as u64 + u64::from(place.length)
}

fn fetch(mut file: &File, place: Place) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; place.length as usize];
    file.seek(SeekFrom::Start(place.at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The state while a journal is read.
#[derive(Debug, Default)]
struct Reading {
    begun: bool,
    places: BTreeMap<String, Place>,
    /// The last whole change, and where it ends.
    change: u64,
    end: u64,
    /// Entries after it.
    open: Vec<(String, Option<Place>)>,
    /// The first offset after it that is unreadable or out of order.
    doubt: Option<u64>,
    damage: Option<String>,
}

impl Reading {
    fn meet(&mut self, met: WalkItem<'_>) {
        if self.damage.is_some() {
            return;
        }
        let (entry, change, value, end) = match met {
            WalkItem::Gap { from } => {
                self.doubt = self.doubt.or(Some(from));
                return;
            }
            WalkItem::Entry { entry, change, value, end } => (entry, change, value, end),
        };
        match entry {
            Entry::Begin if !self.begun && self.doubt.is_none() => {
                (self.begun, self.change, self.end) = (true, change, end)
            }
            // The rest of a journal whose beginning was overwritten by another.
            Entry::Begin => self.doubt = self.doubt.or(Some(value)),
            Entry::Put(key, sealed) => {
                self.note(change, key, Some(Place { at: value, length: sealed.len() as u32 }));
            }
            Entry::Remove(key) => self.note(change, key, None),
            Entry::Commit(entries) if self.begun && change == self.change + 1 => {
                if self.open.len() == entries as usize {
                    for (key, place) in self.open.drain(..) {
                        match place {
                            Some(place) => drop(self.places.insert(key, place)),
                            None => drop(self.places.remove(&key)),
                        }
                    }
                    (self.change, self.end, self.doubt) = (change, end, None);
                } else {
                    self.doubt = self.doubt.or(Some(self.end));
                }
            }
            // Only a whole change is followed by others, so this one and all before it were whole once.
            Entry::Commit(_) => self.give_up(change),
            Entry::Done(_) if self.begun && change == self.change && self.open.is_empty() => {
                (self.end, self.doubt) = (end, None);
            }
            Entry::Done(_) => self.give_up(change),
        }
    }

    fn note(&mut self, change: u64, key: &str, place: Option<Place>) {
        if change != self.change + 1 {
            self.doubt = self.doubt.or(Some(self.end));
        }
        self.open.push((key.to_owned(), place));
    }

    fn give_up(&mut self, change: u64) {
        let at = self.doubt.unwrap_or(self.end);
        self.damage =
            Some(format!("change {} is not whole at byte {at}, and change {change} was acknowledged", self.change + 1));
    }

    fn finish(self) -> Result<(BTreeMap<String, Place>, u64, u64), String> {
        match self.damage {
            Some(damage) => Err(damage),
            None if !self.begun => Err("the journal has no beginning".to_owned()),
            None => Ok((self.places, self.change, self.end)),
        }
    }
}

/// What can be read of a journal, no matter how damaged.
#[derive(Debug, Default)]
pub(in crate::store) struct Readable {
    file: Option<File>,
    /// The last readable value of each key; `None` is a removal.
    pub places: BTreeMap<String, Option<Place>>,
    /// The highest number of any readable change.
    pub change: u64,
    /// The number of unreadable gaps.
    pub gaps: u64,
}

impl Readable {
    /// Reads the journal at `path`; empty if there is none.
    pub fn read(path: &Path) -> io::Result<Readable> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Readable::default()),
            file => file?,
        };
        let mut found = Readable::default();
        walk(&mut file, &mut |met| match met {
            WalkItem::Gap { .. } => found.gaps += 1,
            WalkItem::Entry { entry, change, value, .. } => {
                found.change = found.change.max(change);
                match entry {
                    Entry::Put(key, sealed) => {
                        let place = Place { at: value, length: sealed.len() as u32 };
                        found.places.insert(key.to_owned(), Some(place));
                    }
                    Entry::Remove(key) => drop(found.places.insert(key.to_owned(), None)),
                    _ => {}
                }
            }
        })?;
        Ok(Readable { file: Some(file), ..found })
    }

    /// The sealed value at `place`.
    pub fn fetch(&self, place: Place) -> io::Result<Vec<u8>> {
        self.file.as_ref().map_or(Err(io::ErrorKind::NotFound.into()), |file| fetch(file, place))
    }
}
