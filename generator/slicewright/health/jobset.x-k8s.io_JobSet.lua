-- Health of a JobSet: over, held back by its queue, or on its way, with restarts and what is ready.
local spec, status = obj.spec or {}, obj.status or {}
local labels = (obj.metadata or {}).labels or {}

local met = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type ~= nil and condition.status == "True" then met[condition.type] = condition end
end

local restarts = ""
if (status.restarts or 0) > 0 then
  local allowed = (spec.failurePolicy or {}).maxRestarts or 0
  restarts = "; restarts: " .. status.restarts
    .. " (" .. (status.restartsCountTowardsMax or 0) .. " of " .. allowed .. " allowed)"
end

if met.Failed ~= nil or status.terminalState == "Failed" then
  return { status = "Degraded", message = ((met.Failed or {}).message or "failed") .. restarts }
end
if met.Completed ~= nil or status.terminalState == "Completed" then
  return { status = "Healthy", message = ((met.Completed or {}).message or "completed") .. restarts }
end

-- spec.suspend is what holds now; the condition Suspended follows it some time later, both ways.
if spec.suspend == true then
  local queue = labels["kueue.x-k8s.io/queue-name"]
  if queue == nil then
    return { status = "Suspended", message = "suspended without a queue; nothing will start it" .. restarts }
  end
  return { status = "Suspended", message = "waits in queue " .. queue .. "; see its Workload for the reason" .. restarts }
end

if obj.status == nil then
  return { status = "Progressing", message = "waits for the JobSet controller" }
end

local up = {}
for _, job in ipairs(status.replicatedJobsStatus or {}) do
  if job.name ~= nil then up[job.name] = (job.ready or 0) + (job.succeeded or 0) end
end
local ready, all = "", true
for _, job in ipairs(spec.replicatedJobs or {}) do
  local wanted, there = job.replicas or 1, up[job.name] or 0
  if there < wanted then all = false end
  ready = ready .. ", " .. (job.name or "?") .. " " .. there .. "/" .. wanted
end
local doing = "running"
if met.RestartingJobSet ~= nil then
  doing = "restarting"
elseif not all then
  doing = "starting"
end
return { status = "Progressing", message = doing .. ready .. " ready" .. restarts }
