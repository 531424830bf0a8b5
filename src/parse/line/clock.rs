//! Time stamps as loggers, kernels and log shippers write them.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, one_of, satisfy, space0, space1};
use nom::combinator::{map_opt, opt, peek, recognize};
use nom::sequence::{pair, preceded, terminated};
use nom::{IResult, Parser};

use crate::model::{Clock, Timestamp};

/// `2026-03-01 10:00:00,123`, `2026-03-01T10:00:00.123456Z`, `2026-03-01_10:00:00`, `2026/03/01 …`, with or without zone.
pub(in crate::parse) fn iso(input: &str) -> IResult<&str, Timestamp> {
    // On bytes, since every line of some logs begins so.
    let is_separator = |byte: u8| matches!(byte, b'-' | b'/' | b':');
    let read = || match input.as_bytes() {
        [y0, y1, y2, y3, first, m0, m1, second, d0, d1, b'T' | b' ' | b'_' | b'-', ..]
            if is_separator(*first) && is_separator(*second) =>
        {
            let year = two(*y0, *y1)? * 100 + two(*y2, *y3)?;
            Some((year, two(*m0, *m1)?, two(*d0, *d1)?, &input[11..]))
        }
        _ => None,
    };
    let (year, month, day, rest) = read().ok_or_else(|| invalid(input))?;
    let (rest, (time, fraction)) = clock_time(rest)?;
    let (rest, offset) = opt(zone).parse(rest)?;
    at(rest, Clock::Wall, year as i16, month, day, time, fraction - f64::from(offset.unwrap_or(0)))
}

/// `17/06/09 20:10:40`, as Spark and Hadoop write.
pub(in crate::parse) fn short_year(input: &str) -> IResult<&str, Timestamp> {
    let (rest, (year, _, month, _, day)) =
        (number(2, 2), char('/'), number(2, 2), char('/'), number(2, 2)).parse(input)?;
    let (rest, (time, fraction)) = preceded(char(' '), clock_time).parse(rest)?;
    at(rest, Clock::Wall, 2000 + year as i16, month, day, time, fraction)
}

/// `03/01/2026 10:00:00`, month first, as the examples of transformers write; `03/01/2026-10:00:00` of TensorRT-LLM.
pub(in crate::parse) fn us_date(input: &str) -> IResult<&str, Timestamp> {
    let (rest, (month, _, day, _, year)) =
        (number(2, 2), char('/'), number(2, 2), char('/'), number(4, 4)).parse(input)?;
    let (rest, (time, fraction)) = preceded(one_of(" -"), clock_time).parse(rest)?;
    at(rest, Clock::Wall, year as i16, month, day, time, fraction)
}

/// `Aug 12 03:54:03`, syslog.
pub(in crate::parse) fn syslog(input: &str) -> IResult<&str, Timestamp> {
    // Asked of every line that begins with a letter: names of months in all languages are compared only before two numbers.
    let word = take_while_m_n(1, 16, |c| c != ' ');
    peek((word, space1, number(1, 2), space1, satisfy(|c| c.is_ascii_digit()))).parse(input)?;
    let (rest, (month, _, day, _)) = (month_name, space1, number(1, 2), space1).parse(input)?;
    let (rest, (time, fraction)) = clock_time(rest)?;
    at(rest, Clock::Yearless, Clock::YEARLESS, month, day, time, fraction)
}

/// `Fri Nov 20 07:35:32 2026`, `Di Aug 12 03:54:03 2025`, `二 9月  3 05:57:48 2024`: `dmesg -T` in the user's language.
pub(in crate::parse) fn ctime(input: &str) -> IResult<&str, Timestamp> {
    let weekday = take_while1(|c: char| !c.is_ascii_digit() && !c.is_whitespace());
    let (rest, (_, _, month, _, day, _)) = (weekday, space1, month_name, space1, number(1, 2), space1).parse(input)?;
    let (rest, ((time, fraction), _, year)) = (clock_time, space1, number(4, 4)).parse(rest)?;
    at(rest, Clock::Wall, year as i16, month, day, time, fraction)
}

