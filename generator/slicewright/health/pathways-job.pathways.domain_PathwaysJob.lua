-- Health of a PathwaysJob, as far as its controller says; its JobSet, in the tree below it, knows more.
local status = obj.status or {}
local labels = (obj.metadata or {}).labels or {}

-- The controller appends conditions: a type can be in the list twice, and the last one that is True counts.
local now = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then now = condition end
end

if now.type == "Failed" then
  local why = now.message or "no reason given"
  return { status = "Degraded", message = "failed: " .. why .. "; see its JobSet for the failed Job" }
end
if now.type == "Completed" or (now.type == nil and status.terminalState == "Completed") then
  return { status = "Healthy", message = "completed" }
end
-- Its controller says so when the API server refused the JobSet, and keeps it when a later try succeeds:
-- conditions, which follow the JobSet, come first.
if now.type == nil and status.terminalState == "Failed" then
  return { status = "Degraded", message = "failed without a JobSet; see the log of the PathwaysJob controller" }
end
if now.type == "Suspended" then
  local queue = labels["kueue.x-k8s.io/queue-name"]
  if queue == nil then
    return { status = "Suspended", message = "its JobSet is suspended without a queue; nothing will start it" }
  end
  return { status = "Suspended", message = "waits in queue " .. queue .. "; see the Workload of its JobSet for the reason" }
end
if now.type == nil then
  return { status = "Progressing", message = "waits for the PathwaysJob controller" }
end
if now.type == "Running" then
  return { status = "Progressing", message = "running; see its JobSet for the number of slices" }
end
return { status = "Progressing", message = "starting; see its JobSet for the progress" }
