//! How an edge uses the folder of its cache: two threads write and read there, and say what has come of it.

use crate::cache_folder::CacheFolder;
use crate::edge_change::EdgeOrder;
use loadstone_load::{CacheFile, DiskTask, FileNumber};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::mpsc::UnboundedSender;

/// Where an edge's program has the tasks for the disk done.
#[derive(Debug)]
pub(crate) struct CacheDisk<'f> {
    folder: &'f CacheFolder,
    writes: Sender<(FileNumber, CacheFile)>,
    reads: Sender<FileNumber>,
    /// How many files could not be removed.
    pub(crate) failed_removals: u64,
}

/// What is to be done by one thread, and by another.
#[derive(Debug)]
pub(crate) struct DiskWork<'f> {
    pub(crate) writer: DiskWriter<'f>,
    pub(crate) reader: DiskReader<'f>,
}

/// Writes files.
#[derive(Debug)]
pub(crate) struct DiskWriter<'f> {
    folder: &'f CacheFolder,
    writes: Receiver<(FileNumber, CacheFile)>,
    said: UnboundedSender<EdgeOrder>,
}

/// Reads files.
#[derive(Debug)]
pub(crate) struct DiskReader<'f> {
    folder: &'f CacheFolder,
    reads: Receiver<FileNumber>,
    said: UnboundedSender<EdgeOrder>,
}

impl<'f> CacheDisk<'f> {
    /// That of a folder, and what threads have to do for it, which say it to the edge.
    pub(crate) fn new(folder: &'f CacheFolder, said: &UnboundedSender<EdgeOrder>) -> (CacheDisk<'f>, DiskWork<'f>) {
        let ((writes, to_write), (reads, to_read)) = (channel(), channel());
        let writer = DiskWriter { folder, writes: to_write, said: said.clone() };
        let reader = DiskReader { folder, reads: to_read, said: said.clone() };
        (CacheDisk { folder, writes, reads, failed_removals: 0 }, DiskWork { writer, reader })
    }

    /// Has a task done. What is removed is gone when it returns.
    pub(crate) fn take(&mut self, task: DiskTask) {
        match task {
            DiskTask::Remove(number) => self.failed_removals += u64::from(self.folder.remove(number).is_err()),
            // The threads are there as long as this is.
            DiskTask::Read(number) => drop(self.reads.send(number)),
            DiskTask::Write(number, file) => {
                self.folder.want(number);
                drop(self.writes.send((number, file)));
            }
        }
    }
}

impl DiskWriter<'_> {
    /// Writes until nothing more can come.
    pub(crate) fn run(self) {
        for (number, file) in self.writes {
            let is_written = self.folder.write(number, &file);
            // As long as it is here its content is memory in use.
            drop(file);
            drop(self.said.send(EdgeOrder::Written(number, is_written)));
        }
    }
}

impl DiskReader<'_> {
    /// Reads until nothing more can come.
    pub(crate) fn run(self) {
        for number in self.reads {
            drop(self.said.send(EdgeOrder::Read(number, self.folder.read(number))));
        }
    }
}
