//! What is to be measured: for every eps a protocol of attacks, from what the user asked for.

use anyhow::{Result, bail};
use clap::ValueEnum;
use standoff_nn::Shape;
use standoff_nn::attack::{Attack, Ball, Grid, Judge, Norm, Protocol};

/// Whose evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rules {
    /// Strong attacks inside the ball and inside [0, 1], every fallen image verified
    Standard,
    /// As published: FGSM (not clipped) and PGD-40, images cut to 256 levels
    Paper,
}

/// How changes are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Distance {
    /// The largest change of a pixel
    Linf,
    /// The Euclidean length of the change
    L2,
}

/// How attacked images are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Levels {
    /// As 32-bit floats
    Float,
    /// Cut to 256 levels after the attack
    Truncate,
    /// Rounded to 256 levels after the attack
    Round,
    /// Attacks move on the 256 levels themselves
    Search,
}

/// What the user asked for.
#[derive(Debug, Clone)]
pub(crate) struct Wish<'a> {
    pub(crate) rules: Rules,
    pub(crate) eps: &'a [f64],
    /// Names, as they were split at commas.
    pub(crate) attacks: Option<&'a [String]>,
    pub(crate) norm: Option<Distance>,
    pub(crate) grid: Option<Levels>,
    /// Attack only what still stands.
    pub(crate) chain: bool,
}

impl Rules {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Paper => "paper",
        }
    }
}

impl Wish<'_> {
    /// One protocol for each eps, for images of a shape.
    pub(crate) fn protocols(&self, images: Shape) -> Result<Vec<Protocol>> {
        self.check(images)?;
        self.eps.iter().map(|&eps| self.protocol(eps)).collect()
    }

    fn check(&self, images: Shape) -> Result<()> {
        let (most, why) = match self.norm {
            Some(Distance::L2) => ((images.size() as f64).sqrt(), "from black to white is no further"),
            _ => (1.0, "pixels are from 0 to 1; for levels of 255 write a fraction, such as 8/255"),
        };
        for (i, eps) in self.eps.iter().enumerate() {
            if !(*eps >= 0.0 && *eps <= most) {
                bail!("eps is {eps}: want a number from 0 to {most} ({why})");
            }
            if self.eps[..i].contains(eps) {
                bail!("eps {eps} is given twice");
            }
        }
        if self.rules == Rules::Paper {
            let off = [
                (self.norm == Some(Distance::L2), "--norm l2"),
                (self.grid.is_some_and(|grid| grid != Levels::Truncate), "another --grid than truncate"),
                (self.chain, "--chain"),
            ];
            if let Some((_, what)) = off.into_iter().find(|(given, _)| *given) {
                bail!("--protocol paper is the published evaluation, which has no {what}; leave one of them out");
            }
        }
        Ok(())
    }

    fn protocol(&self, eps: f64) -> Result<Protocol> {
        let mut protocol = match self.rules {
            Rules::Paper => Protocol::paper(eps),
            Rules::Standard => Protocol::standard(eps),
        };
        if self.rules == Rules::Standard {
            let ball = if self.norm == Some(Distance::L2) { Ball::l2(eps) } else { Ball::linf(eps) };
            protocol.ball = ball.stored(match self.grid {
                None | Some(Levels::Float) => Grid::Float,
                Some(Levels::Truncate) => Grid::Truncate,
                Some(Levels::Round) => Grid::Round,
                Some(Levels::Search) => Grid::Search,
            });
            // Attacks end early on images that fall, so that trying the fallen again costs little, and tells what each can do.
            protocol.judge = if self.chain { Judge::Worst } else { Judge::Every };
        }
        if let Some(parts) = self.attacks {
            protocol.attacks = named(&protocol, parts)?;
        }
        Ok(protocol)
    }
}

