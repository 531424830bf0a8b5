use std::fmt;
use std::str::FromStr;

use crate::history::HistoryError;

/// Where an export ended: the number of a change, and the store's id. Written `4711-8c1f22ab90de1234`; the beginning is
/// `0`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark(Option<Place>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    change: u64,
    store: String,
}

impl Mark {
    /// After `change` of `store`; the beginning if there is no store yet.
    pub(super) fn of(store: Option<String>, change: u64) -> Mark {
        Mark(store.filter(|_| change > 0).map(|store| Place { change, store }))
    }

    /// The number of the change, 0 at the beginning; `None` if the store that is now at `now` was never at this mark.
    pub(super) fn number(&self, now: &Mark) -> Option<u64> {
        match (&self.0, &now.0) {
            (None, _) => Some(0),
            (Some(then), Some(now)) if then.store == now.store && then.change <= now.change => Some(then.change),
            (Some(_), _) => None,
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("0"),
            Some(Place { change, store }) => write!(f, "{change}-{store}"),
        }
    }
}

impl FromStr for Mark {
    type Err = HistoryError;

    fn from_str(words: &str) -> Result<Mark, HistoryError> {
        let words = words.trim();
        let wrong = || HistoryError::Mark { words: words.to_owned() };
        if words == "0" {
            return Ok(Mark::default());
        }
        let (change, store) = words.split_once('-').ok_or_else(wrong)?;
        let is_id = !store.is_empty() && store.bytes().all(|byte| byte.is_ascii_hexdigit());
        let change = change.parse().ok().filter(|change| *change > 0 && is_id).ok_or_else(wrong)?;
        Ok(Mark(Some(Place { change, store: store.to_owned() })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_one_store_and_never_ahead_of_it() -> Result<(), HistoryError> {
        let now: Mark = "4711-8c1f22ab90de1234".parse()?;
        assert_eq!(now.to_string(), "4711-8c1f22ab90de1234");
        let number = |words: &str| words.parse::<Mark>().map(|mark| mark.number(&now));
        assert_eq!((number("0")?, number("12-8c1f22ab90de1234\n")?), (Some(0), Some(12)));
        assert_eq!((number("4712-8c1f22ab90de1234")?, number("12-0c1f22ab90de1234")?), (None, None));
        assert_eq!("1-a".parse::<Mark>()?.number(&Mark::default()), None);
        for wrong in ["", "12", "-8c1f", "0-8c1f", "12-", "12-store", "x-8c1f"] {
            assert!(matches!(wrong.parse::<Mark>(), Err(HistoryError::Mark { .. })), "{wrong}");
        }
        Ok(())
    }
}
