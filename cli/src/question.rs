//! The options by which `check` is asked: those of the checker itself, so that both commands have the same.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use gcnproof_check::{Value, WORDS, Words};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct QuestionArguments(pub Words);

impl Args for QuestionArguments {
    fn augment_args(command: Command) -> Command {
        WORDS.iter().fold(command, |command, word| {
            let arg = Arg::new(word.long).long(word.long).aliases(word.others).help(word.help).help_heading("Question");
            let arg = match word.value {
                Value::None => arg.action(ArgAction::SetTrue),
                Value::Needed(value) => arg.value_name(value),
                Value::Optional(value, usual) => arg.value_name(value).num_args(0..=1).default_missing_value(usual),
            };
            command.arg(match word.short {
                Some(letter) => arg.short(letter),
                None => arg,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        QuestionArguments::augment_args(command)
    }
}

impl FromArgMatches for QuestionArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<QuestionArguments, Error> {
        let mut words = Words::default();
        for word in &WORDS {
            let said = match word.value {
                Value::None => matches.get_flag(word.long).then(String::new),
                _ => matches.get_one::<String>(word.long).cloned(),
            };
            if let Some(value) = said {
                words
                    .say(word, value)
                    .map_err(|problem| Error::raw(clap::error::ErrorKind::ArgumentConflict, problem))?;
            }
        }
        Ok(QuestionArguments(words))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = QuestionArguments::from_arg_matches(matches)?;
        Ok(())
    }
}
