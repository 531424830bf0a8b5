use std::sync::Arc;

use jiff::civil::Date;

use super::host::HostFacts;
use super::ignore::Ignore;
use super::origin::Place;
use super::pattern::PathPattern;
use crate::facts::Value;
use crate::model::Incident;
use crate::source::SourceError;

/// What settings say of the place where an analysis is made: hosts that are known, what is never read, what is accepted.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// Hosts and clusters; what is said first of one holds.
    pub hosts: Vec<HostFacts>,
    /// The name of this machine, which is taken for the log's where no line names one.
    pub machine: Option<String>,
    /// What is never read, and where that is said.
    pub never_read: Vec<(PathPattern, Place)>,
    /// Incidents that are accepted.
    pub ignore: Vec<Ignore>,
    /// The day, UTC; without it nothing expires.
    pub today: Option<Date>,
}

impl Site {
    /// What is known of the hosts that `incident` names, of this machine where it names none.
    pub fn facts_of(&self, incident: &Incident) -> impl Iterator<Item = &(String, Value)> {
        let victims = std::iter::once(&incident.victim).chain(&incident.victims);
        // Who died first says where; the others may have been elsewhere. Every machine calls itself `localhost`.
        let named = victims.filter_map(|victim| victim.host.clone()).find(|host| &**host != "localhost");
        self.facts_of_host(named.or_else(|| self.machine.as_deref().map(Arc::from)))
    }

    /// What is known of this machine.
    pub fn facts_here(&self) -> impl Iterator<Item = &(String, Value)> {
        self.facts_of_host(self.machine.as_deref().map(Arc::from))
    }

    fn facts_of_host(&self, host: Option<Arc<str>>) -> impl Iterator<Item = &(String, Value)> {
        let is_it = move |known: &&HostFacts| host.as_ref().is_some_and(|host| known.pattern.matches(host));
        self.hosts.iter().filter(is_it).flat_map(|known| &known.facts)
    }

    /// That `path` is never read, where that is so.
    pub fn refuses(&self, path: &str) -> Option<SourceError> {
        let (_, place) = self.never_read.iter().find(|(pattern, _)| pattern.matches(path))?;
        Some(SourceError::NeverRead { path: path.to_owned(), by: place.to_string() })
    }

    /// Notes of each of `incidents` that it is accepted, where it is: of those that only followed, that the root is.
    pub fn accept(&self, incidents: &mut [Incident]) {
        let holds = |ignore: &&Ignore| !self.today.is_some_and(|today| ignore.is_expired(today));
        let said = |incident: &Incident| {
            self.ignore.iter().filter(holds).find(|ignore| ignore.fits(incident)).map(Ignore::told)
        };
        let root = incidents.first().and_then(said);
        for incident in incidents {
            incident.ignored = root.clone().or_else(|| said(incident));
        }
    }

    /// What is accepted no longer.
    pub fn expired(&self) -> impl Iterator<Item = &Ignore> {
        self.ignore.iter().filter(|ignore| self.today.is_some_and(|today| ignore.is_expired(today)))
    }
}
