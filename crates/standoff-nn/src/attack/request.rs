//! A protocol from the options of the command and of Python.

use super::{Attack, Ball, Grid, Judge, Norm, Protocol};
use crate::{Error, Shape};

/// Options of an evaluation at one eps; [`protocol`](Self::protocol) checks them.
///
/// ```
/// use standoff_nn::Shape;
/// use standoff_nn::attack::{Norm, Request};
///
/// let attacks = ["pgd40".to_owned(), "square500".to_owned()];
/// let norm = Some(Norm::L2);
/// let request = Request { eps: 1.5, paper: false, attacks: Some(&attacks), norm, grid: None, chain: false };
/// assert_eq!(request.protocol(Shape::new(1, 28, 28))?.attacks.len(), 2);
/// // Pixels are from 0 to 1: an image of 784 pixels changes by at most 28.
/// assert!(Request { eps: 30.0, ..request }.protocol(Shape::new(1, 28, 28)).is_err());
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The largest change.
    pub eps: f64,
    /// The published evaluation ([`Protocol::paper`]) instead of the recommended one ([`Protocol::standard`]).
    pub paper: bool,
    /// These attacks instead of those of the protocol. The list may be split at every comma: options are joined again.
    pub attacks: Option<&'a [String]>,
    /// The norm of a change, if it is given.
    pub norm: Option<Norm>,
    /// The form in which attacked images are stored, if it is given.
    pub grid: Option<Grid>,
    /// Attack only images that no attack has broken yet.
    pub chain: bool,
}

impl Norm {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linf => "linf",
            Self::L2 => "l2",
            Self::L1 => "l1",
        }
    }

    /// The norm of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = [Self::Linf, Self::L2, Self::L1].into_iter().find(|n| n.name() == name);
        found.ok_or_else(|| Error::Mismatch(format!("unknown norm `{name}`; there are linf, l2, l1")))
    }
}

impl Grid {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Truncate => "truncate",
            Self::Round => "round",
            Self::Search => "search",
        }
    }

    /// The grid of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = [Self::Float, Self::Truncate, Self::Round, Self::Search].into_iter().find(|g| g.name() == name);
        found.ok_or_else(|| Error::Mismatch(format!("unknown grid `{name}`; there are float, truncate, round, search")))
    }
}

/// The values of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PixelRange {
    /// The smallest and the largest possible value; `None` for no limits.
    pub limits: Option<(f32, f32)>,
    /// The largest magnitude of a pixel, to which rounding errors are in proportion.
    pub magnitude: f64,
}

impl PixelRange {
    /// From 0 to 1.
    pub const UNIT: Self = Self { limits: Some((0.0, 1.0)), magnitude: 1.0 };
}

impl Request<'_> {
    /// The protocol, for images of a shape with pixels from 0 to 1.
    pub fn protocol(&self, images: Shape) -> Result<Protocol, Error> {
        self.protocol_in(images, PixelRange::UNIT)
    }

    /// The protocol, for images of a shape.
    pub fn protocol_in(&self, images: Shape, pixels: PixelRange) -> Result<Protocol, Error> {
        self.check(images, pixels)?;
        let eps = self.eps;
        let mut protocol = if self.paper { Protocol::paper(eps) } else { Protocol::standard(eps) };
        if !self.paper {
            let ball = Ball::of_norm(self.norm.unwrap_or(Norm::Linf), eps);
            let ball = ball.of_images(images.size(), pixels.magnitude, pixels.limits);
            protocol.ball = ball.stored(self.grid.unwrap_or(Grid::Float));
            // Attacks end early on images that they break, so trying every image costs little and gives figures for each attack.
            protocol.judge = if self.chain { Judge::Worst } else { Judge::Every };
        }
        if let Some(parts) = self.attacks {
            protocol.attacks = named(&protocol, parts)?;
        }
        Ok(protocol)
    }

    fn check(&self, images: Shape, pixels: PixelRange) -> Result<(), Error> {
        let (low, high) = pixels.limits.unwrap_or((0.0, 1e3 * pixels.magnitude as f32));
        let span = f64::from(high) - f64::from(low);
        let (most, why) = match self.norm {
            Some(Norm::L2) => ((images.size() as f64).sqrt() * span, "the distance from a black to a white image"),
            Some(Norm::L1) => (images.size() as f64 * span, "the distance from a black to a white image"),
            _ if pixels == PixelRange::UNIT => {
                (1.0, "pixels are from 0 to 1; for levels of 255 write a fraction, such as 8/255")
            }
            _ => (span, "the range of pixels"),
        };
        if !(self.eps >= 0.0 && self.eps <= most) {
            return Err(Error::Mismatch(format!("eps is {}: want a number from 0 to {most} ({why})", self.eps)));
        }
        if self.paper {
            let off = [
                (self.norm == Some(Norm::L2), "norm l2"),
                (self.norm == Some(Norm::L1), "norm l1"),
                (self.grid.is_some_and(|grid| grid != Grid::Truncate), "grid but truncate"),
                (self.chain, "chain"),
            ];
            if let Some((_, what)) = off.into_iter().find(|(given, _)| *given) {
                let why = format!("the protocol paper is the published evaluation, which has no {what}");
                return Err(Error::Mismatch(format!("{why}; leave one of them out")));
            }
        }
        Ok(())
    }
}

/// The attacks of a list that was split at every comma. Names contain commas too: `pgd40:step=0.01,start=clean`.
fn named(protocol: &Protocol, parts: &[String]) -> Result<Vec<Attack>, Error> {
    let mut names: Vec<String> = Vec::new();
    for part in parts.iter().map(|part| part.trim()) {
        match names.last_mut().filter(|last| part.contains('=') && !part.contains(':') && last.contains(':')) {
            Some(last) => *last = format!("{last},{part}"),
            None => names.push(part.to_owned()),
        }
    }
    let mut attacks: Vec<Attack> = Vec::new();
    for name in &names {
        for attack in protocol.attacks_named(name)? {
            if attacks.contains(&attack) {
                return Err(Error::Mismatch(format!("attack `{name}` is given twice")));
            }
            attacks.push(attack);
        }
    }
    Ok(attacks)
}
