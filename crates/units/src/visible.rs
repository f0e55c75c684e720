//! Text of strangers as a terminal or a log may show it.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control characters (U+0000 to U+001F, U+007F to U+009F) and those that turn the direction of writing
/// (Unicode's `Bidi_Control`) as escapes, `\u001b`: a terminal would obey them instead of showing them, and what stands
/// there would look like something else. Of JSON without line breaks this makes JSON of the same meaning.
///
/// ```
/// use loadstone_units::visible;
///
/// assert_eq!(visible("caf\u{e9} \u{9b}2J \u{202e}txt.exe"), r"café \u009b2J \u202etxt.exe");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(is_obeyed) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_obeyed(char) {
            write!(shown, "\\u{:04x}", u32::from(char)).expect("a string takes any text");
        } else {
            shown.push(char);
        }
    }
    shown.into()
}

/// Whether a terminal would obey a character.
fn is_obeyed(char: char) -> bool {
    let turns = matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_nothing_else_is() {
        let obeyed =
            ["\0", "\n", "\u{1b}", "\u{7f}", "\u{80}", "\u{9f}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}"];
        for text in obeyed {
            let number = u32::from(text.chars().next().unwrap());
            assert_eq!(visible(text), format!("\\u{number:04x}"));
        }
        for text in [" ", "~", "\u{a0}", "\u{e9}", "\u{2029}", "\u{202f}", "\u{2065}", "\u{206a}", "\u{1f600}"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn json_stays_json_of_the_same_meaning() {
        let text = "\u{9b}2J\u{7f}\u{202e}\"\\\n\u{e9}";
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<String>(&visible(&json)).unwrap(), text);
    }
}