/// `06-10 10:55:03`, vLLM and OpenRLHF; `1120 07:53:52.469000`, glog.
pub(in crate::parse) fn month_day(input: &str) -> IResult<&str, Timestamp> {
    let (rest, (month, _, day, _)) = (number(2, 2), opt(char('-')), number(2, 2), space1).parse(input)?;
    let (rest, (time, fraction)) = clock_time(rest)?;
    at(rest, Clock::Yearless, Clock::YEARLESS, month, day, time, fraction)
}

/// `716 07:57:26.709`, the date of PyTorch's C++ warnings: the month may lack its leading zero.
pub(in crate::parse) fn glog(input: &str) -> IResult<&str, Timestamp> {
    let (rest, date) = terminated(take_while_m_n(3, 4, |c: char| c.is_ascii_digit()), space1).parse(input)?;
    let (month, day) = date.split_at(date.len() - 2);
    let (rest, (time, fraction)) = clock_time(rest)?;
    at(rest, Clock::Yearless, Clock::YEARLESS, month.parse().unwrap_or(0), day.parse().unwrap_or(0), time, fraction)
}

/// `10:52:29`, `10:52:29.123`.
pub(in crate::parse) fn time_of_day(input: &str) -> IResult<&str, Timestamp> {
    let (rest, (time, fraction)) = clock_time(input)?;
    at(rest, Clock::TimeOfDay, 1970, 1, 1, time, fraction)
}

/// `12345.678901`, seconds since the kernel started; the kernel pads it with blanks.
pub(in crate::parse) fn uptime(input: &str) -> IResult<&str, Timestamp> {
    let seconds = recognize((digit1, char('.'), take_while_m_n(6, 9, |c: char| c.is_ascii_digit())));
    let (rest, seconds) = preceded(space0, map_opt(seconds, |text: &str| text.parse().ok())).parse(input)?;
    Ok((rest, Timestamp { clock: Clock::Uptime, seconds }))
}

fn at(rest: &str, clock: Clock, year: i16, month: u32, day: u32, time: Time, extra: f64) -> IResult<&str, Timestamp> {
    let date = Date::new(year, month as i8, day as i8).map_err(|_| invalid(rest))?;
    let instant = Offset::UTC.to_timestamp(DateTime::from_parts(date, time)).map_err(|_| invalid(rest))?;
    Ok((rest, Timestamp { clock, seconds: instant.as_second() as f64 + extra }))
}

/// `hh:mm:ss` and a fraction after a point or comma.
fn clock_time(input: &str) -> IResult<&str, (Time, f64)> {
    let read = || match input.as_bytes() {
        [h0, h1, b':', m0, m1, b':', s0, s1, ..] => {
            let (hour, minute, second) = (two(*h0, *h1)?, two(*m0, *m1)?, two(*s0, *s1)?);
            Time::new(hour as i8, minute as i8, second.min(59) as i8, 0).ok()
        }
        _ => None,
    };
    let time = read().ok_or_else(|| invalid(input))?;
    let (rest, fraction) = opt(preceded(one_of(".,"), digit1)).parse(&input[8..])?;
    Ok((rest, (time, fraction.map_or(0.0, fraction_of))))
}

/// The number of two digits.
fn two(tens: u8, ones: u8) -> Option<u32> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
}

fn invalid(input: &str) -> nom::Err<nom::error::Error<&str>> {
    nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Verify))
}

/// The value of `digits` after a point.
fn fraction_of(digits: &str) -> f64 {
    // No clock writes more digits than nanoseconds.
    let digits = &digits[..digits.len().min(9)];
    digits.parse::<u32>().map_or(0.0, |number| f64::from(number) / 10f64.powi(digits.len() as i32))
}

/// `Z`, `+00:00`, `+0200`; seconds east of Greenwich.
fn zone(input: &str) -> IResult<&str, i32> {
    let signed = (one_of("+-"), number(2, 2), opt(char(':')), number(2, 2));
    let offset =
        signed.map(|(sign, hours, _, minutes)| (hours * 3600 + minutes * 60) as i32 * if sign == '-' { -1 } else { 1 });
    alt((tag("Z").map(|_| 0), offset)).parse(input)
}

