"""Schedulers that others have built, to compare with; none of them overloads a node here.

Re-implemented from their documentation and papers, in our own words. As their authors ran them,
some put more on a node than it has; here they go to the next node that fits.
"""

from thalweg_scheduling.place.baselines.annealing import place_by_annealing
from thalweg_scheduling.place.baselines.kube_default import place_like_kube
from thalweg_scheduling.place.baselines.lc_stream import place_like_lc_stream
from thalweg_scheduling.place.baselines.ldg import place_by_ldg
from thalweg_scheduling.place.baselines.multilevel import place_by_multilevel
from thalweg_scheduling.place.baselines.network_aware import place_network_aware
from thalweg_scheduling.place.baselines.r_storm import place_like_r_storm
from thalweg_scheduling.place.baselines.sp_ant import place_like_sp_ant
from thalweg_scheduling.place.baselines.top_storm import place_like_top_storm
from thalweg_scheduling.place.proposal import Placer

BASELINES: dict[str, Placer] = {
    "R-Storm": place_like_r_storm,
    "kube-scheduler": place_like_kube,
    "NetworkOverhead": place_network_aware,
    "LDG": place_by_ldg,
    "annealing": place_by_annealing,
    "multilevel": place_by_multilevel,
    "SP-Ant-like": place_like_sp_ant,
    "TOP-Storm-like": place_like_top_storm,
    "Lc-Stream-like": place_like_lc_stream,
}
