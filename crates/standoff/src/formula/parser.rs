//! Recursive-descent parser: tokens to graph. Operators are parsed in loops, so only brackets recurse, and their depth
//! is limited: no expression can overflow the stack.
//!
//! ```text
//! sum     = product { (+ | -) product }
//! product = power { (* | / | @) power }
//! power   = signs value { ^ signs value }        right to left; -a^b is -(a^b), as in Python
//! value   = atom { [ picks ] | .T }
//! atom    = number | name | name ( sum {, sum} ) | ( sum )
//! ```

use super::functions;
use super::graph::{Graph, Id};
use super::index::{self, Pick};
use super::lexer::{Lexer, Token};
use super::op::{Binary, Unary};
use super::place::Fault;
use super::scope::Scope;

/// Limit of characters in an expression.
pub(super) const MOST_CHARACTERS: usize = 1_000_000;
/// Limit of nested brackets.
pub(super) const DEEPEST: usize = 256;

/// Parses one whole expression.
pub(super) fn parse(text: &str, graph: &mut Graph, scope: &mut Scope) -> Result<Id, Fault> {
    let mut parser = Parser { lexer: Lexer::new(text), token: Token::End, at: 0, depth: 0, graph, scope };
    parser.advance()?;
    if parser.token == Token::End {
        return Err(Fault::new(parser.at, "the expression is empty; write one, such as \"x*y - y^2\""));
    }
    let id = parser.sum()?;
    match parser.token {
        Token::End => Ok(id),
        Token::Close => Err(parser.fault("`)` closes nothing; remove it, or add `(` before")),
        Token::CloseIndex => Err(parser.fault("`]` closes nothing; remove it, or add `[` before")),
        Token::Comma => Err(parser.fault("`,` belongs inside a function call; an objective is one expression")),
        _ => Err(parser.juxtaposed()),
    }
}

struct Parser<'t, 's> {
    lexer: Lexer<'t>,
    /// The current token and its position.
    token: Token<'t>,
    at: usize,
    depth: usize,
    graph: &'s mut Graph,
    scope: &'s mut Scope,
}

