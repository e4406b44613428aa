"""Fair methods on real tables: worst group and average, parity and odds, seconds; means and intervals over random splits.

    python -m venv bench/.venv-tables && bench/.venv-tables/bin/pip install . fairlearn pandas scikit-learn pyarrow
    standoff data fetch adult compas german arrests
    OMP_NUM_THREADS=1 bench/.venv-tables/bin/python bench/fair_tables.py --splits 10 --markdown docs/fair-tables.md

A group is an attribute crossed with the label (men with an income of at most 50K, ...). Groups with fewer than 30 test rows decide
neither the worst group nor parity and odds. Each split draws the test rows (a fifth) and at
most --rows training rows, stratified by group. Intervals are 95 percent, the corrected resampled t of Nadeau and Bengio: the variance over
the splits times (1/J + n_test/n_train). ACS is `employment_MA_reference.pq` of the package nannyml; give its path with --acs.
"""

import argparse
import json
import math
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from standoff import FairClassifier, FairMeta

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("STANDOFF_DATA") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "standoff")
COMPAS = ["age", "sex", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree"]
MEASURES = ["worst accuracy", "accuracy", "worst log-loss", "log-loss", "parity", "odds", "seconds"]  # of the processor
MIN_ROWS = 30  # of a group in the test part


def table(name: str, acs: str | None):
    """Features, label (0 or 1) and attribute of a table."""
    if name == "acs":
        d = pd.read_parquet(acs)
        X = d.drop(columns=["id", "employed", "year", "prediction", "predicted_probability"])
        return X, d["employed"].to_numpy(), ("sex " + d["SEX"].astype(str)).to_numpy()
    places = [folder / name / file for folder in (CACHE, ROOT / "data") for file in (f"{name}.csv", f"{name}.csv.gz")]
    d = pd.read_csv(next(p for p in places if p.is_file()), na_values=["?"])
    if name == "adult":
        return d.drop(columns="income"), (d["income"] == ">50K").to_numpy().astype(int), d["sex"].to_numpy()
    if name == "german":
        return d.drop(columns="credit"), (d["credit"] == "good").to_numpy().astype(int), d["sex"].to_numpy()
    if name == "arrests":
        return d.drop(columns="released"), (d["released"] == "Yes").to_numpy().astype(int), d["colour"].to_numpy()
    d = d[d["days_b_screening_arrest"].between(-30, 30) & (d["is_recid"] != -1) & (d["c_charge_degree"] != "O")]
    race = d["race"].where(d["race"].isin(["African-American", "Caucasian"]), "Other")
    return d[COMPAS], d["two_year_recid"].to_numpy(), race.to_numpy()


def encoders():
    """Scaled numbers and one feature per category for linear models; plain numbers for trees."""
    words = make_column_selector(dtype_exclude="number")
    numbers = make_column_selector(dtype_include="number")
    linear = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
    )
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return linear, make_column_transformer(("passthrough", numbers), (ordinal, words))


class Split:
    """The rows of one split, encoded for both kinds of models."""

    def __init__(self, X, y, attribute, seed, rows):
        cells = np.array([f"{a}, {label}" for a, label in zip(attribute, y)])
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=cells)
        if len(train) > rows:
            train, _ = train_test_split(train, train_size=rows, random_state=seed, stratify=cells[train])
        linear, trees = encoders()
        self.linear = [linear.fit_transform(X.iloc[train]), linear.transform(X.iloc[test])]
        self.trees = [trees.fit_transform(X.iloc[train]).astype(float), trees.transform(X.iloc[test]).astype(float)]
        self.y, self.attribute, self.cells = ([v[train], v[test]] for v in (y, attribute, cells))
        self.seed = seed
        self.ratio = len(test) / len(train)


def equal_weights(s: Split):
    """Weights of the training rows that sum to the same in every group."""
    _, cell, count = np.unique(s.cells[0], return_inverse=True, return_counts=True)
    return len(cell) / len(count) / count[cell]


