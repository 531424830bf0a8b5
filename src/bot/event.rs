//! What reading the events of both forges has in common.

use serde_json::Value;

use super::queue::OLDEST_EVENT;
use super::work::Moment;

/// The string in `value`, if it is neither empty nor too long.
pub(super) fn text(value: &Value) -> Option<&str> {
    const LONGEST: usize = 1000;
    value.as_str().filter(|words| !words.is_empty() && words.len() <= LONGEST)
}

/// Whether `time` is recent. After [`OLDEST_EVENT`] deliveries are forgotten, so an older event could be a replay.
pub(super) fn is_recent(time: &Value, now: Moment) -> bool {
    time.as_str().and_then(moment).is_none_or(|moment| moment > now - OLDEST_EVENT)
}

/// Parses `2026-11-23T22:00:00Z`, and GitLab's form of it, `2026-11-23 22:00:00 UTC`.
fn moment(time: &str) -> Option<Moment> {
    let time = time.strip_suffix(" UTC").map_or_else(|| time.to_owned(), |time| format!("{time}Z"));
    Some(time.parse::<jiff::Timestamp>().ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_news_are_none() {
        let now = moment("2026-11-23T22:00:00Z").unwrap_or_default();
        for (time, expected) in [
            ("2026-11-23T21:00:00Z", true),
            ("2026-11-01 21:00:00 UTC", true),
            ("2026-09-23T21:00:00Z", false),
            ("2026-09-23 21:00:00 UTC", false),
            ("2026-11-23T21:00:00.000+01:00", true),
        ] {
            assert_eq!(is_recent(&Value::from(time), now), expected, "{time}");
        }
    }
}
