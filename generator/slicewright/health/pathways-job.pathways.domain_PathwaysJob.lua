-- Health of a PathwaysJob, as far as its controller says; its JobSet, in the tree below it, knows more.
local status = obj.status or {}
local labels = (obj.metadata or {}).labels or {}

-- The controller appends conditions: a type can stand there twice, and the last one that is True holds.
local now = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then now = condition end
end

if now.type == "Failed" then
  local why = now.message or "no reason given"
  return { status = "Degraded", message = "failed: " .. why .. "; its JobSet says which Job" }
end
if now.type == "Completed" or (now.type == nil and status.terminalState == "Completed") then
  return { status = "Healthy", message = "completed" }
end
-- Its controller says so when the API server refused the JobSet, and keeps it when a later try succeeds:
-- conditions, which follow the JobSet, come first.
if now.type == nil and status.terminalState == "Failed" then
  return { status = "Degraded", message = "failed without a JobSet; the log of the PathwaysJob controller says why" }
end
if now.type == "Suspended" then
  local queue = labels["kueue.x-k8s.io/queue-name"]
  if queue == nil then
    return { status = "Suspended", message = "its JobSet is suspended, and in no queue that would start it" }
  end
  return { status = "Suspended", message = "waits in queue " .. queue .. "; the Workload of its JobSet says for what" }
end
if now.type == nil then
  return { status = "Progressing", message = "waits for the PathwaysJob controller" }
end
if now.type == "Running" then
  return { status = "Progressing", message = "running; its JobSet says with how many slices" }
end
return { status = "Progressing", message = "starting; its JobSet says how far it is" }
