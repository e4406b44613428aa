"""Old names of functions, classes and parameters: they work for one version, with a ``FutureWarning`` that gives the new name."""

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

REMOVED_IN = "0.3"

F = TypeVar("F", bound=Callable[..., Any])


def warn(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warns that ``old`` is now ``new``. ``FutureWarning`` is shown to users by default, ``DeprecationWarning`` is not."""
    text = f"`{old}` is now `{new}`; the old name goes in version {REMOVED_IN}"
    warnings.warn(text, FutureWarning, stacklevel=stacklevel)


def renamed_attribute(module: Mapping[str, Any], renamed: Mapping[str, str], name: str) -> Any:
    """Looks up an old name for the ``__getattr__`` of a module.

    ``module`` is its ``globals()`` and ``renamed`` maps old names to new ones::

        def __getattr__(name):
            return renamed_attribute(globals(), {"old": "new"}, name)

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     renamed_attribute({"__name__": "standoff", "new": 1}, {"old": "new"}, "old")
    1
    >>> str(caught[0].message)
    '`old` is now `new`; the old name goes in version 0.3'
    """
    if name not in renamed:
        raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
    warn(name, renamed[name], stacklevel=4)
    return module[renamed[name]]


def renamed_parameters(**renamed: str) -> Callable[[F], F]:
    """Decorator: keyword arguments may be given under their old names, as in ``renamed_parameters(old="new")``.

    >>> import warnings
    >>> @renamed_parameters(tolerance="eps")
    ... def accuracy(eps=1.0):
    ...     return eps
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     accuracy(tolerance=0.5)
    0.5
    >>> accuracy(eps=0.25)
    0.25
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def with_new_names(*args: Any, **kwargs: Any) -> Any:
            for old, new in renamed.items():
                if old in kwargs:
                    if new in kwargs:
                        raise TypeError(f"{function.__name__}() got both `{old}` and `{new}`: they are the same parameter")
                    warn(old, new)
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return with_new_names  # type: ignore[return-value]

    return decorate


class RenamedEntries(dict[str, Any]):
    """A dictionary whose entries can be read under their old names, which ``renamed`` maps to the new ones.

    >>> import warnings
    >>> class Score(RenamedEntries):
    ...     renamed = {"share": "accuracy"}
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Score(accuracy=0.5)["share"]
    0.5
    >>> len(caught)
    1
    """

    renamed: Mapping[str, str] = {}

    def __missing__(self, name: str) -> Any:
        if name not in self.renamed:
            raise KeyError(name)
        warn(name, self.renamed[name])
        return self[self.renamed[name]]
