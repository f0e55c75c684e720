//! HAR files to page files.
