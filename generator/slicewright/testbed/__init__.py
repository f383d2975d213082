"""The test bed: a real API server, JobSet, Kueue and scheduler as processes, with simulated TPU nodes.

>>> from slicewright.testbed.bed_cluster import Cluster
>>> with Cluster() as cluster:
...     cluster.add_nodes(site)
...     cluster.api.apply(manifest)
"""
