"""All scenes: what is played on a cluster so that every kind gets into every state.

A scene is given a bed and the journal of its objects, and yields each state by name as it comes.
"""

from tests.e2e import kit
from tests.health.objects import CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, REQUEST
from tests.health.scenes_of_queues import checks, cluster_queues, deleted_queue
from tests.health.scenes_of_runs import (
    evictions,
    jobs_in_a_queue,
    jobs_without_a_queue,
    jobset_in_a_queue,
    jobset_that_fails,
    pathwaysjobs,
)

KINDS = (kit.JOBSET, kit.JOB, kit.PATHWAYSJOB, kit.WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, CHECK, REQUEST)

SCENES = (
    jobset_in_a_queue,
    jobset_that_fails,
    evictions,
    jobs_in_a_queue,
    jobs_without_a_queue,
    pathwaysjobs,
    cluster_queues,
    deleted_queue,
    checks,
)
