-- Health of a DNSProvider for Argo CD.
local health = {}
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready = conditions.Ready

if ready == nil or status.observedGeneration ~= obj.metadata.generation then
  health.status = "Progressing"
  health.message = "Zonekeeper has not looked at it yet"
  return health
end

local reason = ready.reason or ""
health.message = reason .. ": " .. (ready.message or "")

if obj.metadata.deletionTimestamp ~= nil then
  health.status = "Progressing"
elseif ready.status == "True" then
  health.status = "Healthy"
elseif conditions.Stalled ~= nil and conditions.Stalled.status == "True" then
  health.status = "Degraded"
else
  health.status = "Progressing"
end
return health
