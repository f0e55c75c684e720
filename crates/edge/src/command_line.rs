//! The command line. What sets a field of the settings is read off their schema, as in `loadstone edge`.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use loadstone_live::{EdgeSettings, EdgeSource};
use loadstone_units::options::{CommandOption, ValueKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The options of texts that are no settings of their own: name, field, what stands for the value, and help.
const TEXTS: [(&str, &str, &str, &str); 4] = [
    ("listen", "front.listen", "HOST:PORT", "Address to listen on; port 0 means any free port."),
    ("cert", "front.cert", "FILE", "Certificate chain in PEM; if unset, one is generated."),
    ("key", "front.key", "FILE", "Private key of the certificate, in PEM."),
    ("cacert", "behind.cacert", "FILE", "Trust the CA certificates in FILE (PEM) for https origins, not the system's."),
];

/// What the command line says.
pub(crate) struct CommandLine {
    pub(crate) source: EdgeSource,
    /// Where the certificate goes that clients have to trust.
    pub(crate) save_ca: Option<PathBuf>,
}

impl CommandLine {
    /// Those of this process. If help is what they ask for, that is given, and the process ends.
    ///
    /// # Errors
    /// If something is none of them, in one line.
    pub(crate) fn of_process() -> Result<CommandLine, String> {
        let options = EdgeSettings::options();
        match command(&options).try_get_matches() {
            Ok(matches) => Ok(CommandLine::of(&options, matches)),
            Err(error) if error.use_stderr() => Err(line_of(&error)),
            Err(help) => help.exit(),
        }
    }

    fn of(options: &[CommandOption], mut matches: ArgMatches) -> CommandLine {
        let mut given: BTreeMap<String, Value> = BTreeMap::new();
        for option in options {
            let value = match option.kind {
                ValueKind::Integer => matches.remove_one::<i64>(&option.name).map(Value::from),
                ValueKind::String => matches.remove_one::<String>(&option.name).map(Value::from),
            };
            given.extend(value.map(|value| (option.field.to_owned(), value)));
        }
        for (name, field, ..) in TEXTS {
            given.extend(matches.remove_one::<String>(name).map(|value| (field.to_owned(), value.into())));
        }
        if matches.get_flag("plaintext") {
            given.insert("front.transport".to_owned(), "plaintext".into());
        }
        let origins = matches.remove_many("origin").into_iter().flatten().collect();
        let source = EdgeSource { file: matches.remove_one("file"), origins, given };
        CommandLine { source, save_ca: matches.remove_one("save-ca") }
    }
}

fn command(options: &[CommandOption]) -> Command {
    let file = Arg::new("file").value_name("FILE").value_parser(value_parser!(PathBuf));
    let origin = Arg::new("origin").long("origin").value_name("NAME=URL").action(ArgAction::Append);
    let plaintext = Arg::new("plaintext").long("plaintext").action(ArgAction::SetTrue);
    let save_ca = Arg::new("save-ca").long("save-ca").value_name("FILE").value_parser(value_parser!(PathBuf));
    Command::new("loadstone-edge")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Reverse proxy: HTTP/1.1, SPDY and HTTP/2 in front, HTTP/1.1 or HTTP/2 to origins.")
        .after_help(
            "The host that a request names decides which origin it goes to. SIGHUP reads the settings again. SIGINT or \
             SIGTERM shuts the edge down after the requests in progress, a second one at once.",
        )
        .arg(file.help("All settings in TOML (docs/edge.md); options override it."))
        .arg(origin.help("Send requests for the host NAME, or NAME:PORT, to the server at URL. Repeat it for more names, and for more servers of a name."))
        .arg(
            plaintext
                .help("No TLS: clients use http/1.1, or the --protocol without negotiation.")
                .conflicts_with_all(["cert", "key", "save-ca"]),
        )
        .args(TEXTS.map(|(name, _, metavar, help)| Arg::new(name).long(name).value_name(metavar).help(help)))
        .arg(save_ca.help("Write the CA certificate that clients have to trust, in PEM."))
        .args(options.iter().map(argument))
}

/// What its value may be is said by the settings, which are the file's as well.
fn argument(option: &CommandOption) -> Arg {
    let CommandOption { name, flag, kind, metavar, default, help, .. } = option;
    let usual = if default.is_null() { String::new() } else { format!("  [default: {default}]").replace('"', "") };
    let argument = Arg::new(name).long(flag.trim_start_matches('-').to_owned()).value_name(metavar);
    let argument = argument.help(format!("{help}{usual}"));
    match kind {
        ValueKind::Integer => argument.value_parser(value_parser!(i64)),
        ValueKind::String => argument,
    }
}

/// An error in a line: its first paragraph.
fn line_of(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Result<EdgeSource, String> {
        let options = EdgeSettings::options();
        let words = ["loadstone-edge"].into_iter().chain(line.split_whitespace());
        let matches = command(&options).try_get_matches_from(words).map_err(|error| line_of(&error))?;
        Ok(CommandLine::of(&options, matches).source)
    }

    #[test]
    fn every_option_sets_its_field() {
        let source = given(
            "edge.toml --origin a=b --origin c=d --plaintext --listen x:1 --cacert y --max-streams 5 --protocol h2 --cache 7",
        )
        .unwrap();
        assert_eq!((source.file, source.origins), (Some("edge.toml".into()), vec!["a=b".to_owned(), "c=d".to_owned()]));
        let given: Vec<(&str, &Value)> = source.given.iter().map(|(field, value)| (field.as_str(), value)).collect();
        let expected = [
            ("behind.cacert", Value::from("y")),
            ("cache.bytes", 7.into()),
            ("front.listen", "x:1".into()),
            ("front.multiplexing.streams", 5.into()),
            ("front.protocol", "h2".into()),
            ("front.transport", "plaintext".into()),
        ];
        assert_eq!(given, expected.each_ref().map(|(field, value)| (*field, value)));
    }

    #[test]
    fn what_is_no_option_or_does_not_go_together_is_refused_in_one_line() {
        for (line, expected) in [
            ("--origin-timeout soon", "--origin-timeout"),
            ("--plaintext --cert a", "--cert"),
            ("--colour", "--colour"),
            ("a.toml b.toml", "b.toml"),
        ] {
            let why = given(line).unwrap_err();
            assert!(why.contains(expected) && !why.contains('\n') && !why.starts_with("error"), "{line}: {why}");
        }
    }
}
