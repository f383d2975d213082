"""Fields of a TPUWorkload that a kind of run does not have: dotted paths, each with what to do instead."""

AS_JOBSET = "write api: JobSet"
NOT_IN_JOBS = {
    "pathways": AS_JOBSET,
    "auxiliaryJobs": AS_JOBSET,
    "failurePolicy.maxRestarts": f"{AS_JOBSET}, or use spec.backoffLimit",
    "failurePolicy.restartStrategy": f"{AS_JOBSET}, or use spec.backoffLimit",
    "failurePolicy.rules": f"{AS_JOBSET}, or use spec.backoffLimit",
}
NOT_ON_CPUS = {
    "tpu": "leave it out, or write it in place of cpu",
    "slices": "use cpu.nodes",
    "provisioning": "leave it out: the pool of CPUs decides",
    "alternativeProvisioning": "leave it out: the pool of CPUs decides",
    "maxRunDurationSeconds": "use maxExecutionTimeSeconds",
    "containersPerHost": "add containers to podTemplate",
    "hostNetwork": "leave it out",
    "privileged": "leave it out",
    "pathways": "write tpu in place of cpu",
}
NOT_IN_PATHWAYS = {
    "auxiliaryJobs": "use a workload of its own",
    "backoffLimit": "use pathways.maxSliceRestarts",
}
NOT_IN_PATHWAYSJOBS = {
    "podTemplate": "use pathways.worker and pathways.head.podTemplate, or api: JobSet",
    "hostNetwork": "leave it out: the controller always sets it",
    "privileged": AS_JOBSET,
    "failurePolicy.restartStrategy": AS_JOBSET,
    "failurePolicy.rules": AS_JOBSET,
    "failurePolicy.onHostMaintenance": AS_JOBSET,
    "failurePolicy.restartOnExitCodes": AS_JOBSET,
}
