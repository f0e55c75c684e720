//! The URLs of a fetch as a user writes them, with their priorities.

use loadstone_http::{Priority, UnknownPriority};

/// A list of URLs in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UrlFile<'a> {
    /// What it is called in errors.
    pub name: &'a str,
    /// A URL on each line, a priority behind it if it has one. Lines that begin with `#` are comments.
    pub text: &'a str,
}

/// Why it is not known what is to be fetched.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlListError {
    /// There is nothing to fetch.
    #[error("there is no URL: give one, or a file with --urls")]
    Empty,
    /// Some priorities belong to nothing.
    #[error("--priority: {priorities} for {urls} URL{s}: give one for each", s = if *urls == 1 { "" } else { "s" })]
    TooManyPriorities {
        /// How many priorities there are.
        priorities: usize,
        /// And how many URLs.
        urls: usize,
    },
    /// A priority is none.
    #[error(transparent)]
    Priority(#[from] UnknownPriority),
    /// A line of the file has a priority that is none.
    #[error("{name}, line {line}: {problem}")]
    PriorityInLine {
        /// The file.
        name: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        problem: UnknownPriority,
    },
    /// A line of the file has more on it.
    #[error("{name}, line {line}: write a URL and, if it has one, its priority")]
    TooManyWords {
        /// The file.
        name: String,
        /// Which line, from 1.
        line: usize,
    },
}

/// Gives the URLs `given`, then those of a file. One of `priorities` is that of all URLs; several are those of the
/// URLs in their order. What stands behind a URL in the file goes before them.
///
/// # Errors
/// If there is no URL, or a priority is none or belongs to no URL.
pub fn urls_with_priorities(
    given: &[String],
    file: Option<UrlFile<'_>>,
    priorities: &[String],
) -> Result<Vec<(String, Priority)>, UrlListError> {
    let mut wanted: Vec<(String, Option<Priority>)> = given.iter().map(|url| (url.clone(), None)).collect();
    for (line, text) in file.iter().flat_map(|file| (1..).zip(file.text.lines())) {
        let name = || file.map_or_else(String::new, |file| file.name.to_owned());
        let mut words = text.split_whitespace();
        let Some(url) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let own = words.next().map(str::parse).transpose();
        let own = own.map_err(|problem| UrlListError::PriorityInLine { name: name(), line, problem })?;
        if words.next().is_some() {
            return Err(UrlListError::TooManyWords { name: name(), line });
        }
        wanted.push((url.to_owned(), own));
    }
    if wanted.is_empty() {
        return Err(UrlListError::Empty);
    }
    let parsed: Vec<Priority> = priorities.iter().map(|written| written.parse()).collect::<Result<_, _>>()?;
    if parsed.len() > wanted.len() {
        return Err(UrlListError::TooManyPriorities { priorities: parsed.len(), urls: wanted.len() });
    }
    let of_command_line = |at: usize| match parsed[..] {
        [only] => only,
        _ => parsed.get(at).copied().unwrap_or_default(),
    };
    Ok(wanted
        .into_iter()
        .enumerate()
        .map(|(at, (url, own))| (url, own.unwrap_or_else(|| of_command_line(at))))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(given: &[&str], text: Option<&str>, priorities: &[&str]) -> Result<Vec<(String, String)>, String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let file = text.map(|text| UrlFile { name: "list", text });
        let urls = urls_with_priorities(&owned(given), file, &owned(priorities)).map_err(|error| error.to_string())?;
        Ok(urls.into_iter().map(|(url, priority)| (url, priority.to_string())).collect())
    }

    fn priorities(of: Result<Vec<(String, String)>, String>) -> Vec<String> {
        of.unwrap().into_iter().map(|(_, priority)| priority).collect()
    }

    #[test]
    fn one_priority_is_that_of_all_and_several_go_by_turns() {
        assert_eq!(priorities(list(&["a", "b"], None, &["1"])), ["u=1", "u=1"]);
        assert_eq!(priorities(list(&["a", "b", "c"], None, &["1", "2i"])), ["u=1", "u=2, i", ""]);
        assert_eq!(priorities(list(&["a"], None, &[])), [""]);
    }

    #[test]
    fn what_stands_in_the_file_goes_before() {
        let text = "# those of today\nb 0\n\n  c  \n";
        let urls = list(&["a"], Some(text), &["5"]).unwrap();
        let names: Vec<&str> = urls.iter().map(|(url, _)| url.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(priorities(Ok(urls)), ["u=5", "u=0", "u=5"]);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        assert!(list(&[], Some("# nothing\n"), &[]).unwrap_err().contains("no URL"));
        assert!(list(&["a"], None, &["1", "2"]).unwrap_err().contains("2 for 1 URL:"));
        assert!(list(&["a"], None, &["8"]).unwrap_err().starts_with("'8' is no priority"));
        assert!(list(&[], Some("a\nb 1 2"), &[]).unwrap_err().starts_with("list, line 2: write"));
        assert!(list(&[], Some("a\nb 1ii"), &[]).unwrap_err().starts_with("list, line 2: '1ii' is no"));
    }
}
