-- Health of a Job, with Kueue and without. Argo CD's own check calls a Job healthy as soon as it is resumed.
local spec, status = obj.spec or {}, obj.status or {}
local labels = (obj.metadata or {}).labels or {}

local met = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type ~= nil and condition.status == "True" then met[condition.type] = condition end
end

if met.Failed ~= nil then
  return { status = "Degraded", message = met.Failed.message or "failed" }
end
if met.Complete ~= nil then
  return { status = "Healthy", message = met.Complete.message or "complete" }
end
-- These two say how it ends, while the last pods still stop.
if met.FailureTarget ~= nil then
  return { status = "Degraded", message = (met.FailureTarget.message or "failed") .. "; the other pods stop" }
end
if met.SuccessCriteriaMet ~= nil then
  local why = met.SuccessCriteriaMet.message or "succeeded"
  return { status = "Progressing", message = why .. "; the other pods stop" }
end

-- spec.suspend is what holds now; the condition Suspended stays in the list as False after a resume.
if spec.suspend == true then
  local jobset, queue = labels["jobset.sigs.k8s.io/jobset-name"], labels["kueue.x-k8s.io/queue-name"]
  if jobset ~= nil then
    return { status = "Suspended", message = "suspended with JobSet " .. jobset }
  end
  if queue == nil then
    return { status = "Suspended", message = "suspended without a queue; nothing will start it" }
  end
  return { status = "Suspended", message = "waits in queue " .. queue .. "; see its Workload for the reason" }
end

if status.startTime == nil then
  return { status = "Progressing", message = "waits for the Job controller" }
end

local there, wanted = (status.ready or 0) + (status.succeeded or 0), spec.completions or spec.parallelism or 1
local doing, failed = "running", ""
if there < wanted then doing = "starting" end
if (status.failed or 0) > 0 then failed = "; failed pods: " .. status.failed end
return { status = "Progressing", message = doing .. ", " .. there .. "/" .. wanted .. " pods ready or done" .. failed }