/// The attacks of a list that was split at every comma: `pgd40:step=0.01,start=clean` has one of its own.
fn named(protocol: &Protocol, parts: &[String]) -> Result<Vec<Attack>> {
    let mut names: Vec<String> = Vec::new();
    for part in parts.iter().map(|part| part.trim()) {
        match names.last_mut().filter(|last| part.contains('=') && !part.contains(':') && last.contains(':')) {
            Some(last) => *last = format!("{last},{part}"),
            None => names.push(part.to_owned()),
        }
    }
    let mut attacks: Vec<Attack> = Vec::new();
    for name in &names {
        let attack = protocol.attack(name)?;
        if attacks.contains(&attack) {
            bail!("attack `{name}` is given twice");
        }
        attacks.push(attack);
    }
    Ok(attacks)
}

/// A norm in words.
pub(crate) fn norm_name(norm: Norm) -> &'static str {
    match norm {
        Norm::Linf => "linf",
        Norm::L2 => "l2",
    }
}

/// A way to store images, in words.
pub(crate) fn grid_name(grid: Grid) -> &'static str {
    match grid {
        Grid::Float => "float",
        Grid::Truncate => "truncate",
        Grid::Round => "round",
        Grid::Search => "search",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGES: Shape = Shape::new(1, 28, 28);

    fn wish<'a>(eps: &'a [f64]) -> Wish<'a> {
        Wish { rules: Rules::Standard, eps, attacks: None, norm: None, grid: None, chain: false }
    }

    fn refused(wish: &Wish<'_>) -> String {
        wish.protocols(IMAGES).unwrap_err().to_string()
    }

    #[test]
    fn every_eps_has_its_protocol() {
        let all = wish(&[0.2, 0.3]).protocols(IMAGES).unwrap();
        assert_eq!(all.iter().map(|p| p.ball.eps).collect::<Vec<_>>(), [0.2, 0.3]);
        assert!(all.iter().all(|p| p.judge == Judge::Every && p.ball.strict && p.ball.clip));
        let chained = Wish { chain: true, grid: Some(Levels::Search), ..wish(&[0.1]) }.protocols(IMAGES).unwrap();
        assert_eq!((chained[0].judge, chained[0].ball.grid), (Judge::Worst, Grid::Search));
        let paper = Wish { rules: Rules::Paper, ..wish(&[0.4]) }.protocols(IMAGES).unwrap();
        assert_eq!(paper[0], Protocol::paper(0.4));
    }

    #[test]
    fn an_attack_keeps_the_commas_of_its_options() {
        let parts = ["fgsm", "pgd40:step=0.01", "start=clean", " square100"].map(str::to_owned);
        let all = Wish { attacks: Some(&parts), ..wish(&[0.3]) }.protocols(IMAGES).unwrap();
        let names: Vec<String> = all[0].attacks.iter().map(Attack::name).collect();
        assert_eq!(names, ["fgsm", "pgd40:step=0.01,start=clean", "square100"]);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        assert!(refused(&wish(&[-0.1])).contains("eps is -0.1: want a number from 0 to 1"));
        assert!(refused(&wish(&[8.0])).contains("8/255"));
        assert!(refused(&wish(&[f64::NAN])).contains("eps is NaN"));
        assert!(refused(&wish(&[0.3, 0.3])).contains("eps 0.3 is given twice"));
        assert!(refused(&Wish { norm: Some(Distance::L2), ..wish(&[28.5]) }).contains("from 0 to 28"));
        let paper = Wish { rules: Rules::Paper, ..wish(&[0.3]) };
        assert!(refused(&Wish { norm: Some(Distance::L2), ..paper.clone() }).contains("has no --norm l2"));
        assert!(refused(&Wish { grid: Some(Levels::Round), ..paper.clone() }).contains("than truncate"));
        let attacks = ["pdg40".to_owned()];
        assert!(refused(&Wish { attacks: Some(&attacks), ..paper.clone() }).contains("did you mean `pgd`"));
        let attacks = ["pgd", "pgd40"].map(str::to_owned);
        assert!(refused(&Wish { attacks: Some(&attacks), ..paper }).contains("`pgd40` is given twice"));
    }
}
