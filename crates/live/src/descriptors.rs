//! How a server shares out the file descriptors of its process (RLIMIT_NOFILE).

use nix::sys::resource::{Resource, getrlimit};

/// What stays for everything else: the listener, the event loop, the log, the program around the server.
const RESERVED: u64 = 64;
/// The most files that are open at a time, however many descriptors there are.
const MAX_FILES: u64 = 4096;

/// How many descriptors each use of them may have. Together they are fewer than the process may have, so that a client
/// that takes all of its share leaves the others theirs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DescriptorShares {
    /// Files that are served.
    pub(crate) files: usize,
    /// Of those, what the answers to one client may hold, by its address.
    pub(crate) files_of_client: usize,
    pub(crate) connections: usize,
}

impl DescriptorShares {
    /// Those of this process as it is now.
    pub(crate) fn of_process() -> DescriptorShares {
        // It can only fail for a resource that there is not.
        DescriptorShares::of(getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft))
    }

    fn of(limit: u64) -> DescriptorShares {
        let files = (limit / 4).clamp(1, MAX_FILES);
        let connections = limit.saturating_sub(files + RESERVED).max(1);
        let [files, connections] = [files, connections].map(|share| usize::try_from(share).unwrap_or(usize::MAX));
        DescriptorShares { files, files_of_client: files.div_ceil(2), connections }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_and_the_reserve_are_no_more_than_the_limit() {
        let shares = |limit| {
            let DescriptorShares { files, files_of_client, connections } = DescriptorShares::of(limit);
            (files, files_of_client, connections)
        };
        assert_eq!(shares(1_024), (256, 128, 704));
        assert_eq!(shares(1 << 20), (4_096, 2_048, (1 << 20) - 4_160));
        assert_eq!(shares(20), (5, 3, 1), "too few for all: something is tried");
        assert_eq!(shares(0), (1, 1, 1));
    }
}
