//! The certificate that clients have to trust, as a file.

use pem::{EncodeConfig, LineEnding, Pem, encode_config};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// How files of certificates begin.
const OPENING: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Writes a certificate, in DER, to a file in PEM. The file may be there only if a certificate is in it.
///
/// # Errors
/// If no certificate was made, something else is in the file, or it cannot be written.
pub(crate) fn save(path: &Path, certificate: Option<&[u8]>) -> Result<(), String> {
    let Some(certificate) = certificate else {
        return Err("--save-ca: no certificate was made here: leave out --save-ca".to_owned());
    };
    let text =
        encode_config(&Pem::new("CERTIFICATE", certificate), EncodeConfig::new().set_line_ending(LineEnding::LF));
    refuse_others(path)
        .and_then(|()| File::create(path)?.write_all(text.as_bytes()))
        .map_err(|error| format!("--save-ca: {}: cannot be written ({error}): give another name", path.display()))
}

/// Refuses a file that is there and has other things in it.
fn refuse_others(path: &Path) -> io::Result<()> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut beginning = Vec::new();
    File::open(path)?.take(OPENING.len() as u64).read_to_end(&mut beginning)?;
    match beginning == OPENING {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is there, and no certificate in PEM")),
    }
}
