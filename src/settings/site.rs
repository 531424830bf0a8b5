use std::sync::Arc;

use jiff::civil::Date;

use super::host::HostFacts;
use super::ignore::Ignore;
use super::origin::FileLine;
use super::pattern::PathPattern;
use crate::facts::Value;
use crate::model::Incident;
use crate::source::SourceError;

/// What the settings say about the site of an analysis: facts about hosts, files that are never read, incidents that
/// are accepted.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// Facts about hosts; the first fact of a name wins.
    pub hosts: Vec<HostFacts>,
    /// The name of this machine, for logs that name no host.
    pub machine: Option<String>,
    /// Files that are never read, with the line that says so.
    pub never_read: Vec<(PathPattern, FileLine)>,
    /// Incidents that are accepted.
    pub ignore: Vec<Ignore>,
    /// Today's date in UTC; without it nothing expires.
    pub today: Option<Date>,
}

impl Site {
    /// Facts about the host of `incident`, or about this machine if it names none.
    pub fn facts_of(&self, incident: &Incident) -> impl Iterator<Item = &(String, Value)> {
        let victims = std::iter::once(&incident.victim).chain(&incident.victims);
        // The first victim decides; others may have been on other hosts. `localhost` could be any machine.
        let named = victims.filter_map(|victim| victim.host.clone()).find(|host| &**host != "localhost");
        self.facts_of_host(named.or_else(|| self.machine.as_deref().map(Arc::from)))
    }

    /// Facts about this machine.
    pub fn facts_here(&self) -> impl Iterator<Item = &(String, Value)> {
        self.facts_of_host(self.machine.as_deref().map(Arc::from))
    }

    fn facts_of_host(&self, host: Option<Arc<str>>) -> impl Iterator<Item = &(String, Value)> {
        let is_it = move |known: &&HostFacts| host.as_ref().is_some_and(|host| known.pattern.matches(host));
        self.hosts.iter().filter(is_it).flat_map(|known| &known.facts)
    }

    /// The error that `path` is never read, if the settings say so.
    pub fn refuses(&self, path: &str) -> Option<SourceError> {
        let (_, place) = self.never_read.iter().find(|(pattern, _)| pattern.matches(path))?;
        Some(SourceError::NeverRead { path: path.to_owned(), by: place.to_string() })
    }

    /// Marks accepted incidents. If the first one is accepted, so are all: the others only followed from it.
    pub fn accept(&self, incidents: &mut [Incident]) {
        let holds = |ignore: &&Ignore| !self.today.is_some_and(|today| ignore.is_expired(today));
        let said = |incident: &Incident| {
            self.ignore.iter().filter(holds).find(|ignore| ignore.fits(incident)).map(Ignore::note)
        };
        let root = incidents.first().and_then(said);
        for incident in incidents {
            incident.ignored = root.clone().or_else(|| said(incident));
        }
    }

    /// Rows that have expired.
    pub fn expired(&self) -> impl Iterator<Item = &Ignore> {
        self.ignore.iter().filter(|ignore| self.today.is_some_and(|today| ignore.is_expired(today)))
    }
}
