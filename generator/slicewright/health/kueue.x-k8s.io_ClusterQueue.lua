-- Health of a ClusterQueue: can it admit, was it stopped on purpose, or does something that it names lack?
local spec, status = obj.spec or {}, obj.status or {}
local generation = (obj.metadata or {}).generation or 0

local active = nil
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Active" then active = condition end
end
local admitted = "; admitted " .. (status.admittedWorkloads or 0)
local runs = admitted .. ", waiting " .. (status.pendingWorkloads or 0)

if spec.stopPolicy == "Hold" then
  return { status = "Suspended", message = "stopPolicy Hold: admitted workloads continue, no other starts" .. runs }
end
if spec.stopPolicy == "HoldAndDrain" then
  local what = "stopPolicy HoldAndDrain: admitted workloads are evicted, none starts"
  return { status = "Suspended", message = what .. admitted }
end
if active == nil then
  return { status = "Progressing", message = "waits for Kueue" }
end
if (active.observedGeneration or generation) < generation then
  return { status = "Progressing", message = "waits for Kueue to read the last change" }
end
if active.status == "True" then
  return { status = "Healthy", message = (active.message or "active") .. runs }
end
return { status = "Degraded", message = active.message or active.reason or "inactive" }