/// A number of `least` to `most` digits. It works on bytes because every line is tried for a date and most lines have none.
fn number<'a>(least: usize, most: usize) -> impl Parser<&'a str, Output = u32, Error = nom::error::Error<&'a str>> {
    move |input: &'a str| {
        let digits = input.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if digits < least {
            return Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::TakeWhileMN)));
        }
        let number = input.bytes().take(digits).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        Ok((&input[digits..], number))
    }
}

/// A month's name as `date` abbreviates it in the languages that logs were seen in.
fn month_name(input: &str) -> IResult<&str, u32> {
    const NAMES: [&[&str]; 12] = [
        &["jan", "ene", "gen", "янв", "sty"],
        &["feb", "fév", "fev", "фев", "lut"],
        &["mar", "mär", "mrt", "мар"],
        &["apr", "avr", "abr", "апр", "kwi"],
        &["may", "mai", "mei", "mag", "мая", "май", "maj"],
        &["jun", "juin", "giu", "июн", "cze"],
        &["jul", "juil", "lug", "июл", "lip"],
        &["aug", "aoû", "ago", "авг", "sie"],
        &["sep", "set", "сен", "wrz"],
        &["oct", "okt", "out", "ott", "окт", "paź"],
        &["nov", "ноя", "lis"],
        &["dec", "dez", "déc", "dic", "дек", "gru"],
    ];
    let number = map_opt(terminated(digit1, char('月')), |digits: &str| {
        digits.parse().ok().filter(|month| (1..=12).contains(month))
    });
    let name = recognize(pair(take_while1(char::is_alphabetic), take_while(|c| c == '.')));
    // Nearly every line begins with a word, so nothing is copied.
    let begins = |word: &str, name: &str| {
        let mut letters = word.chars().flat_map(char::to_lowercase);
        name.chars().all(|letter| letters.next() == Some(letter))
    };
    let named = map_opt(name, |word: &str| {
        let month = (1u32..).zip(NAMES).find(|(_, names)| names.iter().any(|name| begins(word, name)));
        month.map(|(month, _)| month)
    });
    alt((number, named)).parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_clock() {
        let shown =
            |result: IResult<&str, Timestamp>| result.map(|(rest, time)| format!("{time}|{rest}")).unwrap_or_default();
        assert_eq!(shown(iso("2026-03-01 10:00:00,123] x")), "2026-03-01T10:00:00|] x");
        assert_eq!(shown(iso("2026-11-20T08:28:53,052128+02:00 x")), "2026-11-20T06:28:53| x");
        assert_eq!(shown(ctime("Fri Nov 20 07:35:32 2026]")), "2026-11-20T07:35:32|]");
        assert_eq!(shown(ctime("Di Aug 12 03:54:03 2025]")), "2025-08-12T03:54:03|]");
        assert_eq!(shown(ctime("二 9月  3 05:57:48 2024]")), "2024-09-03T05:57:48|]");
        assert_eq!(shown(syslog("Jan  5 15:19:27 node1")), "01-05T15:19:27| node1");
        assert_eq!(shown(month_day("06-10 10:55:03 [core")), "06-10T10:55:03| [core");
        assert_eq!(shown(month_day("1120 07:53:52.469000 10 ")), "11-20T07:53:52| 10 ");
        assert_eq!(shown(glog("716 07:57:26.709 CUDA")), "07-16T07:57:26| CUDA");
        assert_eq!(shown(short_year("17/06/09 20:10:40 INFO")), "2017-06-09T20:10:40| INFO");
        assert_eq!(shown(us_date("03/21/2026 10:00:00 - x")), "2026-03-21T10:00:00| - x");
        assert_eq!(shown(uptime("   455.498827] x")), "up 455.498827 s|] x");
        assert!(iso("2026-13-01 10:00:00").is_err());
        assert!(time_of_day("25:00:00").is_err());
    }
}
