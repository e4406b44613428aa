//! Pages of runs made up for it: whole, unfinished and damaged.
