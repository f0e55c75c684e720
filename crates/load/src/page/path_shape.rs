//! The shape of a path: what it has in common with one that differs in numbers, ids and hashes only.

/// The shortest run of hexadecimal digits, with a decimal one among them, that is taken for an id.
const SHORTEST_HEX: usize = 8;
/// The shortest word of letters and digits in turn that is taken for a hash.
const SHORTEST_HASH: usize = 16;
/// How often letters and digits take turns in a hash, at least: words with a number do so once or twice.
const TURNS_OF_A_HASH: usize = 4;

/// A path in which `#` stands for each number, hexadecimal id, UUID and hash.
pub fn path_shape(path: &[u8]) -> Vec<u8> {
    let mut shape = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(first) = rest.first() {
        if let Some(after) = after_uuid(rest) {
            shape.push(b'#');
            rest = after;
            continue;
        }
        let end = rest.iter().position(|byte| byte.is_ascii_alphanumeric() != first.is_ascii_alphanumeric());
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        if !first.is_ascii_alphanumeric() {
            shape.extend_from_slice(word);
        } else if is_id(word) {
            shape.push(b'#');
        } else {
            for run in word.chunk_by(|one, two| one.is_ascii_digit() == two.is_ascii_digit()) {
                shape.extend_from_slice(if run[0].is_ascii_digit() { b"#" } else { run });
            }
        }
    }
    shape
}

/// What comes after the UUID with which a text begins (RFC 9562, section 4).
fn after_uuid(text: &[u8]) -> Option<&[u8]> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let (uuid, after) = text.split_at_checked(36)?;
    let is_its = |(at, byte): (usize, &u8)| if DASHES.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    uuid.iter().enumerate().all(is_its).then_some(after)
}

/// Whether a word is no word: an id in hexadecimal, or a hash.
fn is_id(word: &[u8]) -> bool {
    let is_hex = word.len() >= SHORTEST_HEX && word.iter().all(u8::is_ascii_hexdigit);
    if is_hex && word.iter().any(u8::is_ascii_digit) {
        return true;
    }
    let turns = word.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    word.len() >= SHORTEST_HASH && turns >= TURNS_OF_A_HASH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ids_and_hashes_of_a_path_are_left_out_of_its_shape() {
        for (path, shape) in [
            ("/a/12/b", "/a/#/b"),
            ("/img-0012x34.png", "/img-#x#.png"),
            ("/app.3f9ab01c.js", "/app.#.js"),
            // A word, though its letters are hexadecimal digits.
            ("/facade/deadbeef.css", "/facade/deadbeef.css"),
            ("/4a1c7b02-93de-4f00-a111-0123456789ab.js", "/#.js"),
            ("/assets/kq7x0Zb93mT5w2Lp.woff2", "/assets/#.woff#"),
            ("/internationalization2/", "/internationalization#/"),
            ("/", "/"),
        ] {
            assert_eq!(String::from_utf8_lossy(&path_shape(path.as_bytes())), shape, "{path}");
        }
    }
}
