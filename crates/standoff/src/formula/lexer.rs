//! Lexer: text to tokens, one at a time.

use super::place::{Fault, short};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'t> {
    Number(f64),
    Name(&'t str),
    Plus,
    Minus,
    Times,
    Over,
    At,
    Power,
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Comma,
    Colon,
    Dot,
    End,
}

impl Token<'_> {
    /// The name of the token in messages.
    pub(super) fn name(self) -> String {
        let sign = match self {
            Token::Number(v) => return format!("`{v}`"),
            Token::Name(name) => return format!("`{}`", short(name)),
            Token::End => return "the end of the expression".into(),
            Token::Plus => "+",
            Token::Minus => "-",
            Token::Times => "*",
            Token::Over => "/",
            Token::At => "@",
            Token::Power => "^",
            Token::Open => "(",
            Token::Close => ")",
            Token::OpenIndex => "[",
            Token::CloseIndex => "]",
            Token::Comma => ",",
            Token::Colon => ":",
            Token::Dot => ".",
        };
        format!("`{sign}`")
    }
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and its position.
    pub(super) fn next(&mut self) -> Result<(Token<'t>, usize), Fault> {
        self.skip(char::is_whitespace);
        let start = self.at;
        let Some(c) = self.peek(0) else { return Ok((Token::End, start)) };
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|d| d.is_ascii_digit())) {
            return Ok((self.number()?, start));
        }
        if starts_name(c) {
            self.skip(|c| starts_name(c) || c.is_ascii_digit());
            return Ok((Token::Name(&self.text[start..self.at]), start));
        }
        let double = c == '*' && self.peek(1) == Some('*');
        let token = match c {
            '+' => Token::Plus,
            '-' => Token::Minus,
            '*' if double => Token::Power,
            '*' => Token::Times,
            '/' => Token::Over,
            '@' => Token::At,
            '^' => Token::Power,
            '(' => Token::Open,
            ')' => Token::Close,
            '[' => Token::OpenIndex,
            ']' => Token::CloseIndex,
            ',' => Token::Comma,
            ':' => Token::Colon,
            '.' => Token::Dot,
            other => return Err(Fault::new(start, stranger(other))),
        };
        self.at += if double { 2 } else { 1 };
        Ok((token, start))
    }

    fn number(&mut self) -> Result<Token<'t>, Fault> {
        let start = self.at;
        self.skip(|c| c.is_ascii_digit());
        if self.peek(0) == Some('.') {
            self.at += 1;
            self.skip(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(0), Some('e' | 'E')) {
            let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
            if self.peek(1 + signed).is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1 + signed;
                self.skip(|c| c.is_ascii_digit());
            }
        }
        let digits = &self.text[start..self.at];
        if self.peek(0) == Some('_') {
            return Err(Fault::new(self.at, "a number has no `_` inside: write 1000 or 1e3, not 1_000"));
        }
        match digits.parse::<f64>() {
            Ok(0.0) if is_not_zero(digits) => {
                Err(Fault::new(start, "this number is too small: it would become 0; the smallest is about 4.9e-324"))
            }
            Ok(v) if v.is_finite() => Ok(Token::Number(v)),
            _ => Err(Fault::new(start, "this number is too large: the largest is about 1.8e308")),
        }
    }

    /// The character a number of bytes ahead; the bytes before it must be ASCII.
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead..)?.chars().next()
    }

    fn skip(&mut self, belongs: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    }
}

/// True if a decimal number that was rounded to 0 has a non-zero digit before its exponent.
pub(super) fn is_not_zero(digits: &str) -> bool {
    digits.split(['e', 'E']).next().is_some_and(|mantissa| mantissa.contains(|c| matches!(c, '1'..='9')))
}

pub(super) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The message for a character without a meaning, with a suggestion.
fn stranger(c: char) -> String {
    let fix = match c {
        '\u{2212}' | '\u{2013}' | '\u{2014}' => "write - for minus",
        '\u{00d7}' | '\u{00b7}' | '\u{22c5}' | '\u{2217}' => "write * to multiply",
        '\u{00f7}' => "write / to divide",
        '\u{00b2}' => "write ^2",
        '\u{00b3}' => "write ^3",
        '\u{221a}' => "write sqrt(...)",
        '\'' | '\u{22a4}' => "write .T to transpose",
        '|' => "write abs(...) or norm(...)",
        '{' | '}' => "use ( ) to group",
        '=' | '<' | '>' => "an objective is one expression, without comparisons or assignments",
        '#' => "comments belong outside the expression",
        _ => "remove it",
    };
    // Control characters are named, not printed.
    let name = if c.is_control() { format!("U+{:04X}", c as u32) } else { format!("`{c}`") };
    format!("{name} has no meaning in an expression; {fix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<Token<'_>>, Fault> {
        let mut lexer = Lexer::new(text);
        let mut all = Vec::new();
        loop {
            match lexer.next()?.0 {
                Token::End => return Ok(all),
                token => all.push(token),
            }
        }
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        for (text, value) in [("1", 1.0), (".5", 0.5), ("5.", 5.0), ("1e-3", 1e-3), ("2.5E+2", 250.0), ("1e3", 1e3)] {
            assert_eq!(tokens(text), Ok(vec![Token::Number(value)]), "{text}");
        }
        assert_eq!(tokens("2e"), Ok(vec![Token::Number(2.0), Token::Name("e")]));
        assert_eq!(tokens("1e400").unwrap_err().at, 0);
        assert_eq!(tokens("x + 1_000").unwrap_err().at, 5);
    }

    #[test]
    fn two_stars_are_a_power_and_a_dot_before_a_letter_is_a_dot() {
        assert_eq!(tokens("**").unwrap(), [Token::Power]);
        assert_eq!(tokens("A.T").unwrap(), [Token::Name("A"), Token::Dot, Token::Name("T")]);
    }

    #[test]
    fn a_strange_character_is_told_what_to_write() {
        let minus = tokens("x \u{2212} y").unwrap_err();
        assert_eq!((minus.at, minus.message.contains("write - for minus")), (2, true));
        assert!(tokens("x\u{00b2}").unwrap_err().message.contains("write ^2"));
        assert!(tokens("x\u{7}").unwrap_err().message.starts_with("U+0007"));
    }
}
