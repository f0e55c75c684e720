//! How a relay's cache uses a disk: the driver has it, and says what has come of what was to be done there.

use super::Relay;
use super::cache::{AdoptedFile, DiskTask, FileNumber, KeptEntry};
use loadstone_units::Time;

impl Relay {
    /// These files were on the disk before it began, by their numbers. What of them there is no room for, is removed.
    pub fn adopt(&mut self, files: Vec<AdoptedFile>) {
        if let Some(cache) = &mut self.cache {
            files.into_iter().for_each(|file| cache.adopt(file));
        }
    }

    /// The next of what is to be done on the disk, until `None`. Ask after each call.
    pub fn poll_disk_task(&mut self) -> Option<DiskTask> {
        self.cache.as_mut()?.poll_task()
    }

    /// A file was read; `None` if it cannot be. Drain [`crate::Program::poll_action`] after it, as after a `handle_*`.
    pub fn handle_file_read(&mut self, now: Time, number: FileNumber, entry: Option<KeptEntry>) {
        self.now = now;
        let Some(cache) = &mut self.cache else { return };
        let (waiting, has_room) = cache.take_read(number, entry, now);
        for front in waiting {
            // It may have gone, or have been answered otherwise.
            match self.early.get(&front).filter(|early| early.is_untried()) {
                Some(_) if has_room => self.proceed(front),
                Some(_) => self.do_without(front),
                None => {}
            }
        }
        self.turn();
    }

    /// A file was written, or could not be.
    pub fn handle_file_written(&mut self, number: FileNumber, is_written: bool) {
        if let Some(cache) = &mut self.cache {
            cache.end_writing(number, is_written);
        }
    }
}
