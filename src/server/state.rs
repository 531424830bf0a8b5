use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use super::access::{Access, Visitor};
use super::config::Config;
use super::error::ServerError;
use super::health::Metrics;
use super::keeper::Keeper;
use super::pages::Uploads;
use crate::Options;
use crate::history::{self, Live};
use crate::knowledge::{Knowledge, Language};
use crate::model::Experience;
use crate::redact::Redactor;
use crate::settings::Site;

/// The rules that logs are analysed with.
#[derive(Clone)]
pub struct Rules {
    /// The shipped rules, overlaid with the team's own.
    pub knowledge: Arc<Knowledge>,
    /// What the team's settings say of the site.
    pub site: Arc<Site>,
}

/// The state that all requests share.
pub struct Server {
    /// The server's configuration.
    pub(super) config: Config,
    /// The home folder, which holds the store.
    pub(super) home: PathBuf,
    /// The owner of the store.
    pub(super) keeper: Keeper,
    /// The index that answers queries about the history.
    pub(super) live: Arc<Live>,
    /// The rules that logs are analysed with.
    pub(super) rules: Rules,
    pub(super) redactor: Redactor,
    pub(super) access: Access,
    pub(super) metrics: Metrics,
    /// Logs that were uploaded through a browser.
    pub(super) uploads: Uploads,
    /// One permit per log that may be analysed at a time.
    pub(super) analyses: Arc<Semaphore>,
    /// One permit per search that may be under way at a time: more than the processors can do would only take turns,
    /// each on a thread whose freed memory the allocator keeps.
    pub(super) searches: Semaphore,
    experience: RwLock<Arc<Experience>>,
    is_stopping: AtomicBool,
}

impl Server {
    /// Opens the store in `home` and everything beside it.
    pub fn open(home: PathBuf, config: Config, rules: Rules) -> Result<Server, ServerError> {
        let redactor = Redactor::new(&rules.knowledge.secrets)?;
        let access = Access::open(&home, &config)?;
        let (keeper, live) = Keeper::start(&home)?;
        let experience = keeper.wait(|store| history::experience(store)).map_err(|error| error.into_history())??;
        Ok(Server {
            analyses: Arc::new(Semaphore::new(config.limits.analyses)),
            searches: Semaphore::new(config.limits.searches),
            metrics: Metrics::default(),
            uploads: Uploads::default(),
            experience: RwLock::new(Arc::new(experience)),
            is_stopping: AtomicBool::new(false),
            config,
            home,
            keeper,
            live,
            rules,
            redactor,
            access,
        })
    }

    /// The options of an analysis whose report is in `language`.
    pub(super) fn options(&self, language: Language) -> Options {
        Options {
            language,
            knowledge: Some(Arc::clone(&self.rules.knowledge)),
            experience: self.experience(),
            site: Arc::clone(&self.rules.site),
            ..Options::default()
        }
    }

    /// What came up before and what was tried against it.
    pub(super) fn experience(&self) -> Arc<Experience> {
        Arc::clone(&self.experience.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces [`Server::experience`] with a newer one.
    pub(super) fn learn(&self, experience: Experience) {
        *self.experience.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(experience);
    }

    /// Whether the server no longer takes requests.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Records in the audit log that `visitor` did `what` to `whom`.
    pub(super) fn audit(&self, visitor: &Visitor, what: &str, whom: &str) {
        self.access.audit.write(visitor, what, whom);
    }
}
