"""Wilson's interval of a share."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(hits: int, total: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of the share hits / total; it stays within [0, 1] and holds also near 0 and 1.

    Wilson 1927, JASA 22; recommended over the usual +- formula by Brown, Cai, DasGupta 2001. (NaN, NaN) for total 0.
    """
    if total == 0:
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = hits / total
    below = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / below
    half = z / below * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (0.0 if hits == 0 else middle - half), (1.0 if hits == total else middle + half)
