"""Names as apimachinery checks them: DNS labels and subdomains, label keys and label values."""

import re
from functools import lru_cache

from slicewright.kubernetes.name_room import MAX_LABEL

_DNS1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SIGN = re.compile(r"[-a-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PORT = re.compile(r"(?=.*[a-z])(?!.{16})[a-z0-9]+(-[a-z0-9]+)*")
_MAX_SUBDOMAIN = 253
KEY_FORM = "a name of at most 63 letters, digits, '-', '_' and '.', with at most one prefix/"
VALUE_FORM = "at most 63 letters, digits, '-', '_' and '.'"


def against_dns1035(name: str, most: int = MAX_LABEL) -> str:
    """Return what keeps a name from being a DNS-1035 label; empty if nothing does."""
    if len(name) > most:
        return f"has {len(name)} characters; the limit is {most}"
    if _DNS1035.fullmatch(name):
        return ""
    wrong = next((sign for sign in name if not _SIGN.fullmatch(sign)), "")
    if wrong:
        return f"has {wrong!r}, which is not a lower-case letter, digit or hyphen"
    if name and name[-1] == "-":
        return "must end with a letter or digit, not with a hyphen"
    return f"must begin with a letter, not with {name[0]!r}" if name else "must not be empty"


def as_dns1035(name: str) -> str:
    """Return a name as a DNS-1035 label, cut to the allowed length; empty if nothing is left."""
    words = re.sub(r"[^-a-z0-9]+", "-", name.lower()).strip("-")
    return words if words[:1].isalpha() else words.lstrip("-0123456789")


def is_subdomain(name: str) -> bool:
    """Tell whether a name is a DNS-1123 subdomain."""
    return len(name) <= _MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(name) is not None


def is_dns_label(name: str) -> bool:
    """Tell whether a name is a DNS-1123 label."""
    return is_subdomain(name) and "." not in name and len(name) <= MAX_LABEL


def is_port_name(name: str) -> bool:
    """Tell whether a text may be the name of a port: with a letter, and 15 characters at most."""
    return _PORT.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Tell whether a text may be the value of a label."""
    return not value or (len(value) <= MAX_LABEL and _NAME.fullmatch(value) is not None)


@lru_cache(maxsize=1024)
def is_label_key(key: str) -> bool:
    """Tell whether a text may be the key of a label: a name, with a DNS prefix or without."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= MAX_LABEL and _NAME.fullmatch(name) is not None


def is_domain_prefixed_path(text: str) -> bool:
    """Tell whether a text is a domain, a slash and a path."""
    domain, slash, path = text.partition("/")
    return bool(slash) and is_subdomain(domain) and _PATH.fullmatch(path) is not None