def reweighted(s: Split):
    model = LogisticRegression(max_iter=1000).fit(s.linear[0], s.y[0], sample_weight=equal_weights(s))
    return model.predict_proba(s.linear[1])[:, 1]


def linear(**more):
    return lambda s: LogisticRegression(max_iter=1000, **more).fit(s.linear[0], s.y[0]).predict_proba(s.linear[1])[:, 1]


def fair(method, **more):
    def run(s: Split):
        model = FairClassifier(method=method, random_state=s.seed, **more)
        return model.fit(s.linear[0], s.y[0], sensitive_features=s.cells[0]).predict_proba(s.linear[1])[:, 1]

    return run


def trees(s: Split):
    return HistGradientBoostingClassifier(random_state=s.seed).fit(s.trees[0], s.y[0]).predict_proba(s.trees[1])[:, 1]


def reweighted_trees(s: Split):
    model = HistGradientBoostingClassifier(random_state=s.seed).fit(s.trees[0], s.y[0], sample_weight=equal_weights(s))
    return model.predict_proba(s.trees[1])[:, 1]


def meta(s: Split):
    model = FairMeta(HistGradientBoostingClassifier(), random_state=s.seed, max_iter=10, tol=5e-3)
    return model.fit(s.trees[0], s.y[0], sensitive_features=s.cells[0]).predict_proba(s.trees[1])[:, 1]


def reductions(s: Split):
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    model = ExponentiatedGradient(LogisticRegression(max_iter=1000), EqualizedOdds(), max_iter=15)
    model.fit(s.linear[0], s.y[0], sensitive_features=s.attribute[0])
    return model._pmf_predict(s.linear[1])[:, 1], "random"


def thresholds(s: Split):
    from fairlearn.postprocessing import ThresholdOptimizer

    model = ThresholdOptimizer(
        estimator=LogisticRegression(max_iter=1000), constraints="equalized_odds", objective="balanced_accuracy_score",
        predict_method="predict_proba",
    )  # fmt: skip
    model.fit(s.linear[0], s.y[0], sensitive_features=s.attribute[0])
    return model._pmf_predict(s.linear[1], sensitive_features=s.attribute[1])[:, 1], "random"


METHODS = {
    "plain (LogisticRegression)": linear(),
    "balanced classes": linear(class_weight="balanced"),
    "reweighted groups": reweighted,
    "group DRO": fair("group-dro"),
    "min-max": fair("minmax"),
    "min-max, regularised": fair("minmax-reg"),
    "trees alone": trees,
    "trees, reweighted groups": reweighted_trees,
    "FairMeta over trees": meta,
    "fairlearn reductions, equalized odds": reductions,
    "fairlearn ThresholdOptimizer": thresholds,
}

# Methods that are compared in pairs: the one that is subtracted, the measure, and the others (all if none is named).
COMPARED = [
    ("plain (LogisticRegression)", "worst accuracy", None),
    ("reweighted groups", "worst accuracy", ["group DRO", "min-max", "min-max, regularised"]),
    ("reweighted groups", "worst log-loss", ["group DRO", "min-max", "min-max, regularised"]),
    ("trees, reweighted groups", "worst accuracy", ["FairMeta over trees"]),
    ("trees, reweighted groups", "worst log-loss", ["FairMeta over trees"]),
]


def measured(s: Split, share, random: bool) -> dict[str, float]:
    """The measures of probabilities of class 1; of a randomised method they are the chances of predicting it. A rate of fewer than
    MIN_ROWS rows does not count."""
    chosen = share if random else (share > 0.5).astype(float)
    y, attribute, cells = s.y[1], s.attribute[1], s.cells[1]
    right = np.where(y == 1, chosen, 1 - chosen)
    loss = -np.log(np.clip(np.where(y == 1, share, 1 - share), 1e-15, 1))
    large = lambda values, parts: [values[part].mean() for part in parts if part.sum() >= MIN_ROWS]
    over = lambda values: large(values, [cells == c for c in np.unique(cells)])

    def spread(rows):
        rates = large(chosen, [rows & (attribute == a) for a in np.unique(attribute)])
        return np.ptp(rates) if len(rates) > 1 else math.nan

    return {
        "worst accuracy": min(over(right)),
        "accuracy": right.mean(),
        # The loss of a randomised 0-1 prediction is infinite.
        "worst log-loss": math.nan if random else max(over(loss)),
        "log-loss": math.nan if random else loss.mean(),
        "parity": spread(np.ones(len(y), bool)),
        "odds": float(np.nanmax([spread(y == 1), spread(y == 0)])),
    }


