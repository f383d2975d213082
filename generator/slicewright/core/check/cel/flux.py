"""The rules of the Flux CRDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.check.cel.value import get, has

if TYPE_CHECKING:
    from slicewright.core.check.cel.value import Rules

RULES: Rules = {
    "has(self.configMapRef) != has(self.secretRef)": (
        lambda config: has(config, "configMapRef") != has(config, "secretRef")
    ),
    "!has(self.serviceAccountName) || (has(self.provider) && "
    "(self.provider == 'azure' || self.provider == 'aws'))": (
        lambda spec: not has(spec, "serviceAccountName") or get(spec, "provider") in ("azure", "aws")
    ),
    "has(self.spec) && has(self.spec.url)": lambda found: has(found, "spec", "url"),
    "has(self.spec) && has(self.spec.interval)": lambda found: has(found, "spec", "interval"),
}
