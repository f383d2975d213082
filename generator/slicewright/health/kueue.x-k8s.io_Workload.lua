-- Health of a Workload, which Kueue creates for each run: it says why a run waits or was stopped.
local spec, status = obj.spec or {}, obj.status or {}

local met, seen = {}, {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type ~= nil then
    seen[condition.type] = condition
    if condition.status == "True" then met[condition.type] = condition end
  end
end

-- These do not pass by themselves: somebody has to change the run or the queue. Kueue writes them with its feature
-- gate UnadmittedWorkloadsObservability; without it the reason is Pending or Inadmissible, and the message tells.
local stuck = { ExceedsMaxQuota = true, NoMatchingFlavor = true, Misconfigured = true }

if met.Finished ~= nil then
  local message = met.Finished.message or "finished"
  if met.Finished.reason == "Failed" then
    return { status = "Degraded", message = message }
  end
  return { status = "Healthy", message = message }
end
if spec.active == false then
  local why = (met.Evicted or {}).message or (met.DeactivationTarget or {}).message or "spec.active is false"
  return { status = "Degraded", message = "deactivated, will not start again: " .. why }
end
if met.Evicted ~= nil then
  local why = met.Evicted.message or met.Evicted.reason or "no reason given"
  return { status = "Suspended", message = "evicted, waits to be admitted again: " .. why }
end
if met.Admitted ~= nil then
  -- Kueue looks at pods where it is configured to wait for them, which is its default.
  local pods = ""
  if met.PodsReady ~= nil then
    pods = ", all pods are ready or done"
  elseif seen.PodsReady ~= nil then
    pods = ", pods are not all ready"
  end
  return { status = "Progressing", message = "admitted" .. pods }
end
if met.QuotaReserved ~= nil then
  local waits = ""
  for _, check in ipairs(status.admissionChecks or {}) do
    if check.state ~= "Ready" then
      waits = waits .. "; " .. (check.name or "?") .. " is " .. (check.state or "Pending")
      if (check.message or "") ~= "" then waits = waits .. ": " .. check.message end
    end
  end
  return { status = "Suspended", message = "has quota, waits for admission checks" .. waits }
end

local waiting = seen.QuotaReserved or {}
local why = waiting.message or waiting.reason or "Kueue has not looked at it yet"
if stuck[waiting.reason or ""] then
  return { status = "Degraded", message = "cannot be admitted as it is: " .. why }
end
return { status = "Suspended", message = "not admitted: " .. why }
