"""How a Spanish question addresses whom it asks: vosotros, tú, vos or usted, put one for another.

The rules are few and rough. They know the endings of vosotros, but for the words that end alike and are none
(veintiséis, jerséis), some thirty common verbs of tú and vos, and the pronouns; all else stays, so
that a sentence may come out mixed. Forms of usted
are those of anybody (¿puede devolverse?) and are never taken for an address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bench.text.words import LETTERS

ADDRESSES = ("tú", "usted", "vos")

Forms = Mapping[str, str]
"""A form by address."""

# Stems whose vowel changes where it is stressed: with tú and usted, not with vosotros and vos.
_STEMS = {
    "pod": "pued", "quer": "quier", "ten": "tien", "ven": "vien", "dec": "dic", "ped": "pid", "segu": "sigu",
    "devolv": "devuelv", "volv": "vuelv", "envi": "enví", "cerr": "cierr", "recomend": "recomiend",
    "cont": "cuent", "descont": "descuent", "pens": "piens", "mostr": "muestr", "prob": "prueb", "comprob": "comprueb",
    "renov": "renuev", "serv": "sirv", "repet": "repit", "prefer": "prefier", "eleg": "elig",
    "consegu": "consigu", "encontr": "encuentr", "neg": "nieg", "acord": "acuerd", "entend": "entiend",
}  # fmt: skip
# Those of one syllable go their own way.
_WHOLE: dict[str, Forms] = {
    "sois": {"tú": "eres", "usted": "es", "vos": "sos"},
    "vais": {"tú": "vas", "usted": "va", "vos": "vas"},
    "dais": {"tú": "das", "usted": "da", "vos": "das"},
    "veis": {"tú": "ves", "usted": "ve", "vos": "ves"},
    "habéis": {"tú": "has", "usted": "ha", "vos": "has"},
    "estáis": {"tú": "estás", "usted": "está", "vos": "estás"},
    "decidme": {"tú": "dime", "usted": "dígame", "vos": "decime"},
    "avisadme": {"tú": "avísame", "usted": "avíseme", "vos": "avisame"},
    "ayudadme": {"tú": "ayúdame", "usted": "ayúdeme", "vos": "ayudame"},
    "explicadme": {"tú": "explícame", "usted": "explíqueme", "vos": "explicame"},
    "vosotros": {"tú": "tú", "usted": "usted", "vos": "vos"},
    "vosotras": {"tú": "tú", "usted": "usted", "vos": "vos"},
    "vuestro": {"tú": "tu", "usted": "su", "vos": "tu"},
    "vuestra": {"tú": "tu", "usted": "su", "vos": "tu"},
    "vuestros": {"tú": "tus", "usted": "sus", "vos": "tus"},
    "vuestras": {"tú": "tus", "usted": "sus", "vos": "tus"},
    "os": {"tú": "te", "usted": "le", "vos": "te"},
}
# How vosotros ends, and what stands there for the others; where the stem changes, it changes before these.
_ENDINGS: tuple[tuple[str, Forms], ...] = (
    ("asteis", {"tú": "aste", "usted": "ó", "vos": "aste"}),
    ("isteis", {"tú": "iste", "usted": "ió", "vos": "iste"}),
    ("abais", {"tú": "abas", "usted": "aba", "vos": "abas"}),
    ("íais", {"tú": "ías", "usted": "ía", "vos": "ías"}),
    ("réis", {"tú": "rás", "usted": "rá", "vos": "rás"}),
)
_PRESENT: tuple[tuple[str, Forms], ...] = (
    ("áis", {"tú": "as", "usted": "a", "vos": "ás"}),
    ("éis", {"tú": "es", "usted": "e", "vos": "és"}),
)
# Numbers and nouns that end as vosotros does.
_NO_VERBS = frozenset({
    "dieciséis", "veintiséis", "jerséis", "yerséis", "bonsáis", "samuráis", "espráis", "paipáis",
})  # fmt: skip
# In -ís there are nouns too (país, París).
_IN_IS = (
    "decís", "pedís", "venís", "seguís", "servís", "repetís", "preferís", "elegís", "conseguís", "recibís", "abrís",
)  # fmt: skip
# Verbs that are known when they address tú or vos, each by its form of vosotros.
_COMMON = (
    "podéis", "tenéis", "queréis", "hacéis", "sabéis", "vendéis", "enviáis", "mandáis", "aceptáis", "cobráis",
    "devolvéis", "ofrecéis", "cambiáis", "recogéis", "ponéis", "dejáis", "recomendáis", "creéis", "necesitáis",
    "habéis", "estáis", "sois", "vais", "decidme", "avisadme", "ayudadme", "explicadme", *_IN_IS,
)  # fmt: skip

_THEM = re.compile(r"\b(os|te|le) (l[oa]s?)\b", re.I)


def forms(word: str) -> Forms | None:
    """The forms of tú, usted and vos for one of vosotros (in lower case); None for any other word."""
    if word in _NO_VERBS:
        return None
    if word in _WHOLE:
        return _WHOLE[word]
    if word in _IN_IS:
        stem = word.removesuffix("ís")
        changed = _STEMS.get(stem, stem)
        return {"tú": f"{changed}es", "usted": f"{changed}e", "vos": word}
    for ending, others in _ENDINGS:
        if len(word) > len(ending) + 1 and word.endswith(ending):
            return {address: word.removesuffix(ending) + other for address, other in others.items()}
    for ending, others in _PRESENT:
        if len(word) > len(ending) + 1 and word.endswith(ending):
            stem = word.removesuffix(ending)
            changed = _STEMS.get(stem, stem)
            return {a: (stem if a == "vos" else changed) + other for a, other in others.items()}
    return None


def address_of(text: str) -> str | None:
    """`vosotros`, `tú` or `vos`, by the first word that tells; None where none does."""
    for word in map(str.lower, LETTERS.findall(text)):
        if forms(word) and word not in _IN_IS:
            return "vosotros"
        if word in _KNOWN:
            return _KNOWN[word][0]
    return None


def readdressed(text: str, address: str) -> str:
    """The text with the words that address somebody put into `address` (one of ADDRESSES)."""
    before = address_of(text)
    if before is None:
        return text

    def put(found: re.Match[str]) -> str:
        word = found[0].lower()
        known = _KNOWN.get(word)
        others = _PRONOUNS.get((before, word)) or forms(known[1] if known else word)
        return _like(found[0], others[address]) if others else found[0]

    put_over = LETTERS.sub(put, text)
    # le lo is said se lo.
    return _THEM.sub(lambda m: f"{_like(m[1], 'se')} {m[2]}", put_over) if address == "usted" else put_over


def _like(word: str, other: str) -> str:
    if word.isupper():
        return other.upper()
    return other.capitalize() if word[:1].isupper() else other


_KNOWN = {
    form: (address, plural)
    for plural in _COMMON
    for address in ("vos", "tú")  # what both say alike (vas, estás) counts as tú
    if (form := (forms(plural) or {}).get(address))
} | {"tú": ("tú", "vosotros"), "vos": ("vos", "vosotros")}
_PRONOUNS: dict[tuple[str, str], Forms] = {
    (address, word): others
    for address in ("tú", "vos")
    for word, others in {"te": _WHOLE["os"], "tu": _WHOLE["vuestro"], "tus": _WHOLE["vuestros"]}.items()
}