def interval(values, ratio: float) -> tuple[float, float]:
    """The mean and the half width of its 95 percent interval, by the corrected resampled t."""
    values = np.asarray(values)
    n = len(values)
    if n < 2 or np.isnan(values).any():
        return float(values.mean()), math.nan
    return float(values.mean()), float(student.ppf(0.975, n - 1) * math.sqrt((1 / n + ratio) * values.var(ddof=1)))


def play(name: str, args) -> dict:
    X, y, attribute = table(name, args.acs)
    found = {method: {measure: [] for measure in MEASURES} for method in METHODS}
    ratio = 0.0
    for seed in range(args.splits):
        split = Split(X, y, attribute, seed, args.rows)
        ratio = split.ratio
        for method, run in METHODS.items():
            start = time.process_time()
            given = run(split)
            seconds = time.process_time() - start
            share, random = (given[0], True) if isinstance(given, tuple) else (given, False)
            for measure, value in (measured(split, share, random) | {"seconds": seconds}).items():
                found[method][measure].append(float(value))
        print(name, "split", seed + 1, "of", args.splits, flush=True)
    return {"table": name, "rows": len(y), "train": len(split.y[0]), "test": len(split.y[1]), "ratio": ratio, "found": found}


def page(results: list[dict]) -> str:
    out = []
    for r in results:
        out.append(f"### {r['table']}: {r['rows']:,} rows, {r['train']:,} for training and {r['test']:,} for testing in each split\n")
        out.append("| method | " + " | ".join(MEASURES) + " |\n|---|" + "---:|" * len(MEASURES))
        for method, measures in r["found"].items():
            cells = []
            for measure in MEASURES:
                mean, half = interval(measures[measure], r["ratio"])
                text = "-" if math.isnan(mean) else f"{mean:.3f}" if measure != "seconds" else f"{mean:.2f}"
                ends = max(mean - half, 0.0), mean + half if "loss" in measure else min(mean + half, 1.0)
                cells.append(text if math.isnan(half) or measure == "seconds" else f"{text} ({ends[0]:.3f} to {ends[1]:.3f})")
            out.append(f"| {method} | " + " | ".join(cells) + " |")
        for base, measure, others in COMPARED:
            gains = []
            for method in others or list(r["found"])[1:]:
                mean, half = interval(np.subtract(r["found"][method][measure], r["found"][base][measure]), r["ratio"])
                gains.append(f"{method} {mean:+.3f} ± {half:.3f}")
            out.append(f"\n{measure.capitalize()} minus that of `{base}`, paired by split: " + "; ".join(gains) + ".")
        out.append("")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="adult,compas,german,arrests")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000, help="the most training rows of a split")
    parser.add_argument("--acs", help="employment_MA_reference.pq of nannyml; adds the table acs")
    parser.add_argument("--markdown", type=Path, help="write the tables behind the line `<!-- results -->` of this file")
    parser.add_argument("--json", type=Path, help="write every measurement to this file")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for name in args.tables.split(",") + (["acs"] if args.acs else []):
        results.append(play(name, args))
        if args.json:
            args.json.write_text(json.dumps(results))
        if args.markdown:
            head = args.markdown.read_text().split("<!-- results -->")[0]
            args.markdown.write_text(f"{head}<!-- results -->\n\n{page(results)}")
    print(page(results))


if __name__ == "__main__":
    main()
