"""How many examples hypothesis draws: a quarter where tests marked `workflow` are left out."""

from hypothesis import HealthCheck, settings

ALL = 100
"""What hypothesis draws for a property that names no number."""


def load_profile(*, workflow: bool) -> None:
    """Set the defaults of all properties. A busy machine may need any time for an example."""
    slow = [HealthCheck.too_slow]
    number = ALL if workflow else ALL // 4
    settings.register_profile("busy", deadline=None, suppress_health_check=slow, max_examples=number)
    settings.load_profile("busy")


def share(number: int) -> int:
    """Return how many examples to draw of a property that has so many with ALL=1."""
    return max(1, number * settings().max_examples // ALL)
