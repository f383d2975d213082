-- Health of a ProvisioningRequest, which Kueue makes for a run on queued flex-start.
local met, seen = {}, {}
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type ~= nil then
    seen[condition.type] = condition
    if condition.status == "True" then met[condition.type] = condition end
  end
end

if met.Failed ~= nil then
  return { status = "Degraded", message = met.Failed.message or met.Failed.reason or "failed" }
end
-- Both come to runs that are well, too: nodes go after a run, and a booking ends while its run goes on. Where they
-- hurt, Kueue stops the run or asks again: then its Workload says so.
if met.CapacityRevoked ~= nil then
  local why = met.CapacityRevoked.message or "capacity revoked"
  return { status = "Suspended", message = "the nodes are gone: " .. why }
end
if met.BookingExpired ~= nil then
  local why = met.BookingExpired.message or "expired"
  return { status = "Healthy", message = "provisioned, the booking has expired: " .. why }
end
if met.Provisioned ~= nil then
  return { status = "Healthy", message = met.Provisioned.message or "provisioned" }
end
if met.Accepted ~= nil then
  local waits = (seen.Provisioned or {}).message or met.Accepted.message or "accepted"
  return { status = "Progressing", message = "waits for capacity: " .. waits }
end
return { status = "Progressing", message = "waits for the cluster autoscaler" }
