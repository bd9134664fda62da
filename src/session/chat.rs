//! A chat as the context of a request: one line of canonical JSON for each message.
//!
//! A message is any JSON object, as in the usual chat APIs. Its line ends with a line feed, so an appended
//! message is an appended line, which [`delta`](crate::compact::delta) sends alone. JSON escapes line feeds
//! in strings, so the line of a message contains no other.

use super::error::{DecodeError, EncodeError};
use crate::excerpt::excerpt;
use crate::json::{self, Escape};
use crate::value::Value;

/// Appends the line of a message to a context.
///
/// # Errors
/// The message is not an object.
pub fn push_message(message: &Value<'_>, context: &mut String) -> Result<(), EncodeError> {
    if !matches!(message, Value::Object(_)) {
        return Err(EncodeError::new("messages", "each message must be a JSON object"));
    }
    json::write(message, Escape::Needed, context);
    context.push('\n');
    Ok(())
}

/// The messages of a context, each a JSON object.
///
/// # Errors
/// A line of the context is not a JSON object, or does not end: the sender passed a text, not messages.
pub fn messages(context: &str) -> Result<Vec<&str>, DecodeError> {
    let not_a_message = |index: usize, line: &str| {
        let line = excerpt(line.trim_end_matches('\n'));
        let message = format!(
            "line {} of the context is not a message, a JSON object: {line}; use context",
            index + 1
        );
        DecodeError::InvalidFormat { frame: None, message }
    };
    let lines = context.split_inclusive('\n').enumerate();
    lines
        .map(|(index, line)| match line.strip_suffix('\n') {
            Some(message)
                if message.starts_with('{')
                    && json::validate(message, json::Limits::default()).is_ok() =>
            {
                Ok(message)
            }
            _ => Err(not_a_message(index, line)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(messages: &[&str]) -> String {
        let mut context = String::new();
        for message in messages {
            let value = json::parse(message, json::Limits::default()).unwrap();
            push_message(&value, &mut context).unwrap();
        }
        context
    }

    #[test]
    fn messages_come_back_from_their_lines() {
        let context = context(&[r#"{"role":"user","content":"a\nb"}"#, r#"{"role": "tool"}"#]);
        assert_eq!(context, "{\"content\":\"a\\nb\",\"role\":\"user\"}\n{\"role\":\"tool\"}\n");
        let found = messages(&context).unwrap();
        assert_eq!(found, [r#"{"content":"a\nb","role":"user"}"#, r#"{"role":"tool"}"#]);
        assert_eq!(messages(""), Ok(Vec::new()));
    }

    #[test]
    fn other_texts_are_errors_that_name_the_line() {
        for (text, line) in
            [("User: Hi", 1), ("{}", 1), ("{}\n\n", 2), ("{}\n[]\n", 2), ("{}\n{\n", 2), ("\n", 1)]
        {
            let error = messages(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line} of")), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_message_is_an_object() {
        let mut context = String::new();
        let error = push_message(&Value::Null, &mut context).unwrap_err();
        assert_eq!((error.field, &*context), ("messages", ""));
    }
}
