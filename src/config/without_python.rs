//! Stands in where Python code is not read.

use std::ops::Range;

use super::edit::Edit;
use super::habits::Habits;
use super::{Entry, Parsed, Value};
use crate::model::LineNumber;

#[derive(Debug, Clone)]
pub(super) enum Code {}

impl Code {
    pub fn option(&self, _: &str) -> Option<&str> {
        None
    }

    pub fn habits(&self) -> &Habits {
        match *self {}
    }

    pub fn outside(&self, _: &Range<usize>) -> Range<usize> {
        match *self {}
    }

    pub fn reaches(&self, _: &str) -> usize {
        0
    }

    pub fn declared(&self) -> &[String] {
        &[]
    }
}

pub(super) fn read_code(_: &str) -> Option<Parsed> {
    None
}

pub(super) fn printed(_: &str) -> Vec<(LineNumber, String)> {
    Vec::new()
}

pub(super) fn set(_: &str, _: &Code, _: Option<&Entry>, _: &str, _: &Value) -> Option<Vec<Edit>> {
    None
}

pub(super) fn called(_: &str) -> Option<&str> {
    None
}
