//! How x moves: a projected gradient step, or the certificate's own direction (Frank-Wolfe).

mod frank_wolfe;
mod projected;

pub use frank_wolfe::FrankWolfe;
pub use projected::Projected;
