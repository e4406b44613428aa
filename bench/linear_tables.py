"""Worst-group log-loss of the fair logistic model and of LogisticRegression on four tables, C tuned for both by the same validation.

    standoff data fetch adult compas german arrests
    OMP_NUM_THREADS=1 python bench/linear_tables.py [--splits 10] [--tables adult,compas,german,arrests] [--by-label]

Groups are sex x race (German credit has no race), or with --by-label sex x label. Splits are 60/20/20, stratified by group. C is chosen
by the worst-group log-loss of the validation part. Groups with fewer than 30 test rows decide nothing. Intervals: 95 percent, paired,
corrected resampled t (Nadeau and Bengio, 2003). The last column counts the fits of the fair model that did not reach tol = 1e-4.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from standoff import FairClassifier

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("STANDOFF_DATA") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "standoff")
GRID = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
SMALLEST = 30
COMPAS = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree", "two_year_recid"]
TABLES = {  # label, its class 1, attributes
    "adult": ("income", ">50K", ["sex", "race"]),
    "compas": ("two_year_recid", 1, ["sex", "race"]),
    "german": ("credit", "good", ["sex"]),
    "arrests": ("released", "Yes", ["sex", "colour"]),
}


def load(name):
    """Features, label and attributes."""
    label, one, by = TABLES[name]
    places = [folder / name / file for folder in (CACHE, ROOT / "data") for file in (f"{name}.csv", f"{name}.csv.gz")]
    frame = pd.read_csv(next(p for p in places if p.is_file()))
    if name == "compas":
        frame = frame[COMPAS].dropna()
    X = pd.get_dummies(frame.drop(columns=label)).to_numpy(dtype=float)
    return X, (frame[label] == one).to_numpy().astype(int), frame[by].astype(str)


def worst(model, X, y, group):
    p = np.clip(model.predict_proba(X)[np.arange(len(y)), y], 1e-15, 1)
    return max(-np.log(p[group == g]).mean() for g in np.unique(group) if (group == g).sum() >= SMALLEST)


def tuned(make, train, validation):
    """The model of the best C on the validation part."""
    return min((make(C, *train) for C in GRID), key=lambda model: worst(model, *validation))


def plain(C, X, y, _):
    return LogisticRegression(C=C, max_iter=2000).fit(X, y)


def fair(C, X, y, group):
    return FairClassifier(method="minmax", C=C, tol=1e-4).fit(X, y, sensitive_features=group)


def split(X, y, group, seed):
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=group)
    train, validation = train_test_split(rest, test_size=0.25, random_state=seed, stratify=group[rest])
    scaler = StandardScaler().fit(X[train])
    return [(scaler.transform(X[rows]), y[rows], group[rows]) for rows in (train, validation, test)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--by-label", action="store_true", help="groups of sex x label")
    args = parser.parse_args()
    print("| table | rows | groups | LogisticRegression | fair | fair - LogisticRegression | not solved |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for name in args.tables.split(","):
        X, y, attributes = load(name)
        by = ["sex"] if args.by_label else list(attributes)
        names = attributes[by].assign(label=y) if args.by_label else attributes[by]
        group = np.unique(names.astype(str).agg(", ".join, axis=1), return_inverse=True)[1]
        scores, open_fits = [], 0
        for seed in range(args.splits):
            train, validation, test = split(X, y, group, seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scores.append([worst(tuned(make, train, validation), *test) for make in (plain, fair)])
            open_fits += sum(w.category is ConvergenceWarning and "linear model" in str(w.message) for w in caught)
        means, difference = np.mean(scores, axis=0), np.diff(scores, axis=1)[:, 0]
        # The test part is a quarter of the rows that the model was fitted and chosen on.
        half = stats.t.ppf(0.975, args.splits - 1) * np.sqrt(difference.var(ddof=1) * (1 / args.splits + 0.25))
        groups = " x ".join(by + (["label"] if args.by_label else []))
        cells = [name, f"{len(y):,}", groups, f"{means[0]:.4f}", f"{means[1]:.4f}", f"{difference.mean():+.4f} ± {half:.4f}"]
        print("| " + " | ".join(cells) + f" | {open_fits} of {args.splits * len(GRID)} |", flush=True)


if __name__ == "__main__":
    main()
