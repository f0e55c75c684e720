//! Captures that were made up packet by packet, and what is read of them.

mod bad_files;
mod connections;
mod exchanges;
mod formats;
mod heads;
mod packets;
mod periods;
mod quic;
mod recording;
mod retransmissions;
mod secrets;
mod streams;
