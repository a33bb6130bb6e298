use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratchet_store::project::ProjectId;

/// Counts the streams of events that are open: each takes a connection for as long as its client
/// likes, so all of them together must leave some for others, and those of one project, too.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    open: Arc<Mutex<HashMap<ProjectId, usize>>>,
    most: usize,
    most_of_one: usize,
}

/// One that is open, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    of: Streams,
    project: ProjectId,
}

/// Why there cannot be one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMany {
    /// The server has all it may have.
    #[error("{0} streams of events are open, as many as this server keeps")]
    OnServer(usize),
    /// The project has all it may have.
    #[error("{0} streams of events are open, as many as one project may have")]
    OfProject(usize),
}

impl Streams {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Self {
        Self { open: Arc::default(), most, most_of_one }
    }

    /// Opens one more.
    pub(crate) fn open(&self, project: &ProjectId) -> Result<OpenStream, TooMany> {
        let mut open = self.count();
        if open.values().sum::<usize>() >= self.most {
            return Err(TooMany::OnServer(self.most));
        }
        let of_project = open.entry(project.clone()).or_default();
        if *of_project >= self.most_of_one {
            return Err(TooMany::OfProject(self.most_of_one));
        }
        *of_project += 1;
        Ok(OpenStream { of: self.clone(), project: project.clone() })
    }

    fn count(&self) -> MutexGuard<'_, HashMap<ProjectId, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.of.count();
        if let Some(of_project) = open.get_mut(&self.project) {
            *of_project = of_project.saturating_sub(1);
            if *of_project == 0 {
                open.remove(&self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_for_the_server_and_for_each_project() {
        let [shop, bank] = ["shop", "bank"].map(|name| ProjectId::parse(name).unwrap());
        let streams = Streams::new(3, 2);
        let first = streams.open(&shop).unwrap();
        let _second = streams.open(&shop).unwrap();
        assert_eq!(streams.open(&shop).unwrap_err(), TooMany::OfProject(2));
        let third = streams.open(&bank).unwrap();
        assert_eq!(streams.open(&bank).unwrap_err(), TooMany::OnServer(3));
        drop((first, third));
        assert!(streams.open(&shop).is_ok() && streams.open(&bank).is_ok());
        assert_eq!(streams.count().len(), 1, "a project without streams is forgotten");
    }
}
