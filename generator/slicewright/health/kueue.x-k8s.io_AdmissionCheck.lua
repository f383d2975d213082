-- Health of an AdmissionCheck: does its controller answer for it?
-- Kueue writes observedGeneration only when the state changes: here it says nothing about age.
local active = nil
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Active" then active = condition end
end

if active == nil then
  local controller = (obj.spec or {}).controllerName or "its controller"
  return { status = "Progressing", message = "waits for " .. controller }
end
if active.status == "True" then
  return { status = "Healthy", message = active.message or "active" }
end
return { status = "Degraded", message = active.message or active.reason or "inactive" }