impl<'t> Parser<'t, '_> {
    fn advance(&mut self) -> Result<(), Fault> {
        (self.token, self.at) = self.lexer.next()?;
        Ok(())
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }

    fn sum(&mut self) -> Result<Id, Fault> {
        let mut left = self.product()?;
        loop {
            let f = match self.token {
                Token::Plus => Binary::Add,
                Token::Minus => Binary::Sub,
                _ => return Ok(left),
            };
            let at = self.at;
            self.advance()?;
            let right = self.product()?;
            left = self.graph.pair(f, left, right).map_err(|m| Fault::new(at, m))?;
        }
    }

    fn product(&mut self) -> Result<Id, Fault> {
        let mut left = self.power()?;
        loop {
            let (sign, at) = (self.token, self.at);
            if !matches!(sign, Token::Times | Token::Over | Token::At) {
                return Ok(left);
            }
            self.advance()?;
            let right = self.power()?;
            let made = match sign {
                Token::Times => self.graph.pair(Binary::Mul, left, right),
                Token::Over => self.graph.pair(Binary::Div, left, right),
                _ => self.graph.product(left, right),
            };
            left = made.map_err(|m| Fault::new(at, m))?;
        }
    }

    /// A whole chain `a ^ -b ^ c` is read first and then folded from the right: `a ^ (-(b ^ c))`.
    fn power(&mut self) -> Result<Id, Fault> {
        let first = (self.signs()?, self.value()?, self.at);
        if self.token != Token::Power {
            return self.signed(first.0, first.1);
        }
        let mut links = vec![first];
        while self.token == Token::Power {
            self.advance()?;
            links.push((self.signs()?, self.value()?, self.at));
        }
        let mut result = None;
        for (negative, base, at) in links.into_iter().rev() {
            let raised = match result {
                None => base,
                Some(exponent) => self.graph.pair(Binary::Pow, base, exponent).map_err(|m| Fault::new(at, m))?,
            };
            result = Some(self.signed(negative, raised)?);
        }
        result.ok_or_else(|| self.fault("a value is missing"))
    }

    /// Reads signs; returns true if they amount to a minus.
    fn signs(&mut self) -> Result<bool, Fault> {
        let mut negative = false;
        while matches!(self.token, Token::Plus | Token::Minus) {
            negative ^= self.token == Token::Minus;
            self.advance()?;
        }
        Ok(negative)
    }

    fn signed(&mut self, negative: bool, id: Id) -> Result<Id, Fault> {
        if negative { self.graph.each(Unary::Neg, id).map_err(|m| Fault::new(self.at, m)) } else { Ok(id) }
    }

    fn value(&mut self) -> Result<Id, Fault> {
        let mut id = self.atom()?;
        loop {
            let at = self.at;
            id = match self.token {
                Token::OpenIndex => {
                    let picks = self.picks()?;
                    let made = index::view(self.graph.shape(id), &picks);
                    made.and_then(|(view, shape)| self.graph.view(id, view, shape))
                }
                Token::Dot => {
                    self.advance()?;
                    if self.token != Token::Name("T") {
                        return Err(Fault::new(at, "after a dot only T is known: A.T is the transpose"));
                    }
                    self.advance()?;
                    self.graph.transpose(id)
                }
                _ => return Ok(id),
            }
            .map_err(|m| Fault::new(at, m))?;
        }
    }

    fn atom(&mut self) -> Result<Id, Fault> {
        let (token, at) = (self.token, self.at);
        match token {
            Token::Number(value) => {
                self.advance()?;
                self.graph.literal(value).map_err(|m| Fault::new(at, m))
            }
            Token::Name(name) => {
                self.advance()?;
                match self.token {
                    Token::Open => self.call(name, at),
                    Token::Dot if matches!(name, "np" | "numpy" | "math" | "torch" | "jnp") => {
                        Err(Fault::new(at, format!("functions have no prefix here: remove `{name}.`")))
                    }
                    _ => self.scope.value(name, self.graph).map_err(|m| Fault::new(at, m)),
                }
            }
            Token::Open => {
                self.enter()?;
                let id = self.sum()?;
                self.leave(at)?;
                Ok(id)
            }
            Token::OpenIndex => {
                Err(self.fault("an expression cannot contain a list; put it under [data] and use its name"))
            }
            Token::End => Err(self.fault("a value is missing at the end")),
            other => Err(self.fault(format!("a value is missing before {}", other.name()))),
        }
    }

    /// The arguments of `name` at position `at`; the current token is the opening bracket.
    fn call(&mut self, name: &'t str, at: usize) -> Result<Id, Fault> {
        let open = self.at;
        let Some(f) = functions::find(name) else { return Err(Fault::new(at, self.scope.not_a_function(name))) };
        self.enter()?;
        let mut args = Vec::new();
        if self.token != Token::Close {
            args.push(self.sum()?);
            while self.token == Token::Comma {
                self.advance()?;
                args.push(self.sum()?);
            }
        }
        self.leave(open)?;
        functions::call(self.graph, name, f, &args).map_err(|m| Fault::new(at, m))
    }

    /// Consumes an opening bracket.
    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("brackets are nested more than {DEEPEST} deep; name the inner parts under [define]");
            return Err(self.fault(message));
        }
        self.advance()
    }

    /// Consumes the bracket that closes the one at `open`.
    fn leave(&mut self, open: usize) -> Result<(), Fault> {
        match self.token {
            Token::Close => {
                self.depth -= 1;
                self.advance()
            }
            Token::End => Err(Fault::new(open, "this `(` is never closed; add `)`")),
            Token::CloseIndex => Err(self.fault("got `]` where `)` is needed")),
            Token::Comma => Err(self.fault("`,` belongs inside a function call")),
            _ => Err(self.juxtaposed()),
        }
    }

    /// The error for two values side by side.
    fn juxtaposed(&self) -> Fault {
        match self.token {
            Token::Name(_) | Token::Number(_) | Token::Open => {
                self.fault(format!("an operator is missing before {}; to multiply write *", self.token.name()))
            }
            other => self.fault(format!("{} has no meaning here", other.name())),
        }
    }

    fn picks(&mut self) -> Result<Vec<Pick>, Fault> {
        let open = self.at;
        let mut picks = Vec::new();
        loop {
            self.advance()?;
            let from = self.position()?;
            picks.push(if self.token == Token::Colon {
                self.advance()?;
                Pick::Range(from, self.position()?)
            } else {
                Pick::One(from.ok_or_else(|| self.fault("an index is a whole number, such as w[0] or w[-1]"))?)
            });
            match self.token {
                Token::CloseIndex => break,
                Token::Comma if picks.len() < 2 => {}
                Token::Comma => return Err(self.fault("at most two indices: A[row, column]")),
                Token::End => return Err(Fault::new(open, "this `[` is never closed; add `]`")),
                Token::Colon => return Err(self.fault("a slice has no step: write w[1:3]")),
                other => return Err(self.fault(format!("`]` is missing before {}", other.name()))),
            }
        }
        self.advance()?;
        Ok(picks)
    }

    fn position(&mut self) -> Result<Option<i64>, Fault> {
        let start = self.at;
        let negative = self.signs()?;
        match self.token {
            Token::Number(v) if v.fract() == 0.0 && v <= 1e15 => {
                self.advance()?;
                Ok(Some(if negative { -(v as i64) } else { v as i64 }))
            }
            Token::Number(_) | Token::Name(_) | Token::Open => {
                Err(self.fault("an index is a whole number, such as w[0] or w[-1]"))
            }
            _ if self.at != start => Err(self.fault("a whole number is missing after the sign")),
            _ => Ok(None),
        }
    }
}
