//! What is to be measured: for every eps a protocol of attacks, from what the user asked for.

use anyhow::{Result, bail};
use clap::ValueEnum;
use standoff_nn::Shape;
use standoff_nn::attack::{Grid, Norm, Protocol, Request};

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
        let norm = self.norm.map(|norm| match norm {
            Distance::Linf => Norm::Linf,
            Distance::L2 => Norm::L2,
        });
        let grid = self.grid.map(|grid| match grid {
            Levels::Float => Grid::Float,
            Levels::Truncate => Grid::Truncate,
            Levels::Round => Grid::Round,
            Levels::Search => Grid::Search,
        });
        let (paper, attacks, chain) = (self.rules == Rules::Paper, self.attacks, self.chain);
        let mut all = Vec::new();
        for (i, &eps) in self.eps.iter().enumerate() {
            if self.eps[..i].contains(&eps) {
                bail!("eps {eps} is given twice");
            }
            all.push(Request { eps, paper, attacks, norm, grid, chain }.protocol(images)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use standoff_nn::attack::{Attack, Judge};

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
        assert!(refused(&Wish { norm: Some(Distance::L2), ..paper.clone() }).contains("has no norm l2"));
        assert!(refused(&Wish { grid: Some(Levels::Round), ..paper.clone() }).contains("no grid but truncate"));
        let attacks = ["pdg40".to_owned()];
        assert!(refused(&Wish { attacks: Some(&attacks), ..paper.clone() }).contains("did you mean `pgd`"));
        let attacks = ["pgd", "pgd40"].map(str::to_owned);
        assert!(refused(&Wish { attacks: Some(&attacks), ..paper }).contains("`pgd40` is given twice"));
    }
}
