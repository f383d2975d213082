"""What a misspelt label, annotation or node label means, and which names nearly alike are two on purpose."""

import re
from functools import cache

from slicewright.kubernetes.labels import GKE, KNOWN_KEYS, KNOWN_PREFIXES, KUEUE
from slicewright.kubernetes.problem import steps_between

_SHAPED = re.compile(r"gke-tpu-(slice|partition)-[1-9][0-9]*(x[1-9][0-9]*){1,2}-(id|state)")
"""Labels that GKE gives the parts of TPU slices, one for each shape."""
_SHAPE = re.compile(r"[0-9]+(x[0-9]+)+")
_THEIRS = re.compile(r"(^|[.-])(k8s|kubernetes|kueue|jobset)(\.io)?/$")
"""Domains of Kubernetes, and made-up ones; other projects (`kueue.openshift.io`) have keys of their own."""
_ENDINGS = ("name", "seconds", "key", "id")
"""Last words that people leave out of a key, or add to it."""


def meant_key(key: str) -> str:
    """Return the known key that is meant by one that no list has; empty where none is near enough.

    Near are a key that differs by two letters at most, by its signs and capitals, by a last word such as
    `name`, by the word gke in front; a known one with another prefix; and for GKE's labels one without any.
    """
    return "" if key in KNOWN_KEYS else _meant_key(key)


@cache
def _meant_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    prefix += slash
    if _SHAPED.fullmatch(name):
        return "" if prefix == GKE else _by_prefix(prefix, f"{GKE}{name}")
    for known in sorted(KNOWN_KEYS):
        its_prefix, slash, its_name = known.rpartition("/")
        its_prefix += slash
        if its_prefix not in KNOWN_PREFIXES:
            continue
        if prefix == its_prefix:
            if _is_near(name, its_name):
                return known
        elif not prefix and its_prefix == GKE and name.startswith("gke-") and _is_near(name, its_name):
            return known
        elif its_name == name and (meant := _by_prefix(prefix, known)):
            return meant
    shaped = _SHAPE.search(name)
    if prefix == GKE and shaped and name.startswith(("gke-tpu-partition-", "gke-tpu-slice-")):
        return f"{GKE}{name.split(shaped[0])[0].removesuffix('id-')}{shaped[0]}-id"
    return ""


def _by_prefix(prefix: str, known: str) -> str:
    """Return a known key where a prefix is another one by mistake."""
    right = known.rpartition("/")[0] + "/"
    if not prefix:
        return ""
    is_theirs = _THEIRS.search(prefix) is not None
    both_jobset = is_theirs and "jobset" in prefix and "jobset" in right
    both_kueue = is_theirs and "kueue" in prefix and right == KUEUE
    both_google = prefix.endswith(("google.com/", "gke.io/", "googleapis.com/")) and known.startswith(
        f"{GKE}gke-"
    )
    is_right = both_jobset or both_kueue or both_google or steps_between(prefix, right) <= 2  # noqa: PLR2004
    return known if is_right and not prefix.startswith(("alpha.kueue", "charts.")) else ""


def _is_near(name: str, known: str) -> bool:
    """Tell whether one name is another one with a mistake."""
    plain, right = (re.sub(r"[^a-z0-9]", "", word.lower()).removeprefix("gke") for word in (name, known))
    if plain == right:
        return True
    for longer, shorter in ((name, known), (known, name)):
        if longer.startswith(f"{shorter}-") and longer.removeprefix(f"{shorter}-") in _ENDINGS:
            return True
    # Names that differ in digits are different names, not misspelt ones.
    few, digits = 8, [re.findall(r"[0-9]+", word) for word in (name, known)]
    return len(known) >= few and digits[0] == digits[1] and steps_between(name, known) <= 2  # noqa: PLR2004
