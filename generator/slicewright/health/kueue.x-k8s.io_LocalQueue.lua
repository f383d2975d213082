-- Health of a LocalQueue: open, stopped on purpose, or behind a ClusterQueue that cannot admit.
-- The health of the ClusterQueue itself says whether it is stopped or lacks something.
local spec, status = obj.spec or {}, obj.status or {}
local generation = (obj.metadata or {}).generation or 0

local active = nil
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Active" then active = condition end
end
-- Kueue counts no waiting runs while the queue is stopped.
local runs = "; admitted " .. (status.admittedWorkloads or 0)

if spec.stopPolicy == "Hold" then
  return { status = "Suspended", message = "stopPolicy Hold: admitted workloads continue, no other starts" .. runs }
end
if spec.stopPolicy == "HoldAndDrain" then
  local what = "stopPolicy HoldAndDrain: admitted workloads are evicted, none starts"
  return { status = "Suspended", message = what .. runs }
end
if active == nil then
  return { status = "Progressing", message = "waits for Kueue" }
end
if (active.observedGeneration or generation) < generation then
  return { status = "Progressing", message = "waits for Kueue to read the last change" }
end
if active.status == "True" then
  local waiting = ", waiting " .. (status.pendingWorkloads or 0)
  return { status = "Healthy", message = (active.message or "active") .. runs .. waiting }
end
local queue = "its ClusterQueue"
if spec.clusterQueue ~= nil then queue = "ClusterQueue " .. spec.clusterQueue end
if active.reason == "ClusterQueueDoesNotExist" then
  return { status = "Degraded", message = queue .. " does not exist" }
end
return { status = "Suspended", message = queue .. " admits nothing: see its health" }
