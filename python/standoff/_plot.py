"""The pictures of results. matplotlib is imported only here, when a picture is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return plt


def _axes(ax: Any) -> Any:
    """The axes that were given, or new ones."""
    return ax if ax is not None else _pyplot().subplots(figsize=(6, 3.6), layout="constrained")[1]


def plot_solution(solution: Any, ax: Any) -> Any:
    """X and Y against gradients, on logarithmic scales."""
    ax = _axes(ax)
    trace = solution["trace"]
    gradients = np.maximum(np.asarray(trace["njev_x"]) + np.asarray(trace["njev_y"]), 1)
    for name, label in [("gap_x", "X"), ("gap_y", "Y")]:
        gaps = np.asarray(trace[name])
        # A logarithmic scale has no 0; such measurements are left out.
        ax.plot(gradients[gaps > 0], gaps[gaps > 0], label=label, marker=".", linewidth=1)
    if gradients[-1] > 100:
        ax.set_xscale("log")
    ax.set(xlabel="gradients", ylabel="first-order gain still possible", yscale="log", title=f"{solution['status']}")
    ax.legend()
    ax.grid(alpha=0.3)
    return ax


def plot_accuracy(results: Sequence[Any], ax: Any) -> Any:
    """Accuracy against eps: what is proven, what attacks leave."""
    ax = _axes(ax)
    eps = [0.0, *(one["eps"] for one in results)]
    natural = results[0]["natural_accuracy"]
    upper = np.array([natural, *(one["upper"] for one in results)])
    lower = np.array([natural, *(one["lower"] for one in results)])
    order = np.argsort(eps, kind="stable")
    sorted_eps, upper, lower = np.array(eps)[order], upper[order], lower[order]
    ax.plot(sorted_eps, 100 * upper, marker="o", label="not broken by attacks")
    if not np.isnan(lower[1:]).all():
        ax.plot(sorted_eps, 100 * lower, marker="s", label="proven")
        ax.fill_between(sorted_eps, 100 * lower, 100 * upper, alpha=0.15)
    ax.set(xlabel="eps", ylabel="accuracy in percent", ylim=(-2, 102))
    ax.legend()
    ax.grid(alpha=0.3)
    return ax


def plot_images(result: Any, count: int) -> Any:
    """The first broken images, with what the network makes of them. Returns the figure."""
    broken = np.flatnonzero([name is not None for name in result["broken_by"]])[:count]
    if len(broken) == 0:
        raise ValueError("no attack broke an image: there is nothing to show")
    images = result["images"].reshape(len(result["images"]), -1)
    side = int(round(images.shape[1] ** 0.5))
    if side * side != images.shape[1]:
        raise ValueError(f"images have {images.shape[1]} values, which is not a square of grey pixels")
    figure, axes = _pyplot().subplots(1, len(broken), figsize=(1.3 * len(broken), 1.7), squeeze=False, layout="constrained")
    for ax, place in zip(axes[0], broken, strict=True):
        ax.imshow(images[place].reshape(side, side), cmap="gray", vmin=0, vmax=1)
        ax.set_title(f"taken for {result['predictions'][place]}", fontsize=8)
        ax.axis("off")
    return figure


def plot_race(race: Any, ax: Any) -> Any:
    """The share of entries that each method has solved with at most so many gradients."""
    ax = _axes(ax)
    entries = race["entries"]
    methods, gradients = np.array(entries["method"]), np.array(entries["gradients"], dtype=float)
    solved = np.array(entries["ending"]) == "converged"
    for method in race["standings"]:
        own = methods == method
        needed = np.sort(gradients[own & solved])
        shares = np.arange(1, len(needed) + 1) / own.sum()
        end = max(gradients.max(), 1.0)
        ax.step([1, *needed, end], [0, *shares, shares[-1] if len(shares) else 0], where="post", label=method)
    ax.set(xscale="log", xlabel="gradients", ylabel="share of entries solved", ylim=(-0.02, 1.02))
    ax.legend()
    ax.grid(alpha=0.3)
    return ax


def plot_tradeoff(points: dict[str, tuple[float, float]], ax: Any) -> Any:
    """The worst group against the average, a point for each method."""
    ax = _axes(ax)
    for name, (average, worst) in points.items():
        ax.scatter(average, worst)
        ax.annotate(name, (average, worst), textcoords="offset points", xytext=(5, 4))
    ax.set(xlabel="average accuracy of the groups, percent", ylabel="worst group, percent")
    ax.margins(0.2)
    ax.grid(alpha=0.3)
    return ax


def plot_curve(steps: Any, columns: dict[str, Any], xlabel: str, ax: Any) -> Any:
    """Columns of a training against its steps."""
    ax = _axes(ax)
    for name, values in columns.items():
        ax.plot(steps, values, label=name)
    ax.set(xlabel=xlabel)
    ax.legend()
    ax.grid(alpha=0.3)
    return ax


def plot_distances(result: Any, ax: Any) -> Any:
    """The share of inputs whose smallest change is larger than eps."""
    ax = _axes(ax)
    distances = np.sort(result["distances"])
    found = distances[np.isfinite(distances)]
    shares = 1 - np.arange(1, len(found) + 1) / max(len(distances), 1)
    ax.step([0, *found], [float(np.mean(distances > 0)), *shares], where="post")
    ax.set(xlabel=f"eps ({result['norm']})", ylabel="accuracy under every change found", ylim=(-0.02, 1.02))
    ax.grid(alpha=0.3)
    return ax
