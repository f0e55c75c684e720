//! What a module imports, by its text: a module that was there when it was wanted makes no request that says so.

/// The names in the static imports of a module. Not a parser: what looks like one in a comment or a string is taken, too,
/// so only names that lead to a module are to be used.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['"', '\'']).filter_map(|(at, quote)| {
        let before = text[..at].trim_end();
        let name = text[at + 1..].split(quote).next()?;
        let may_be = !name.contains(char::is_whitespace);
        (may_be && (ends_with_word(before, "from") || ends_with_word(before, "import"))).then_some(name)
    })
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let is_part = |before: char| before.is_alphanumeric() || matches!(before, '_' | '$' | '.');
    text.strip_suffix(word).is_some_and(|before| !before.ends_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_imports_and_no_others() {
        let text = "import './a.js';import{b as c}from\"../b.js\"\nexport * from 'https://c.test/c.js'\n\
            const d = import('./d.js'), e = Array.from('x'), f = 'import', g = afrom'y'";
        assert_eq!(names(text).collect::<Vec<_>>(), ["./a.js", "../b.js", "https://c.test/c.js"]);
    }
}
