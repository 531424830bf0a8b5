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

/// With what logs are analysed.
#[derive(Clone)]
pub struct Rules {
    /// The shipped rules, and the team's own over them.
    pub knowledge: Arc<Knowledge>,
    /// What the team's settings say of the place.
    pub site: Arc<Site>,
}

/// What all requests share.
pub struct Server {
    /// How it serves.
    pub(super) config: Config,
    /// Where all of it lies.
    pub(super) home: PathBuf,
    /// Who owns the store.
    pub(super) keeper: Keeper,
    /// Who answers questions about the history.
    pub(super) live: Arc<Live>,
    /// With what logs are analysed.
    pub(super) rules: Rules,
    pub(super) redactor: Redactor,
    pub(super) access: Access,
    pub(super) metrics: Metrics,
    /// Logs that came from pages.
    pub(super) uploads: Uploads,
    /// Leave to read a log.
    pub(super) analyses: Arc<Semaphore>,
    experience: RwLock<Arc<Experience>>,
    is_stopping: AtomicBool,
}

impl Server {
    /// Opens the store in `home`, and all that lies beside it.
    pub fn open(home: PathBuf, config: Config, rules: Rules) -> Result<Server, ServerError> {
        let redactor = Redactor::new(&rules.knowledge.secrets)?;
        let access = Access::open(&home, &config)?;
        let (keeper, live) = Keeper::start(&home)?;
        let experience = keeper.wait(|store| history::experience(store)).map_err(|error| error.into_history())??;
        Ok(Server {
            analyses: Arc::new(Semaphore::new(config.limits.analyses)),
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

    /// How an analysis is to read, for `visitor` or for nobody in particular.
    pub(super) fn options(&self, language: Language) -> Options {
        Options {
            language,
            knowledge: Some(Arc::clone(&self.rules.knowledge)),
            experience: self.experience(),
            site: Arc::clone(&self.rules.site),
            ..Options::default()
        }
    }

    /// What came up and was tried before.
    pub(super) fn experience(&self) -> Arc<Experience> {
        Arc::clone(&self.experience.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over what came up since.
    pub(super) fn learn(&self, experience: Experience) {
        *self.experience.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(experience);
    }

    /// Whether it takes nothing more.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Writes down that `visitor` did `what` to `whom`.
    pub(super) fn audit(&self, visitor: &Visitor, what: &str, whom: &str) {
        self.access.audit.write(visitor, what, whom);
    }
}
